//! What `#[node(..)]` may say, and what is told where it says something else.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::str::FromStr;
use std::time::Duration;

use common::told;
use graphweft_macros_core::options::{NodeOptions, parse_let_options, parse_node_attribute};
use proc_macro2::TokenStream;

fn options(text: &str) -> NodeOptions {
    let (options, diagnostics) = parse_node_attribute(TokenStream::from_str(text).unwrap());
    assert_eq!(told(&diagnostics), [""; 0], "{text}");
    options
}

#[track_caller]
fn tells(text: &str, expected: &[&str]) {
    let (_, diagnostics) = parse_node_attribute(TokenStream::from_str(text).unwrap());
    assert_eq!(told(&diagnostics), expected, "{text}");
}

#[test]
fn without_options_nothing_is_set() {
    let options = options("");
    assert!(options.name.is_none() && options.retry.is_none() && options.timeout.is_none());
}

#[test]
fn every_option_is_read() {
    let options = options(
        "name = \"charge_card\", timeout = \"1m30s\", max_parallel = 4, blocking, collect, crate = ::other::path, \
         retry(max_attempts = 3, initial_delay = \"200ms\", max_delay = \"60s\", backoff_factor = 2, jitter = 0.5, \
         when = CardError::is_transient),",
    );
    assert_eq!(options.name.unwrap().value(), "charge_card");
    assert_eq!(options.timeout, Some(Duration::from_secs(90)));
    assert_eq!(options.max_parallel.map(|(most, _)| most), Some(4));
    assert!(options.blocking.is_some() && options.collect.is_some() && options.at_most_once.is_none());
    assert_eq!(options.krate.unwrap().segments.len(), 2);
    let retry = options.retry.unwrap();
    assert_eq!(retry.max_attempts, Some(3));
    assert_eq!(retry.initial_delay, Some(Duration::from_millis(200)));
    assert_eq!(retry.max_delay, Some(Duration::from_secs(60)));
    assert_eq!((retry.backoff_factor, retry.jitter), (Some(2.0), Some(0.5)));
    assert!(retry.when.is_some());
}

#[test]
fn retry_alone_has_the_defaults() {
    assert!(options("retry").retry.unwrap().max_attempts.is_none());
}

#[test]
fn a_closure_may_decide_what_is_tried_again() {
    assert!(
        options("retry(when = |error: &E| matches!(error, E::Busy(..)), max_attempts = 2)")
            .retry
            .unwrap()
            .when
            .is_some()
    );
}

#[test]
fn at_most_once_and_one_attempt_agree() {
    options("at_most_once, retry(max_attempts = 1)");
}

#[test]
fn an_unknown_option_names_the_near_one() {
    tells(
        "timout = \"5s\"",
        &["timout: a node has no option `timout`", "  help: there is one with a similar name: `timeout`"],
    );
}

#[test]
fn an_option_of_retry_is_sent_there() {
    tells(
        "max_attempts = 3",
        &["max_attempts: a node has no option `max_attempts`", "  help: it belongs into `retry(max_attempts = ..)`"],
    );
}

#[test]
fn a_broken_option_costs_only_itself() {
    let (options, diagnostics) =
        parse_node_attribute(TokenStream::from_str("timeout = , name = \"a\", 7, max_parallel = 2").unwrap());
    assert_eq!(diagnostics.iter().count(), 2);
    assert!(options.name.is_some() && options.max_parallel.is_some_and(|(most, _)| most == 2));
}

#[test]
fn an_option_is_set_once() {
    tells("blocking, timeout = \"1s\", blocking", &["blocking: `blocking` is set twice"]);
}

#[test]
fn a_duration_has_quotes_and_a_unit() {
    let units = "  help: a duration is a number with a unit, one of `ns`, `us`, `ms`, `s`, `m`, `h` and `d`, or a sum of \
                 them: `200ms`, `1.5s`, `1m30s`";
    tells("timeout = 10", &["10: `timeout` is a duration, in quotes and with its unit", "  help: `timeout = \"10s\"`"]);
    tells("timeout = \"10\"", &["\"10\": \"10\" has no unit", units]);
    tells("timeout = \"10 parsecs\"", &["\"10 parsecs\": `parsecs` is no unit of time", units]);
    tells("timeout = \"soon\"", &["\"soon\": \"soon\" is no duration", units]);
    tells("timeout = \"-1s\"", &["\"-1s\": \"-1s\" is no duration", units]);
}

#[test]
fn a_timeout_is_longer_than_zero() {
    tells(
        "timeout = \"0s\"",
        &[
            "\"0s\": `timeout` is longer than zero",
            "  help: every attempt would fail at once: leave `timeout` out for none",
        ],
    );
}

#[test]
fn a_first_delay_may_be_zero() {
    assert_eq!(options("retry(initial_delay = \"0s\")").retry.unwrap().initial_delay, Some(Duration::ZERO));
}

#[test]
fn counts_are_whole_and_at_least_one() {
    let mend = "  help: `max_parallel = 4`";
    tells("max_parallel = 0", &["0: `max_parallel` is at least 1", mend]);
    tells("max_parallel = -2", &["-2: `max_parallel` is at least 1", mend]);
    tells("max_parallel = 1.5", &["1.5: `max_parallel` is a whole number", mend]);
    tells("max_parallel = 5000000000", &["5000000000: `max_parallel` is at most 4294967295", mend]);
    tells("max_parallel = 5u8", &["5u8: `max_parallel` is a number without a suffix", mend]);
    tells(
        "retry(max_attempts = 0)",
        &[
            "0: `max_attempts` is at least 1",
            "  help: the first attempt counts: `max_attempts = 1` tries once and never again",
        ],
    );
}

