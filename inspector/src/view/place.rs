//! Paths of events, taken apart. The rules are those of the runtime:
//!
//! - `checkout/draft#2`: in the second turn of its loop; `#2.3`: in the third turn of an inner loop, in the second of the outer.
//! - `digest/search[3]`: the fourth item of the `[..]` around `search`; `search#2[3]` if the `[..]` is in a loop, `search[3]#2` if
//!   `search` is in one inside of it.
//! - Names and keys of requests have `/`, `#`, `[`, `]` and `:` percent-encoded.

/// The last name of a path with what follows it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Segment<'p> {
    /// The name of the node.
    pub(super) name: &'p str,
    /// For each `[..]` around it, the outermost first: the turns of the `[..]`, as written, and the item.
    pub(super) items: Vec<(&'p str, u64)>,
    /// The turns of the node itself, as written: `#2.3`, or nothing.
    pub(super) turns: &'p str,
}

impl<'p> Segment<'p> {
    pub(super) fn of(text: &'p str) -> Self {
        // A name in brackets is that of a `[..]`.
        let name_end = if text.starts_with('[') { closing(text) } else { text.find(['#', '[']).unwrap_or(text.len()) };
        let (name, mut rest) = text.split_at(name_end);
        let mut items = Vec::new();
        while let Some((turns, item, behind)) = next_item(rest) {
            items.push((turns, item));
            rest = behind;
        }
        Segment { name, items, turns: rest }
    }
}

/// The end of the brackets that a text begins with.
fn closing(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, char) in text.char_indices() {
        match char {
            '[' => depth += 1,
            ']' if depth <= 1 => return at + 1,
            ']' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// `#2[3]..` as `#2`, 3 and the rest.
fn next_item(text: &str) -> Option<(&str, u64, &str)> {
    let open = text.find('[')?;
    let close = open + text[open..].find(']')?;
    let item = text[open + 1..close].parse().ok()?;
    Some((&text[..open], item, &text[close + 1..]))
}

/// The number of the turn of the innermost loop: 3 for `#2.3`. Without a mark, it is the first turn of a loop, if there is one.
pub(super) fn turn(turns: &str) -> u64 {
    turns.rsplit(['.', '#']).next().and_then(|last| last.parse().ok()).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_its_name_its_items_and_its_turns() {
        let parts = |text| {
            let Segment { name, items, turns } = Segment::of(text);
            (name, items, turns)
        };
        assert_eq!(parts("charge"), ("charge", vec![], ""));
        assert_eq!(parts("draft#2.3"), ("draft", vec![], "#2.3"));
        assert_eq!(parts("search[3]"), ("search", vec![("", 3)], ""));
        assert_eq!(parts("search#2[3]#4"), ("search", vec![("#2", 3)], "#4"));
        assert_eq!(parts("x[1]#5[2]"), ("x", vec![("", 1), ("#5", 2)], ""));
        assert_eq!(parts("[search]"), ("[search]", vec![], ""));
        assert_eq!(parts("[a => [b]]#2"), ("[a => [b]]", vec![], "#2"));
        assert_eq!(parts("[b][7]"), ("[b]", vec![("", 7)], ""));
    }

    #[test]
    fn a_segment_that_no_graph_writes_is_read_as_far_as_it_goes() {
        for text in ["", "[", "]", "a[", "a[x]", "a]", "[[a]", "a[99999999999999999999999]", "#", "a#", "é[1]#x"] {
            let segment = Segment::of(text);
            assert!(text.starts_with(segment.name));
            assert!(text.ends_with(segment.turns));
        }
    }

    #[test]
    fn the_turn_is_that_of_the_innermost_loop() {
        assert_eq!([turn(""), turn("#2"), turn("#2.3")], [1, 2, 3]);
    }
}
