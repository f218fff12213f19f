//! Tokens to [`Program`]: every part that can be read is kept, and every other part is reported.

mod bound;
mod head;
mod label;
mod let_;
mod routes;
mod shape;
mod statement;
pub(crate) mod tokens;

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream, Parser as _};

use crate::ast::Program;
use crate::diagnostics::Diagnostics;
use crate::ir::Let;
use tokens::Tokens;

/// Reads an invocation of `workflow!`. `None` only if there is nothing to read.
pub fn parse(input: TokenStream, diagnostics: &mut Diagnostics) -> Option<Program> {
    let mut tokens = Tokens::new(input, None);
    let mut parser = Parser { diagnostics, lets: Vec::new(), keywords: Vec::new(), depth: 0, incomplete: false };
    let krate = parser.krate(&mut tokens);
    if tokens.is_empty() {
        parser
            .diagnostics
            .error(tokens.span(), "an empty workflow")
            .help("write its statements, `START => first => second`");
        return None;
    }
    if let Some(name) = tokens
        .peek_ident()
        .filter(|word| tokens.peek_after(1).is_none() && !["START", "END", "pub"].iter().any(|one| word == one))
    {
        parser
            .diagnostics
            .error(name, format!("`{name}` alone is no workflow"))
            .help(format!(
                "one with a name has a head and a graph: `{name}(Order) -> Receipt {{ START => first => second; }}`"
            ))
            .help(format!("in an expression it is a graph: `START => {name}`"));
        return None;
    }
    let head = parser.head(&mut tokens);
    let statements = match head.body {
        Some(body) => parser.statements(&mut Tokens::inside(&body), Place::Workflow),
        None if head.is_item => {
            parser.incomplete = true;
            Vec::new()
        }
        None => parser.statements(&mut tokens, Place::Workflow),
    };
    let Parser { lets, incomplete, .. } = parser;
    Some(Program {
        krate,
        item: head.item,
        signature: head.signature,
        limits: head.limits,
        given: head.given,
        lets,
        statements,
        incomplete,
    })
}

/// The state of one parse.
struct Parser<'d> {
    diagnostics: &'d mut Diagnostics,
    lets: Vec<Let>,
    /// The keywords that a `let` was to give to a node, which are reported.
    keywords: Vec<String>,
    /// How many shapes we are in.
    depth: usize,
    /// Set if a part was lost that leaves no [`Missing`](crate::ast::Shape::Missing) behind.
    incomplete: bool,
}

/// The place of statements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Workflow,
    /// Between `[` and `]`.
    Each,
}

/// Reads one `T` from the beginning of some tokens, and returns it with the rest.
fn leading<T: Parse>(tokens: TokenStream) -> syn::Result<(T, TokenStream)> {
    let parse = |input: ParseStream<'_>| Ok((input.parse::<T>()?, input.parse::<TokenStream>()?));
    parse.parse2(tokens)
}

/// A token as an error quotes it: a group by its first delimiter.
fn quoted(token: &TokenTree) -> String {
    use proc_macro2::Delimiter;
    match token {
        TokenTree::Group(group) => match group.delimiter() {
            Delimiter::Parenthesis => "(".into(),
            Delimiter::Brace => "{".into(),
            Delimiter::Bracket => "[".into(),
            Delimiter::None => String::new(),
        },
        token => token.to_string(),
    }
}