#[test]
fn factors_keep_their_range() {
    tells("retry(backoff_factor = 0)", &["0: `backoff_factor` is at least 1", "  help: `backoff_factor = 2.0`"]);
    tells("retry(jitter = -0.5)", &["-0.5: `jitter` is zero or more", "  help: `jitter = 0.5`"]);
    tells("retry(jitter = \"much\")", &["\"much\": `jitter` is a number", "  help: `jitter = 0.5`"]);
    tells(
        "retry(backoff_factor = 1e999)",
        &["1e999: `backoff_factor` is at least 1", "  help: `backoff_factor = 2.0`"],
    );
}

#[test]
fn delays_grow() {
    tells(
        "retry(max_delay = \"1s\", initial_delay = \"2s\")",
        &[
            "max_delay: `max_delay` is shorter than `initial_delay`",
            "  help: the delays begin at `initial_delay` and grow up to `max_delay`",
        ],
    );
}

#[test]
fn what_runs_at_most_once_is_not_tried_again() {
    tells(
        "at_most_once, retry(max_attempts = 3)",
        &["retry: a node that runs at most once cannot be tried again", "  help: leave out `retry` or `at_most_once`"],
    );
}

#[test]
fn words_take_no_value_and_values_are_needed() {
    tells("blocking = true", &["true: `blocking` takes no value", "  help: write `blocking` alone, or leave it out"]);
    tells("timeout", &["timeout: `timeout` needs a value", "  help: `timeout = \"10s\"`"]);
    tells(
        "retry = 3",
        &[
            "3: the options of `retry` are written in parentheses",
            "  help: `retry(max_attempts = 3, initial_delay = \"200ms\")`",
        ],
    );
    tells(
        "crate = \"my::path\"",
        &["\"my::path\": `crate` needs a path", "  help: without quotes: `crate = my::path`"],
    );
    tells("name = charge", &["charge: a node's name is text in quotes", "  help: `name = \"charge_card\"`"]);
}

#[test]
fn a_name_has_nothing_in_it_that_paths_mean_something_by() {
    tells(
        "name = \"a/b#2\"",
        &[
            "\"a/b#2\": a node's name has letters that mean something in paths",
            "  help: use letters, digits, `_`, `-` and `.`: a run's events name nodes by paths like `checkout/charge#2`",
        ],
    );
}

#[test]
fn former_names_are_one_or_several() {
    let names = |text: &str| options(text).renamed_from.iter().map(syn::LitStr::value).collect::<Vec<_>>();
    assert_eq!(names("renamed_from = \"bill\""), ["bill"]);
    assert_eq!(names("renamed_from(\"bill\", \"pay\",)"), ["bill", "pay"]);
}

#[test]
fn a_former_name_is_a_name_like_any_other() {
    tells(
        "renamed_from(\"a[1]\", 3)",
        &[
            "\"a[1]\": a node's name has letters that mean something in paths",
            "  help: use letters, digits, `_`, `-` and `.`: a run's events name nodes by paths like `checkout/charge#2`",
            "3: a node's name is text in quotes",
            "  help: `renamed_from = \"bill\"`",
        ],
    );
    tells(
        "renamed_from",
        &[
            "renamed_from: `renamed_from` needs a name that the node had before",
            "  help: `renamed_from = \"bill\"`, or `renamed_from(\"bill\", \"pay\")` for several",
        ],
    );
    tells(
        "renamed_from = \"\"",
        &[
            "\"\": a node's name is empty",
            "  help: use letters, digits, `_`, `-` and `.`: a run's events name nodes by paths like `checkout/charge#2`",
        ],
    );
}

#[test]
fn no_letter_of_a_path_stands_in_a_name() {
    for letter in ['/', '#', '[', ']', ':', '%', ' ', '\u{7}'] {
        let (_, diagnostics) =
            parse_node_attribute(TokenStream::from_str(&format!("name = {:?}", format!("a{letter}b"))).unwrap());
        assert!(diagnostics.has_errors(), "{letter:?}");
    }
}

#[test]
fn when_is_a_function_and_not_its_call() {
    tells(
        "retry(when = CardError::is_transient())",
        &[
            "CardError::is_transient(): `when` needs a function that takes the error and returns whether to retry",
            "  help: without the call: `when = CardError::is_transient`",
        ],
    );
}

#[test]
fn a_missing_comma_is_told_and_read_over() {
    tells("blocking timeout = \"1s\"", &["timeout: a `,` is missing between the options"]);
}

#[test]
fn a_let_leaves_alone_what_shapes_the_function() {
    let (_, diagnostics) = parse_let_options(TokenStream::from_str("blocking, timeout = \"1s\"").unwrap());
    assert_eq!(
        told(&diagnostics),
        [
            "blocking: `blocking` belongs to the node itself and cannot be set here",
            "  help: write it in the node's own `#[node(..)]`"
        ]
    );
}

#[test]
fn no_prefix_of_options_panics() {
    let text = "name = \"a\", retry(max_attempts = 3, when = |e| e.x(), jitter = -1), crate = ::a::b, timeout = \"5s\"";
    let tokens: Vec<_> = TokenStream::from_str(text).unwrap().into_iter().collect();
    for length in 0..=tokens.len() {
        parse_node_attribute(tokens.iter().take(length).cloned().collect()).1.into_compile_errors();
    }
}
