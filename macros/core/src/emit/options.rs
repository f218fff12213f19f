//! Options as the runtime takes them.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use std::time::Duration;
use syn::spanned::Spanned as _;
use syn::{Expr, Path, parse_quote};

use super::mention::glue;
use super::state::given_key;

use crate::options::{NodeOptions, RetryOptions, RunLimits};

/// The default path by which an expansion names the runtime.
pub fn default_crate() -> Path {
    parse_quote!(::graphweft)
}

/// Whether an error may be retried: a call of the function in `when = ..`, which may take a `&str` for a `&String`. A closure
/// gets the type of its argument from `of_closure`.
pub fn may_retry(when: &Expr, of_closure: &TokenStream, error: &Ident) -> TokenStream {
    match when {
        Expr::Path(function) => quote_spanned!(error.span()=> #function(#error)),
        closure => quote!(#of_closure(#closure, #error)),
    }
}

/// The expression that makes a `NodeOptions`; `None` if no option was written that needs one.
pub fn node_options(options: &NodeOptions, krate: &Path) -> Option<TokenStream> {
    let silent = options.retry.is_none()
        && options.timeout.is_none()
        && options.max_parallel.is_none()
        && options.at_most_once.is_none();
    if silent {
        return None;
    }
    let retry = option(options.retry.as_ref().map(|retry| retry_policy(retry, krate)));
    let timeout = option(options.timeout.map(duration));
    let max_parallel = option(options.max_parallel.map(|(most, _)| quote!(#most)));
    let at_most_once = options.at_most_once.is_some();
    Some(quote!(#krate::__::node_options(#retry, #timeout, #max_parallel, #at_most_once)))
}

/// The expression that gives a definition the keys that are given at the start, if there are any.
pub fn with_given(given: &[Path], definition: TokenStream) -> TokenStream {
    if given.is_empty() {
        return definition;
    }
    let keys = given.iter().map(|key| {
        let (span, key) = (glue(key.span()), given_key(key));
        quote_spanned!(span=> __gw::given(#key))
    });
    quote!(__gw::with_given({ #definition }, ::std::vec![#(#keys),*]))
}

/// The expression that gives a definition the limits of its runs, if there are any.
pub fn with_limits(limits: RunLimits, definition: TokenStream) -> TokenStream {
    if limits.timeout.is_none() && limits.max_parallel.is_none() {
        return definition;
    }
    let timeout = option(limits.timeout.map(duration));
    let max_parallel = option(limits.max_parallel.map(|most| quote!(#most)));
    quote!(__gw::with_limits({ #definition }, #timeout, #max_parallel))
}

/// The options of a workflow as a node of another: the time limit of its runs is that of an attempt.
pub fn options_of_workflow(limits: RunLimits) -> Option<TokenStream> {
    let timeout = option(Some(duration(limits.timeout?)));
    Some(quote! {
        fn options(&self) -> __gw::NodeOptions {
            __gw::node_options(::core::option::Option::None, #timeout, ::core::option::Option::None, false)
        }
    })
}

/// The expression that replaces the options of a node by the written ones.
pub fn override_options(options: &NodeOptions, own: &TokenStream) -> TokenStream {
    let krate = parse_quote!(__gw);
    let retry = option(options.retry.as_ref().map(|retry| retry_in(retry, &krate)));
    let timeout = option(options.timeout.map(duration));
    let max_parallel = option(options.max_parallel.map(|(most, _)| quote!(#most)));
    let at_most_once = options.at_most_once.is_some();
    quote!(__gw::override_options(#own, #retry, #timeout, #max_parallel, #at_most_once))
}

/// The expression that makes a `RetryPolicy`.
pub fn retry_policy(retry: &RetryOptions, krate: &Path) -> TokenStream {
    retry_in(retry, &parse_quote!(#krate::__))
}

fn retry_in(retry: &RetryOptions, krate: &Path) -> TokenStream {
    let max_attempts = option(retry.max_attempts.map(|most| quote!(#most)));
    let initial_delay = option(retry.initial_delay.map(duration));
    let max_delay = option(retry.max_delay.map(duration));
    let backoff_factor = option(retry.backoff_factor.map(|factor| quote!(#factor)));
    let jitter = option(retry.jitter.map(|jitter| quote!(#jitter)));
    quote!(#krate::retry_policy(#max_attempts, #initial_delay, #max_delay, #backoff_factor, #jitter))
}

fn option(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

fn duration(value: Duration) -> TokenStream {
    let (seconds, nanos) = (value.as_secs(), value.subsec_nanos());
    quote!(::core::time::Duration::new(#seconds, #nanos))
}
