//! `let mirror = fetch(timeout = "5s");`, `let batch = Batch { size: 10 };`, `let batch: Batch = Batch::new(10);`

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, ExprPath, Path, PathArguments, PathSegment, Type, TypePath};

use super::tokens::Tokens;
use super::{Parser, leading};
use crate::ast::path_text;
use crate::diagnostics::Blame;
use crate::ir::{Let, LetValue};
use crate::options;

impl Parser<'_> {
    /// Reads a `let` up to its `;`.
    pub(super) fn let_statement(&mut self, tokens: &mut Tokens) {
        let Some(keyword) = tokens.eat_word("let") else { return };
        let statement = match length_without_semicolon(tokens) {
            Some(length) => (0..length).filter_map(|_| tokens.next()).collect(),
            None => tokens.take_statement(),
        };
        let mut tokens = Tokens::new(statement, Some(tokens.span()));
        let name = self.let_name(keyword, &mut tokens);
        let value = name.as_ref().and_then(|name| self.let_value(name, &mut tokens));
        self.incomplete |= value.is_none();
        self.lets.extend(name.map(|name| Let { name, value: value.unwrap_or(LetValue::Unknown) }));
    }

    fn let_name(&mut self, keyword: Span, tokens: &mut Tokens) -> Option<Ident> {
        if let Some(span) = tokens.eat_word("mut") {
            self.diagnostics.error(span, "a node is not changed: leave out `mut`");
        }
        let name = match tokens.peek_ident() {
            Some(name) if syn::parse2::<Ident>(quote::quote!(#name)).is_ok() => name.clone(),
            Some(name) if name != "_" && is_named(tokens) => {
                self.diagnostics
                    .error(name, format!("`{name}` is a keyword and no name for a node"))
                    .help("choose another name");
                self.keywords.push(name.to_string());
                return None;
            }
            _ => {
                let blame = if tokens.is_empty() { keyword } else { tokens.span() };
                self.diagnostics.error(blame, "a `let` names one node").help("`let mirror = fetch(timeout = \"5s\");`");
                return None;
            }
        };
        tokens.next();
        if name == "START" || name == "END" {
            self.diagnostics.error(&name, format!("`{name}` has a meaning already")).help("choose another name");
            return None;
        }
        Some(name)
    }

    fn let_value(&mut self, name: &Ident, tokens: &mut Tokens) -> Option<LetValue> {
        let mut ty = None;
        if tokens.eat_punct(':').is_some() {
            let end = tokens.span();
            match leading::<Type>(tokens.rest()) {
                Ok((written, rest)) => {
                    ty = Some(written);
                    *tokens = Tokens::new(rest, Some(end));
                }
                Err(_) => {
                    self.diagnostics.error(end, format!("the type of `{name}` cannot be read"));
                    return None;
                }
            }
        }
        if tokens.eat_punct('=').is_none() {
            let blame = if tokens.is_empty() { name.span() } else { tokens.span() };
            self.diagnostics
                .error(blame, format!("missing value after `let {name} =`"))
                .help(format!("write a node behind `=`: `let {name} = fetch();`"));
            return None;
        }
        if tokens.is_empty() {
            self.diagnostics
                .error(name, format!("missing value after `let {name} =`"))
                .help(format!("write a node behind `=`: `let {name} = fetch();`"));
            return None;
        }
        match ty {
            Some(ty) => Some(LetValue::Value { ty, value: self.expression(tokens.rest())? }),
            None => self.untyped(name, tokens),
        }
    }

    fn expression(&mut self, tokens: TokenStream) -> Option<Expr> {
        syn::parse2(tokens).map_err(|error| self.diagnostics.syntax(&error)).ok()
    }

    /// A node with options or a struct literal; anything else needs its type written.
    fn untyped(&mut self, name: &Ident, tokens: &mut Tokens) -> Option<LetValue> {
        let written = tokens.rest();
        let whole = Blame::tokens(&written);
        if let Some((holder, node)) = held_node(&written) {
            let is_type =
                node.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase));
            let node = path_text(&node);
            let mend = match is_type {
                true => format!("for a value: `let {name}: {node} = {node};`"),
                false => format!("for a node under a second name: `let {name} = {node}();`"),
            };
            self.diagnostics.error(whole, format!("`{node}` is used as a node by itself, without {holder}")).help(mend);
            return None;
        }
        if let Some(value) = constructor(&written) {
            return Some(value);
        }
        if let Some((path, arguments)) = call(written.clone())
            && !by_value(&path, &arguments)
        {
            let (options, problems) = options::parse_let_options(arguments.stream());
            self.diagnostics.extend(problems);
            return Some(LetValue::Configured { path, options });
        }
        if let Some(literal) = generic_literal(written.clone()) {
            return Some(literal);
        }
        let text = written.to_string();
        match syn::parse2::<Expr>(written) {
            Ok(Expr::Struct(literal)) if literal.qself.is_none() => {
                let ty = Type::Path(TypePath { attrs: Vec::new(), qself: None, path: literal.path.clone() });
                Some(LetValue::Value { ty, value: Expr::Struct(literal) })
            }
            Ok(Expr::Path(node)) => {
                let node = path_text(&node.path);
                self.diagnostics
                    .error(whole, format!("`{node}` needs parentheses, or `{name}` its type"))
                    .help(format!("for a node under a second name: `let {name} = {node}();`"))
                    .help(format!("for a value: `let {name}: Type = {node};`"));
                None
            }
            Ok(Expr::Closure(_)) => {
                self.not_a_closure(whole, &name.to_string());
                None
            }
            Ok(_) => {
                let ty = name_of_type(&text);
                self.diagnostics
                    .error(whole, format!("the type of `{name}` is not written"))
                    .help(format!("`let {name}: {ty} = ..;`"));
                None
            }
            Err(error) => {
                self.diagnostics.syntax(&error);
                None
            }
        }
    }
}

