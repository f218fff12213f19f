//! The type beside the function, and its `impl Node`.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{GenericArgument, Path, PathArguments, Type, TypePath, Visibility};

use super::signature::{NodeFn, Parameter};
use super::waiting::never_waits;
use crate::diagnostics::{Blame, Diagnostics};
use crate::editor;
use crate::emit::options::{default_crate, may_retry, node_options};
use crate::emit::travels::is_known_payload;
use crate::options::NodeOptions;

/// The whole expansion. `args` are the tokens of `#[node(..)]`.
pub fn node(node: &NodeFn, options: &NodeOptions, diagnostics: &Diagnostics, args: &TokenStream) -> TokenStream {
    let NodeFn { attributes, visibility, signature, body, .. } = node;
    let name = &signature.ident;
    let docs: Vec<_> = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    let krate = options.krate.clone().unwrap_or_else(default_crate);
    let view = editor::view_of_node(&krate, name, node.returns(), args);
    let implementation = if diagnostics.has_errors() {
        broken(node, &krate, diagnostics)
    } else {
        implementation(node, options, &krate, &docs)
    };
    let default = default_impl(name);
    // A graph names the type: so it warns as a call of the function does.
    let deprecated = attributes.iter().filter(|attribute| attribute.path().is_ident("deprecated"));
    let of_deprecated = allow_of_deprecated(attributes);
    // So that rustc shows the function when it shows the node.
    let at = Span::call_site().located_at(signature.fn_token.span());
    let structure = quote_spanned!(at=> #visibility struct #name {});
    // Values of edges are owned, resources of the engine are borrowed, and the next node takes the output by value.
    let quiet = quote! {
        #[cfg_attr(clippy, allow(
            clippy::borrowed_box, clippy::large_types_passed_by_value, clippy::needless_pass_by_value, clippy::ptr_arg,
            clippy::trivially_copy_pass_by_ref, clippy::unnecessary_wraps, clippy::unused_async,
            reason = "the signature of a node"
        ))]
    };
    // Where there are no docs and should be, rustc still says so.
    let may_have_docs = !docs.is_empty() || !matches!(visibility, Visibility::Public(_));
    let options_doc = may_have_docs.then(|| editor::doc_of_options(args));
    let signature = without_offer_of_generics(signature);
    quote! {
        #(#attributes)* #options_doc #quiet #visibility #signature #body

        #(#docs)*
        #[allow(non_camel_case_types, missing_docs, dead_code, reason = "the node of that function")]
        #[allow(missing_copy_implementations, missing_debug_implementations, reason = "there is no value of it")]
        #(#deprecated)*
        #structure

        #of_deprecated
        #[allow(clippy::all, clippy::pedantic, unexpected_cfgs, reason = "generated")]
        const _: () = { #view #implementation #default };
    }
}

