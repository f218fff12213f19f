//! The entries of the table: a node with its ways in and out.

use graphweft_graph::{END, NodeIx};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Path, parse_quote};

use super::flow::{OutputType, definition};
use super::mention::{Emission, argument, before, first_span, glue, is_written_by_hand, last_span, literal, out};
use super::options::{may_retry, override_options};
use crate::ir::{LetValue, NodeKind};
use crate::options::NodeOptions;

impl Emission<'_> {
    /// A function that makes the entry of a node, and its name, if the entry uses no locals of the workflow: rustc
    /// checks many small bodies faster than one large one.
    pub fn entry_apart(&self, node: NodeIx) -> Option<(TokenStream, Ident)> {
        let kind = self.flow.nodes.get(node).map(|node| &node.kind);
        let is_apart = match kind {
            Some(NodeKind::Path(_)) => true,
            Some(NodeKind::Let(at)) => {
                matches!(self.lets.get(*at).map(|one| &one.value), Some(LetValue::Configured { .. }))
            }
            _ => false,
        };
        if !is_apart {
            return None;
        }
        let (name, entry) = (format_ident!("__entry_{node}"), self.entry(node));
        let ends = self.flow.graph.edges.iter().any(|edge| edge.from == node && edge.to == END);
        let out = out();
        let out = ends.then(|| quote!(let #out = __gw::gives::<__Output>();));
        Some((quote!(fn #name() -> __gw::Entry { #out #entry }), name))
    }

    /// The entry of a node.
    pub fn entry(&self, node: NodeIx) -> TokenStream {
        let Some(data) = self.flow.nodes.get(node) else { return TokenStream::new() };
        let name = &data.name;
        match &data.kind {
            NodeKind::Start | NodeKind::End => TokenStream::new(),
            NodeKind::Path(path) => {
                // For a `#[node]` the attribute emits how its error becomes text. For a type that implements `Node` by
                // hand, only the workflow can emit that, and doing so for every node would cost rustc time.
                if is_written_by_hand(path) {
                    let span = before(first_span(path));
                    let (alias, value) = self.instance(node, path);
                    let (make, joins, exit) = (self.maker(node), self.joins(node), self.exit(node));
                    let explain = explain(&self.node_type(node), None, None);
                    return quote_spanned! {span=>
                        { #alias #make(__gw::Name::Own(#name), #value, #joins, #exit, ::core::option::Option::None, #explain) }
                    };
                }
                let ty = argument(&self.node_type(node));
                if let Some((edge, arrow)) = self.only_edge(node) {
                    return quote_spanned!(arrow=> __gw::step::<#ty>(#name, #edge));
                }
                let make = if self.collects(node) { quote!(collector) } else { quote!(node) };
                let (joins, exit) = (self.joins(node), self.exit(node));
                quote!(__gw::#make::<#ty>(#name, #joins, #exit))
            }
            NodeKind::Let(at) => match self.lets.get(*at).map(|one| (&one.name, &one.value)) {
                Some((_, LetValue::Configured { path, options })) => self.configured(node, path, options),
                Some((variable, LetValue::Value { .. })) => {
                    let words = explain(&self.node_type(node), None, None);
                    let (make, joins, exit) = (self.maker(node), self.joins(node), self.exit(node));
                    quote!(#make(__gw::Name::Given(#name), #variable, #joins, #exit, ::core::option::Option::None, #words))
                }
                Some((_, LetValue::Unknown)) | None => TokenStream::new(),
            },
            NodeKind::Each(flow) => {
                let inside = Emission { flow, ..*self };
                let (first, last) = self.ends_of_each(node);
                let [first_type, last_type] = [&first, &last].map(argument);
                let definition = definition(&inside, &quote!(#name), "", OutputType::Inferred);
                let (out, joins, exit) = (out(), self.joins(node), self.exit(node));
                quote! {
                    __gw::each_entry::<#first_type, #last_type>(
                        #name,
                        {
                            type __Input = <#first as __gw::Target>::Input;
                            let #out = __gw::gives::<<#last as __gw::Source>::Output>();
                            #definition
                        },
                        #joins,
                        #exit,
                    )
                }
            }
        }
    }

    fn maker(&self, node: NodeIx) -> TokenStream {
        let ty = argument(&self.node_type(node));
        if self.collects(node) {
            quote!(__gw::collecting_entry::<#ty>)
        } else if self.is_checked(node) {
            quote!(__gw::entry::<#ty>)
        } else {
            quote!(__gw::entry)
        }
    }

    /// The value of a node that is named by a path: an alias of its type, and a literal of that alias, so that a path which
    /// leads nowhere is reported as a type only.
    fn instance(&self, node: NodeIx, path: &Path) -> (TokenStream, TokenStream) {
        let (open, close) = (before(first_span(path)), last_span(path));
        let alias = format_ident!("__Node{node}", span = open);
        let literal = literal(quote!(#alias), close);
        let ty = if self.is_checked(node) { self.node_type(node) } else { quote!(#path) };
        (quote_spanned!(open=> type #alias = #ty;), literal)
    }

    fn configured(&self, node: NodeIx, path: &Path, options: &NodeOptions) -> TokenStream {
        let (joins, exit) = (self.joins(node), self.exit(node));
        let written = self.flow.nodes.get(node).map_or("", |node| &node.name);
        let name = options.name.as_ref().map_or_else(|| quote!(#written), |name| quote!(#name));
        let keeps_name = options.name.is_none()
            && path.segments.last().is_some_and(|last| crate::names::plain(&last.ident.to_string()) == written);
        let former = &options.renamed_from;
        let name = match (former.as_slice(), keeps_name) {
            ([], true) => quote!(__gw::Name::Kept(#name)),
            ([], false) => quote!(__gw::Name::Given(#name)),
            _ => quote!(__gw::Name::Renamed(#name, &[#(#former),*])),
        };
        let (alias, value) = self.instance(node, path);
        let make = self.maker(node);
        // A `retry` that is written here replaces the node's own as a whole, its `when` and `after` included.
        let every_error = parse_quote!(|_| true);
        let when = options.retry.as_ref().map(|retry| retry.when.as_ref().unwrap_or(&every_error));
        let no_delay = parse_quote!(|_| ::core::option::Option::None);
        let after = options.retry.as_ref().map(|retry| retry.after.as_ref().unwrap_or(&no_delay));
        let explain = explain(&self.node_type(node), when, after);
        let options = override_options(options, &quote!(__gw::Node::options(&#value)));
        quote! {
            {
                #alias
                #make(
                    #name, #value, #joins, #exit, ::core::option::Option::Some(#options), #explain,
                )
            }
        }
    }
}

/// How the errors of a node become text, which of them may be retried, and when.
fn explain(ty: &TokenStream, when: Option<&Expr>, after: Option<&Expr>) -> TokenStream {
    let error = quote!(<#ty as __gw::Node>::Error);
    let when = match when {
        Some(when) => {
            let problem = Ident::new("error", glue(when.span()));
            let may_retry = may_retry(when, &quote!(__gw::when::<#error>), &problem);
            quote!(::core::option::Option::Some(|#problem: &#error| #may_retry))
        }
        None => quote!(::core::option::Option::None),
    };
    let after = match after {
        Some(after) => {
            quote!(::core::option::Option::Some({ let __after: __gw::DelayAfter<#error> = #after; __after }))
        }
        None => quote!(::core::option::Option::None),
    };
    quote! {
        __gw::Explain {
            when: #when,
            after: #after,
            words: ::core::option::Option::Some(|__error: &#error| (&&&&&__gw::Words(__error)).words()),
            write: __gw::ErrorProbe::<#error>::WRITE,
        }
    }
}
