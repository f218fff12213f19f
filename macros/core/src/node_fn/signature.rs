//! The signature of a node: which parameters are its input, and which ones come from the run.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::parse::Parser;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Attribute, FnArg, GenericArgument, Meta, Pat, PatType, Path, PathArguments, ReturnType, Signature, Type, Visibility,
};

use crate::diagnostics::{Blame, Diagnostics};
use crate::options::NodeOptions;

/// A function that becomes a node. Its body stays tokens.
pub struct NodeFn {
    /// Doc comments and other attributes.
    pub attributes: Vec<Attribute>,
    /// `pub` and its kin.
    pub visibility: Visibility,
    /// The signature, without the attributes that are ours.
    pub signature: Signature,
    /// `{ .. }`
    pub body: TokenStream,
    /// Whether that was written.
    pub has_body: bool,
    /// What each parameter is, in order.
    pub parameters: Vec<Parameter>,
}

/// The source of a parameter's value.
pub enum Parameter {
    /// A value that an edge or a join brings.
    Input(Type),
    /// `ctx: &Context`
    Context,
    /// `#[resource] db: &Pool`
    Resource(Type),
    /// `#[state] name: T`
    State(Ident, Type),
    /// `#[state(OWNER)] name: T`
    StateOf(Path, Type),
    /// `#[writes(OWNER)] name: StateWriter<T>`
    Writes(Path, Type),
    /// `#[may_write(OWNER)] name: StateWriter<T>`
    MayWrite(Path, Type),
}

impl Parameter {
    /// Whether it is awaited before the function is called.
    pub fn is_fetched(&self) -> bool {
        matches!(self, Parameter::Resource(_) | Parameter::State(..) | Parameter::StateOf(..))
    }
}

impl NodeFn {
    /// The types of the inputs, in order.
    pub fn inputs(&self) -> impl Iterator<Item = &Type> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Input(ty) => Some(ty),
            _ => None,
        })
    }

    /// Whether it plainly is in an `impl` or a `trait`.
    pub fn is_associated(&self) -> bool {
        !self.has_body
            || self.signature.receiver().is_some()
            || word(self.signature.to_token_stream(), "Self").is_some()
    }

    /// The names of the inputs, in order; empty for one that is taken apart by its pattern.
    pub fn input_names(&self) -> Vec<String> {
        let named = self.signature.inputs.iter().zip(&self.parameters);
        let inputs = named.filter(|(_, parameter)| matches!(parameter, Parameter::Input(_)));
        inputs.map(|(argument, _)| plain_name(argument)).collect()
    }

    /// The type behind `->`; `None` is `()`.
    pub fn returns(&self) -> Option<&Type> {
        match &self.signature.output {
            ReturnType::Type(_, ty) => Some(ty),
            ReturnType::Default => None,
        }
    }
}

/// `limit` of `mut limit: u32` and of `_limit: u32`.
fn plain_name(argument: &FnArg) -> String {
    match argument {
        FnArg::Typed(PatType { pat, .. }) => match &**pat {
            Pat::Ident(pattern) => {
                let name = pattern.ident.to_string();
                crate::names::plain(&name).trim_start_matches('_').to_owned()
            }
            _ => String::new(),
        },
        FnArg::Receiver(_) => String::new(),
    }
}

struct Function {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: TokenStream,
}

