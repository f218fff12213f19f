//! Messages of a length that a model can read.

/// What an error may take of the context of a model, in characters: its start, and its end.
const START: usize = 800;
const END: usize = 200;
/// What is longer than both by no more than this stays whole. The mark in the middle is shorter: what was cut once is not cut again, also
/// if some words were added to it.
const ROOM: usize = 200;

/// A message that quotes what was sent. Where it is long its middle is left out: what was expected is at its end.
pub(super) fn brief(text: &str) -> String {
    let Some((start, _)) = text.char_indices().nth(START) else { return text.to_owned() };
    if text[start..].chars().nth(ROOM + END).is_none() {
        return text.to_owned();
    }
    let end = text.char_indices().rev().nth(END - 1).map_or(start, |(end, _)| end);
    let left_out = text[start..end].len();
    format!("{} … ({left_out} bytes are left out) … {}", &text[..start], &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_message_is_left_out() {
        let long = format!("at `input`: \"{}\", expected u32", "ä".repeat(1 << 20));
        let brief = brief(&long);
        assert!(brief.len() < 3000, "{}", brief.len());
        assert!(brief.starts_with("at `input`: \"ä") && brief.ends_with("ä\", expected u32"), "{brief}");
    }

    #[test]
    fn a_short_message_stays_as_it_is() {
        for length in [0, 1, START, START + 1, START + END, START + END + ROOM] {
            let text = "ö".repeat(length);
            assert_eq!(brief(&text), text);
        }
    }

    #[test]
    fn what_was_cut_is_not_cut_again() {
        for length in [START + END + ROOM + 1, 1 << 20] {
            let once = brief(&"ö".repeat(length));
            assert_eq!(once.matches("bytes are left out").count(), 1, "{once}");
            assert_eq!(brief(&once), once);
            let quoted = format!("the answer was not taken: {once}");
            assert_eq!(brief(&quoted), quoted);
        }
    }
}
