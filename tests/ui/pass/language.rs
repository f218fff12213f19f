//! Odd and plain uses of the language that are sound.
#![allow(
    unused,
    nonstandard_style,
    unreachable_pub,
    clippy::allow_attributes_without_reason,
    reason = "uses that are odd on purpose"
)]

#[path = "language/attributes_of_nodes.rs"]
mod attributes_of_nodes;
#[path = "language/attributes_of_parameters.rs"]
mod attributes_of_parameters;
#[path = "language/comments.rs"]
mod comments;
#[path = "language/enum_of_every_kind.rs"]
mod enum_of_every_kind;
#[path = "language/expressions.rs"]
mod expressions;
#[path = "language/generic_literals.rs"]
mod generic_literals;
#[path = "language/generic_route.rs"]
mod generic_route;
#[path = "language/generic_values.rs"]
mod generic_values;
// As it is written, which is what it is about.
#[rustfmt::skip]
#[path = "language/glued_tokens.rs"]
mod glued_tokens;
#[path = "language/keywords_as_names.rs"]
mod keywords_as_names;
#[path = "language/long_chain.rs"]
mod long_chain;
#[path = "language/macros_in_lets.rs"]
mod macros_in_lets;
#[path = "language/made_by_a_macro.rs"]
mod made_by_a_macro;
#[path = "language/names_of_ours.rs"]
mod names_of_ours;
#[path = "language/names_of_std.rs"]
mod names_of_std;
#[path = "language/names_of_u8.rs"]
mod names_of_u8;
#[path = "language/nested_route_maps.rs"]
mod nested_route_maps;
#[path = "language/no_input_no_output.rs"]
mod no_input_no_output;
#[path = "language/open_ranges.rs"]
mod open_ranges;
#[path = "language/options_by_a_macro.rs"]
mod options_by_a_macro;
#[path = "language/paths.rs"]
mod paths;
#[path = "language/paths_in_arms.rs"]
mod paths_in_arms;
#[path = "language/payloads_of_enums.rs"]
mod payloads_of_enums;
#[path = "language/same_name_in_two_modules.rs"]
mod same_name_in_two_modules;
#[path = "language/type_expressions.rs"]
mod type_expressions;
#[path = "language/unicode_names.rs"]
mod unicode_names;
#[path = "language/visibility.rs"]
mod visibility;
#[path = "language/within_a_function.rs"]
mod within_a_function;

fn main() {}
