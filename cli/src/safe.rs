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

/// Control characters, what changes the direction of writing (CVE-2021-42574), and what shows nothing. The page has the same ones in
/// `inspector/page/src/ui/visible.ts`, except for the ends of lines and tabs, which it shows.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
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

    /// The characters of the page's expression: `\u00ad`, `\u{e0000}`, `\u200b-\u200f`.
    fn hidden_on_the_page() -> Vec<(u32, u32)> {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../inspector/page/src/ui/visible.ts");
        let file = std::fs::read_to_string(file).unwrap();
        let expression = file.lines().find_map(|line| line.strip_prefix("const HIDDEN = /")).unwrap();
        let (mut ranges, mut first) = (Vec::new(), None);
        for char in expression.split("\\u").skip(1) {
            let digits = char.trim_start_matches('{').split(|char: char| !char.is_ascii_hexdigit()).next();
            let number = u32::from_str_radix(digits.unwrap(), 16).unwrap();
            if char.ends_with('-') {
                first = Some(number);
            } else {
                ranges.push((first.take().unwrap_or(number), number));
            }
        }
        ranges
    }

    #[test]
    fn the_page_hides_the_same_characters() {
        let ranges = hidden_on_the_page();
        for char in '\0'..=char::MAX {
            let is_hidden = ranges.iter().any(|(first, last)| (*first..=*last).contains(&u32::from(char)));
            assert_eq!(is_unsafe(char), is_hidden || matches!(char, '\t' | '\n'), "{char:?}");
        }
    }
}
