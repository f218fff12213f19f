//! The part before the statements: docs, attributes, visibility, name and signature.

use proc_macro2::{Delimiter, Group, Ident, Spacing, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Path, Token, Type, Visibility};

use super::tokens::Tokens;
use super::{Parser, leading};
use crate::diagnostics::Blame;
use crate::ir::{Item, Signature};
use crate::options::{RunLimits, is_limit, parse_limits};

/// The head of an invocation.
#[derive(Default)]
pub(super) struct Head {
    pub(super) item: Option<Item>,
    pub(super) signature: Option<Signature>,
    pub(super) limits: RunLimits,
    /// The keys of the state that are given at the start.
    pub(super) given: Vec<Path>,
    /// The `{ .. }` behind a signature.
    pub(super) body: Option<Group>,
    /// Whether there is a head at all; bare statements have none.
    pub(super) is_item: bool,
}

impl Parser<'_> {
    /// `@crate path ;`, which the wrapper puts in front of the user's tokens.
    pub(super) fn krate(&mut self, tokens: &mut Tokens) -> Path {
        let default = || syn::parse_quote!(::graphweft);
        let prefixed = tokens.peek_punct('@') && tokens.ident_after(1).is_some_and(|word| word == "crate");
        if !prefixed {
            return default();
        }
        tokens.next();
        tokens.next();
        let path = syn::parse2(tokens.take_statement());
        tokens.eat_punct(';');
        path.unwrap_or_else(|_| default())
    }

    pub(super) fn head(&mut self, tokens: &mut Tokens) -> Head {
        let written = attribute_tokens(tokens);
        let (limits, attributes): (Vec<_>, Vec<_>) = self.attributes(written).into_iter().partition(is_limit);
        let (limits, wrong) = parse_limits(&limits);
        self.diagnostics.extend(wrong);
        let (given, attributes): (Vec<_>, Vec<_>) =
            attributes.into_iter().partition(|attribute| attribute.path().is_ident("given"));
        let given = given.iter().flat_map(|attribute| self.given(attribute)).collect();
        Head { limits, given, ..self.behind_attributes(tokens, attributes) }
    }

    /// `#[given(OWNER, BUDGET)]`
    fn given(&mut self, attribute: &Attribute) -> Vec<Path> {
        let list = match &attribute.meta {
            Meta::List(list) => list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated).ok(),
            Meta::Path(_) | Meta::NameValue(_) => None,
        };
        match list.filter(|list| !list.is_empty()) {
            Some(list) => list.into_iter().collect(),
            None => {
                self.diagnostics
                    .error(
                        Blame::tokens(attribute),
                        "`#[given(..)]` names the keys of the state that a run is given at its start",
                    )
                    .help("write the constants that are the keys, `#[given(OWNER, BUDGET)]`");
                Vec::new()
            }
        }
    }

    fn behind_attributes(&mut self, tokens: &mut Tokens, attributes: Vec<Attribute>) -> Head {
        let start: TokenStream = attributes.iter().map(|attribute| attribute.to_token_stream()).collect();
        if !start.is_empty() && begins_statement(tokens) {
            self.diagnostics
                .error(Blame::tokens(start), "docs and attributes belong to a workflow with a name")
                .help("`pub checkout(Order) -> Receipt { START => .. }`");
            return Head::default();
        }
        let visibility = self.visibility(tokens);
        let mut superfluous = None;
        while ["async", "fn"].iter().any(|word| tokens.peek_word(word)) || has_a_word_before_its_name(tokens) {
            superfluous = superfluous.or(tokens.next());
        }
        if let Some(word) = &superfluous {
            self.diagnostics
                .error(word, format!("a workflow is written without `{word}`"))
                .help("its head is a name and types: `pub checkout(Order) -> Receipt { .. }`");
        }
        let names_inputs = if superfluous.is_some() { NamedInputs::Told } else { NamedInputs::Refused };
        let surely = !start.is_empty() || !matches!(visibility, Visibility::Inherited) || superfluous.is_some();
        let name = match tokens.peek_ident() {
            Some(name) if surely || begins_item(tokens) => Some(name.clone()),
            _ => None,
        };
        if let Some(name) = name {
            tokens.next();
            let name = self.nameable(name);
            let (signature, body) = self.signature(tokens, &name, names_inputs);
            let item = Some(Item { attributes, visibility, name });
            return Head { item, signature, body, is_item: true, ..Head::default() };
        }
        if surely && superfluous.is_none() && tokens.peek_group(Delimiter::Parenthesis).is_none() {
            self.diagnostics
                .error(tokens.span(), "a workflow needs a name here")
                .help("`pub checkout(Order) -> Receipt { .. }`");
            let span = tokens.span();
            let body = tokens.eat_group(Delimiter::Brace);
            let item = Some(Item { attributes, visibility, name: unnamed(span) });
            let signature = Some(Signature::unknown(span));
            return Head { item, signature, is_item: true, body, ..Head::default() };
        }
        if surely || begins_signature(tokens) {
            if surely {
                let blame = tokens.span();
                self.diagnostics
                    .error(blame, "a workflow with attributes or a visibility needs a name")
                    .help("`pub checkout(Order) -> Receipt { .. }`");
            }
            let unnamed_workflow = Ident::new("workflow", tokens.span());
            let (signature, body) = self.signature(tokens, &unnamed_workflow, names_inputs);
            let item = surely.then(|| Item { attributes, visibility, name: unnamed(unnamed_workflow.span()) });
            return Head { item, signature, body, is_item: true, ..Head::default() };
        }
        Head::default()
    }

    /// The name, unless Rust would not take it: then nothing of the expansion could be read.
    fn nameable(&mut self, name: Ident) -> Ident {
        if syn::parse2::<Ident>(name.to_token_stream()).is_ok() {
            return name;
        }
        self.diagnostics
            .error(&name, format!("`{name}` is a keyword and no name for a workflow"))
            .help("choose another one");
        unnamed(name.span())
    }

    /// `(Order, Other) -> Out { .. }`
    fn signature(
        &mut self,
        tokens: &mut Tokens,
        name: &Ident,
        names_inputs: NamedInputs,
    ) -> (Option<Signature>, Option<Group>) {
        let mut generics = TokenStream::new();
        if let Some(angle) = tokens.eat_punct('<') {
            self.diagnostics
                .error(angle, format!("workflow `{name}` has generics, and a workflow can have none"))
                .help("write the types out");
            while !tokens.is_empty() && tokens.peek_group(Delimiter::Parenthesis).is_none() {
                generics.extend(tokens.next());
            }
        }
        let mut signature = match tokens.eat_group(Delimiter::Parenthesis) {
            Some(inputs) => {
                let (mut read, mut knows_inputs) = self.inputs(&inputs, names_inputs);
                if mentions(inputs.stream(), &generics) {
                    (read, knows_inputs) = (Vec::new(), false);
                }
                Signature { inputs: read, output: None, knows_inputs, knows_output: true, span: inputs.span() }
            }
            None => {
                self.diagnostics.error(name, format!("workflow `{name}` does not say what it takes")).help(format!(
                    "write its input behind the name: `{name}(Order)`, or `{name}()` where it takes none"
                ));
                if tokens.is_empty() {
                    // The reported error includes that the rest of the head is missing.
                    return (Some(Signature::unknown(name.span())), None);
                }
                Signature { output: None, knows_output: true, ..Signature::unknown(name.span()) }
            }
        };
        if let Some(arrow) = tokens.eat_pair('-', '>') {
            let behind = tokens.rest();
            match leading::<Type>(behind.clone()) {
                Ok((output, rest)) => {
                    let is_known = !mentions(output.to_token_stream(), &generics) && self.has_a_name(&output);
                    signature.output = Some(output);
                    if !is_known {
                        signature.loses_output();
                    }
                    *tokens = Tokens::new(rest, Some(tokens.span()));
                }
                Err(_) => {
                    self.diagnostics
                        .error(arrow, "a type is missing behind `->`")
                        .help("a workflow that gives nothing is written without `->`");
                    self.incomplete = true;
                    signature.loses_output();
                    *tokens = Tokens::new(behind, Some(tokens.span()));
                    while !tokens.is_empty() && tokens.peek_group(Delimiter::Brace).is_none() {
                        tokens.next();
                    }
                    let body = tokens.eat_group(Delimiter::Brace);
                    signature.knows_inputs &= body.is_some() || !signature.inputs.is_empty();
                    return (Some(signature), body);
                }
            }
        } else if let Some(arrow) = tokens.eat_pair('=', '>') {
            self.diagnostics
                .error(arrow, "the output of a workflow is written after `->`")
                .help(format!("`{name}(..) -> Receipt {{ .. }}`"));
            if let Ok((output, rest)) = leading::<Type>(tokens.rest()) {
                signature.output = Some(output);
                *tokens = Tokens::new(rest, None);
            }
        }
        let body = self.body(tokens, name);
        if body.is_none() {
            // A head in the middle of typing: what is not there yet is not `()`.
            signature.knows_inputs &= !signature.inputs.is_empty();
            if signature.output.is_none() {
                signature.loses_output();
            }
        }
        (Some(signature), body)
    }

    fn body(&mut self, tokens: &mut Tokens, name: &Ident) -> Option<Group> {
        let Some(body) = tokens.eat_group(Delimiter::Brace) else {
            self.diagnostics
                .error(tokens.span(), format!("the graph of `{name}` is missing"))
                .help("write it behind the signature: `{ START => first => second; }`");
            return None;
        };
        if let Some(extra) = tokens.peek() {
            self.diagnostics
                .error(extra, format!("nothing may follow the graph of `{name}`"))
                .help("each workflow has a `workflow!` of its own");
        }
        Some(body)
    }

    /// The types of the inputs, and whether that is all of them.
    fn inputs(&mut self, group: &Group, names_inputs: NamedInputs) -> (Vec<Type>, bool) {
        let mut inputs = Vec::new();
        let mut known = true;
        let mut tokens = Tokens::inside(group);
        while !tokens.is_empty() {
            let named = tokens.ident_after(0).is_some()
                && matches!(tokens.peek_after(1), Some(TokenTree::Punct(colon))
                    if colon.as_char() == ':' && colon.spacing() == Spacing::Alone);
            if named {
                if names_inputs == NamedInputs::Refused {
                    self.diagnostics
                        .error(tokens.span(), "the inputs of a workflow have types and no names")
                        .help("write the type alone, `checkout(Order)`");
                }
                tokens.next();
                tokens.next();
            }
            let end = tokens.span();
            match leading::<Type>(tokens.rest()) {
                Ok((input, rest)) => {
                    if self.has_a_name(&input) {
                        inputs.push(input);
                    } else {
                        known = false;
                    }
                    tokens = Tokens::new(rest, Some(group.span_close()));
                    if !tokens.is_empty() && tokens.eat_punct(',').is_none() {
                        self.diagnostics.error(tokens.span(), "a `,` is missing between the inputs");
                        known = false;
                        break;
                    }
                }
                Err(_) => {
                    self.diagnostics.error(end, "not a type").help("a workflow's inputs are types: `checkout(Order)`");
                    known = false;
                    break;
                }
            }
        }
        (inputs, known)
    }

    fn has_a_name(&mut self, ty: &Type) -> bool {
        let is_impl = matches!(ty, Type::ImplTrait(_));
        if is_impl {
            self.diagnostics
                .error(Blame::tokens(ty), "a workflow cannot take or give an `impl Trait`")
                .help("name the type: it is written to the run's record");
        }
        let lends = !is_impl && lent(&ty.to_token_stream());
        if lends {
            self.diagnostics
                .error(Blame::tokens(ty), "a workflow owns what it takes and gives")
                .help("take and give owned values, `String` for `&str`, `Vec<T>` for `&[T]`");
        }
        !is_impl && !lends
    }

    fn attributes(&mut self, tokens: TokenStream) -> Vec<Attribute> {
        Attribute::parse_outer.parse2(tokens).unwrap_or_else(|error| {
            self.diagnostics.syntax(&error);
            Vec::new()
        })
    }

    fn visibility(&mut self, tokens: &mut Tokens) -> Visibility {
        if !tokens.peek_word("pub") {
            return Visibility::Inherited;
        }
        let mut written: TokenStream = tokens.next().into_iter().collect();
        let restricts = tokens.peek_group(Delimiter::Parenthesis).is_some_and(|group| {
            let first = group.stream().into_iter().next();
            matches!(first, Some(TokenTree::Ident(word)) if ["crate", "self", "super", "in"].iter().any(|one| word == one))
        });
        if restricts {
            written.extend(tokens.next());
        }
        syn::parse2(written.into_token_stream()).unwrap_or(Visibility::Inherited)
    }
}