/// Whether a word is followed by what a `let` gives that name to.
fn is_named(tokens: &Tokens) -> bool {
    matches!(tokens.peek_after(1), Some(TokenTree::Punct(next)) if ['=', ':'].contains(&next.as_char()))
}

/// How many tokens of `mirror = fetch() START => ..` belong to the `let` if the `;` behind it is missing: those before a name
/// that follows a node with its parentheses or braces.
fn length_without_semicolon(tokens: &Tokens) -> Option<usize> {
    let is_punct =
        |at, wanted| matches!(tokens.peek_after(at), Some(TokenTree::Punct(punct)) if punct.as_char() == wanted);
    let equals =
        (0..).take_while(|at| tokens.peek_after(*at).is_some() && !is_punct(*at, ';')).find(|at| is_punct(*at, '='))?;
    let mut at = equals + 1;
    while tokens.ident_after(at).is_some() || is_punct(at, ':') {
        at += 1;
    }
    let is_node = at > equals + 1
        && matches!(tokens.peek_after(at), Some(TokenTree::Group(group)) if group.delimiter() != Delimiter::Bracket);
    let word = tokens.ident_after(at + 1).filter(|_| is_node)?;
    // `x as T` is an expression.
    (word != "as").then_some(at + 1)
}

/// `path ( .. )` and nothing else.
fn call(tokens: TokenStream) -> Option<(Path, Group)> {
    let mut tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let Some(TokenTree::Group(arguments)) = tokens.pop() else { return None };
    let path: TokenStream = tokens.into_iter().collect();
    let path = syn::parse::Parser::parse2(Path::parse_mod_style, path).ok()?;
    (arguments.delimiter() == Delimiter::Parenthesis).then_some((path, arguments))
}

