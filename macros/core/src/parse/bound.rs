//! `(at most 5)`

use proc_macro2::{Delimiter, Span, TokenTree};
use syn::LitInt;

use super::Parser;
use super::tokens::Tokens;
use crate::ir::Bound;

impl Parser<'_> {
    /// The bound behind the labels of an arm, if there is one. A bound that cannot be read is reported, and some number
    /// is assumed, so that `spent` is no unknown label.
    pub(super) fn bound(&mut self, tokens: &mut Tokens) -> Option<Bound> {
        if !is_bound(tokens) {
            return None;
        }
        let group = tokens.eat_group(Delimiter::Parenthesis)?;
        let span = group.span();
        let at_most = self.at_most(&mut Tokens::inside(&group), span).unwrap_or(1);
        Some(Bound { at_most, span })
    }

    fn at_most(&mut self, inside: &mut Tokens, span: Span) -> Option<u32> {
        let has_words = inside.eat_word("at").is_some() && inside.eat_word("most").is_some();
        let number = match inside.next() {
            Some(TokenTree::Literal(literal)) => syn::parse_str::<LitInt>(&literal.to_string()).ok(),
            _ => None,
        };
        let number = number.filter(|_| inside.is_empty()).and_then(|number| number.base10_parse::<u32>().ok());
        let message = match (has_words, number) {
            (true, Some(1..)) => return number,
            (true, Some(0)) => "an arm that is taken at most 0 times is never taken".to_owned(),
            (true, None) => format!("how often is a number from 1 to {}, as a literal", u32::MAX),
            (false, Some(number)) => format!("how often an arm is taken is written `(at most {number})`"),
            (false, None) => "how often an arm is taken is written `(at most 5)`".to_owned(),
        };
        self.diagnostics
            .error(span, message)
            .help("`<redo (at most 5): draft, good: END, spent: END>` goes back five times, and then takes `spent`");
        None
    }
}

/// Whether `(at ..)` comes, or `(5)`, which no payload looks like.
pub(super) fn is_bound(tokens: &Tokens) -> bool {
    let Some(group) = tokens.peek_group(Delimiter::Parenthesis) else { return false };
    match group.stream().into_iter().next() {
        Some(TokenTree::Ident(word)) => word == "at",
        Some(TokenTree::Literal(_)) => true,
        _ => false,
    }
}