/// Whether names of inputs are an error of their own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NamedInputs {
    Refused,
    /// The reported error includes it: the head is that of a function.
    Told,
}

/// `public checkout(Order)`, `struct checkout(Order)`: two words in a row begin no statement.
fn has_a_word_before_its_name(tokens: &Tokens) -> bool {
    let begins = !tokens.peek_word("let") && tokens.peek_ident().is_some() && tokens.ident_after(1).is_some();
    begins && tokens.group_after(2, Delimiter::Parenthesis).is_some()
}

/// Whether a type borrows something.
fn lent(ty: &TokenStream) -> bool {
    ty.clone().into_iter().any(|token| match token {
        TokenTree::Punct(and) => and.as_char() == '&',
        TokenTree::Group(group) => lent(&group.stream()),
        _ => false,
    })
}

/// A name for a workflow in item position whose own name is missing.
fn unnamed(span: proc_macro2::Span) -> Ident {
    Ident::new("__unnamed", span)
}

/// The `#[..]`s at the beginning.
fn attribute_tokens(tokens: &mut Tokens) -> TokenStream {
    let mut taken = Vec::new();
    while tokens.peek_punct('#') && tokens.group_after(1, Delimiter::Bracket).is_some() {
        taken.extend(tokens.next());
        taken.extend(tokens.next());
    }
    taken.into_iter().collect()
}

