//! The macros on arbitrary tokens: nothing panics, what comes out is Rust, and a program that is cut off anywhere keeps
//! the nodes that were written before the cut.

use std::collections::BTreeSet;
use std::str::FromStr;

use graphweft_macros_core::ir::{Flow, MentionTokens, NodeKind};
use graphweft_macros_core::{derive_route, expand_workflow, node, value, workflow, workflow_view};
use proc_macro2::{Delimiter, Group, LineColumn, Span, TokenStream, TokenTree};

/// Deeper groups are syn's and rustc's affair: both read them by recursion.
const DEEPEST: usize = 64;

/// So many cuts of one program are tried.
const CUTS: usize = 12;

/// Text to tokens, where it lexes, and through the macro that it begins with: `#[node(..)]`, `#[value]`,
/// `#[derive(Route)]`; `workflow!` for everything else.
pub fn parse(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(tokens) = TokenStream::from_str(text)
        && is_at_most(&tokens, DEEPEST)
    {
        expand(tokens);
    }
    // Or every text that was ever read would be kept for the spans that point into it.
    proc_macro2::extra::invalidate_current_thread_spans();
}

fn expand(tokens: TokenStream) {
    match attribute(&tokens) {
        Some((name, args, item)) if name == "node" => item_macro(node(args, item.clone()), item),
        Some((name, args, item)) if name == "value" => item_macro(value(args, item.clone()), item),
        Some((name, _, item)) if name == "derive" => drop(items(derive_route(item))),
        _ => program(tokens),
    }
}

/// The first attribute, what is in its parentheses, and the rest.
fn attribute(tokens: &TokenStream) -> Option<(String, TokenStream, TokenStream)> {
    let mut tokens = tokens.clone().into_iter();
    let Some(TokenTree::Punct(hash)) = tokens.next() else { return None };
    let Some(TokenTree::Group(brackets)) = tokens.next() else { return None };
    let mut inside = brackets.stream().into_iter();
    let Some(TokenTree::Ident(name)) = inside.next() else { return None };
    let args = match inside.next() {
        Some(TokenTree::Group(args)) => args.stream(),
        _ => TokenStream::new(),
    };
    (hash.as_char() == '#').then(|| (name.to_string(), args, tokens.collect()))
}

/// A macro that keeps the item it stands on: where that is Rust, so is the expansion.
fn item_macro(expansion: TokenStream, item: TokenStream) {
    if syn::parse2::<syn::Item>(item).is_ok() {
        items(expansion);
    }
}

fn items(expansion: TokenStream) -> syn::File {
    syn::parse2(expansion.clone()).unwrap_or_else(|error| panic!("{error}: no items are\n{expansion}"))
}

/// `workflow!`, and every cut of it that is worth a look.
pub(crate) fn program(tokens: TokenStream) {
    is_rust(expand_workflow(tokens.clone()));
    let group = |stream| TokenTree::Group(Group::new(Delimiter::Brace, stream));
    let halves = [tokens.clone(), TokenStream::new(), TokenStream::new()];
    workflow_view(halves.into_iter().map(group).collect());
    let (Some(whole), diagnostics) = workflow(tokens.clone()) else { return };
    if diagnostics.has_errors() {
        return;
    }
    let written = mentions(&whole.flow);
    let count = count(&tokens);
    for length in (0..count).step_by(count.div_ceil(CUTS).max(1)) {
        cut(&tokens, length, &written);
    }
}

/// Items, an expression, or nothing but errors, which may stand in the place of either.
fn is_rust(expansion: TokenStream) {
    let is_rust =
        syn::parse2::<syn::File>(expansion.clone()).is_ok() || syn::parse2::<syn::Expr>(expansion.clone()).is_ok();
    assert!(is_rust, "neither items nor an expression:\n{expansion}");
}