impl Parse for Function {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Function {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

/// How many inputs a node may have: as many as serde reads in a tuple.
const MOST_INPUTS: usize = 16;

/// Reads the function.
///
/// # Errors
/// The reason is among the diagnostics. Where it is that the signature does not parse: the name of the function.
pub fn parse(item: TokenStream, options: &NodeOptions, diagnostics: &mut Diagnostics) -> Result<NodeFn, Option<Ident>> {
    let start = item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span());
    let name = name_of_function(item.clone());
    let Ok(mut function) = Parser::parse2(Function::parse, item) else {
        if let Some(name) = name {
            diagnostics
                .error(&name, format!("the signature of `{name}` cannot be read"))
                .help("each parameter has a name and a type: `#[node] async fn name(input: Input) -> Output { .. }`");
            return Err(Some(name));
        }
        diagnostics
            .error(start, "`#[node]` can only be used on a function")
            .help("write `#[node] async fn name(input: Input) -> Output { .. }`; a type implements `Node` by hand");
        return Err(None);
    };
    let has_body = function.body.to_string().trim() != ";";
    if !has_body {
        diagnostics
            .error(function.signature.ident.span(), "a node is a function with a body")
            .help("a `trait` has no nodes: write a function outside, and call in it what the trait offers");
        function.body = quote::quote!({ loop {} });
    }
    refuse_kinds(&function.signature, options, diagnostics);
    refuse_self_type(&function.signature, diagnostics);
    let parameters =
        function.signature.inputs.iter_mut().filter_map(|argument| parameter(argument, options, diagnostics)).collect();
    if let ReturnType::Type(_, ty) = &mut function.signature.output {
        if let Some(word) = word(ty.to_token_stream(), "impl") {
            diagnostics
                .error(word, "a node returns a type with a name, not `impl Trait`")
                .help("what a node gives is recorded and read back: name the type, or box what has none");
        }
        lent(ty, diagnostics);
    }
    let node = NodeFn {
        attributes: function.attributes,
        visibility: function.visibility,
        signature: function.signature,
        body: function.body,
        has_body,
        parameters,
    };
    if let Some(one_more) = node.inputs().nth(MOST_INPUTS) {
        diagnostics
            .error(Blame::tokens(one_more), format!("a node has at most {MOST_INPUTS} inputs, and this is one more"))
            .help("put those that belong together into a struct with `#[value]`");
        return Err(None);
    }
    Ok(node)
}

/// The name behind `fn`, also of a function that does not parse. `None` for a method: beside one there can be no type.
fn name_of_function(item: TokenStream) -> Option<Ident> {
    let is_fn = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "fn");
    let is_group = |token: &TokenTree| matches!(token, TokenTree::Group(_));
    let mut tokens = item.into_iter().skip_while(|token| !is_fn(token)).skip(1);
    // Behind the name are generics, or none.
    let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(parameters))) = (tokens.next(), tokens.find(is_group))
    else {
        return None;
    };
    let is_method = word(parameters.stream(), "self").is_some();
    (!is_method && syn::parse2::<Ident>(name.to_token_stream()).is_ok()).then_some(name)
}

/// `Self` is the type of an `impl` around the function. A method with `self` is reported by that.
fn refuse_self_type(signature: &Signature, diagnostics: &mut Diagnostics) {
    if signature.receiver().is_some() {
        return;
    }
    if let Some(word) = word(signature.to_token_stream(), "Self") {
        diagnostics
            .error(word, "a node is a free function: it has no `Self`")
            .help("move it out of the `impl`, and name the type");
    }
}

fn refuse_kinds(signature: &Signature, options: &NodeOptions, diagnostics: &mut Diagnostics) {
    let lifetimes_alone = signature.generics.params.iter().all(|one| matches!(one, syn::GenericParam::Lifetime(_)));
    // A lifetime is there for a borrowed type, which is reported by itself.
    let borrows = lifetimes_alone && signature.inputs.iter().any(borrows_input);
    if !signature.generics.params.is_empty() && !borrows {
        diagnostics
            .error(signature.generics.span(), "a node has no generics")
            .help("an edge has one type: write the node for that type, or implement `Node` for a generic type by hand");
    } else if let (Some(clause), false) = (&signature.generics.where_clause, borrows) {
        diagnostics.error(clause.span(), "a node has no generics, so it has no `where`").help("leave the clause out");
    }
    if let syn::Safety::Unsafe(word) = &signature.safety {
        diagnostics
            .error(word.span(), "a node is safe to run, and cannot be an `unsafe fn`")
            .help("put the `unsafe { .. }` inside, where its reason is known");
    }
    if let Some(token) = &signature.variadic {
        diagnostics.error(token.span(), "a node has a fixed number of parameters").help("name each of them");
    }
    if let (Some(span), Some(token)) = (options.blocking, &signature.asyncness) {
        let _ = token;
        diagnostics
            .error(span, "`blocking` is for a plain `fn`, and this is an `async fn`")
            .help("leave `async` out to run the body on the blocking pool, or leave `blocking` out to keep it async");
    }
}

