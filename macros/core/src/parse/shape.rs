//! `a`, `(a, b)`, `<ok: a, err: b>` and `[a]`.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Ident, Path};

use super::statement::is_closure;
use super::tokens::Tokens;
use super::{Parser, Place, quoted};
use crate::ast::{All, Chain, Each, Shape};
use crate::diagnostics::Blame;
use crate::names;

/// How deep shapes may be nested: deeper than any real workflow, and far from the end of the stack.
const DEEPEST: usize = 64;

impl Parser<'_> {
    /// The next shape; `None`, without an error and without reading, if none begins.
    pub(super) fn shape(&mut self, tokens: &mut Tokens) -> Option<Shape> {
        if self.depth >= DEEPEST {
            return self.too_deep(tokens);
        }
        self.depth += 1;
        let shape = self.shape_within_depth(tokens);
        self.depth -= 1;
        shape
    }

    fn shape_within_depth(&mut self, tokens: &mut Tokens) -> Option<Shape> {
        match tokens.peek()? {
            TokenTree::Ident(_) if is_closure(tokens) => None,
            TokenTree::Ident(_) => Some(self.node(tokens)),
            TokenTree::Punct(_) if tokens.peek_path_separator() => Some(self.node(tokens)),
            TokenTree::Punct(_) => {
                let open = tokens.eat_punct('<')?;
                Some(self.angled(open, tokens))
            }
            TokenTree::Group(group) => {
                let group = group.clone();
                tokens.next();
                match group.delimiter() {
                    Delimiter::Parenthesis => Some(self.all(&group)),
                    Delimiter::Bracket => Some(self.each(&group)),
                    Delimiter::Brace => Some(self.braced(&group)),
                    Delimiter::None => None,
                }
            }
            TokenTree::Literal(_) => None,
        }
    }

    fn too_deep(&mut self, tokens: &mut Tokens) -> Option<Shape> {
        let token = tokens.next()?;
        self.diagnostics
            .error(&token, "shapes are nested too deeply here")
            .help("give the inner part a statement of its own, or make it a workflow: a workflow is a node");
        tokens.take_statement();
        Some(Shape::Missing)
    }

    /// `charge`, `billing::charge`, `::shop::billing::charge`
    fn node(&mut self, tokens: &mut Tokens) -> Shape {
        let mut written = Vec::new();
        let mut sound = true;
        let mut separator = None;
        if tokens.peek_path_separator() {
            separator = Some(tokens.pair_span());
            written.extend([tokens.next(), tokens.next()].into_iter().flatten());
        }
        while let Some(name) = tokens.peek_ident() {
            let is_let = name == "let";
            let usable = self.usable(name);
            sound &= usable;
            written.extend(tokens.next());
            if !usable && !is_let {
                skip_rest_of_expression(tokens);
            }
            separator = None;
            if !tokens.peek_path_separator() {
                break;
            }
            separator = Some(tokens.pair_span());
            written.extend([tokens.next(), tokens.next()].into_iter().flatten());
        }
        if let Some(separator) = separator {
            if tokens.peek_punct('<') {
                self.generics(tokens);
            } else {
                self.diagnostics.error(separator, "the path stops here").help("write the node's name behind `::`");
            }
            return Shape::Missing;
        }
        if tokens.peek_punct(':') {
            let first = written.first().map_or_else(|| tokens.span(), TokenTree::span);
            let blame = Blame { first, last: tokens.span() };
            self.diagnostics.error(blame, "a label is only allowed in `<..>`").help("`node => <ok: a, err: b>`");
            tokens.take_statement();
            return Shape::Missing;
        }
        self.options_in_place(&written, tokens);
        match syn::parse::Parser::parse2(Path::parse_mod_style, written.into_iter().collect::<TokenStream>()) {
            Ok(path) if sound => Shape::Node(path),
            _ => Shape::Missing,
        }
    }

    /// Whether a word can be part of a node's path; reports the error if not.
    fn usable(&mut self, name: &Ident) -> bool {
        if ["crate", "self", "super"].iter().any(|word| name == word) {
            return true;
        }
        if name == "_" {
            self.diagnostics.error(name, "`_` is a label and not a node").help("name the node that runs here");
            return false;
        }
        // `$crate` is one identifier that no parser of Rust takes back.
        if name.to_string().starts_with('$') || syn::parse2::<Ident>(quote::quote!(#name)).is_ok() {
            return true;
        }
        if self.keywords.contains(&name.to_string()) {
            return false;
        }
        let mut help = String::from("a node is named by the path of a `#[node]` function");
        if name == "let" {
            help = String::from("a `let` is a statement of its own; is a `;` missing before it?");
        }
        if ["if", "match"].iter().any(|word| name == word) {
            help = String::from("a node decides by its label: `node => <true: a, false: b>`");
        }
        self.diagnostics.error(name, format!("`{name}` is a keyword and not a node")).help(help);
        false
    }

    fn generics(&mut self, tokens: &mut Tokens) {
        let open = tokens.span();
        let mut deep = 0;
        while !tokens.is_empty() && !tokens.peek_punct(';') {
            deep += i32::from(tokens.peek_punct('<'));
            deep -= i32::from(tokens.peek_punct('>'));
            tokens.next();
            if deep == 0 {
                break;
            }
        }
        while tokens.peek_path_separator() && tokens.ident_after(2).is_some() {
            (0..3).for_each(|_| drop(tokens.next()));
        }
        self.diagnostics
            .error(open, "a node is named without generics")
            .help("give the type a name in a `let`: `let batch: Batch<Item> = Batch::new();`");
    }

    /// `fetch(timeout = "5s")` within a chain. A group that holds no option is the next statement's, whose `;` is
    /// missing.
    fn options_in_place(&mut self, path: &[TokenTree], tokens: &mut Tokens) {
        if self.call_in_place(path, tokens) {
            return;
        }
        let Some(group) = tokens.peek_group(Delimiter::Parenthesis) else { return };
        if !looks_like_options(&group.stream()) {
            return;
        }
        let blame = Blame { first: group.span(), last: group.span() };
        let options = group.to_string();
        let path: TokenStream = path.iter().cloned().collect();
        let name = match path.clone().into_iter().last() {
            Some(name) => name.to_string(),
            None => return,
        };
        let path = path.to_string().replace(' ', "");
        self.diagnostics
            .error(blame, format!("`{name}` is named without parentheses in a graph"))
            .help(format!("options are given by a `let` before it is used: `let {name} = {path}{options};`"));
        tokens.next();
    }

    /// `charge(order)` and `Batch { size: 10 }` within a chain: reports it, and reads over it.
    fn call_in_place(&mut self, path: &[TokenTree], tokens: &mut Tokens) -> bool {
        let (Some(name), Some(TokenTree::Group(group))) = (path.last(), tokens.peek()) else { return false };
        let mut inside = group.stream().into_iter();
        let is_type = name.to_string().starts_with(char::is_uppercase);
        let is_value = match group.delimiter() {
            Delimiter::Parenthesis => {
                is_type && matches!(inside.next(), Some(TokenTree::Literal(_)))
                    || is_adjacent(name, group) && !looks_like_options(&group.stream())
            }
            // An arm leads to no literal.
            Delimiter::Brace => is_type && inside.nth(2).is_some_and(|token| matches!(token, TokenTree::Literal(_))),
            _ => false,
        };
        if !is_value {
            return false;
        }
        let (first, last) = (path.first().map_or(name.span(), TokenTree::span), group.span());
        let path: TokenStream = path.iter().cloned().collect();
        let path = path.to_string().replace(' ', "");
        let blame = Blame { first, last };
        if is_type {
            let variable = names::snake_case(&name.to_string());
            let space = if group.delimiter() == Delimiter::Brace { " " } else { "" };
            self.diagnostics
                .error(blame, "a graph names its nodes, and this is a value")
                .help(format!("give it a name before it is used: `let {variable} = {path}{space}{group};`"));
        } else {
            self.diagnostics
                .error(blame, format!("`{path}` is called, and a graph only names its nodes"))
                .help(format!("the edge brings the input: `.. => {path}`"));
            // Its arguments may have been meant as nodes.
            self.incomplete = true;
        }
        tokens.next();
        true
    }

    /// `(a, b)`; `(a)` is `a`.
    fn all(&mut self, group: &Group) -> Shape {
        let mut tokens = Tokens::inside(group);
        let mut places = Vec::new();
        if tokens.is_empty() {
            self.diagnostics.error(group.span(), "an empty group").help("write what runs at once: `(a, b)`");
            return Shape::Missing;
        }
        while !tokens.is_empty() {
            let before = tokens.position();
            let place = self.chain(&mut tokens);
            if place.is_none() && self.refuse_closure(&tokens) {
                tokens.rest();
            } else if place.is_none() {
                let blame = tokens.span();
                self.diagnostics.error(blame, "a node is expected here").help("a group reads `(a, b)`");
            }
            places.push(place.unwrap_or(Chain { first: Shape::Missing, links: Vec::new() }));
            if tokens.eat_punct(',').is_some() || tokens.is_empty() {
                continue;
            }
            if tokens.peek_punct('|') {
                self.bar_in_group(&mut tokens);
                places.push(Chain { first: Shape::Missing, links: Vec::new() });
            } else if tokens.position() != before {
                self.not_in_list(&tokens, "group", "(a, b)");
            }
            while !tokens.is_empty() && tokens.eat_punct(',').is_none() {
                tokens.next();
            }
        }
        match <[Chain; 1]>::try_from(places) {
            Ok([only]) if only.is_single() => only.first,
            Ok(only) => Shape::All(All { places: only.into(), span: group.span() }),
            Err(places) => Shape::All(All { places, span: group.span() }),
        }
    }

    fn bar_in_group(&mut self, tokens: &mut Tokens) {
        self.diagnostics
            .error(tokens.span(), "`|` is only allowed at the beginning of a statement")
            .help("`a | b => d;` is a statement of its own, in which `d` runs for each that arrives");
    }

    pub(super) fn not_in_list(&mut self, tokens: &Tokens, list: &str, example: &str) {
        let Some(token) = tokens.peek() else { return };
        if let TokenTree::Ident(_) | TokenTree::Group(_) = token {
            let message = format!("`,` or `=>` is missing before `{}`", quoted(token));
            self.diagnostics.error(token, message).help(format!("a {list} reads `{example}`"));
            return;
        }
        if tokens.peek_punct('|') {
            self.diagnostics
                .error(token, "`|` is only allowed at the beginning of a statement")
                .help("an arm that leads to several nodes reads `label: (a, b)`");
            return;
        }
        self.diagnostics
            .error(token, format!("`{}` is not expected here", quoted(token)))
            .help(format!("a {list} reads `{example}`"));
    }

    /// `[a => b]`
    fn each(&mut self, group: &Group) -> Shape {
        let mut tokens = Tokens::inside(group);
        if tokens.is_empty() {
            self.diagnostics.error(group.span(), "an empty `[]`").help("write what runs for every item: `[node]`");
            return Shape::Missing;
        }
        let outside = std::mem::replace(&mut self.incomplete, false);
        let lets = self.lets.len();
        let statements = self.statements(&mut tokens, Place::Each);
        for private in self.lets.get(lets..).unwrap_or_default() {
            self.diagnostics
                .error(&private.name, "a `let` is not allowed inside `[..]`")
                .help("move it to the workflow's own statements: what it names can be used in here");
        }
        let incomplete = std::mem::replace(&mut self.incomplete, outside);
        Shape::Each(Each { statements, span: group.span(), incomplete })
    }
}

fn looks_like_options(inside: &TokenStream) -> bool {
    let mut inside = inside.clone().into_iter();
    match (inside.next(), inside.next(), inside.next()) {
        (None, ..) => true,
        (Some(TokenTree::Ident(_)), Some(TokenTree::Punct(equals)), after) => {
            let arrow = matches!(after, Some(TokenTree::Punct(angle)) if angle.as_char() == '>');
            equals.as_char() == '=' && !arrow
        }
        _ => false,
    }
}

/// Whether no space is between a name and a group, as in a call. Only a compiler knows.
fn is_adjacent(name: &TokenTree, group: &Group) -> bool {
    if !proc_macro::is_available() {
        return false;
    }
    let (end, start) = (name.span().unwrap().end(), group.span_open().unwrap().start());
    (end.line(), end.column()) == (start.line(), start.column())
}

/// Skips the expression of a keyword: `if is_open { a } else { b }`.
fn skip_rest_of_expression(tokens: &mut Tokens) {
    while tokens.peek().is_some_and(|token| !matches!(token, TokenTree::Punct(_))) {
        tokens.next();
    }
}
