//! The values of options: for each kind, the valid values and the example in an error.

use std::time::Duration;

use proc_macro2::Span;
use quote::ToTokens;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Expr, Lit, LitStr, Path, Token, UnOp};

use super::duration::{self, NoDuration};
use super::function::FunctionOfError;
use super::parse::{Reader, Value, Written, ungrouped};
use crate::ast::path_text;
use crate::diagnostics::Blame;

impl Reader {
    /// The value behind `=`, or an error that shows how the option is written.
    pub fn value<'o>(&mut self, option: &'o Written, example: &str) -> Option<&'o Expr> {
        if let Value::Is(value) = &option.value {
            return Some(value);
        }
        let name = &option.text;
        self.diagnostics.error(&option.name, format!("`{name}` needs a value")).help(format!("`{name} = {example}`"));
        None
    }

    /// The place of an option that has no value.
    pub fn flag(&mut self, option: &Written) -> Option<Span> {
        let blame = match &option.value {
            Value::None => return Some(option.name.span()),
            Value::Is(value) => Blame::tokens(value),
            Value::List(_) => Blame::from(&option.name),
        };
        let name = &option.text;
        self.diagnostics
            .error(blame, format!("`{name}` takes no value"))
            .help(format!("write `{name}` alone, or leave it out"));
        None
    }

    /// The name of a node, in quotes.
    pub fn name(&mut self, option: &Written) -> Option<LitStr> {
        let value = self.value(option, "\"charge_card\"")?;
        self.name_in_quotes(value, "`name = \"charge_card\"`")
    }

    /// The name of a pool, in quotes.
    pub fn pool(&mut self, option: &Written) -> Option<LitStr> {
        const EXAMPLE: &str = "`pool = \"gpu\"`";
        let value = self.value(option, "\"gpu\"")?;
        let Some(name) = string(value) else {
            self.diagnostics.error(Blame::tokens(value), "the name of a pool is text in quotes").help(EXAMPLE);
            return None;
        };
        let text = name.value();
        if text.is_empty() {
            self.diagnostics.error(name.span(), "the name of a pool is empty").help(EXAMPLE);
            return None;
        }
        if text.trim() != text || text.contains(char::is_control) {
            self.diagnostics
                .error(
                    name.span(),
                    "a worker would not find this pool: white space is around its name, or in it a control character",
                )
                .help(EXAMPLE);
            return None;
        }
        Some(name.clone())
    }

    /// `renamed_from = "bill"` or `renamed_from("bill", "pay")`
    pub fn former_names(&mut self, option: &Written) -> Vec<LitStr> {
        let names = match &option.value {
            Value::None => Vec::new(),
            Value::Is(name) => vec![name.clone()],
            Value::List(names) => match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(names.clone()) {
                Ok(names) => names.into_iter().map(ungrouped).collect(),
                Err(error) => {
                    self.diagnostics.syntax(&error);
                    return Vec::new();
                }
            },
        };
        if names.is_empty() {
            self.diagnostics
                .error(&option.name, "`renamed_from` needs a name that the node had before")
                .help("`renamed_from = \"bill\"`, or `renamed_from(\"bill\", \"pay\")` for several");
        }
        names.iter().filter_map(|name| self.name_in_quotes(name, "`renamed_from = \"bill\"`")).collect()
    }

    /// `uses(search, read)`
    pub fn nodes(&mut self, option: &Written) -> Vec<Path> {
        let name = &option.text;
        let Value::List(nodes) = &option.value else {
            let blame = self.blame(option);
            self.diagnostics
                .error(blame, format!("`{name}` has its nodes in parentheses"))
                .help(format!("`{name}(search, read)`"));
            return Vec::new();
        };
        match Punctuated::<Path, Token![,]>::parse_terminated.parse2(nodes.clone()) {
            Ok(nodes) => nodes.into_iter().collect(),
            Err(_) => {
                self.diagnostics
                    .error(Blame::tokens(nodes), format!("`{name}` takes the names of nodes"))
                    .help(format!("`{name}(search, read)`"));
                Vec::new()
            }
        }
    }

    fn name_in_quotes(&mut self, value: &Expr, example: &str) -> Option<LitStr> {
        let Some(text) = string(value) else {
            self.diagnostics.error(Blame::tokens(value), "a node's name is text in quotes").help(example);
            return None;
        };
        let name = text.value();
        let fits = |letter: char| letter.is_alphanumeric() || ['_', '-', '.'].contains(&letter);
        if name.is_empty() || !name.chars().all(fits) {
            let message = if name.is_empty() {
                "a node's name is empty"
            } else {
                "a node's name has letters that mean something in paths"
            };
            self.diagnostics.error(text.span(), message).help(
                "use letters, digits, `_`, `-` and `.`: a run's events name nodes by paths like `checkout/charge#2`",
            );
            return None;
        }
        Some(text.clone())
    }

    /// A path, for `crate`.
    pub fn path(&mut self, option: &Written, example: &str) -> Option<Path> {
        let value = self.value(option, example)?;
        if let Expr::Path(path) = value {
            return Some(path.path.clone());
        }
        let quoted_path = string(value).and_then(|text| text.parse::<Path>().ok());
        let mend = match quoted_path {
            Some(path) => format!("without quotes: `{} = {}`", option.text, path_text(&path)),
            None => format!("`{} = {example}`", option.text),
        };
        self.diagnostics.error(Blame::tokens(value), format!("`{}` needs a path", option.text)).help(mend);
        None
    }

    /// A duration, in quotes and with its unit.
    pub fn duration(&mut self, option: &Written, example: &str) -> Option<Duration> {
        let name = &option.text;
        let value = self.value(option, &format!("\"{example}\""))?;
        let Some(text) = string(value) else {
            self.diagnostics
                .error(Blame::tokens(value), format!("`{name}` is a duration, in quotes and with its unit"))
                .help(format!("`{name} = \"{example}\"`"));
            return None;
        };
        let written = text.value();
        let message = match duration::parse(&written) {
            Ok(duration) => return Some(duration),
            Err(NoDuration::Number) => format!("\"{written}\" is no duration"),
            Err(NoDuration::Unit) => format!("\"{written}\" has no unit"),
            Err(NoDuration::UnknownUnit(unit)) => format!("`{unit}` is no unit of time"),
            Err(NoDuration::TooLong) => format!("\"{written}\" is too long"),
        };
        self.diagnostics.error(text.span(), message).help(duration::EXAMPLE);
        None
    }

    /// Whether a duration is not zero.
    pub fn longer_than_zero(&mut self, option: &Written, is_zero: bool, mend: &str) -> bool {
        if is_zero {
            let blame = self.blame(option);
            self.diagnostics.error(blame, format!("`{}` is longer than zero", option.text)).help(mend);
        }
        !is_zero
    }

    /// The tokens to blame for the value of an option.
    pub fn blame(&self, option: &Written) -> Blame {
        match &option.value {
            Value::Is(value) => Blame::tokens(value),
            _ => Blame::from(&option.name),
        }
    }

    /// A whole number, at least 1.
    pub fn count(&mut self, option: &Written, example: &str) -> Option<u32> {
        self.count_from(option, example, 1)
    }

    /// A whole number, at least `least`.
    pub fn count_from(&mut self, option: &Written, example: &str, least: u32) -> Option<u32> {
        let name = &option.text;
        let value = self.value(option, example)?;
        let message = match number(value) {
            Some((negative, Lit::Int(digits))) => match digits.base10_parse::<u32>() {
                Ok(count) if count >= least && !negative && digits.suffix().is_empty() => return Some(count),
                Ok(_) if !digits.suffix().is_empty() => format!("`{name}` is a number without a suffix"),
                Ok(_) => format!("`{name}` is at least {least}"),
                Err(_) if negative => format!("`{name}` is at least {least}"),
                Err(_) => format!("`{name}` is at most {}", u32::MAX),
            },
            _ => format!("`{name}` is a whole number"),
        };
        let error = self.diagnostics.error(Blame::tokens(value), message);
        if name == "max_attempts" {
            error.help("the first attempt counts: `max_attempts = 1` tries once and never again");
        } else {
            error.help(format!("`{name} = {example}`"));
        }
        None
    }

    /// A number with or without a point.
    pub fn factor(&mut self, option: &Written, example: &str, range: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        let name = &option.text;
        let value = self.value(option, example)?;
        let read = match number(value) {
            Some((negative, Lit::Int(digits))) => digits.base10_parse::<f64>().ok().map(|number| (negative, number)),
            Some((negative, Lit::Float(digits))) => digits.base10_parse::<f64>().ok().map(|number| (negative, number)),
            _ => None,
        };
        let message = match read.map(|(negative, number)| if negative { -number } else { number }) {
            Some(number) if number.is_finite() && fits(number) => return Some(number),
            Some(_) => format!("`{name}` is {range}"),
            None => format!("`{name}` is a number"),
        };
        self.diagnostics.error(Blame::tokens(value), message).help(format!("`{name} = {example}`"));
        None
    }

    /// A function that takes the error.
    pub(super) fn function(&mut self, option: &Written, wanted: &FunctionOfError) -> Option<Expr> {
        let name = &option.text;
        let FunctionOfError { example, method, returns } = wanted;
        let value = self.value(option, example)?;
        if let Expr::Path(_) | Expr::Closure(_) = value {
            return Some(value.clone());
        }
        let mend = match value {
            Expr::Call(call) => {
                format!("without the call: `{name} = {}`", call.func.to_token_stream().to_string().replace(' ', ""))
            }
            Expr::MethodCall(call) => format!("`{name} = |error| error.{}()`", call.method),
            _ => format!("`{name} = {example}` or `{name} = |error| error.{method}()`"),
        };
        self.diagnostics
            .error(
                Blame::tokens(value),
                format!("`{name}` needs a function that takes the error and returns {returns}"),
            )
            .help(mend);
        None
    }
}

fn string(value: &Expr) -> Option<&LitStr> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// A literal, and whether it has a minus sign.
fn number(value: &Expr) -> Option<(bool, &Lit)> {
    match value {
        Expr::Lit(literal) => Some((false, &literal.lit)),
        Expr::Unary(minus) if matches!(minus.op, UnOp::Neg(_)) => match &*minus.expr {
            Expr::Lit(literal) => Some((true, &literal.lit)),
            _ => None,
        },
        _ => None,
    }
}
