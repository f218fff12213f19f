//! `workflow!` as a whole: an item with a name, or an expression.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Path, Type};

use super::flow::{OutputType, checks, definition, lets, limits_of_nested};
use super::mention::{Emission, glue, out};
use super::options::{options_of_workflow, with_given, with_limits};
use super::state::{StateEmission, facts_name, held_to_have_no_state};
use super::travels::{is_known_payload, signature_types};
use crate::diagnostics::Diagnostics;
use crate::ir::{Item, Signature, Workflow};
use crate::node_fn::{allow_of_deprecated, default_impl, doc_text};

/// The expansion of a workflow with its errors. `view`: what an editor reads in the place of the graph.
pub fn workflow(workflow: &Workflow, diagnostics: &Diagnostics, view: &TokenStream) -> TokenStream {
    match &workflow.item {
        Some(item) => in_item_position(workflow, item, diagnostics, view),
        None => in_expression_position(workflow, diagnostics, view),
    }
}

/// The names that every expansion uses.
fn imports(workflow: &Workflow) -> TokenStream {
    let krate = &workflow.krate;
    quote! {
        #[allow(unused_imports, reason = "not every workflow needs all of them")]
        use #krate::__ as __gw;
        #[allow(unused_imports, reason = "not every workflow needs all of them")]
        use #krate::__::{
            FromAnything as _, FromBoxed as _, FromDebug as _, FromDisplay as _, FromError as _, NoWay as _, Plain as _,
            PlainFacts as _,
        };
        #[allow(unused_imports, reason = "rustc offers them for `end` and `Start`")]
        use #krate::{END, START};
    }
}

