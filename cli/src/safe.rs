//! Texts of others, as a terminal may have them.

/// No control character moves the cursor or sets the title, and no invisible one lets a text look like another: each becomes `\u{fffd}`.
pub(crate) fn safe(text: &str) -> String {
    text.chars().map(|char| if is_unsafe(char) { char::REPLACEMENT_CHARACTER } else { char }).collect()
}

/// The same for JSON, where such a character is in a string and can be escaped: what is read of it does not change.
pub(crate) fn safe_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for char in json.chars() {
        if char != '\n' && is_unsafe(char) {
            for unit in char.encode_utf16(&mut [0; 2]) {
                safe.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            safe.push(char);
        }
    }
    safe
}

/// Control characters, what changes the direction of writing (CVE-2021-42574), and what has no width.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// How many characters of a text are in a list.
const LINE: usize = 120;

/// The first line of a text, for a list. If that is long it is cut, and says how long it is.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let (beginning, characters) = (cut(line, LINE), line.chars().count());
    if characters > LINE { format!("{beginning} ({characters} characters)") } else { beginning }
}

/// So many characters of a text.
pub(crate) fn cut(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(safe("a\u{1b}[2Jb\nc\u{9b}"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}");
    }

    #[test]
    fn no_invisible_character_reaches_the_terminal() {
        let ranges =
            ['\u{202a}'..='\u{202e}', '\u{2066}'..='\u{2069}', '\u{200b}'..='\u{200f}', '\u{2028}'..='\u{2029}'];
        for char in ranges.into_iter().flatten().chain(['\u{feff}', '\u{e0041}']) {
            assert_eq!(safe(&format!("a{char}b")), "a\u{fffd}b", "{char:?}");
        }
        assert_eq!(safe("Grüße, 世界 ├─ █ é 🦀"), "Grüße, 世界 ├─ █ é 🦀");
    }

    #[test]
    fn json_is_read_as_it_was() {
        let value = serde_json::json!({ "a\u{202e}": "\u{1b}[2J\u{9b}\u{7f}\u{e0041} 🦀\n" });
        let text = safe_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!text.chars().any(|char| char != '\n' && is_unsafe(char)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_long_text_says_how_long_it_is() {
        assert_eq!(first_line("one\ntwo"), "one");
        assert_eq!(first_line(&"é".repeat(120)), "é".repeat(120));
        assert_eq!(first_line(&"é".repeat(121)), format!("{}… (121 characters)", "é".repeat(120)));
    }
}