/// `Batch<u32> { size: 10 }`, as rustc proposes it for a `Batch { size: 10 }` that lacks its arguments. In Rust they stand
/// behind `::` there; the braces leave no doubt here.
fn generic_literal(tokens: TokenStream) -> Option<LetValue> {
    let (ty, rest) = leading::<Type>(tokens).ok()?;
    let Type::Path(TypePath { qself: None, path, .. }) = &ty else { return None };
    let mut fields = rest.into_iter();
    let Some(TokenTree::Group(braces)) = fields.next() else { return None };
    let is_generic = path.segments.iter().any(|segment| !segment.arguments.is_none());
    if !is_generic || braces.delimiter() != Delimiter::Brace || fields.next().is_some() {
        return None;
    }
    let mut name = path.clone();
    name.segments.iter_mut().for_each(|segment| segment.arguments = PathArguments::None);
    let value = syn::parse2(quote::quote!(#name #braces)).ok()?;
    Some(LetValue::Value { ty, value })
}

/// `Box::new(charge)`: what holds it, and the node.
fn held_node(tokens: &TokenStream) -> Option<(&'static str, Path)> {
    let Ok(Expr::Call(call)) = syn::parse2::<Expr>(tokens.clone()) else { return None };
    let Expr::Path(ExprPath { qself: None, path: function, .. }) = &*call.func else { return None };
    let mut names = function.segments.iter().rev().filter(|segment| segment.arguments.is_none());
    names.next().filter(|made| made.ident == "new")?;
    let holder = match names.next()?.ident.to_string().as_str() {
        "Box" => "a `Box`",
        "Arc" => "an `Arc`",
        "Rc" => "an `Rc`",
        _ => return None,
    };
    let mut arguments = call.args.iter();
    let node = match (arguments.next()?, arguments.next()) {
        (Expr::Path(ExprPath { qself: None, path, .. }), None) => path,
        (Expr::Struct(literal), None) if literal.qself.is_none() && literal.fields.is_empty() => &literal.path,
        _ => return None,
    };
    Some((holder, node.clone()))
}

/// `Batch(10)` and `Batch::new(10)`, which give a `Batch`, or so it seems: rustc says if another type comes.
fn constructor(tokens: &TokenStream) -> Option<LetValue> {
    let Ok(Expr::Call(call)) = syn::parse2::<Expr>(tokens.clone()) else { return None };
    let Expr::Path(ExprPath { qself: None, path: function, .. }) = &*call.func else { return None };
    let arguments = call.args.to_token_stream();
    let is_type = |segment: &PathSegment| segment.ident.to_string().starts_with(char::is_uppercase);
    let last = function.segments.last()?;
    let mut path = function.clone();
    if is_type(last) {
        // Options are words, and set by `=`; a constructor of a node is a type.
        let first = arguments.clone().into_iter().next();
        let is_value = match &first {
            Some(TokenTree::Ident(word)) => !options::is_option(&word.to_string()),
            first => first.is_some(),
        };
        if !is_value {
            return None;
        }
    } else {
        path.segments.pop();
        path.segments.pop_punct();
        path.segments.last().filter(|ty| is_type(ty) && ty.ident != "Self" && ty.ident != "Default")?;
    }
    for segment in &mut path.segments {
        if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
            arguments.colon2_token = None;
        }
    }
    let ty = Type::Path(TypePath { attrs: Vec::new(), qself: None, path });
    // The type is mentioned twice in the same way: if it is unknown, rustc says so once.
    let value = match is_type(last) {
        true => Expr::Call(call),
        false => {
            let (name, arguments) = (last, &call.args);
            syn::parse2(quote::quote!(<#ty>::#name(#arguments))).ok()?
        }
    };
    Some(LetValue::Value { ty, value })
}

/// Whether a call makes a value, as `Batch::new(10)` does, and does not set options: options are words, and a node's
/// path leads through modules.
fn by_value(path: &Path, arguments: &Group) -> bool {
    let through_a_type =
        path.segments.iter().rev().nth(1).is_some_and(|segment| {
            segment.ident.to_string().starts_with(char::is_uppercase) && segment.ident != "Self"
        });
    let first = arguments.stream().into_iter().next();
    through_a_type || !matches!(first, None | Some(TokenTree::Ident(_)))
}

/// The type that `Batch::new(10)` probably has.
fn name_of_type(text: &str) -> &str {
    let name = text.split([':', '(', ' ', '<', '.']).next().unwrap_or_default();
    if name.starts_with(char::is_uppercase) { name } else { "Type" }
}
