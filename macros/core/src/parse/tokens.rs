//! A cursor over tokens that never runs past their end.
//!
//! Not syn's: `<` and `>` are no delimiters to a tokenizer, so a route map's `>=>` and `<-1: ..` arrive glued to their
//! neighbours, and recovery has to step over what it cannot read.

use proc_macro2::{Delimiter, Group, Ident, Spacing, Span, TokenStream, TokenTree};

use crate::diagnostics::Blame;

pub(crate) struct Tokens {
    tokens: Vec<TokenTree>,
    at: usize,
    /// Where to point when something is missing at the end.
    end: Span,
}

impl Tokens {
    pub(crate) fn new(stream: TokenStream, end: Option<Span>) -> Self {
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let end = end.or_else(|| tokens.last().map(TokenTree::span)).unwrap_or_else(Span::call_site);
        Tokens { tokens, at: 0, end }
    }

    /// The inside of a group; what is missing at its end is missed at its closing delimiter.
    pub(crate) fn inside(group: &Group) -> Self {
        Tokens::new(group.stream(), Some(group.span_close()))
    }

    pub(crate) fn peek(&self) -> Option<&TokenTree> {
        self.tokens.get(self.at)
    }

    pub(crate) fn peek_after(&self, skipped: usize) -> Option<&TokenTree> {
        self.tokens.get(self.at + skipped)
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The next token's span, or the end's.
    pub(crate) fn span(&self) -> Span {
        self.peek().map_or(self.end, TokenTree::span)
    }

    pub(crate) fn next(&mut self) -> Option<TokenTree> {
        let token = self.tokens.get(self.at).cloned();
        self.at += usize::from(token.is_some());
        token
    }

    /// Puts another token in the place of the next one.
    pub(crate) fn replace(&mut self, token: TokenTree) {
        if let Some(next) = self.tokens.get_mut(self.at) {
            *next = token;
        }
    }

    pub(crate) fn peek_punct(&self, punct: char) -> bool {
        self.punct_at(0, punct)
    }

    fn punct_at(&self, skipped: usize, punct: char) -> bool {
        matches!(self.peek_after(skipped), Some(TokenTree::Punct(found)) if found.as_char() == punct)
    }

    pub(crate) fn eat_punct(&mut self, punct: char) -> Option<Span> {
        let span = self.peek_punct(punct).then(|| self.span())?;
        self.at += 1;
        Some(span)
    }

    /// Two puncts of one operator. Their spacing is not asked for: tokens that have been through a `macro_rules!` are
    /// not always glued as they were written.
    pub(crate) fn peek_pair(&self, first: char, second: char) -> bool {
        self.punct_at(0, first) && self.punct_at(1, second)
    }

    /// The next two tokens.
    pub(crate) fn pair_span(&self) -> Blame {
        let first = self.span();
        Blame { first, last: self.peek_after(1).map_or(first, TokenTree::span) }
    }

    pub(crate) fn eat_pair(&mut self, first: char, second: char) -> Option<Blame> {
        if !self.peek_pair(first, second) {
            return None;
        }
        let first = self.span();
        self.at += 1;
        let last = self.span();
        self.at += 1;
        Some(Blame { first, last })
    }

    /// `::`, but not the `: ::` of `<ok: ::billing::charge>`.
    pub(crate) fn peek_path_separator(&self) -> bool {
        let joint = matches!(self.peek(), Some(TokenTree::Punct(colon)) if colon.spacing() == Spacing::Joint);
        joint && self.peek_pair(':', ':') && !self.punct_at(2, ':')
    }

    pub(crate) fn peek_ident(&self) -> Option<&Ident> {
        self.ident_after(0)
    }

    pub(crate) fn ident_after(&self, skipped: usize) -> Option<&Ident> {
        match self.peek_after(skipped) {
            Some(TokenTree::Ident(ident)) => Some(ident),
            _ => None,
        }
    }

    pub(crate) fn peek_word(&self, word: &str) -> bool {
        self.peek_ident().is_some_and(|ident| ident == word)
    }

    pub(crate) fn eat_word(&mut self, word: &str) -> Option<Span> {
        let span = self.peek_word(word).then(|| self.span())?;
        self.at += 1;
        Some(span)
    }

    pub(crate) fn peek_group(&self, delimiter: Delimiter) -> Option<&Group> {
        self.group_after(0, delimiter)
    }

    pub(crate) fn group_after(&self, skipped: usize, delimiter: Delimiter) -> Option<&Group> {
        match self.peek_after(skipped) {
            Some(TokenTree::Group(group)) if group.delimiter() == delimiter => Some(group),
            _ => None,
        }
    }

    pub(crate) fn eat_group(&mut self, delimiter: Delimiter) -> Option<Group> {
        let group = self.peek_group(delimiter)?.clone();
        self.at += 1;
        Some(group)
    }

    /// Everything up to the next `;`, which stays, or to the end.
    pub(crate) fn take_statement(&mut self) -> TokenStream {
        let mut taken = Vec::new();
        while !self.is_empty() && !self.peek_punct(';') {
            taken.extend(self.next());
        }
        taken.into_iter().collect()
    }

    /// The tokens that have not been read.
    pub(crate) fn rest(&mut self) -> TokenStream {
        let rest = self.tokens.get(self.at..).unwrap_or_default().iter().cloned().collect();
        self.at = self.tokens.len();
        rest
    }
}

/// The tokens without the invisible groups that a `macro_rules!` fragment comes in.
fn flatten(stream: TokenStream, into: &mut Vec<TokenTree>) {
    for token in stream {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => flatten(group.stream(), into),
            token => into.push(token),
        }
    }
}