/// The signature with an empty `<>` behind the name, at a place of the expansion. Behind a name alone rustc would offer a type
/// parameter for an unknown type, which a node cannot have; and since it offers none in the `impl`, that would be a
/// second error with another text.
fn without_offer_of_generics(signature: &syn::Signature) -> TokenStream {
    if signature.generics.lt_token.is_some() {
        return quote!(#signature);
    }
    let name = &signature.ident;
    let place = local(name.span());
    let mut is_behind_fn = false;
    let mut out = TokenStream::new();
    for token in quote!(#signature) {
        let is_name = is_behind_fn && matches!(&token, TokenTree::Ident(_));
        is_behind_fn = matches!(&token, TokenTree::Ident(word) if word == "fn");
        out.extend([token]);
        if is_name {
            out.extend(quote_spanned!(place=> <>));
        }
    }
    out
}

/// For the code behind an item: an item that is deprecated is not so for its own expansion.
pub fn allow_of_deprecated(attributes: &[syn::Attribute]) -> Option<TokenStream> {
    let is_deprecated = attributes.iter().any(|attribute| attribute.path().is_ident("deprecated"));
    is_deprecated.then(|| quote!(#[allow(deprecated, reason = "it is what is deprecated")]))
}

/// `ctx.call::<node>(..)` makes the node by itself.
pub fn default_impl(name: &Ident) -> TokenStream {
    quote! {
        #[doc(hidden)]
        #[automatically_derived]
        impl ::core::default::Default for #name {
            fn default() -> Self {
                #name {}
            }
        }
    }
}

/// A node whose attribute or signature is wrong is still a node, so that no further error follows. An input or output
/// that could not be read is a type that is an error itself, which rustc does not report again.
fn broken(node: &NodeFn, krate: &Path, diagnostics: &Diagnostics) -> TokenStream {
    let name = &node.signature.ident;
    let is_generic = !node.signature.generics.params.is_empty();
    let knows_inputs = node.parameters.len() == node.signature.inputs.len() && !is_generic;
    let returns = node.returns().map_or_else(|| quote!(()), |ty| quote!(#ty));
    let text = returns.to_string();
    let knows_output = !is_generic && !text.contains("impl ") && !text.contains('&');
    let input = if knows_inputs { input_type(node) } else { quote!(__Unknown) };
    let (output, error) = if knows_output {
        let split = quote!(<#returns as #krate::__::Split<{ #krate::__::Probe::<#returns>::FALLIBLE }>>);
        (quote!(#split::Output), quote!(#split::Error))
    } else {
        (quote!(__Unknown), quote!(__Unknown))
    };
    let errors =
        if knows_inputs && knows_output { diagnostics.into_compile_errors() } else { unknown_type(krate, diagnostics) };
    let implementation = without_body(name, krate, [&input, &output, &error]);
    quote! {
        #errors
        #[allow(unused_imports, reason = "what it returns may be unknown")]
        use #krate::__::Plain as _;
        #implementation
    }
}

/// The type `__Unknown`, which is an error itself: that of the diagnostics.
fn unknown_type(krate: &Path, diagnostics: &Diagnostics) -> TokenStream {
    let (unknown, others) = diagnostics.into_error_value();
    quote! {
        const __UNKNOWN: ::core::primitive::bool = #unknown;
        type __Unknown = <() as #krate::__::Split<__UNKNOWN>>::Output;
        #others
    }
}

/// The implementation of a node that is an error: with its input, output and error.
fn without_body(name: &Ident, krate: &Path, [input, output, error]: [&TokenStream; 3]) -> TokenStream {
    quote! {
        impl #krate::Node for #name {
            type Input = #input;
            type Output = #output;
            type Error = #error;
            async fn run(
                &self, _: Self::Input, _: &#krate::Context,
            ) -> ::core::result::Result<Self::Output, Self::Error> {
                ::core::future::pending().await
            }
        }
    }
}

/// A function whose signature does not parse is a node with types that are errors themselves.
pub fn unreadable(item: &TokenStream, name: &Ident, options: &NodeOptions, diagnostics: &Diagnostics) -> TokenStream {
    let krate = options.krate.clone().unwrap_or_else(default_crate);
    let visibility = item.clone().into_iter().skip_while(|token| !is_word(token, "pub"));
    let is_restriction = |token: &TokenTree| matches!(token, TokenTree::Group(_)) || is_word(token, "pub");
    let visibility: TokenStream = visibility.take_while(is_restriction).collect();
    let errors = unknown_type(&krate, diagnostics);
    let unknown = quote!(__Unknown);
    let implementation = without_body(name, &krate, [&unknown; 3]);
    let default = default_impl(name);
    quote! {
        #item

        #[allow(non_camel_case_types, missing_docs, dead_code, reason = "the node of that function")]
        #visibility struct #name {}

        const _: () = { #errors #implementation #default };
    }
}

fn is_word(token: &TokenTree, wanted: &str) -> bool {
    matches!(token, TokenTree::Ident(word) if word == wanted)
}

fn input_type(node: &NodeFn) -> TokenStream {
    let inputs: Vec<_> = node.inputs().collect();
    match inputs.as_slice() {
        [] => quote!(()),
        [one] => quote!(#one),
        several => {
            let mut tuple = Group::new(Delimiter::Parenthesis, quote!(#(#several),*));
            tuple.set_span(node.signature.paren_token.span.join());
            TokenTree::Group(tuple).into()
        }
    }
}

/// What a function returns, by its tokens.
enum Returns<'a> {
    /// A type that is known by its name to be a payload, and no `Result`.
    Value(TokenStream),
    /// `Result<Output, Error>`. Should that not be the `Result` of the prelude, the impl of `Node` does not compile.
    Result(&'a Type, &'a Type),
    /// Any other type: it may be a `Result` behind an alias. A constant says whether it is.
    Unknown(&'a Type),
}

impl<'a> Returns<'a> {
    fn of(node: &'a NodeFn, options: &NodeOptions) -> Self {
        let Some(ty) = node.returns() else { return Returns::Value(quote!(())) };
        match (options.collect, written_result(ty)) {
            (None, _) if is_known_payload(ty) => Returns::Value(quote!(#ty)),
            (None, Some((output, error))) => Returns::Result(output, error),
            _ => Returns::Unknown(ty),
        }
    }

    /// The type that the function returns is asked once, by a constant, whether it is a `Result`. The same constant is an
    /// error if a type of the node cannot travel.
    fn output(&self, krate: &Path, is_checked: bool) -> TokenStream {
        match self {
            Returns::Value(ty) if is_checked => quote!(<#ty as #krate::__::Checked<__CHECKED>>::Type),
            Returns::Value(ty) => quote!(#ty),
            Returns::Result(output, _) if !is_checked => quote!(#output),
            Returns::Result(..) | Returns::Unknown(_) => quote!(<__Returned as #krate::__::Sides>::Output),
        }
    }

    fn error(&self, krate: &Path) -> TokenStream {
        match self {
            Returns::Value(_) => quote!(#krate::Never),
            Returns::Result(_, error) if is_known_payload(error) => quote!(#error),
            Returns::Result(..) | Returns::Unknown(_) => quote!(<__Returned as #krate::__::Sides>::Error),
        }
    }

    /// The ways in which its error may become text.
    fn words(&self, krate: &Path) -> TokenStream {
        match self {
            Returns::Value(_) => TokenStream::new(),
            Returns::Result(..) | Returns::Unknown(_) => {
                let ways = ["OF_ERROR", "OF_DISPLAY", "OF_DEBUG"].map(|way| Ident::new(way, Span::call_site()));
                quote!(#(#krate::__::WordsProbe::<Self::Error>::#ways),*)
            }
        }
    }

    /// The alias from which the output and the error of a node are read, if its function may fail.
    fn returned(&self, krate: &Path) -> Option<TokenStream> {
        let returned = match self {
            Returns::Value(_) => return None,
            Returns::Result(output, error) => quote!(::core::result::Result<#output, #error>),
            Returns::Unknown(ty) => quote!(#ty),
        };
        Some(quote!(type __Returned = #krate::__::Returned<#returned, __CHECKED>;))
    }

    /// A function that makes a `Result` of what the user's function returns. `None` if that is one.
    fn split(&self, krate: &Path) -> Option<TokenStream> {
        match self {
            Returns::Value(_) => Some(quote!(#krate::__::Split::<false>::split)),
            Returns::Result(..) => None,
            Returns::Unknown(_) => Some(quote!(<__Returned as #krate::__::Sides>::split)),
        }
    }
}

/// The arguments of `Result<Output, Error>`.
fn written_result(ty: &Type) -> Option<(&Type, &Type)> {
    let Type::Path(TypePath { qself: None, path, .. }) = ty else { return None };
    let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let is_core = path.leading_colon.is_some() && names == ["core", "result", "Result"];
    let only = path.segments.last().filter(|_| is_core || names == ["Result"])?;
    let PathArguments::AngleBracketed(arguments) = &only.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>().as_slice() {
        [GenericArgument::Type(output), GenericArgument::Type(error)] => Some((output, error)),
        _ => None,
    }
}

fn implementation(node: &NodeFn, options: &NodeOptions, krate: &Path, docs: &[&syn::Attribute]) -> TokenStream {
    let name = &node.signature.ident;
    let returns = Returns::of(node, options);
    let run = run(node, options, krate, returns.split(krate).as_ref());
    let name_const = options
        .name
        .as_ref()
        .map(|name| quote!(const OWN_NAME: ::core::option::Option<&'static ::core::primitive::str> = ::core::option::Option::Some(#name);));
    let former = &options.renamed_from;
    let was_const = (!former.is_empty())
        .then(|| quote!(const RENAMED_FROM: &'static [&'static ::core::primitive::str] = &[#(#former),*];));
    let settings =
        node_options(options, krate).map(|settings| quote!(fn options(&self) -> #krate::NodeOptions { #settings }));
    let when = options.retry.as_ref().and_then(|retry| retry.when.as_ref()).map(|when| {
        let error = Ident::new("error", local(when.span()));
        let may_retry = may_retry(when, &quote!(#krate::__::when::<Self::Error>), &error);
        quote!(fn retry_when(&self, #error: &Self::Error) -> ::core::primitive::bool { #may_retry })
    });
    let when = when.or_else(|| {
        let when = &options.built_on.as_ref()?.retry_when;
        Some(quote!(fn retry_when(&self, error: &Self::Error) -> ::core::primitive::bool { #when(error) }))
    });
    let after = options.retry.as_ref().and_then(|retry| retry.after.as_ref()).map(|after| {
        quote! {
            fn retry_after(&self, error: &Self::Error) -> ::core::option::Option<::core::time::Duration> {
                let after: #krate::__::DelayAfter<Self::Error> = #after;
                after(error)
            }
        }
    });
    let mut resources: Vec<_> = node
        .parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Resource(ty) => {
                let ty = checked(ty, krate);
                Some(quote!(#krate::__::need::<#ty>()))
            }
            _ => None,
        })
        .collect();
    let built = options.built_on.as_ref();
    resources.extend(
        built.map(|built| &built.resources).into_iter().flatten().map(|ty| quote!(#krate::ResourceNeed::of::<#ty>())),
    );
    let uses = match (built, options.uses.as_slice()) {
        (Some(built), _) => Some(built.uses.clone()),
        (None, []) => None,
        (None, paths) => {
            let infos = paths.iter().map(|path| {
                let span = local(path.span());
                quote_spanned!(span=> #krate::__::info_of(#path {}))
            });
            Some(quote!(::std::vec![#(#infos),*]))
        }
    };
    let uses = uses.map(|uses| quote!(fn uses(&self) -> ::std::vec::Vec<#krate::NodeInfo> { #uses }));
    let state = super::state::facts(node, krate);
    let resources = (!resources.is_empty()).then(
        || quote!(fn resources(&self) -> ::std::vec::Vec<#krate::__::ResourceNeed> { ::std::vec![#(#resources),*] }),
    );
    let collecting = options.collect.map(|span| {
        quote_spanned! {span=>
            impl #krate::Collector for #name {
                type Collected = __Collected;
            }
        }
    });
    let check = check(node, &returns, options, krate);
    let (types, computed) = types(node, &returns, options, krate, check.is_some());
    let doc = options.built_on.as_ref().map_or_else(|| doc_text(docs), |built| built.doc.clone());
    let made = made(node, &returns, options, krate, &doc);
    let imports = imports(node, &returns, krate);
    quote! {
        #imports
        #check
        #computed
        impl #krate::Node for #name {
            #types
            #name_const
            #was_const
            #made
            #state
            #run
            #settings
            #when
            #after
            #resources
            #uses
        }
        #collecting
    }
}

/// The types of the impl, and the items that they are computed from.
fn types(
    node: &NodeFn,
    returns: &Returns<'_>,
    options: &NodeOptions,
    krate: &Path,
    is_checked: bool,
) -> (TokenStream, TokenStream) {
    let name = &node.signature.ident;
    let at = local(node.returns().map_or(name.span(), Spanned::span));
    let input_at = local(node.inputs().next().map_or(name.span(), Spanned::span));
    let mut computed = returns.returned(krate).filter(|_| is_checked).unwrap_or_default();
    // The output of a collecting node is checked to be an `Option` with a message of its own, so that another type is
    // reported once.
    let given = returns.output(krate, is_checked);
    let output = if options.collect.is_some() {
        computed.extend(quote_spanned! {at=>
            type __Given = #given;
            const __OPTIONAL: ::core::primitive::bool =
                <__Given as #krate::__::ReturnsOption<#name, { #krate::__::Probe::<__Given>::OPTIONAL }>>::IS_OPTION;
            type __Collected = <__Given as #krate::__::Holds<__OPTIONAL>>::Held;
        });
        quote_spanned!(at=> ::core::option::Option<__Collected>)
    } else {
        given
    };
    let error = returns.error(krate);
    let input = input_type(node);
    let input = match is_checked {
        true => quote_spanned!(input_at=> <#input as #krate::__::Checked<__CHECKED>>::Type),
        false => input,
    };
    let mut types = quote_spanned!(input_at=> type Input = #input;);
    types.extend(quote_spanned! {at=>
        type Output = #output;
        type Error = #error;
    });
    (types, computed)
}

/// `const FACTS`.
fn made(node: &NodeFn, returns: &Returns<'_>, options: &NodeOptions, krate: &Path, doc: &str) -> TokenStream {
    let name = node.signature.ident.to_string();
    let name = crate::names::plain(&name);
    let parameters = node.input_names();
    let parameters = quote!(&[#(#parameters),*]);
    let made = match (returns, node.inputs().all(is_known_payload)) {
        (Returns::Value(_), true) => quote!(infallible(#name, #doc, #parameters)),
        (_, is_clone) => {
            let copy = match is_clone {
                true => quote!(::core::option::Option::Some(::core::clone::Clone::clone)),
                false => quote!(#krate::__::CloneProbe::<Self::Input>::CLONE),
            };
            let words = returns.words(krate);
            match returns {
                Returns::Value(_) => quote!(of(#name, #doc, #parameters, #copy)),
                Returns::Result(..) | Returns::Unknown(_) => {
                    let write = quote!(#krate::__::ErrorProbe::<Self::Error>::WRITE);
                    quote!(fallible(#name, #doc, #parameters, #copy, #words, #write))
                }
            }
        }
    };
    let in_pool = options.pool.as_ref().map(|pool| quote!(.in_pool(#pool)));
    let never_waits = never_waits(node, options).then(|| quote!(.never_waits::<Self>()));
    quote!(const FACTS: #krate::__::NodeFacts<Self::Input, Self::Error> = #krate::__::NodeFacts::#made #in_pool #never_waits;)
}

/// The traits with what a probe finds of a type that has nothing of its own.
fn imports(node: &NodeFn, returns: &Returns<'_>, krate: &Path) -> Option<TokenStream> {
    let has_ways = !matches!(returns, Returns::Value(_)) || !node.inputs().all(is_known_payload);
    match (returns, has_ways) {
        (Returns::Unknown(_), _) => Some(quote!(use #krate::__::{NoWay as _, Plain as _};)),
        (_, true) => Some(quote!(use #krate::__::NoWay as _;)),
        (_, false) => None,
    }
}

/// The constant by which rustc checks that input and output types are payloads, each type once, and which says whether a
/// type that is [unknown](Returns::Unknown) is a `Result`. `None` if all is known.
fn check(node: &NodeFn, returns: &Returns<'_>, options: &NodeOptions, krate: &Path) -> Option<TokenStream> {
    let mut seen = BTreeSet::new();
    let mut is_new = |ty: &Type| !is_known_payload(ty) && seen.insert(quote!(#ty).to_string());
    let inputs = node.inputs().filter(|ty| is_new(ty));
    let mut checks: Vec<_> = inputs.map(|ty| quote!(<#ty as #krate::__::Travels<()>>::TRAVELS)).collect();
    match returns {
        Returns::Value(_) => {}
        Returns::Result(output, error) => {
            if is_new(output) {
                checks.push(quote!(<#output as #krate::__::Travels<()>>::TRAVELS));
            }
            if !is_known_payload(error) {
                checks.push(quote!(<#error as #krate::__::IsError>::IS_ERROR));
            }
        }
        Returns::Unknown(ty) => {
            let is_fallible = quote!(#krate::__::Probe::<#ty>::FALLIBLE);
            // The output of a collecting node is checked as that of a collector.
            if options.collect.is_none() && is_new(given_by(ty)) {
                let Blame { first, last } = Blame::tokens(given_by(ty));
                let (first, last) = (local(first), local(last));
                let mut check = quote_spanned!(first=> < <#ty as #krate::__::Split<{ #is_fallible }>>);
                check.extend(quote_spanned!(last=> ::Output as #krate::__::Travels<()>>::TRAVELS));
                checks.push(check);
            }
            if has_error(ty) {
                let Blame { first, last } = Blame::tokens(ty);
                let (first, last) = (local(first), local(last));
                let mut check = quote_spanned!(first=> < <#ty as #krate::__::Split<{ #is_fallible }>>);
                check.extend(quote_spanned!(last=> ::Error as #krate::__::IsError>::IS_ERROR));
                checks.push(check);
            }
            checks.push(is_fallible);
        }
    }
    checks.extend(node.parameters.iter().filter(|parameter| needs_check(parameter)).filter_map(|parameter| {
        match parameter {
            Parameter::Resource(ty) => Some(quote!(<#ty as #krate::__::IsResource>::IS_RESOURCE)),
            Parameter::State(_, ty) | Parameter::StateOf(_, ty) => {
                let ty = held_by_option(ty);
                Some(quote!(<#ty as #krate::__::IsOfState>::IS_OF_STATE))
            }
            Parameter::Writes(_, ty) | Parameter::MayWrite(_, ty) => {
                Some(quote!(<#ty as #krate::__::IsWriter>::IS_WRITER))
            }
            Parameter::Input(_) | Parameter::Context => None,
        }
    }));
    (!checks.is_empty()).then(|| quote!(const __CHECKED: ::core::primitive::bool = #(#checks)&*;))
}

/// Whether the type of a parameter that comes from the run is checked by `__CHECKED`.
fn needs_check(parameter: &Parameter) -> bool {
    match parameter {
        Parameter::Resource(_) => true,
        Parameter::State(_, ty) | Parameter::StateOf(_, ty) => !is_known_payload(ty),
        Parameter::Writes(_, ty) | Parameter::MayWrite(_, ty) => !is_named(ty, &["StateWriter"]),
        Parameter::Input(_) | Parameter::Context => false,
    }
}

/// A type, which is an error if `__CHECKED` is one.
fn checked(ty: &Type, krate: &Path) -> TokenStream {
    let span = local(ty.span());
    quote_spanned!(span=> <#ty as #krate::__::Checked<__CHECKED>>::Type)
}

/// The type inside an `Option`; any other type is itself.
fn held_by_option(ty: &Type) -> &Type {
    let Type::Path(path) = ty else { return ty };
    let last = path.path.segments.last().filter(|last| last.ident == "Option");
    let Some(PathArguments::AngleBracketed(arguments)) = last.map(|last| &last.arguments) else { return ty };
    match arguments.args.first() {
        Some(GenericArgument::Type(held)) => held,
        _ => ty,
    }
}

fn is_named(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = ty else { return false };
    path.path.segments.last().is_some_and(|last| names.iter().any(|name| last.ident == name))
}

/// Whether a type seems to be a `Result` behind an alias: `anyhow::Result<Receipt>`, `Res<u8>`.
fn has_error(ty: &Type) -> bool {
    const HOLDERS: [&str; 8] = ["Arc", "BTreeMap", "BTreeSet", "Box", "HashMap", "HashSet", "Option", "Vec"];
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    let is_generic = matches!(last.arguments, PathArguments::AngleBracketed(_)) && !is_named(ty, &HOLDERS);
    is_generic || last.ident.to_string().contains("Result")
}

/// The type that a function seems to return if it does not fail: only the span of an error depends on it.
fn given_by(returns: &Type) -> &Type {
    let Type::Path(path) = returns else { return returns };
    let last = path.path.segments.last().filter(|last| last.ident == "Result");
    let Some(PathArguments::AngleBracketed(arguments)) = last.map(|last| &last.arguments) else { return returns };
    match arguments.args.first() {
        Some(GenericArgument::Type(ty)) => ty,
        _ => returns,
    }
}

/// `run`: takes the input apart, fetches the other parameters from the run, calls the function, and splits its result.
fn run(node: &NodeFn, options: &NodeOptions, krate: &Path, split: Option<&TokenStream>) -> TokenStream {
    let function = &node.signature.ident;
    let place = local(node.signature.fn_token.span());
    let context = Ident::new("__context", place);
    let in_pool = Ident::new("__in_pool", place);
    let input = Ident::new("__input", place);
    let names: Vec<_> = (0..node.parameters.len()).map(|at| format_ident!("__{at}", span = place)).collect();
    let inputs: Vec<_> = node
        .parameters
        .iter()
        .zip(&names)
        .filter(|(parameter, _)| matches!(parameter, Parameter::Input(_)))
        .map(|(_, name)| name)
        .collect();
    let open = match inputs.as_slice() {
        [] => quote!(let () = #input;),
        [one] => quote!(let #one = #input;),
        several => quote!(let (#(#several),*) = #input;),
    };
    let fetch = node.parameters.iter().zip(&names).map(|(parameter, name)| match parameter {
        Parameter::Resource(ty) => {
            let ty = checked(ty, krate);
            quote!(let #name = #krate::__::resource::<#ty>(#context).await;)
        }
        Parameter::State(key, ty) => {
            let key = crate::names::plain(&key.to_string()).to_owned();
            let is_optional = super::state::is_optional(ty, krate);
            let ty = if needs_check(parameter) { checked(ty, krate) } else { quote!(#ty) };
            quote!(let #name = #krate::__::parameter::<#ty>(#context, #key, #is_optional).await;)
        }
        Parameter::StateOf(key, ty) => {
            let (span, key) = (local(ty.span()), super::state::key(key, krate));
            let ty = if needs_check(parameter) { checked(ty, krate) } else { quote!(#ty) };
            quote_spanned!(span=> let #name = #krate::__::parameter_of::<#ty, _, _>(#context, #key).await;)
        }
        _ => TokenStream::new(),
    });
    let writers: Vec<_> = node
        .parameters
        .iter()
        .zip(&names)
        .filter_map(|(parameter, name)| match parameter {
            Parameter::Writes(key, ty) | Parameter::MayWrite(key, ty) => {
                let (span, key) = (local(ty.span()), super::state::key(key, krate));
                let ty = if needs_check(parameter) { checked(ty, krate) } else { quote!(#ty) };
                Some(quote_spanned!(span=> let #name = #krate::__::writer::<#ty, _>(#context, #key);))
            }
            _ => None,
        })
        .collect();
    let blocking = options.blocking.is_some();
    let takes_context = node.parameters.iter().any(|parameter| matches!(parameter, Parameter::Context));
    let is_in_pool = takes_context && options.pool.is_some();
    // The context of a node that may run elsewhere: it has no requests.
    let pool_context =
        is_in_pool.then(|| quote!(let #in_pool = #krate::__::pool_context(::core::clone::Clone::clone(#context));));
    let arguments = node.parameters.iter().zip(&names).map(|(parameter, name)| match parameter {
        Parameter::Context if is_in_pool => quote!(&#in_pool),
        Parameter::Context if blocking => quote!(&#context),
        Parameter::Context => quote!(#context),
        Parameter::Resource(ty) if blocking => {
            let ty = checked(ty, krate);
            quote!(#krate::__::held::<#ty>(&#context))
        }
        _ => quote!(#name),
    });
    let returned = quote!(#function(#(#arguments),*));
    let result = |returned: TokenStream| match split {
        Some(split) => quote!(#split(#returned)),
        None => returned,
    };
    let span = node.signature.fn_token.span();
    // An async block costs rustc several times as much as a named future, so there is one only if something has to be
    // awaited before the call.
    let fetches = node.parameters.iter().any(Parameter::is_fetched);
    let body = match (blocking || fetches || is_in_pool, &node.signature.asyncness) {
        (true, asyncness) => {
            let result = match (blocking, asyncness) {
                (true, _) => {
                    let result = result(returned);
                    quote! {
                        #pool_context
                        let #context = ::core::clone::Clone::clone(#context);
                        #krate::__::blocking::<::core::result::Result<Self::Output, Self::Error>>(move || #result).await
                    }
                }
                (false, Some(_)) => {
                    let result = result(quote!(#returned.await));
                    quote!(#pool_context #result)
                }
                (false, None) => {
                    let result = result(returned);
                    quote!(#pool_context #result)
                }
            };
            quote!(#(#writers)* async move { #open #(#fetch)* #result })
        }
        (false, Some(_)) => {
            let future = match split {
                Some(split) => quote!(#krate::__::map(#returned, #split)),
                None => returned,
            };
            quote!(#(#writers)* #open #future)
        }
        (false, None) => {
            let result = result(returned);
            quote!(#(#writers)* #krate::__::lazy(move |_| { #open #result }))
        }
    };
    quote_spanned! {span=>
        fn run(
            &self, #input: Self::Input, #context: &#krate::Context,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<Self::Output, Self::Error>> + ::core::marker::Send {
            #body
        }
    }
}

/// The span of an expansion's locals: hidden from the user's names, at a place to which errors can point.
fn local(at: Span) -> Span {
    Span::mixed_site().located_at(at)
}

/// The text of the doc comments among attributes.
pub fn doc_of(attributes: &[syn::Attribute]) -> String {
    let docs: Vec<_> = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    doc_text(&docs)
}

/// The text of doc comments.
pub fn doc_text(docs: &[&syn::Attribute]) -> String {
    let lines: Vec<String> = docs
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) => match &pair.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .map(|line| line.strip_prefix(' ').map_or_else(|| line.clone(), ToOwned::to_owned))
        .collect();
    lines.join("\n").trim().to_owned()
}
