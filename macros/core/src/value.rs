//! `#[value]`: the derives that a type needs to travel through a workflow.

use proc_macro2::{TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, Data, DeriveInput, Field, Fields, GenericArgument, LitStr, Path, PathArguments, Token, Type};

use crate::diagnostics::{Blame, Diagnostics};
use crate::emit::options::default_crate;
use crate::emit::travels::is_known_payload;

/// Expands `#[value]` on a struct or an enum.
pub fn value(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let mut of_options = Diagnostics::default();
    let krate = match Parser::parse2(crate_option, args.clone()) {
        Ok(krate) => krate.unwrap_or_else(default_crate),
        Err(error) => {
            of_options.error(error.span(), "`#[value]` takes no options but `crate = path`").help("leave it out");
            default_crate()
        }
    };
    let is_type = item
        .clone()
        .into_iter()
        .any(|token| matches!(&token, TokenTree::Ident(word) if *word == "struct" || *word == "enum"));
    if !is_type {
        let span = item.clone().into_iter().next().map_or_else(proc_macro2::Span::call_site, |token| token.span());
        diagnostics
            .error(span, "`#[value]` can only be used on a struct or an enum")
            .help("put it on the type that an edge carries");
    }
    let parsed = syn::parse2::<DeriveInput>(item.clone()).ok().filter(|_| is_type);
    if let Some(input) = &parsed {
        refuse_second(input, &mut diagnostics);
        let ours = ["Clone", "Serialize", "Deserialize", "JsonSchema"];
        let derives_itself = derives(item.clone()).iter().any(|name| ours.iter().any(|one| name == one));
        if !diagnostics.has_errors() && refuse_borrowed(input, &mut diagnostics) && !derives_itself {
            return borrowed(input, &krate, &diagnostics);
        }
    }
    if diagnostics.has_errors() {
        diagnostics.extend(of_options);
        let errors = diagnostics.into_compile_errors();
        return quote!(#item const _: () = { #errors };);
    }
    // The type is a value all the same, so that no node that takes it is an error too.
    let wrong_option = of_options.has_errors().then(|| {
        let errors = of_options.into_compile_errors();
        quote!(const _: () = { #errors };)
    });
    let checks = parsed.as_ref().map(|input| checks(input, &krate));
    let path = quote!(#krate).to_string().replace(' ', "");
    let serde = LitStr::new(&format!("{path}::__::serde"), proc_macro2::Span::call_site());
    let schemars = LitStr::new(&format!("{path}::__::schemars"), proc_macro2::Span::call_site());
    let derived = derives(item.clone());
    let clone = (!derived.iter().any(|name| name == "Clone")).then(|| quote!(::core::clone::Clone,));
    let serialize = missing(&derived, "Serialize", quote!(#krate::__::serde::Serialize,));
    let deserialize = missing(&derived, "Deserialize", quote!(#krate::__::serde::Deserialize,));
    let schema = missing(&derived, "JsonSchema", quote!(#krate::__::schemars::JsonSchema,));
    let serde = (serialize.is_some() || deserialize.is_some()).then(|| quote!(#[serde(crate = #serde)]));
    let schemars = schema.is_some().then(|| quote!(#[schemars(crate = #schemars)]));
    let span = proc_macro2::Span::call_site();
    quote_spanned! {span=>
        #wrong_option
        #checks
        #[derive(#clone #serialize #deserialize #schema)]
        #serde
        #schemars
        #item
    }
}

fn refuse_second(input: &DeriveInput, diagnostics: &mut Diagnostics) {
    let is_value = |attribute: &&Attribute| {
        let path: Vec<_> = attribute.path().segments.iter().map(|segment| segment.ident.to_string()).collect();
        matches!(path.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), ["value"] | ["graphweft", "value"])
    };
    if let Some(second) = input.attrs.iter().find(is_value) {
        diagnostics.error(Blame::tokens(second), "`#[value]` is on this type already").help("leave one of them out");
    }
}

/// What is read back from a record borrows nothing: it has no lifetime, and no reference in a field without attributes of
/// serde. Returns whether an error was reported.
fn refuse_borrowed(input: &DeriveInput, diagnostics: &mut Diagnostics) -> bool {
    const MEND: &str = "own what it holds: `String` for `&str`, `Vec<T>` for `&[T]`";
    if let Some(lifetime) = input.generics.lifetimes().next() {
        diagnostics
            .error(lifetime.lifetime.span(), "a value is read back from its record, and borrows nothing")
            .help(MEND);
        return true;
    }
    for field in plain_fields(input) {
        if let Type::Reference(reference) = &field.ty {
            diagnostics
                .error(Blame::tokens(reference), "a value is read back from its record, and borrows nothing")
                .help(MEND);
        }
    }
    diagnostics.has_errors()
}

/// The fields without an attribute of serde or schemars.
fn plain_fields(input: &DeriveInput) -> impl Iterator<Item = &Field> {
    let fields: Vec<&Field> = match &input.data {
        Data::Struct(data) => data.fields.iter().collect(),
        Data::Enum(data) => data.variants.iter().flat_map(|variant| &variant.fields).collect(),
        Data::Union(_) => Vec::new(),
    };
    let is_plain = |field: &&Field| !field.attrs.iter().any(is_of_our_derives);
    fields.into_iter().filter(is_plain)
}

/// A type that borrows is a payload after its error, so that no node that takes it is an error too.
fn borrowed(input: &DeriveInput, krate: &Path, diagnostics: &Diagnostics) -> TokenStream {
    let (name, errors) = (&input.ident, diagnostics.into_compile_errors());
    let (_, types, clause) = input.generics.split_for_impl();
    let parameters: Vec<_> = input.generics.params.iter().collect();
    let mut input = input.clone();
    without_attributes(&mut input);
    quote! {
        #input
        #[automatically_derived]
        #[allow(clippy::all, clippy::pedantic, reason = "generated")]
        const _: () = {
            #errors
            impl<#(#parameters),*> ::core::clone::Clone for #name #types #clause {
                fn clone(&self) -> Self {
                    loop {}
                }
            }
            impl<#(#parameters),*> #krate::__::serde::Serialize for #name #types #clause {
                fn serialize<__S: #krate::__::serde::Serializer>(
                    &self, _: __S,
                ) -> ::core::result::Result<__S::Ok, __S::Error> {
                    loop {}
                }
            }
            impl<'__de, #(#parameters),*> #krate::__::serde::Deserialize<'__de> for #name #types #clause {
                fn deserialize<__D: #krate::__::serde::Deserializer<'__de>>(
                    _: __D,
                ) -> ::core::result::Result<Self, __D::Error> {
                    loop {}
                }
            }
            impl<#(#parameters),*> #krate::__::schemars::JsonSchema for #name #types #clause {
                fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
                    loop {}
                }
                fn json_schema(
                    _: &mut #krate::__::schemars::SchemaGenerator,
                ) -> #krate::__::schemars::Schema {
                    loop {}
                }
            }
        };
    }
}

fn is_of_our_derives(attribute: &Attribute) -> bool {
    ["serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
}

/// Takes away what belongs to derives that the type does not get.
fn without_attributes(input: &mut DeriveInput) {
    let keep = |attributes: &mut Vec<Attribute>| attributes.retain(|attribute| !is_of_our_derives(attribute));
    keep(&mut input.attrs);
    let of_fields = |fields: &mut Fields| fields.iter_mut().for_each(|field| keep(&mut field.attrs));
    match &mut input.data {
        Data::Struct(data) => of_fields(&mut data.fields),
        Data::Enum(data) => data.variants.iter_mut().for_each(|variant| {
            keep(&mut variant.attrs);
            of_fields(&mut variant.fields);
        }),
        Data::Union(_) => {}
    }
}

/// Constants that check that the fields are payloads too. They come before the type, so that their error is the first, and
/// those of the derives about serde's traits follow.
fn checks(input: &DeriveInput, krate: &Path) -> TokenStream {
    if !input.generics.params.is_empty() {
        return TokenStream::new();
    }
    let mut seen = std::collections::BTreeSet::new();
    let types: Vec<&Type> = plain_fields(input)
        .map(|field| held(&field.ty))
        .filter(|ty| is_named(ty, input) && seen.insert(quote!(#ty).to_string()))
        .collect();
    if types.is_empty() {
        return TokenStream::new();
    }
    quote! {
        const _: () = {
            #(let _ = <#types as #krate::__::Travels<()>>::TRAVELS;)*
        };
    }
}

/// Whether a type is one that may lack `#[value]`: a name, and not that of the type itself.
fn is_named(ty: &Type, input: &DeriveInput) -> bool {
    let Type::Path(path) = ty else { return false };
    let is_itself = path.path.is_ident(&input.ident) || path.path.is_ident("Self");
    let is_plain = path.path.segments.iter().all(|segment| segment.arguments.is_none());
    path.qself.is_none() && !is_itself && !is_known_payload(ty) && is_plain
}

/// The type inside a `Vec`, an `Option` or a `Box`.
fn held(ty: &Type) -> &Type {
    let Type::Path(path) = ty else { return ty };
    let Some(last) = path.path.segments.last() else { return ty };
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return ty };
    match (["Vec", "Option", "Box"].iter().any(|name| last.ident == name), arguments.args.first()) {
        // One of no size is named with its box.
        (true, Some(GenericArgument::Type(inner))) if !has_no_size(inner) => held(inner),
        _ => ty,
    }
}

fn has_no_size(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if ["str", "Path"].iter().any(|name| path.path.is_ident(name)))
}

fn missing(derived: &[String], name: &str, derive: TokenStream) -> Option<TokenStream> {
    (!derived.iter().any(|derived| derived == name)).then_some(derive)
}

/// The last segments of the paths that the type derives already.
fn derives(item: TokenStream) -> Vec<String> {
    let attributes = Parser::parse2(
        |input: ParseStream<'_>| {
            let attributes = input.call(Attribute::parse_outer)?;
            let _rest: TokenStream = input.parse()?;
            Ok(attributes)
        },
        item,
    )
    .unwrap_or_default();
    let mut names = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // A derive that does not parse is reported by rustc itself.
        let _reported_by_rustc = attribute.parse_nested_meta(|meta| {
            names.extend(meta.path.segments.last().map(|segment| segment.ident.to_string()));
            Ok(())
        });
    }
    names
}

fn crate_option(input: ParseStream<'_>) -> syn::Result<Option<Path>> {
    if input.is_empty() {
        return Ok(None);
    }
    let _: Token![crate] = input.parse()?;
    let _: Token![=] = input.parse()?;
    Path::parse(input).map(Some)
}
