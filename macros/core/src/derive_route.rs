//! `#[derive(Route)]`: a twin enum whose variants are spelled as labels are, each with one field.

use std::collections::BTreeSet;

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::{Data, DeriveInput, Field, Fields, Path, Variant, parse_quote};

use crate::diagnostics::{Blame, Diagnostics};
use crate::emit::options::default_crate;
use crate::names::{label_ident, plain, snake_case};
use crate::node_fn::doc_of;

/// Expands `#[derive(Route)]`.
pub fn derive_route(input: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let krate = crate_path(&input, &mut diagnostics);
    let variants: Vec<&Variant> = match &input.data {
        Data::Enum(data) => data.variants.iter().collect(),
        _ => {
            diagnostics.error(input.ident.span(), "only an enum has labels to route by").help(
                "derive `Route` for an enum; a struct goes along a plain edge, and a field of it is routed by a node",
            );
            Vec::new()
        }
    };
    refuse_meeting_labels(&variants, &mut diagnostics);
    refuse_renamed_labels(&variants, &mut diagnostics);
    if diagnostics.has_errors() {
        let errors = diagnostics.into_compile_errors();
        return quote!(const _: () = { #errors };);
    }
    twin(&input, &variants, &krate)
}

fn twin(input: &DeriveInput, variants: &[&Variant], krate: &Path) -> TokenStream {
    let DeriveInput { ident: name, vis, generics, .. } = input;
    let (impl_generics, ty_generics, where_clause) = generics.split_for_impl();
    let labels: Vec<Ident> = variants.iter().map(|variant| label(&variant.ident)).collect();
    let texts: Vec<String> = labels.iter().map(|label| plain(&label.to_string()).to_owned()).collect();
    let payloads: Vec<TokenStream> = variants.iter().map(|variant| payload(variant, input)).collect();
    let twin = twin_name(name, &quote!(#generics #where_clause #(#payloads)*));
    let split = variants.iter().zip(&labels).map(|(variant, label)| {
        let (pattern, value) = (pattern(name, variant), value(variant));
        quote!(#pattern => #twin::#label(#value))
    });
    let whole = variants.iter().zip(&labels).map(|(variant, label)| {
        let (pattern, value) = (pattern(name, variant), value(variant));
        quote!(#twin::#label(#value) => #pattern)
    });
    let docs = variants.iter().map(|variant| doc_of(&variant.attrs));
    let route_of = route_of(input, variants, &payloads, krate);
    let view = crate::editor::view_of_labels(krate, input, &labels, &payloads);
    quote! {
        #[allow(clippy::all, clippy::pedantic, unexpected_cfgs, reason = "generated")]
        const _: () = {
            #[cfg(rust_analyzer)]
            #view
            #[allow(non_camel_case_types, missing_docs, dead_code, unreachable_pub, reason = "variants are labels")]
            #vis enum #twin #generics #where_clause { #(#labels(#payloads)),* }

            impl #impl_generics #krate::Route for #name #ty_generics #where_clause {
                type Labels = #twin #ty_generics;
                const LABELS: &'static [&'static ::core::primitive::str] = &[#(#texts),*];
                const DOCS: &'static [&'static ::core::primitive::str] = &[#(#docs),*];

                fn split(self) -> Self::Labels {
                    match self { #(#split),* }
                }

                fn whole(labels: Self::Labels) -> Self {
                    match labels { #(#whole),* }
                }
            }

            #route_of
        };
    }
}

/// The impl that holds where the payload of each variant is the value that is routed. What it is, rustc decides.
fn route_of(input: &DeriveInput, variants: &[&Variant], payloads: &[TokenStream], krate: &Path) -> TokenStream {
    let DeriveInput { ident: name, generics, .. } = input;
    let value = format_ident!("__T", span = Span::mixed_site());
    let mut seen = BTreeSet::new();
    let held = variants.iter().zip(payloads).filter(|(variant, _)| !variant.fields.is_empty());
    let held = held.map(|(_, payload)| payload).filter(|payload| seen.insert(payload.to_string()));
    let bounds: Vec<TokenStream> = held.map(|payload| quote!(#payload: #krate::__::PayloadOf<#value>)).collect();
    let (_, ty_generics, where_clause) = generics.split_for_impl();
    let mut own = generics.clone();
    own.params.push(parse_quote!(#value));
    let (impl_generics, _, _) = own.split_for_impl();
    let others = where_clause.map(|clause| clause.predicates.iter().collect::<Vec<_>>()).unwrap_or_default();
    let arms = variants.iter().enumerate().map(|(at, variant)| {
        let fields = names(&variant.fields);
        let open = match fields.as_slice() {
            [] => quote!(),
            [one] => quote!(let #one = #krate::__::PayloadOf::of(value);),
            several => quote!(let (#(#several),*) = #krate::__::PayloadOf::of(value);),
        };
        let whole = pattern(name, variant);
        quote!(#at => { #open ::core::option::Option::Some(#whole) })
    });
    quote! {
        impl #impl_generics #krate::RouteOf<#value> for #name #ty_generics where #(#others,)* #(#bounds),* {
            #[allow(unused_variables, reason = "there may be no variant with a value")]
            fn at(label: ::core::primitive::usize, value: #value) -> ::core::option::Option<Self> {
                match label {
                    #(#arms,)*
                    _ => ::core::option::Option::None,
                }
            }
        }
    }
}

/// The label of a variant, as an identifier: in snake_case, raw where that is a keyword.
pub fn label(variant: &Ident) -> Ident {
    label_ident(&snake_case(&variant.to_string()), variant.span())
}

/// The name of the twin, which is seen in errors. A type of the user's that is called so is meant by its name in the payloads.
fn twin_name(name: &Ident, mentioned: &TokenStream) -> Ident {
    let mut twin = format!("{}Label", plain(&name.to_string()));
    while mentions(mentioned.clone(), &twin) {
        twin.push('_');
    }
    Ident::new(&twin, name.span())
}

fn mentions(tokens: TokenStream, name: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == name,
        TokenTree::Group(group) => mentions(group.stream(), name),
        _ => false,
    })
}

/// A type of a field with the name of the enum for `Self`, which in the twin would be the twin.
fn with_name_of_self(ty: TokenStream, itself: &TokenStream) -> TokenStream {
    let mut out = TokenStream::new();
    let mut rest = ty.into_iter().peekable();
    while let Some(token) = rest.next() {
        match token {
            TokenTree::Ident(word) if word == "Self" => {
                let of_item = matches!(rest.peek(), Some(TokenTree::Punct(colon)) if colon.as_char() == ':');
                out.extend(if of_item { quote!(<#itself>) } else { itself.clone() });
            }
            TokenTree::Group(group) => {
                let mut named = Group::new(group.delimiter(), with_name_of_self(group.stream(), itself));
                named.set_span(group.span());
                out.extend([TokenTree::Group(named)]);
            }
            token => out.extend([token]),
        }
    }
    out
}

fn payload(variant: &Variant, input: &DeriveInput) -> TokenStream {
    let (name, (_, ty_generics, _)) = (&input.ident, input.generics.split_for_impl());
    let itself = quote!(#name #ty_generics);
    let types: Vec<_> =
        variant.fields.iter().map(|field| with_name_of_self(field.ty.to_token_stream(), &itself)).collect();
    match types.as_slice() {
        [] => quote!(()),
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    }
}

fn names(fields: &Fields) -> Vec<Ident> {
    (0..fields.len()).map(|at| format_ident!("__{at}")).collect()
}

fn pattern(name: &Ident, variant: &Variant) -> TokenStream {
    let (ident, fields) = (&variant.ident, names(&variant.fields));
    match &variant.fields {
        Fields::Unit => quote!(#name::#ident),
        Fields::Unnamed(_) => quote!(#name::#ident(#(#fields),*)),
        Fields::Named(named) => {
            let keys = named.named.iter().map(|Field { ident, .. }| ident);
            quote!(#name::#ident { #(#keys: #fields),* })
        }
    }
}

fn value(variant: &Variant) -> TokenStream {
    let fields = names(&variant.fields);
    match fields.as_slice() {
        [] => quote!(()),
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    }
}

fn refuse_meeting_labels(variants: &[&Variant], diagnostics: &mut Diagnostics) {
    for (at, variant) in variants.iter().enumerate() {
        let text = snake_case(&variant.ident.to_string());
        if let Some(first) = variants[..at].iter().find(|first| snake_case(&first.ident.to_string()) == text) {
            diagnostics
                .error(
                    variant.ident.span(),
                    format!("`{}` and `{}` have the same label, `{text}`", first.ident, variant.ident),
                )
                .help("rename one of them");
        }
    }
}

fn refuse_renamed_labels(variants: &[&Variant], diagnostics: &mut Diagnostics) {
    for attribute in variants.iter().flat_map(|variant| &variant.attrs).filter(|one| one.path().is_ident("route")) {
        diagnostics
            .error(Blame::tokens(attribute), "the label of a variant is its name")
            .help("leave the attribute out, and rename the variant");
    }
}

/// `#[route(crate = path)]`
fn crate_path(input: &DeriveInput, diagnostics: &mut Diagnostics) -> Path {
    let mut krate = None;
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("route")) {
        let read = attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                krate = Some(meta.value()?.parse()?);
                Ok(())
            } else {
                Err(meta.error("unknown option"))
            }
        });
        if let Err(error) = read {
            diagnostics.error(error.span(), "`#[route(..)]` takes no options but `crate = path`").help("leave it out");
        }
    }
    krate.unwrap_or_else(default_crate)
}
