//! Errors of others in one line.

use std::error::Error;

/// The longest message of an error, in characters. It is recorded, and some servers send whole pages.
pub(crate) const MAX_MESSAGE: usize = 1_000;

/// An error with its causes: that of an HTTP client says of itself only which request it was. A cause that the text of the error before
/// it contains is not said again.
pub(crate) fn with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut last = text.clone();
    for cause in std::iter::successors(error.source(), |error| (*error).source()) {
        let said = cause.to_string();
        if !last.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        last = said;
    }
    short(&text)
}

pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{} ..", &text[..end]),
        None => text.to_owned(),
    }
}
