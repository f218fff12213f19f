//! `<ok: a, err: b>`, and `{ok: a, err: b}`, which means the same.

use proc_macro2::{Group, Span, TokenTree};

use super::Parser;
use super::tokens::Tokens;
use crate::ast::{ArmShape, Chain, OneOf, Shape};
use crate::diagnostics::Blame;
use crate::ir::Label;
use crate::names;

impl Parser<'_> {
    pub(super) fn angled(&mut self, open: Span, tokens: &mut Tokens) -> Shape {
        let (arms, lost) = self.arms(tokens, Closing::Angle);
        let close = tokens.eat_punct('>');
        if close.is_none() {
            self.diagnostics.error(open, "this `<` is never closed").help("a route map reads `<ok: a, err: b>`");
        }
        let blame = Blame { first: open, last: close.unwrap_or(open) };
        self.one_of(arms, blame, lost || close.is_none())
    }

    pub(super) fn braced(&mut self, group: &Group) -> Shape {
        let (arms, lost) = self.arms(&mut Tokens::inside(group), Closing::Brace);
        self.one_of(arms, group.span().into(), lost)
    }

    fn one_of(&mut self, mut arms: Vec<ArmShape>, blame: Blame, incomplete: bool) -> Shape {
        self.misspelled_spent(&mut arms);
        if arms.is_empty() {
            if !incomplete {
                self.diagnostics
                    .error(blame, "an empty route map")
                    .help("write an arm for every label: `<ok: a, err: b>`");
            }
            return Shape::Missing;
        }
        Shape::OneOf(OneOf { arms, blame, incomplete })
    }

    /// The arms, and whether one of them was lost.
    fn arms(&mut self, tokens: &mut Tokens, closing: Closing) -> (Vec<ArmShape>, bool) {
        let mut arms = Vec::new();
        let mut lost = false;
        while !closing.is_at(tokens) {
            match self.arm(tokens, closing) {
                Some(arm) => arms.push(arm),
                None => lost = true,
            }
            if tokens.eat_punct(',').is_some() {
                continue;
            }
            if begins_arm_behind_semicolon(tokens) {
                self.diagnostics.error(tokens.span(), "arms are separated by `,`, not by `;`");
                tokens.next();
                continue;
            }
            if closing.is_at(tokens) {
                continue;
            }
            if arms.len() + usize::from(lost) > 0 && !lost {
                self.not_in_list(tokens, "route map", "<ok: a, err: b>");
            }
            lost = true;
            skip_arm(tokens, closing);
        }
        (arms, lost)
    }

    fn arm(&mut self, tokens: &mut Tokens, closing: Closing) -> Option<ArmShape> {
        let labels = self.labels(tokens)?;
        let bound = self.bound(tokens);
        let colon = if tokens.peek_path_separator() {
            self.diagnostics.error(tokens.span(), "a label is followed by `:`, not by `::`");
            return None;
        } else if let Some(colon) = tokens.eat_punct(':') {
            colon
        } else if let Some(arrow) = tokens.eat_pair('=', '>') {
            self.diagnostics.error(arrow, "a label is followed by `:`").help("`<ok: a, err: b>`");
            arrow.first
        } else if tokens.peek_word("if") {
            self.diagnostics
                .error(tokens.span(), "a route map has no guards")
                .help("decide in the node, and let it return a label for each way");
            while !tokens.is_empty() && !tokens.peek_punct(':') && !tokens.peek_punct(',') && !tokens.peek_punct(';') {
                tokens.next();
            }
            // The target of the arm is read, so that it does not count as the part behind the map.
            if tokens.eat_punct(':').is_some() {
                self.chain(tokens);
            }
            return None;
        } else {
            let label = labels.last().map(|label| label.text()).unwrap_or_default();
            self.diagnostics
                .error(
                    labels.last().map_or_else(|| tokens.span(), |label| label.span()),
                    format!("`{label}` leads nowhere"),
                )
                .help(format!("an arm is a label and a node: `{label}: node`"));
            return None;
        };
        let chain = self.chain(tokens).unwrap_or_else(|| {
            let at_end = closing.is_at(tokens) || tokens.peek_punct(',') || tokens.peek_punct(';');
            let blame = if at_end { colon } else { tokens.span() };
            self.diagnostics.error(blame, "a node is missing behind this label").help("`label: node`, or `label: END`");
            Chain { first: Shape::Missing, links: Vec::new() }
        });
        let bound = bound.or_else(|| self.bound_behind_target(tokens));
        Some(ArmShape { labels, bound, colon, chain })
    }

    /// `<redo (at most 5): draft, good: publish, spend: give_up>`: a bound needs an arm `spent`, and one is nearly called so.
    fn misspelled_spent(&mut self, arms: &mut [ArmShape]) {
        let labels = || arms.iter().flat_map(|arm| &arm.labels);
        if !arms.iter().any(|arm| arm.bound.is_some()) || labels().any(Label::is_spent) {
            return;
        }
        let near = |label: &&mut Label| names::nearest(&label.key(), ["spent"]).is_some();
        let Some(Label::Name(name)) = arms.iter_mut().flat_map(|arm| &mut arm.labels).find(near) else { return };
        self.diagnostics
            .error(&*name, format!("a bound is followed by the arm `spent`, and there is only `{name}`"))
            .help("write `spent: node`, or `spent: END`");
        *name = proc_macro2::Ident::new("spent", name.span());
    }
}

/// What ends a route map.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing {
    Angle,
    Brace,
}

impl Closing {
    /// A `;` ends an angled map too: it is only there if `>` was forgotten.
    fn is_at(self, tokens: &Tokens) -> bool {
        tokens.is_empty() || self == Closing::Angle && (tokens.peek_punct('>') || tokens.peek_punct(';'))
    }
}

/// Whether `; label:` comes, which begins no statement.
fn begins_arm_behind_semicolon(tokens: &Tokens) -> bool {
    let is_colon = |at| matches!(tokens.peek_after(at), Some(TokenTree::Punct(colon)) if colon.as_char() == ':');
    tokens.peek_punct(';') && tokens.ident_after(1).is_some() && is_colon(2) && !is_colon(3)
}

/// Steps to the next `,` of this route map, and over it, or to its end.
fn skip_arm(tokens: &mut Tokens, closing: Closing) {
    let mut deep = 0_usize;
    while !tokens.is_empty() {
        if deep == 0 && closing.is_at(tokens) || closing == Closing::Angle && tokens.peek_punct(';') {
            return;
        }
        if deep == 0 && tokens.eat_punct(',').is_some() {
            return;
        }
        if tokens.eat_pair('=', '>').is_some() || tokens.eat_pair('-', '>').is_some() {
            continue;
        }
        if tokens.peek_punct('<') {
            deep += 1;
        } else if tokens.peek_punct('>') {
            deep = deep.saturating_sub(1);
        }
        tokens.next();
    }
}