fn parameter(argument: &mut FnArg, options: &NodeOptions, diagnostics: &mut Diagnostics) -> Option<Parameter> {
    let PatType { attrs, pat, ty, .. } = match argument {
        FnArg::Receiver(receiver) => {
            diagnostics
                .error(receiver.span(), "a node is a free function: it has no `self`")
                .help("move it out of the `impl`, or implement `Node` for the type by hand");
            return None;
        }
        FnArg::Typed(typed) => typed,
    };
    let is_resource = take(attrs, "resource");
    let of_state = match of_state(attrs, diagnostics) {
        Ok(of_state) => of_state,
        Err(Refused) => return None,
    };
    if refuse_attribute(attrs, diagnostics) {
        return None;
    }
    if let (None, Some(of_state), Type::Reference(reference)) = (is_resource, &of_state, &**ty) {
        refuse_reference(of_state.kind, reference, diagnostics);
        return None;
    }
    if let (None, Some(OfState { kind: StateKind::Reads, .. })) = (is_resource, &of_state)
        && is_named(ty, "StateWriter")
    {
        diagnostics
            .error(Blame::tokens(ty), "`#[state]` reads a key, and a writer writes one")
            .help("`#[writes(KEY)]`, or `#[may_write(KEY)]` for a node that may leave the key as it is; to read it, take its value");
        return None;
    }
    if let (None, Some(OfState { kind, key: Some(key), .. })) = (is_resource, &of_state) {
        let (key, ty) = (key.clone(), (**ty).clone());
        return Some(match kind {
            StateKind::Reads => Parameter::StateOf(key, ty),
            StateKind::Writes => Parameter::Writes(key, ty),
            StateKind::MayWrite => Parameter::MayWrite(key, ty),
        });
    }
    let is_state = of_state.map(|of_state| of_state.span);
    match (is_resource, is_state, &**ty) {
        (Some(_), Some(second), _) => {
            diagnostics
                .error(second, "a parameter is either a `#[resource]` or `#[state]`")
                .help("leave one of them out");
            None
        }
        (Some(_), None, Type::Reference(reference)) if reference.mutability.is_some() => {
            diagnostics
                .error(reference.span(), "a resource is shared by all nodes, and none of them can change it alone")
                .help("take it by `&`; for something to be changed give the engine a `Mutex`");
            None
        }
        (Some(_), None, Type::Reference(reference)) if is_unsized(&reference.elem) => {
            diagnostics
                .error(Blame::tokens(&reference.elem), "a resource is a value of the engine, and has a size")
                .help("`&Arc<dyn Mail + Send + Sync>` for `&dyn Mail`, `&String` for `&str`, `&Vec<T>` for `&[T]`");
            None
        }
        (Some(_), None, Type::Reference(reference)) => Some(Parameter::Resource((*reference.elem).clone())),
        (Some(_), None, other) => {
            diagnostics.error(other.span(), "`#[resource]` parameters are references (`&Pool`)").help("take it by `&`");
            None
        }
        (None, Some(_), ty) => match &**pat {
            syn::Pat::Ident(name) => Some(Parameter::State(name.ident.clone(), ty.clone())),
            other => {
                diagnostics
                    .error(other.span(), "a `#[state]` parameter is named like the key that it reads")
                    .help("write `#[state] name: T`, or name the key: `#[state(TOTAL)] (total, _): (u64, u64)`");
                None
            }
        },
        (None, None, Type::Reference(reference))
            if is_context(&reference.elem) || is_misspelled(pat, &reference.elem) =>
        {
            if let Some(word) = &reference.mutability {
                diagnostics.error(word.span(), "the context is shared, and not changed").help("`ctx: &Context`");
            }
            if options.pool.is_some() && is_context(&reference.elem) {
                diagnostics
                    .error(Blame::tokens(&reference.elem), "a node with a `pool` may run in another process than its run")
                    .help(
                        "take `ctx: &PoolContext`: it has no `ask`, `call`, `sleep`, `step` and `wait`, which belong into a node \
                         without a pool, before this one or behind it",
                    );
            }
            Some(Parameter::Context)
        }
        (None, None, Type::Reference(reference)) if is_named(&reference.elem, "PoolContext") => {
            if options.pool.is_none() {
                diagnostics
                    .error(Blame::tokens(&reference.elem), "only a node with a `pool` has a `PoolContext`")
                    .help("write `ctx: &Context`, or name the pool: `#[node(pool = \"gpu\")]`");
            }
            Some(Parameter::Context)
        }
        (None, None, Type::Reference(reference)) => {
            diagnostics
                .error(reference.span(), "a node owns its input: an edge cannot lend it")
                .help(
                    "take it by value, or mark it `#[resource]` if the engine was given it at start-up; the context is `&Context`, \
                     by this name",
                );
            None
        }
        (None, None, ty) if is_own_context(pat, ty) => {
            diagnostics.error(ty.span(), "a node borrows its context").help("write `ctx: &Context`");
            None
        }
        (None, None, ty) => match word(ty.to_token_stream(), "impl") {
            Some(word) => {
                diagnostics
                    .error(word, "a node has no generics, and `impl Trait` is one")
                    .help("name the type that the edge brings");
                None
            }
            None => Some(Parameter::Input(ty.clone())),
        },
    }
}

