//! `#[value]`: the derives that a type needs to travel through a workflow.

use proc_macro2::{TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Attribute, LitStr, Path, Token};

use crate::diagnostics::Diagnostics;
use crate::emit::options::default_crate;

/// Expands `#[value]` on a struct or an enum.
pub fn value(args: TokenStream, item: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::default();
    let krate = match Parser::parse2(crate_option, args.clone()) {
        Ok(krate) => krate.unwrap_or_else(default_crate),
        Err(error) => {
            diagnostics.error(error.span(), "`#[value]` takes no options but `crate = path`").help("leave it out");
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
    if diagnostics.has_errors() {
        let errors = diagnostics.into_compile_errors();
        return quote!(#item const _: () = { #errors };);
    }
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
        #[derive(#clone #serialize #deserialize #schema)]
        #serde
        #schemars
        #item
    }
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
