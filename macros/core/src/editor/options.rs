//! Options as they are being written: `retry(max_attempts = 3), time`.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};

use super::marker;
use crate::parse::tokens::Tokens;

/// Which list of options: that of the node, or the one inside `retry(..)`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Node,
    Retry,
}

/// The options between two parentheses.
#[derive(Default)]
pub(super) struct OptionList {
    pub(super) options: Vec<Written>,
}

/// One of them.
pub(super) struct Written {
    pub(super) name: Ident,
    /// `retry(..)`
    pub(super) inside: Option<OptionList>,
    /// What is behind `=`.
    pub(super) value: TokenStream,
}

/// What was read.
pub(super) struct Read {
    pub(super) list: OptionList,
    /// The list in which the identifier at the cursor is the name of an option.
    pub(super) place: Option<(usize, Level)>,
}

/// Reads options; those of a `let` get their place by the reader of the workflow.
pub(super) fn read(tokens: TokenStream) -> Read {
    let mut place = None;
    let list = read_list(&mut Tokens::new(tokens, None), Level::Node, &mut place);
    Read { list, place: place.map(|level| (0, level)) }
}

/// Options as people write them.
pub(super) fn text(options: TokenStream) -> String {
    let mut text = String::new();
    for token in options {
        match token {
            TokenTree::Punct(equals) if equals.as_char() == '=' => text.push_str(" = "),
            TokenTree::Punct(comma) if comma.as_char() == ',' => text.push_str(", "),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                text.push_str(&self::text(group.stream()));
                text.push_str(close);
            }
            other => text.push_str(&other.to_string()),
        }
    }
    text.trim_end_matches([' ', ',']).to_owned()
}

fn read_list(tokens: &mut Tokens, level: Level, place: &mut Option<Level>) -> OptionList {
    let mut list = OptionList::default();
    while let Some(token) = tokens.next() {
        let TokenTree::Ident(name) = token else { continue };
        if marker::is_marker(&name) {
            *place = Some(level);
        }
        let mut inside = None;
        if let Some(group) = tokens.eat_group(Delimiter::Parenthesis)
            && name == "retry"
        {
            inside = Some(read_list(&mut Tokens::inside(&group), Level::Retry, place));
        }
        let mut value = TokenStream::new();
        if tokens.eat_punct('=').is_some() {
            while !tokens.is_empty() && !tokens.peek_punct(',') {
                value.extend(tokens.next());
            }
        }
        list.options.push(Written { name, inside, value });
        while !tokens.is_empty() && tokens.eat_punct(',').is_none() {
            tokens.next();
        }
    }
    list
}