/// `&dyn Mail`, `&str` or `&[T]`, without the `&`.
fn is_unsized(ty: &Type) -> bool {
    matches!(ty, Type::TraitObject(_) | Type::Slice(_)) || matches!(ty, Type::Path(path) if path.path.is_ident("str"))
}

/// A parameter that has to do with the state, and is borrowed.
fn refuse_reference(kind: StateKind, reference: &syn::TypeReference, diagnostics: &mut Diagnostics) {
    let (message, mend) = match kind {
        StateKind::Reads => {
            ("a node owns what it reads from the state", "take it by value, `String` for `&str`, `Vec<T>` for `&[T]`")
        }
        StateKind::Writes | StateKind::MayWrite => (
            "a node owns the writer of a key",
            "take it by value: `#[writes(OWNER)] owner: StateWriter<String>` for a `StateKey<String>`",
        ),
    };
    diagnostics.error(Blame::tokens(reference), message).help(mend);
}

/// How a parameter uses the state of the run.
struct OfState {
    kind: StateKind,
    /// The constant that is the key; a read may go by the parameter's name instead.
    key: Option<Path>,
    span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum StateKind {
    Reads,
    Writes,
    MayWrite,
}

/// The error is reported.
struct Refused;

const OF_STATE: [(&str, StateKind); 3] =
    [("state", StateKind::Reads), ("writes", StateKind::Writes), ("may_write", StateKind::MayWrite)];

/// `#[state]`, `#[state(OWNER)]`, `#[writes(OWNER)]` or `#[may_write(OWNER)]`, which is taken away.
fn of_state(attributes: &mut Vec<Attribute>, diagnostics: &mut Diagnostics) -> Result<Option<OfState>, Refused> {
    let kind = |attribute: &Attribute| OF_STATE.iter().find(|(name, _)| attribute.path().is_ident(name)).copied();
    let mut found: Vec<(&str, StateKind, Attribute)> = Vec::new();
    attributes.retain(|attribute| match kind(attribute) {
        Some((name, kind)) => {
            found.push((name, kind, attribute.clone()));
            false
        }
        None => true,
    });
    if let Some((_, _, second)) = found.get(1) {
        diagnostics
            .error(second.span(), "a parameter reads one key of the state or writes one")
            .help("leave one of the attributes out; a node that reads and writes a key has two parameters");
        return Err(Refused);
    }
    let Some((name, kind, attribute)) = found.pop() else { return Ok(None) };
    let span = attribute.span();
    let key = match &attribute.meta {
        Meta::Path(_) if kind == StateKind::Reads => None,
        Meta::List(list) => match list.parse_args::<Path>() {
            Ok(key) => Some(key),
            Err(_) => {
                diagnostics
                    .error(span, format!("`#[{name}(..)]` names one key of the state"))
                    .help(format!("write the constant that is the key, `#[{name}(OWNER)]`"));
                return Err(Refused);
            }
        },
        Meta::Path(_) | Meta::NameValue(_) => {
            diagnostics
                .error(span, format!("`#[{name}]` names a key of the state"))
                .help(format!("write the constant that is the key, `#[{name}(OWNER)]`"));
            return Err(Refused);
        }
    };
    Ok(Some(OfState { kind, key, span }))
}

/// `#[resorce] db: &Pool`: an attribute that is nearly one of ours. It is taken away, so that rustc does not miss it.
fn refuse_attribute(attributes: &mut Vec<Attribute>, diagnostics: &mut Diagnostics) -> bool {
    let near = |attribute: &Attribute| {
        let name = attribute.path().get_ident()?.to_string();
        crate::names::nearest(&name, ["resource", "state", "writes", "may_write"])
            .map(|near| (name.clone(), near.to_owned()))
    };
    let is_cfg = |attribute: &Attribute| ["cfg", "cfg_attr"].iter().any(|name| attribute.path().is_ident(name));
    if let Some(at) = attributes.iter().position(is_cfg) {
        let attribute = attributes.remove(at);
        diagnostics
            .error(
                attribute.path(),
                "a parameter of a node is there in every build: rustc evaluates its `cfg` too late",
            )
            .help("write the node twice, with `#[cfg(..)]` above each");
        return true;
    }
    let Some(at) = attributes.iter().position(|attribute| near(attribute).is_some()) else { return false };
    let attribute = attributes.remove(at);
    if let Some((name, near)) = near(&attribute) {
        diagnostics
            .error(attribute.path(), format!("a parameter has no attribute `{name}`"))
            .help(format!("there is one with a similar name: `#[{near}]`"));
    }
    true
}

/// Refuses `-> &str`, and makes it `&'static`, so that rustc asks for no lifetime as well. `&'static str` may be an
/// error.
fn lent(ty: &mut Type, diagnostics: &mut Diagnostics) {
    let mut span = None;
    let owned = with_static(ty.to_token_stream(), &mut span);
    let borrowed = span.map(Blame::from).or_else(|| borrowed_output(ty));
    let Some(borrowed) = borrowed else { return };
    diagnostics
        .error(borrowed, "a node must return an owned value")
        .help("return an owned value, `String` for `&str`, `Vec<T>` for `&[T]`");
    if let Ok(owned) = syn::parse2(owned) {
        *ty = owned;
    }
}

/// A reference in the output, which is read back from its record: not even `&'static str` can be. The error of a `Result` may
/// be one.
fn borrowed_output(ty: &Type) -> Option<Blame> {
    const HOLDERS: [&str; 4] = ["Result", "Option", "Vec", "Box"];
    match ty {
        Type::Reference(reference) => Some(Blame::tokens(reference)),
        Type::Tuple(tuple) => tuple.elems.iter().find_map(borrowed_output),
        Type::Paren(inner) => borrowed_output(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last().filter(|last| HOLDERS.iter().any(|holder| last.ident == holder))?;
            let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
            match arguments.args.first() {
                Some(GenericArgument::Type(held)) => borrowed_output(held),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The tokens with `'static` behind every `&` that has no lifetime; `first` is set to the first that lends something.
fn with_static(tokens: TokenStream, first: &mut Option<Span>) -> TokenStream {
    let mut out = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(and) if and.as_char() == '&' => {
                let span = and.span();
                out.push(TokenTree::Punct(and));
                let has_lifetime = matches!(tokens.peek(), Some(TokenTree::Punct(tick)) if tick.as_char() == '\'');
                let lifetime: Vec<TokenTree> =
                    if has_lifetime { tokens.by_ref().take(2).collect() } else { Vec::new() };
                if !matches!(lifetime.last(), Some(TokenTree::Ident(name)) if name == "static") {
                    first.get_or_insert(span);
                }
                match lifetime.last() {
                    Some(TokenTree::Ident(name)) if name != "_" => out.extend(lifetime),
                    _ => out.extend(quote_spanned!(span=> 'static)),
                }
            }
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), with_static(group.stream(), first));
                inner.set_span(group.span());
                out.push(TokenTree::Group(inner));
            }
            token => out.push(token),
        }
    }
    out.into_iter().collect()
}

/// The span of a word in some tokens, at any depth.
fn word(tokens: TokenStream, wanted: &str) -> Option<Span> {
    tokens.into_iter().find_map(|token| match token {
        TokenTree::Ident(found) if found == wanted => Some(found.span()),
        TokenTree::Group(group) => word(group.stream(), wanted),
        _ => None,
    })
}

/// Whether a parameter is an input that is borrowed.
fn borrows_input(argument: &FnArg) -> bool {
    let FnArg::Typed(PatType { attrs, ty, .. }) = argument else { return false };
    let is_ours = attrs.iter().any(|attribute| attribute.path().is_ident("resource"));
    matches!(&**ty, Type::Reference(reference) if !is_ours && !is_context(&reference.elem))
}

fn take(attributes: &mut Vec<Attribute>, name: &str) -> Option<Span> {
    let at = attributes.iter().position(|attribute| attribute.path().is_ident(name))?;
    Some(attributes.remove(at).span())
}

fn is_context(ty: &Type) -> bool {
    is_named(ty, "Context")
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|segment| segment.ident == name))
}

/// `ctx: &Contxt`: rustc reports the unknown type.
fn is_misspelled(pattern: &syn::Pat, ty: &Type) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
    is_called_context(pattern) && crate::names::nearest(&last, ["Context"]).is_some()
}

fn is_called_context(pattern: &syn::Pat) -> bool {
    matches!(pattern, syn::Pat::Ident(name)
        if ["ctx", "context"].contains(&name.ident.to_string().trim_start_matches('_')))
}

/// Whether a parameter is meant to be graphweft's `Context`, by value. A program may have a value that is called so.
fn is_own_context(pattern: &syn::Pat, ty: &Type) -> bool {
    let is_named = is_called_context(pattern);
    let Type::Path(path) = ty else { return false };
    let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["Context"] => is_named,
        [.., "Arc" | "Box" | "Rc"] if is_named => word(path.to_token_stream(), "Context").is_some(),
        names => names == ["graphweft", "Context"],
    }
}
