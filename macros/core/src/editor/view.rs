//! The code that an editor reads.

use std::collections::BTreeMap;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};

use super::marker;
use super::options::{Level, OptionList};
use super::reader::{Map, Named, Place, Position, Seen, Value, is_name, type_of};
use crate::emit::mention::before;
use crate::names::{label_ident, snake_case};
use crate::options::{OF_A_NODE, OF_A_RUN, OF_RETRY};
use crate::parse::tokens::Tokens;

/// The identifier in a slot: longer than what may be typed of a name, so that the cursor is within it.
const SLOT: &str = "__the_name_that_is_being_written_here_and_is_not_yet_the_name_of_anything";

/// The same as an identifier.
pub(super) fn slot() -> Ident {
    Ident::new(SLOT, Span::mixed_site())
}

/// The identifier at the cursor, and what it is the name of.
type Cursor = Option<(Place, Ident)>;

/// Takes `@item` or `@expression` from the beginning of the tokens.
pub(super) fn position(input: TokenStream) -> (Position, TokenStream) {
    let mut tokens = Tokens::new(input, None);
    tokens.eat_punct('@');
    let position = if tokens.eat_word("expression").is_some() { Position::Expression } else { Position::Item };
    if position == Position::Item {
        tokens.eat_word("item");
    }
    (position, tokens.rest())
}