/// What an editor hands over while the program is being typed: it is refused in words or sound, and what had been
/// written of the whole is still there, in the flow and in the expansion.
fn cut(tokens: &TokenStream, length: usize, written: &BTreeSet<Written>) {
    let mut left = length;
    let mut end = None;
    let prefix = prefix(tokens.clone(), &mut left, &mut end);
    let expansion = expand_workflow(prefix.clone());
    is_rust(expansion.clone());
    let (kept, diagnostics) = workflow(prefix.clone());
    let is_sound = kept.as_ref().is_some_and(|kept| kept.flow.plan.is_some());
    assert!(is_sound || diagnostics.has_errors(), "nothing is told of {prefix}");
    let Some(end) = end else { return };
    let stands = |one: &&Written| one.behind <= position(end.start());
    let Some(kept) = kept else {
        assert!(!written.iter().any(|one| stands(&one)), "nothing is kept of {prefix}: {written:?}");
        return;
    };
    let found = mentions(&kept.flow);
    let emitted = identifiers(&expansion);
    for one in written.iter().filter(stands) {
        assert!(found.contains(one), "`{}` is lost in {prefix}", one.name);
        // An editor finds a node by one of the places where it is written: the others stand for edges that are not there.
        let is_emitted = |other: &&Written| other.name == one.name && emitted.contains(&other.last);
        assert!(
            !one.is_path || found.iter().any(|other| is_emitted(&other)),
            "`{}` is not in the expansion of {prefix}",
            one.name
        );
    }
}

/// A place in a text.
type Position = (usize, usize);

/// A node's name where it was written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Written {
    /// Where its last identifier begins, and where it is over.
    last: Position,
    behind: Position,
    name: String,
    is_path: bool,
}

fn position(at: LineColumn) -> Position {
    (at.line, at.column)
}

/// The names that are written in a flow and in its `[..]`s.
fn mentions(flow: &Flow) -> BTreeSet<Written> {
    let mut all = BTreeSet::new();
    for mention in &flow.mentions {
        let (name, last) = match &mention.tokens {
            MentionTokens::Boundary(name) => (name.to_string(), name.span()),
            MentionTokens::Path(path) => match path.segments.last() {
                Some(last) => (last.ident.to_string(), last.ident.span()),
                None => continue,
            },
            MentionTokens::Each(_) | MentionTokens::Implied(_) => continue,
        };
        let is_path = matches!(flow.nodes[mention.node].kind, NodeKind::Path(_));
        all.insert(Written { last: position(last.start()), behind: position(last.end()), name, is_path });
    }
    for node in &flow.nodes {
        if let NodeKind::Each(inner) = &node.kind {
            all.extend(mentions(inner));
        }
    }
    all
}

/// Where the identifiers of an expansion stand in the text that it was made of.
fn identifiers(tokens: &TokenStream) -> BTreeSet<Position> {
    let mut all = BTreeSet::new();
    for token in tokens.clone() {
        match token {
            TokenTree::Group(group) => all.extend(identifiers(&group.stream())),
            TokenTree::Ident(word) => drop(all.insert(position(word.span().start()))),
            _ => {}
        }
    }
    all
}

/// The tokens up to the one at `left`, with the groups that are open there closed; and the first that is gone.
fn prefix(tokens: TokenStream, left: &mut usize, gone: &mut Option<Span>) -> TokenStream {
    let mut kept = Vec::new();
    for token in tokens {
        if *left == 0 {
            gone.get_or_insert(token.span());
            break;
        }
        *left -= 1;
        kept.push(match token {
            TokenTree::Group(group) => {
                let mut closed = Group::new(group.delimiter(), prefix(group.stream(), left, gone));
                closed.set_span(group.span());
                TokenTree::Group(closed)
            }
            token => token,
        });
    }
    kept.into_iter().collect()
}

fn count(tokens: &TokenStream) -> usize {
    let inside = |token: TokenTree| match token {
        TokenTree::Group(group) => 1 + count(&group.stream()),
        _ => 1,
    };
    tokens.clone().into_iter().map(inside).sum()
}

fn is_at_most(tokens: &TokenStream, deep: usize) -> bool {
    tokens.clone().into_iter().all(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::None => deep > 0,
        TokenTree::Group(group) => deep > 0 && is_at_most(&group.stream(), deep - 1),
        _ => true,
    })
}
