//! Errors as text. The `Display` of a value that contains itself recurses, and would overflow the stack where the value
//! nests deeply enough: a writer notices that in time.

use std::error::Error;
use std::fmt::{self, Write};

/// How much of the stack the text of an error may take, in bytes: in a debug build, a level takes some 1 KiB. It is checked where
/// text is written, and not for each call.
const STACK: usize = 256 << 10;

/// How long the text of an error may be, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// How many sources of an error are recorded: a chain may lead back to its own error.
pub(crate) const MAX_SOURCES: usize = 100;

/// How much remains of a text that is nested too deep.
const REMAINDER: usize = 200;

const TOO_DEEP: &str = ".. (cut: it is nested too deep)";
const TOO_LONG: &str = ".. (cut: it is too long)";

/// An error's own text and those of its sources, outermost first.
pub(crate) fn chain(error: &dyn Error) -> Vec<String> {
    let sources = std::iter::successors(error.source(), |error| (*error).source()).take(MAX_SOURCES);
    let texts = std::iter::once(error).chain(sources);
    texts.map(|error| text(format_args!("{error}"))).collect()
}

/// A text that ends where it is nested too deep or is too long.
pub(crate) fn text(words: fmt::Arguments<'_>) -> String {
    let here = 0_u8;
    let mut writer = Writer { text: String::new(), begun_at: stack_address(&here), cut: None };
    // An error that is not from here is one of a `Display` that has no more to say.
    _ = writer.write_fmt(words);
    let Writer { mut text, cut, .. } = writer;
    if let Some(cut) = cut {
        if cut == TOO_DEEP {
            text.truncate(char_boundary(&text, REMAINDER));
        }
        text.push_str(cut);
    }
    text
}

/// The end of the last character that ends within so many bytes.
fn char_boundary(text: &str, bytes: usize) -> usize {
    (0..=bytes.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default()
}

/// How many characters of a text are in a list.
const LISTED: usize = 200;

/// The first line of a text, as lists have it: at most 200 characters, and `…` if it is longer. What comes later is not written
/// at all.
pub(crate) fn first_line(text: impl fmt::Display) -> String {
    let mut line = FirstLine { text: String::new(), left: LISTED };
    // An error ends it: that of a `Display` as well.
    _ = write!(line, "{text}");
    line.text.truncate(line.text.trim_end_matches('\r').len());
    line.text
}

struct FirstLine {
    text: String,
    /// How many characters it may still have.
    left: usize,
}

impl Write for FirstLine {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        part.chars().try_for_each(|char| self.write_char(char))
    }

    fn write_char(&mut self, char: char) -> fmt::Result {
        if char == '\n' {
            return Err(fmt::Error);
        }
        let Some(left) = self.left.checked_sub(1) else {
            self.text.push('…');
            return Err(fmt::Error);
        };
        self.left = left;
        self.text.push(char);
        Ok(())
    }
}

/// Whether one of these texts was cut because it is nested too deep.
pub(crate) fn is_too_deep(chain: &[String]) -> bool {
    chain.iter().any(|text| text.ends_with(TOO_DEEP))
}

struct Writer {
    text: String,
    /// An address in the stack, from before the first call.
    begun_at: usize,
    cut: Option<&'static str>,
}

impl Writer {
    fn cut(&mut self, why: &'static str) -> fmt::Result {
        self.cut = Some(why);
        Err(fmt::Error)
    }
}

impl Write for Writer {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let here = 0_u8;
        if self.begun_at.abs_diff(stack_address(&here)) > STACK {
            return self.cut(TOO_DEEP);
        }
        let left = MAX_BYTES - self.text.len();
        if part.len() > left {
            self.text.push_str(&part[..char_boundary(part, left)]);
            return self.cut(TOO_LONG);
        }
        self.text.push_str(part);
        Ok(())
    }
}

/// Where on the stack a local variable is.
pub(crate) fn stack_address(local: &u8) -> usize {
    std::hint::black_box(std::ptr::from_ref(local)).addr()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    #[test]
    fn a_text_that_is_nested_too_deep_is_cut() {
        let object = |inner, _| Json::Object([("inner".to_owned(), inner)].into_iter().collect());
        let deep = (0..10_000).fold(Json::Null, object);

        let chain = [text(format_args!("{deep}")), text(format_args!("{deep:#}")), text(format_args!("{deep:?}"))];

        assert!(chain.iter().all(|text| text.ends_with(TOO_DEEP) && text.len() < 300), "{chain:?}");
        assert!(is_too_deep(&chain));
        // Its `Drop` recurses as well.
        std::mem::forget(deep);
    }

    #[test]
    fn a_text_of_a_hundred_levels_is_whole() {
        let json = (0..100).fold(Json::Null, |inner, _| json!({ "inner": inner }));
        assert_eq!(text(format_args!("{json:#?}")), format!("{json:#?}"));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_two_characters() {
        let words = text(format_args!("a{}", "é".repeat(MAX_BYTES)));
        assert!(words.len() <= MAX_BYTES + TOO_LONG.len());
        assert!(words.ends_with("é.. (cut: it is too long)"));
        assert!(!is_too_deep(&[words]));
    }

    #[test]
    fn a_list_has_the_first_line_of_a_text_and_of_a_long_one_its_beginning() {
        assert_eq!(first_line("no money\r\nat line 3"), "no money");
        assert_eq!(first_line("é".repeat(LISTED)), "é".repeat(LISTED));
        assert_eq!(first_line(format_args!("a{}", "é".repeat(LISTED))), format!("a{}…", "é".repeat(LISTED - 1)));
    }

    #[derive(Debug)]
    struct ItsOwnSource;

    impl fmt::Display for ItsOwnSource {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("again")
        }
    }

    impl Error for ItsOwnSource {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&ItsOwnSource)
        }
    }

    #[test]
    fn an_error_that_is_its_own_source_has_a_chain_that_ends() {
        assert_eq!(chain(&ItsOwnSource).len(), 1 + MAX_SOURCES);
    }
}