fn output_type(workflow: &Workflow, name: &Ident) -> TokenStream {
    let krate = &workflow.krate;
    match &workflow.signature {
        Some(signature) if !signature.knows_output => quote!(<#name as #krate::Node>::Output),
        Some(Signature { output: Some(output), .. }) => quote!(#output),
        _ => quote!(()),
    }
}

/// The errors, and a type `__Unknown` for everything that is unknown because of them: it is an error itself, which
/// rustc does not report again.
fn refusal(diagnostics: &Diagnostics) -> TokenStream {
    if !diagnostics.has_errors() {
        return TokenStream::new();
    }
    let (unknown, others) = diagnostics.into_error_value();
    quote! {
        #[allow(dead_code, reason = "most is known")]
        const __UNKNOWN: ::core::primitive::bool = { #unknown loop {} };
        #[allow(dead_code, reason = "most is known")]
        type __Unknown = <() as __gw::Checked<__UNKNOWN>>::Type;
        const _: () = { #others };
    }
}

/// `__halves::compiled! { { what an editor reads } { what rustc compiles } { what takes its place in an editor } }`, for an
/// expansion to call.
fn halves(krate: &Path) -> TokenStream {
    quote! {
        #[allow(unexpected_cfgs, reason = "an editor sets it")]
        mod __halves {
            #[cfg(not(rust_analyzer))]
            pub(super) use #krate::__::compiled;
            #[cfg(rust_analyzer)]
            pub(super) use #krate::__::editor_view as compiled;
        }
    }
}

fn in_item_position(workflow: &Workflow, item: &Item, diagnostics: &Diagnostics, view: &TokenStream) -> TokenStream {
    let Item { attributes, visibility, name } = item;
    let krate = &workflow.krate;
    let docs: Vec<_> = attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    // If the workflow is configured out, everything of it is; what its author allows is allowed in the graph.
    let is_for_all = |attribute: &&Attribute| ["cfg", "allow"].iter().any(|name| attribute.path().is_ident(name));
    let conditions: Vec<_> = attributes.iter().filter(is_for_all).collect();
    let doc = doc_text(&docs);
    let inputs: Vec<_> = workflow.signature.iter().flat_map(|signature| &signature.inputs).collect();
    let copy = if workflow.signature.is_some() && inputs.iter().copied().all(is_known_payload) {
        quote!(::core::option::Option::Some(::core::clone::Clone::clone))
    } else {
        quote!(__gw::CloneProbe::<__Input>::CLONE)
    };
    let emission = Emission { lets: &workflow.lets, flow: &workflow.flow, is_item: workflow.item.is_some() };
    let out = out();
    let (imports, lets, nested) = (imports(workflow), lets(&workflow.lets), limits_of_nested(workflow));
    let text = name.to_string();
    let text = crate::names::plain(&text);
    let default = default_impl(name);
    let (halves, errors) = (halves(krate), refusal(diagnostics));
    let options = options_of_workflow(workflow.limits);
    let body = if diagnostics.has_errors() || workflow.flow.plan.is_none() {
        let checks = checks(&emission);
        quote!(#checks __gw::refused())
    } else {
        let definition = definition(&emission, &quote!(#text), &doc, OutputType::Named);
        with_given(&workflow.given, with_limits(workflow.limits, definition))
    };
    let state = StateEmission::of(workflow).filter(|_| !diagnostics.has_errors());
    let proof = state.as_ref().map(|state| [state.proof(), state.keys(&quote!(__ID))]);
    let proof = proof.into_iter().flatten();
    let facts_name = facts_name();
    let keys = if state.is_some() { quote!(#facts_name<__D>) } else { quote!(__gw::NoKeys) };
    let unproven = state.is_some().then(|| {
        quote!(#[allow(unused, unreachable_pub, non_camel_case_types, reason = "for an editor")]
        pub type #facts_name<__D> = __gw::Unproven<__D>;)
    });
    let without_state = held_to_have_no_state(&workflow.lets);
    let diagram = (!diagnostics.has_errors()).then(|| super::shape::picture(&emission).to_mermaid()).map(|text| {
        let lead = if docs.is_empty() { format!("The workflow `{name}`.") } else { String::new() };
        let text = format!("{lead}\n\n```text\n{text}```");
        quote!(#[doc = #text])
    });
    let signature_types = signature_types(workflow, &emission);
    let signature = workflow.signature.as_ref();
    let input_at = inputs.first().map(|ty| ty.span()).or(signature.map(|signature| signature.span));
    let output_at = signature.and_then(|signature| signature.output.as_ref()).map(|ty| ty.span());
    let (input_at, output_at) = (glue(input_at.unwrap_or(name.span())), glue(output_at.unwrap_or(name.span())));
    let mut types = quote_spanned!(input_at=> type Input = __Input;);
    types.extend(quote_spanned!(output_at=> type Output = __Output;));
    let span = name.span();
    let name_type = quote_spanned!(span=> #name);
    let of_deprecated = allow_of_deprecated(attributes);
    let function = function(workflow, item, &inputs);
    quote! {
        #(#attributes)*
        #diagram
        #[allow(non_camel_case_types, dead_code, reason = "the workflow as a node")]
        #[allow(missing_copy_implementations, missing_debug_implementations, reason = "there is no value of it")]
        #visibility struct #name_type {}

        #function

        #(#conditions)*
        #of_deprecated
        #[allow(clippy::all, clippy::pedantic, unused_qualifications, unused_parens, unexpected_cfgs, reason = "generated")]
        const _: () = {
            #halves
            #errors
            #imports
            #signature_types

            impl #name {
                /// The graph as data: nodes, edges, labels, loops and schemas.
                #[allow(dead_code, unreachable_pub, reason = "part of every workflow")]
                pub fn graph() -> __gw::Graph {
                    __gw::graph_of::<#name>()
                }
            }

            #default
            const __ID: ::core::primitive::u64 = __gw::StateKeyFact::hash_of(
                ::core::concat!(::core::module_path!(), "::", #text, ::core::line!(), ::core::column!()),
            );
            // Beside the halves an editor would take the nodes in a proof for those that are written.
            __halves::compiled! {
                {}
                { #(#proof)* }
                { #unproven }
            }

            impl __gw::Node for #name {
                #types
                type Error = __gw::Failure;
                const FACTS: __gw::NodeFacts<Self::Input, __gw::Failure> =
                    __gw::NodeFacts::of_workflow(#text, #doc, #copy);
                const STATE: __gw::StateFacts = __gw::StateFacts { inside: &[__ID], ..__gw::StateFacts::NONE };

                fn run(
                    &self, input: Self::Input, context: &__gw::Context,
                ) -> impl ::core::future::Future<Output = ::core::result::Result<Self::Output, __gw::Failure>>
                + ::core::marker::Send {
                    __gw::run_within::<Self>(input, context)
                }

                #options

                fn nested() -> ::core::option::Option<fn() -> &'static ::std::sync::Arc<__gw::Definition>> {
                    ::core::option::Option::Some(<Self as __gw::Workflow>::definition)
                }
            }

            impl __gw::Workflow for #name {
                const NAME: &'static ::core::primitive::str = #text;
                type Keys<__D: __gw::Depth> = #keys;

                fn definition() -> &'static ::std::sync::Arc<__gw::Definition> {
                    static __DEFINITION: __gw::Defined = __gw::Defined::by(__define);
                    __DEFINITION.get()
                }
            }

            __halves::compiled! {
                { #view }
                {
                    fn __define() -> __gw::Definition {
                        #[allow(unused_variables, reason = "not every graph reaches END by an edge of its own")]
                        let #out = __gw::gives::<__Output>();
                        #lets
                        #nested
                        #without_state
                        #body
                    }
                }
                { fn __define() -> __gw::Definition { __gw::seen() } }
            }
        };
    }
}

/// The function that runs the workflow in memory.
fn function(workflow: &Workflow, item: &Item, inputs: &[&Type]) -> TokenStream {
    let Item { attributes, visibility, name } = item;
    let krate = &workflow.krate;
    if workflow.signature.as_ref().is_some_and(|signature| !signature.knows_inputs) {
        // With which arguments it will be called is unknown: a value of a type that is an error itself is called with any.
        let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        return quote! {
            #(#conditions)*
            #[allow(non_upper_case_globals, missing_docs, dead_code, reason = "in the place of a function")]
            #visibility const #name: <#name as #krate::Node>::Input = loop {};
        };
    }
    let parameters: Vec<_> = match inputs.len() {
        1 => vec![format_ident!("input")],
        several => (0..several).map(|at| format_ident!("input_{at}")).collect(),
    };
    let packed = match parameters.as_slice() {
        [one] => quote!(#one),
        several => quote!((#(#several),*)),
    };
    let output = output_type(workflow, name);
    let of_deprecated = allow_of_deprecated(attributes);
    // Behind a name alone rustc would offer a type parameter for an unknown type.
    let no_generics = quote_spanned!(glue(name.span())=> <>);
    quote! {
        #(#attributes)*
        ///
        /// Runs the workflow in memory. Dropping the future cancels it.
        #[allow(dead_code, reason = "a workflow may be used by its type alone")]
        #[allow(clippy::missing_errors_doc, reason = "they are the same for every workflow")]
        #of_deprecated
        #visibility async fn #name #no_generics(
            #(#parameters: #inputs),*
        ) -> ::core::result::Result<#output, #krate::RunError> {
            #krate::__::run_in_memory::<#name>(#packed).await
        }
    }
}

fn in_expression_position(workflow: &Workflow, diagnostics: &Diagnostics, view: &TokenStream) -> TokenStream {
    let emission = Emission { lets: &workflow.lets, flow: &workflow.flow, is_item: workflow.item.is_some() };
    let out = out();
    let (imports, lets, nested) = (imports(workflow), lets(&workflow.lets), limits_of_nested(workflow));
    let types = signature_types(workflow, &emission);
    let output = match &workflow.signature {
        Some(_) => quote!(__Output),
        None if diagnostics.has_errors() => quote!(__Unknown),
        None => quote!(_),
    };
    let errors = refusal(diagnostics);
    let halves = halves(&workflow.krate);
    let state = StateEmission::of(workflow).filter(|_| !diagnostics.has_errors());
    let proof = state.map(|state| state.proof_in_place());
    let without_state = held_to_have_no_state(&workflow.lets);
    let body = if diagnostics.has_errors() || workflow.flow.plan.is_none() {
        let checks = checks(&emission);
        quote! {
            #[allow(unused_variables, unused_must_use, reason = "a refused graph")]
            let __checks = || { #checks };
            __gw::broken::<__Input, _>(#out)
        }
    } else {
        let definition = definition(&emission, &quote!("flow"), "", OutputType::Inferred);
        let definition = with_given(&workflow.given, with_limits(workflow.limits, definition));
        quote!(__gw::flow::<__Input, _>(#out, { #definition }))
    };
    quote! {
        {
            #halves
            #imports
            #errors
            __halves::compiled! {
                { #view }
                {{
                    #types
                    #[allow(unused_variables, reason = "not every graph reaches END by an edge of its own")]
                    let #out = __gw::gives::<#output>();
                    #lets
                    #nested
                    #without_state
                    #proof
                    #body
                }}
                {}
            }
        }
    }
}
