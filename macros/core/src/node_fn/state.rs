//! The state declarations of a node, from its parameters.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Path, Type};

use super::signature::{NodeFn, Parameter};
use crate::emit::mention::glue;

/// Whether a parameter is an `Option`, by its type.
pub fn is_optional(ty: &Type, krate: &Path) -> TokenStream {
    quote!({
        #[allow(unused_imports, reason = "an `Option` has its own answer")]
        use #krate::__::Plain as _;
        #krate::__::Probe::<#ty>::OPTIONAL
    })
}

/// `const STATE`, for a node that reads or writes.
pub fn facts(node: &NodeFn, krate: &Path) -> Option<TokenStream> {
    let (mut reads, mut writes, mut may_write) = (Vec::new(), Vec::new(), Vec::new());
    for parameter in &node.parameters {
        match parameter {
            Parameter::State(name, ty) => {
                let (name, is_optional) = (name.to_string(), is_optional(ty, krate));
                let name = crate::names::plain(&name);
                reads.push(quote!((#krate::__::named_key_fact(#name), #is_optional)));
            }
            Parameter::StateOf(key, ty) => {
                let (fact, is_optional) = (fact(key, krate), is_optional(ty, krate));
                reads.push(quote!((#fact, #is_optional)));
            }
            Parameter::Writes(key, _) => writes.push(fact(key, krate)),
            Parameter::MayWrite(key, _) => may_write.push(fact(key, krate)),
            Parameter::Input(_) | Parameter::Context | Parameter::Resource(_) => {}
        }
    }
    if reads.is_empty() && writes.is_empty() && may_write.is_empty() {
        return None;
    }
    let count = reads.len();
    let (reads_const, reads) = match count {
        0 => (None, quote!(&[])),
        _ => {
            let needed = quote! {
                const __READS: ([#krate::__::StateKeyFact; #count], usize) = #krate::__::needed([#(#reads),*]);
            };
            (Some(needed), quote!(__READS.0.split_at(__READS.1).0))
        }
    };
    Some(quote! {
        const STATE: #krate::__::StateFacts = {
            #reads_const
            #krate::__::StateFacts {
                reads: #reads, writes: &[#(#writes),*], may_write: &[#(#may_write),*], ..#krate::__::StateFacts::NONE
            }
        };
    })
}

fn fact(key: &Path, krate: &Path) -> TokenStream {
    let span = glue(key.span());
    let key = self::key(key, krate);
    quote_spanned!(span=> #krate::__::key_fact(&#key))
}

/// A key as a value. Its type is written, so that a constant that is no key is the same error in each place, which rustc
/// reports once.
pub fn key(key: &Path, krate: &Path) -> TokenStream {
    let span = glue(key.span());
    quote_spanned!(span=> { let key: #krate::__::StateKey<_, _> = #key; key })
}
