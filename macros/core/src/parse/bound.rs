//! `(at most 5)`

use proc_macro2::{Delimiter, Span, TokenTree};
use syn::LitInt;

use super::Parser;
use super::tokens::Tokens;
use crate::diagnostics::Blame;
use crate::ir::Bound;

impl Parser<'_> {
    /// The bound behind the labels of an arm, if there is one. A bound that cannot be read is reported, and some number
    /// is assumed, so that `spent` is no unknown label.
    pub(super) fn bound(&mut self, tokens: &mut Tokens) -> Option<Bound> {
        if let Some(bound) = self.bound_without_parentheses(tokens) {
            return Some(bound);
        }
        if !is_bound(tokens) {
            return None;
        }
        let group = tokens.eat_group(Delimiter::Parenthesis)?;
        let span = group.span();
        let at_most = self.at_most(&mut Tokens::inside(&group), span).unwrap_or(1);
        Some(Bound { at_most, span })
    }

    /// `redo at most 5: draft`
    fn bound_without_parentheses(&mut self, tokens: &mut Tokens) -> Option<Bound> {
        let is_guard = tokens.peek_word("if");
        let words = (0..).take_while(|at| tokens.ident_after(*at).is_some()).count();
        let number = match tokens.peek_after(words) {
            Some(TokenTree::Literal(literal)) if words > 0 && !is_guard => literal.to_string(),
            _ => return None,
        };
        if !matches!(tokens.peek_after(words + 1), Some(TokenTree::Punct(colon)) if colon.as_char() == ':') {
            return None;
        }
        let first = tokens.span();
        let last = tokens.peek_after(words).map_or(first, TokenTree::span);
        self.diagnostics
            .error(Blame { first, last }, WRITTEN)
            .help(format!("write it in parentheses: `(at most {number})`"));
        (0..=words).for_each(|_| drop(tokens.next()));
        Some(Bound { at_most: 1, span: first })
    }

    /// `redo: draft (at most 5)`, where the bound is misplaced.
    pub(super) fn bound_behind_target(&mut self, tokens: &mut Tokens) -> Option<Bound> {
        if !is_bound(tokens) {
            return None;
        }
        let span = tokens.eat_group(Delimiter::Parenthesis)?.span();
        self.diagnostics.error(span, "how often an arm is taken is written behind its label").help(MEND);
        Some(Bound { at_most: 1, span })
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
            (false, None) => WRITTEN.to_owned(),
        };
        self.diagnostics.error(span, message).help(MEND);
        None
    }
}

const WRITTEN: &str = "how often an arm is taken is written `(at most 5)`";
const MEND: &str = "`<redo (at most 5): draft, good: END, spent: END>` goes back five times, and then takes `spent`";

/// Whether `(at ..)` comes, or a number with words beside it, which no payload looks like: `(5)`, `(max 5)`, `(5 times)`.
pub(super) fn is_bound(tokens: &Tokens) -> bool {
    let Some(group) = tokens.peek_group(Delimiter::Parenthesis) else { return false };
    let mut inside = group.stream().into_iter().peekable();
    if matches!(inside.peek(), Some(TokenTree::Ident(word)) if word == "at") {
        return true;
    }
    let mut has_number = false;
    inside.all(|token| {
        has_number |= matches!(token, TokenTree::Literal(_));
        matches!(token, TokenTree::Ident(_) | TokenTree::Literal(_))
    }) && has_number
}