/// The view of a workflow.
pub(super) fn workflow(seen: &Seen, position: Position, others: &TokenStream, cursor: Cursor) -> TokenStream {
    let view = View { gw: &seen.krate, cursor };
    let statements = view.statements(seen);
    match position {
        Position::Item => {
            let labels = seen.name.as_ref().zip(seen.output.as_ref()).map(|(name, output)| {
                Returned { value: unseen(output.clone()), error: None }.labels(&seen.krate, name)
            });
            quote!(const _: () = { fn __view() { #statements } #labels }; #others)
        }
        Position::Expression => {
            let flow = view.flow(seen);
            quote!({ #statements #others #flow })
        }
    }
}

/// The view of a node: its options, and the types whose labels it may be routed by.
pub(super) fn node(
    krate: &TokenStream,
    name: &Ident,
    list: &OptionList,
    returns: &TokenStream,
    cursor: Cursor,
) -> TokenStream {
    let view = View { gw: krate, cursor };
    let options = view.options(0, Level::Node, list);
    let collects = list.options.iter().any(|option| option.name == "collect");
    let labels = Returned::new(&unseen(returns.clone()), collects).labels(krate, name);
    quote!(const _: () = { fn __view() { #options } #labels };)
}

/// What a node gives, as far as its words tell: rust-analyzer does not evaluate the constants by which rustc knows it.
struct Returned {
    value: TokenStream,
    error: Option<TokenStream>,
}

impl Returned {
    fn new(returns: &TokenStream, collects: bool) -> Self {
        let (value, error) = match arguments(returns, "Result") {
            Some((value, error)) => (value, Some(error.unwrap_or_else(|| quote!(())))),
            None => (returns.clone(), None),
        };
        let value = match arguments(&value, "Option") {
            Some((held, _)) if collects => held,
            _ => value,
        };
        Returned { value, error }
    }

    fn labels(&self, gw: &TokenStream, name: &Ident) -> TokenStream {
        let Returned { value, error } = self;
        if value.is_empty() {
            return TokenStream::new();
        }
        let mut name = name.clone();
        name.set_span(before(name.span()));
        let labels = match error {
            Some(error) => quote!(#gw::__::SeenResult<#value, #error>),
            None => quote!(<#value as #gw::__::SeenRoute>::Labels),
        };
        let error = error.clone().unwrap_or_else(|| quote!(()));
        quote! {
            impl #gw::__::SeenNode for #name {
                type Value = #value;
                type Error = #error;
                type Labels = #labels;
            }
        }
    }
}

/// The first two arguments of a type of that name: `T` and `E` of `std::result::Result<T, E>`.
fn arguments(ty: &TokenStream, name: &str) -> Option<(TokenStream, Option<TokenStream>)> {
    let syn::Type::Path(path) = syn::parse2(ty.clone()).ok()? else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let syn::PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let mut arguments = arguments.args.iter().map(|argument| quote!(#argument));
    Some((arguments.next()?, arguments.next()))
}

struct View<'a> {
    gw: &'a TokenStream,
    cursor: Cursor,
}

impl View<'_> {
    /// What is in the slot of a place.
    fn slot(&self, place: Place) -> Ident {
        match &self.cursor {
            Some((at, marker)) if *at == place => marker.clone(),
            _ => slot(),
        }
    }

    fn statements(&self, seen: &Seen) -> TokenStream {
        let gw = self.gw;
        let slot = self.slot(Place::Node);
        let limits = seen.limits.iter().filter(|name| OF_A_RUN.iter().any(|known| name == known));
        let given = &seen.given;
        let lets = seen.lets.iter().map(|named| self.named(named));
        let maps = self.maps(seen);
        let mentions = seen.mentions.iter().map(|path| self.mention(seen, path));
        let misplaced = seen.misplaced.iter().map(|list| self.options(usize::MAX, Level::Node, list));
        quote! {
            {
                use #gw::__::{END, START};
                #gw::__::seen_node(#gw::__::seen::<#slot>());
            }
            let _ = #gw::__::SeenRunLimits { #(#limits: #gw::__::seen(),)* ..#gw::__::seen() };
            #(let _ = (#given);)*
            #(#lets)*
            #maps
            #(#mentions)*
            #(#misplaced)*
        }
    }

    fn named(&self, Named { name, value }: &Named) -> TokenStream {
        match value {
            Value::Node { path, options } => {
                let options = options.as_ref().map(|(number, list)| self.options(*number, Level::Node, list));
                let node = self.node(path);
                quote!(let #name = { #options #node };)
            }
            Value::Made { ty: Some(ty), value } => quote!(let #name: #ty = #value;),
            Value::Made { ty: None, value } => quote!(let #name = #value;),
        }
    }

    /// A node as a value: its function, or where it is called like a type, something of that type.
    fn node(&self, path: &TokenStream) -> TokenStream {
        let gw = self.gw;
        if is_called_like_a_type(path) { quote!(#gw::__::seen::<#path>()) } else { quote!(#path) }
    }

    fn mention(&self, seen: &Seen, path: &TokenStream) -> TokenStream {
        let gw = self.gw;
        if is_name(path, "START") || is_name(path, "END") {
            return quote!(let _: #gw::__::#path;);
        }
        let is_let = seen.lets.iter().any(|named| is_name(path, &named.name.to_string()));
        if is_let {
            return quote!(let _ = &#path;);
        }
        let has_cursor = marker::is_in(path);
        if has_cursor || is_called_like_a_type(path) { quote!(let _: #path;) } else { quote!(let _ = #path;) }
    }

    /// A struct literal with the names of the options, and their values beside it.
    fn options(&self, number: usize, level: Level, list: &OptionList) -> TokenStream {
        let gw = self.gw;
        let literal = self.option_literal(number, level, list);
        let values = values(list);
        quote_spanned!(Span::mixed_site()=> let _ = #literal; #(let _ = #values;)* let _ = #gw::__::seen::<()>;)
    }

    fn option_literal(&self, number: usize, level: Level, list: &OptionList) -> TokenStream {
        let gw = self.gw;
        let (ty, known) = match level {
            Level::Node => (quote!(SeenNodeOptions), OF_A_NODE.as_slice()),
            Level::Retry => (quote!(SeenRetryOptions), OF_RETRY.as_slice()),
        };
        let slot = self.slot(Place::Option((number, level)));
        let mut names: Vec<&Ident> = Vec::new();
        let mut fields = Vec::new();
        for option in &list.options {
            let name = &option.name;
            if name == "crate" || !known.iter().any(|known| name == known) || names.contains(&name) {
                continue;
            }
            names.push(name);
            let value = match &option.inside {
                Some(inside) => self.option_literal(number, Level::Retry, inside),
                None => quote!(#gw::__::seen()),
            };
            fields.push(quote!(#name: #value));
        }
        quote!(#gw::__::#ty { #slot: #gw::__::seen(), #(#fields,)* ..#gw::__::seen() })
    }

    /// A `match` for each node behind which a map is; several maps of one node are one.
    fn maps(&self, seen: &Seen) -> TokenStream {
        let mut by_source: BTreeMap<String, Vec<&Map>> = BTreeMap::new();
        let (mut aliases, mut slots) = (Vec::new(), Vec::new());
        for (number, map) in seen.maps.iter().enumerate() {
            let Some(source) = self.source(seen, map) else { continue };
            let (labels, fields) = self.labels_type(map, &source);
            let (alias, alias_of_fields) = aliases_of(number, map);
            let (gw, slot) = (self.gw, self.slot(Place::Label(number)));
            aliases.push(quote!(type #alias = #labels; type #alias_of_fields = #fields;));
            slots.push(quote!(let _ = #alias_of_fields { #slot: #gw::__::seen(), ..#gw::__::seen() };));
            by_source.entry(source.to_string()).or_default().push(map);
        }
        let matches = by_source.values().map(|maps| self.labels(seen, maps));
        quote!(#(#aliases)* #(#slots)* #(#matches)*)
    }

    /// The type before a map: that of a node, or what START gives.
    fn source(&self, seen: &Seen, map: &Map) -> Option<TokenStream> {
        let path = map.source.as_ref()?;
        if is_name(path, "START") {
            let input = unseen(seen.input.as_ref().map(Group::stream)?);
            return Some(quote!((#input)));
        }
        let named = seen.lets.iter().find(|named| is_name(path, &named.name.to_string()));
        Some(unseen(named.map_or_else(|| Some(path.clone()), type_of)?))
    }

    /// The enum of the labels of a map, and the struct that has them as fields.
    fn labels_type(&self, map: &Map, source: &TokenStream) -> (TokenStream, TokenStream) {
        let gw = self.gw;
        // A name that is being written may still become `ok` or `err`.
        let may_be = |label: &Ident, name: &str| name.starts_with(&snake_case(&label.to_string()));
        let is_whole = map.labels.iter().any(|label| may_be(label, "ok"))
            || !map.labels.is_empty() && map.labels.iter().all(|label| may_be(label, "err"));
        let is_start = map.source.as_ref().is_some_and(|path| is_name(path, "START"));
        let of_node = if is_called_like_a_type(source) {
            quote!(<#source as #gw::Node>)
        } else {
            quote!(<#source as #gw::__::SeenNode>)
        };
        let (value, error) = match (is_start, is_called_like_a_type(source)) {
            (true, _) => (source.clone(), quote!(())),
            (false, true) => (quote!(#of_node::Output), quote!(#of_node::Error)),
            (false, false) => (quote!(#of_node::Value), quote!(#of_node::Error)),
        };
        if is_whole && !is_start {
            return (quote!(#gw::__::ResultLabel<#value, #error>), quote!(#gw::__::SeenResult<#value, #error>));
        }
        let fields = if map.labels.is_empty() && !is_start && !is_called_like_a_type(source) {
            quote!(#of_node::Labels)
        } else {
            quote!(<#value as #gw::__::SeenRoute>::Labels)
        };
        (quote!(<#value as #gw::__::Route>::Labels), fields)
    }

    /// What the labels of a node mean, and whether one is missing.
    fn labels(&self, seen: &Seen, maps: &[&Map]) -> TokenStream {
        let gw = self.gw;
        let Some(first) = maps.first() else { return TokenStream::new() };
        let Some(number) = seen.maps.iter().position(|map| std::ptr::eq(map, *first)) else {
            return TokenStream::new();
        };
        let (alias, _) = aliases_of(number, first);
        let is_bounded = maps.iter().any(|map| map.is_bounded);
        let labels: Vec<(String, &Ident)> = maps
            .iter()
            .flat_map(|map| &map.labels)
            .map(|label| (snake_case(&label.to_string()), label))
            .filter(|(text, _)| !(is_bounded && text == "spent"))
            .collect();
        let has_ok = labels.iter().any(|(text, _)| text == "ok");
        let (errors, labels): (Vec<_>, Vec<_>) = labels.into_iter().partition(|(text, _)| text == "err" && !has_ok);
        let errors = errors.iter().map(|(text, label)| {
            let label = label_ident(text, label.span());
            quote!(if let #gw::__::ResultLabel::<(), ()>::#label(_) = #gw::__::seen() {})
        });
        let arms = labels.iter().map(|(text, label)| {
            let label = label_ident(text, label.span());
            quote!(#alias::#label(_) => {})
        });
        let others = maps.iter().any(|map| map.has_others).then(|| quote!(_ => {}));
        // Where a label is missing, an editor marks what is matched on.
        let value = Ident::new("__value", first.open);
        let matched = (!labels.is_empty()).then(|| {
            quote! {
                let #value: #alias = #gw::__::seen();
                match #value { #(#arms)* #others }
            }
        });
        quote!(#(#errors)* #matched)
    }

    /// What a workflow in the place of an expression is.
    fn flow(&self, seen: &Seen) -> TokenStream {
        let gw = self.gw;
        let input = match (&seen.input, &seen.first) {
            (Some(input), _) => quote!(#input),
            (None, Some(first)) => self.item_of(seen, first, &quote!(Target), &quote!(Input)),
            (None, None) => quote!(_),
        };
        let output = match (&seen.input, &seen.output, &seen.last) {
            (_, Some(output), _) => quote!(#output),
            (Some(_), None, _) => quote!(()),
            (None, None, Some(last)) if !is_name(last, "END") => {
                self.item_of(seen, last, &quote!(Source), &quote!(Output))
            }
            _ => quote!(_),
        };
        quote!(#gw::__::seen::<#gw::Flow<#input, #output>>())
    }

    fn item_of(&self, seen: &Seen, node: &TokenStream, of: &TokenStream, item: &TokenStream) -> TokenStream {
        let gw = self.gw;
        let named = seen.lets.iter().find(|named| is_name(node, &named.name.to_string()));
        match named.map_or_else(|| Some(node.clone()), type_of) {
            Some(ty) => {
                let ty = unseen(ty);
                quote!(<#ty as #gw::__::#of>::#item)
            }
            None => quote!(_),
        }
    }
}

/// What the types of a map's labels are called.
fn aliases_of(number: usize, map: &Map) -> (Ident, Ident) {
    let at = before(map.open);
    (format_ident!("__Labels{number}", span = at), format_ident!("__Fields{number}", span = at))
}

/// What is behind the `=` of options, for its own names; that of `crate` is no expression.
fn values(list: &OptionList) -> Vec<&TokenStream> {
    let own = list.options.iter().filter(|option| option.name != "crate" && !option.value.is_empty());
    let inside = list.options.iter().filter_map(|option| option.inside.as_ref()).flat_map(values);
    own.map(|option| &option.value).chain(inside).collect()
}

/// `Batch` is a type that implements `Node` by hand, `charge` the function of a node.
fn is_called_like_a_type(path: &TokenStream) -> bool {
    let last = path.clone().into_iter().filter_map(|token| match token {
        TokenTree::Ident(name) => Some(name.to_string()),
        _ => None,
    });
    last.last().is_some_and(|name| name.starts_with(char::is_uppercase))
}

/// The same tokens at no place in the source, so that the view has each name once.
fn unseen(tokens: TokenStream) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), unseen(group.stream()));
                inside.set_span(before(group.span()));
                TokenTree::Group(inside)
            }
            mut token => {
                token.set_span(before(token.span()));
                token
            }
        })
        .collect()
}
