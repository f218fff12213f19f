//! Names and quotations in texts and paths.

/// The bytes of a quotation from a model that remain at its beginning, and those at its end.
const QUOTED: (usize, usize) = (600, 200);

/// Names as a list in an error text.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The name of the node at a path, without its key, its turn and its item.
pub(crate) fn node_name(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split([':', '#', '[']).next().unwrap_or_default()
}

/// A text that quotes a model, without the middle if it is long: the model would pay for its own mistake once more. What was expected
/// is at the end.
pub(crate) fn shortened(text: String) -> String {
    let (head, tail) =
        (text.floor_char_boundary(QUOTED.0), text.ceil_char_boundary(text.len().saturating_sub(QUOTED.1)));
    match tail.checked_sub(head) {
        None | Some(0) => text,
        Some(left_out) => format!("{} .. ({left_out} bytes are left out) .. {}", &text[..head], &text[tail..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_quotation_has_its_beginning_and_its_end() {
        let text = shortened(format!("invalid type: \"{}\", expected u32", "é".repeat(1 << 20)));
        assert!(text.starts_with("invalid type: \"éé") && text.ends_with("éé\", expected u32"), "{text}");
        assert!(text.contains(" bytes are left out) ") && text.len() < 900, "{text}");
        for length in [0, 1, 799, 800] {
            assert_eq!(shortened("x".repeat(length)), "x".repeat(length));
        }
    }
}
