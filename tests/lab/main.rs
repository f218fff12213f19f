//! Workflows of users in the lab of `graphweft::testing`: what it runs, and what it finds.

mod arms;
mod context;
mod crashes;
mod findings;
mod mocks;
mod outside;
mod runs;
mod shop;
mod upgrades;

use std::panic::AssertUnwindSafe;

use futures::FutureExt;

/// The message of the panic with which an assertion ends.
async fn message_of<T>(assertion: impl Future<Output = T>) -> String {
    match AssertUnwindSafe(assertion).catch_unwind().await {
        Ok(_) => panic!("nothing was found"),
        Err(panic) => *panic.downcast::<String>().expect("a panic with a message"),
    }
}

/// The same of an assertion that is no future.
fn message(assertion: impl FnOnce()) -> String {
    let panic = std::panic::catch_unwind(AssertUnwindSafe(assertion)).expect_err("something is found");
    *panic.downcast::<String>().expect("a panic with a message")
}

/// Fails if a text does not have a line that has all of these in it.
#[track_caller]
fn has_line(text: &str, parts: &[&str]) {
    let is_it = |line: &str| parts.iter().all(|part| line.contains(part));
    assert!(text.lines().any(is_it), "no line with {parts:?} in:\n{text}");
}
