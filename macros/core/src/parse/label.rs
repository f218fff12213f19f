//! `ok`, `low | medium`, `0..=9`, `"yes"`, `_`.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

use super::bound::is_bound;
use super::tokens::Tokens;
use super::{Parser, quoted};
use crate::ir::Label;

impl Parser<'_> {
    /// The labels of one arm; `None`, with the reason reported, if none can be read.
    pub(super) fn labels(&mut self, tokens: &mut Tokens) -> Option<Vec<Label>> {
        let mut labels = vec![self.label(tokens)?];
        while tokens.eat_punct('|').is_some() {
            labels.push(self.label(tokens)?);
        }
        if labels.len() > 1 {
            for label in &labels {
                if let Label::Default(span) = label {
                    self.diagnostics
                        .error(*span, "`_` takes all remaining labels, so it must be alone")
                        .help("leave out the labels beside it, or `_`");
                }
            }
        }
        Some(labels)
    }

    fn label(&mut self, tokens: &mut Tokens) -> Option<Label> {
        if let Some(mend) = range_with_a_name(tokens) {
            self.range_ends(tokens, mend);
            return None;
        }
        match tokens.peek() {
            Some(TokenTree::Ident(name)) => {
                let name = name.clone();
                if name == "true" || name == "false" {
                    return self.literal(tokens);
                }
                tokens.next();
                if name == "_" {
                    return Some(Label::Default(name.span()));
                }
                Some(self.variant(name, tokens))
            }
            Some(TokenTree::Literal(_)) => self.literal(tokens),
            Some(TokenTree::Punct(punct)) if ['-', '.'].contains(&punct.as_char()) => self.literal(tokens),
            _ => {
                self.no_label(tokens);
                None
            }
        }
    }

    /// Tokens beyond the variant's name are reported and skipped: `Verdict::Good`, `Ok(receipt)`.
    fn variant(&mut self, mut name: proc_macro2::Ident, tokens: &mut Tokens) -> Label {
        let first = name.span();
        let mut qualified = false;
        while tokens.peek_path_separator() && tokens.ident_after(2).is_some() {
            tokens.next();
            tokens.next();
            if let Some(TokenTree::Ident(last)) = tokens.next() {
                name = last;
            }
            qualified = true;
        }
        if qualified {
            self.diagnostics.error(first, "a label is the variant's name alone").help(format!("write `{name}`"));
        }
        if is_bound(tokens) {
            return Label::Name(name);
        }
        let payload = tokens.eat_group(Delimiter::Parenthesis).or_else(|| tokens.eat_group(Delimiter::Brace));
        if let Some(payload) = payload {
            self.diagnostics
                .error(payload.span(), format!("label `{name}` is written without what it carries"))
                .help("the node that it leads to takes the payload");
        }
        Label::Name(name)
    }

    /// A literal, or a range of literals that may be open at either end.
    fn literal(&mut self, tokens: &mut Tokens) -> Option<Label> {
        let span = tokens.span();
        let mut pattern = Vec::new();
        let low = bound(tokens, &mut pattern);
        let dots = tokens.peek_pair('.', '.');
        if dots {
            pattern.extend([tokens.next(), tokens.next()].into_iter().flatten());
            if tokens.peek_punct('=') {
                pattern.extend(tokens.next());
            }
            let high = bound(tokens, &mut pattern);
            if !low && !high {
                self.diagnostics.error(span, "a range without ends").help("for whatever is left write `_`");
                return None;
            }
        }
        if !low && !dots {
            self.no_label(tokens);
            return None;
        }
        // A last `.` is glued to the `:` behind it, and would be glued to the `=>` of the pattern's arm.
        if let Some(TokenTree::Punct(last)) = pattern.last_mut() {
            let mut apart = proc_macro2::Punct::new(last.as_char(), Spacing::Alone);
            apart.set_span(last.span());
            *last = apart;
        }
        Some(Label::Literal { text: spelled(&pattern), pattern: pattern.into_iter().collect::<TokenStream>(), span })
    }

    fn range_ends(&mut self, tokens: &mut Tokens, mend: String) {
        self.diagnostics.error(tokens.span(), "the ends of a range are literals").help(mend);
        // The rest of the range is part of it.
        while !tokens.is_empty()
            && (tokens.peek_path_separator() || ![':', ',', ';', '>'].into_iter().any(|end| tokens.peek_punct(end)))
        {
            if tokens.peek_path_separator() {
                tokens.next();
            }
            tokens.next();
        }
        if tokens.eat_punct(':').is_some() {
            self.chain(tokens);
        }
    }

    fn no_label(&mut self, tokens: &Tokens) {
        let span: Span = tokens.span();
        let text = tokens.peek().map(quoted);
        let message = match text.as_deref() {
            Some(text) => format!("a label is expected here, not `{text}`"),
            None => String::from("a label is expected here"),
        };
        self.diagnostics.error(span, message).help("a route map reads `<ok: a, err: b>`");
    }
}

/// Reads `7` or `-7`; returns whether it did.
fn bound(tokens: &mut Tokens, into: &mut Vec<TokenTree>) -> bool {
    let negative = tokens.peek_punct('-');
    let at = usize::from(negative);
    let is_value = match tokens.peek_after(at) {
        Some(TokenTree::Literal(_)) => true,
        Some(TokenTree::Ident(word)) => !negative && (word == "true" || word == "false"),
        _ => false,
    };
    if is_value {
        into.extend((0..=at).filter_map(|_| tokens.next()));
    }
    is_value
}

/// `..=LIMIT`, `i32::MIN..=0`, `0..=i32::MAX`: a range with an end that is a name, and what to write for it.
fn range_with_a_name(tokens: &Tokens) -> Option<String> {
    let text = |token: &TokenTree| token.to_string();
    let mut ends = [String::new(), String::new()];
    let (mut end, mut dots, mut at) = (0, String::new(), 0);
    while let Some(token) = tokens.peek_after(at) {
        match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                '.' => {
                    end = 1;
                    dots.push('.');
                }
                '=' if end == 1 && ends[1].is_empty() && !dots.ends_with('=') => dots.push('='),
                '-' => ends[end].push('-'),
                ':' if matches!(tokens.peek_after(at + 1), Some(TokenTree::Punct(next)) if next.as_char() == ':') => {
                    ends[end].push_str("::");
                    at += 1;
                }
                _ => break,
            },
            TokenTree::Group(_) => break,
            token => ends[end].push_str(&text(token)),
        }
        at += 1;
    }
    let is_name = |end: &String| end.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !dots.starts_with("..") || !ends.iter().any(is_name) {
        return None;
    }
    let [low, high] = &ends;
    Some(match (is_name(low), is_name(high)) {
        (true, false) if low.ends_with("MIN") => format!("write `{dots}{high}`"),
        (false, true) if high.ends_with("MAX") => format!("write `{low}..`"),
        _ => "write the number, as in `0..=9`; to compare with a constant, let a node return a `bool`".to_owned(),
    })
}

fn spelled(pattern: &[TokenTree]) -> String {
    pattern.iter().map(ToString::to_string).collect()
}
