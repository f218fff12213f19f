//! `let mirror = fetch(timeout = "5s");`, `let batch = Batch { size: 10 };`, `let batch: Batch = Batch::new(10);`

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use syn::{Expr, Path, PathArguments, Type, TypePath};

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
        let mut tokens = Tokens::new(tokens.take_statement(), Some(tokens.span()));
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
