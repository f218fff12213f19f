//! `ok`, `low | medium`, `0..=9`, `"yes"`, `_`.

use proc_macro2::{Delimiter, Spacing, Span, TokenStream, TokenTree};

use super::bound::is_bound;
use super::tokens::Tokens;
use super::{Parser, quoted};
use crate::diagnostics::Blame;
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
        if let Some((name, mend)) = range_with_a_name(tokens) {
            self.range_ends(tokens, name, mend);
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

    fn range_ends(&mut self, tokens: &mut Tokens, name: Blame, mend: String) {
        self.diagnostics.error(name, "the ends of a range are literals").help(mend);
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

/// `..=LIMIT`, `i32::MIN..=0`, `0..=i32::MAX`: a range with an end that is a name. Returns the tokens of that end, of both if
/// both are names, and what to write for it.
fn range_with_a_name(tokens: &Tokens) -> Option<(Blame, String)> {
    let mut ends = [RangeEnd::default(), RangeEnd::default()];
    let (mut end, mut dots, mut at) = (0, String::new(), 0);
    while let Some(token) = tokens.peek_after(at) {
        match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                '.' => {
                    end = 1;
                    dots.push('.');
                }
                '=' if end == 1 && ends[1].text.is_empty() && !dots.ends_with('=') => dots.push('='),
                '-' => ends[end].push("-", token),
                ':' if matches!(tokens.peek_after(at + 1), Some(TokenTree::Punct(next)) if next.as_char() == ':') => {
                    ends[end].push("::", token);
                    at += 1;
                }
                _ => break,
            },
            TokenTree::Group(_) => break,
            token => ends[end].push(&token.to_string(), token),
        }
        at += 1;
    }
    let [low, high] = &ends;
    if !dots.starts_with("..") {
        return None;
    }
    let (low, high) = (&low.text, &high.text);
    Some(match (ends[0].name(), ends[1].name()) {
        (Some(name), None) if low.ends_with("MIN") => (name, format!("write `{dots}{high}`")),
        (None, Some(name)) if high.ends_with("MAX") => (name, format!("write `{low}..`")),
        (None, None) => return None,
        (first, last) => {
            let (first, last) = (first.or(last)?, last.or(first)?);
            let mend = "write the number, as in `0..=9`; to compare with a constant, let a node return a `bool`";
            (Blame { first: first.first, last: last.last }, mend.to_owned())
        }
    })
}

/// The tokens of one end of a range.
#[derive(Default)]
struct RangeEnd {
    text: String,
    blame: Option<Blame>,
}

impl RangeEnd {
    fn push(&mut self, text: &str, token: &TokenTree) {
        self.text.push_str(text);
        let first = self.blame.map_or_else(|| token.span(), |blame| blame.first);
        self.blame = Some(Blame { first, last: token.span() });
    }

    /// Its tokens, if it is a name.
    fn name(&self) -> Option<Blame> {
        self.blame.filter(|_| self.text.starts_with(|first: char| first.is_alphabetic() || first == '_'))
    }
}

fn spelled(pattern: &[TokenTree]) -> String {
    pattern.iter().map(ToString::to_string).collect()
}