/// Whether the next tokens can only be a bare statement.
fn begins_statement(tokens: &Tokens) -> bool {
    let is_name = tokens.peek_ident().is_some() && !tokens.peek_word("pub");
    let goes_on =
        matches!(tokens.peek_after(1), Some(TokenTree::Punct(punct)) if ['=', '|', ';'].contains(&punct.as_char()));
    tokens.peek_word("START") || tokens.peek_word("let") || is_name && goes_on
}

/// Whether `name` with what follows is the head of an item, and not the first node of a bare statement.
fn begins_item(tokens: &Tokens) -> bool {
    if tokens.peek_word("START") || tokens.peek_word("END") || tokens.peek_word("let") {
        return false;
    }
    if tokens.group_after(1, Delimiter::Parenthesis).is_some() {
        let next = tokens.peek_after(2);
        let goes_on = matches!(next, Some(TokenTree::Punct(punct)) if ['=', '|', ';'].contains(&punct.as_char()));
        return !goes_on || ends_in_a_graph(tokens);
    }
    let has_generics = matches!(tokens.peek_after(1), Some(TokenTree::Punct(open)) if open.as_char() == '<');
    tokens.group_after(1, Delimiter::Brace).is_some() && tokens.peek_after(2).is_none()
        || has_generics && ends_in_a_graph(tokens)
}

/// Whether the last token is a `{ START .. }`.
fn ends_in_a_graph(tokens: &Tokens) -> bool {
    let last = (0..).map_while(|at| tokens.peek_after(at)).last();
    let Some(TokenTree::Group(body)) = last else { return false };
    let first = body.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(word)) if word == "START")
}

/// Whether `( .. )` is the signature of an unnamed workflow, and not a group.
fn begins_signature(tokens: &Tokens) -> bool {
    tokens.peek_group(Delimiter::Parenthesis).is_some()
        && (tokens.group_after(1, Delimiter::Brace).is_some()
            || matches!(tokens.peek_after(1), Some(TokenTree::Punct(punct)) if punct.as_char() == '-'))
}

/// Whether a type mentions a name from between the `<` and `>` of generics.
fn mentions(ty: TokenStream, generics: &TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(name) => {
            generics.clone().into_iter().any(|one| matches!(one, TokenTree::Ident(one) if one == name))
        }
        TokenTree::Group(group) => mentions(group.stream(), generics),
        _ => false,
    })
}
