//! Messages of a length that a model can read.

/// What an error may take of the context of a model, in characters: its start, and its end.
const START: usize = 800;
const END: usize = 200;

/// A message that quotes what was sent. Where it is long its middle is left out: what was expected is at its end.
pub(super) fn brief(text: &str) -> String {
    let Some((start, _)) = text.char_indices().nth(START) else { return text.to_owned() };
    match text.char_indices().rev().nth(END - 1) {
        Some((end, _)) if end > start => {
            let left_out = text[start..end].len();
            format!("{} … ({left_out} bytes are left out) … {}", &text[..start], &text[end..])
        }
        _ => text.to_owned(),
    }
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
        for length in [0, 1, START, START + 1, START + END] {
            let text = "ö".repeat(length);
            assert_eq!(brief(&text), text);
        }
    }
}
