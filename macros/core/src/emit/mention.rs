//! How a node is written in the expansion. The user's own tokens keep their spans, so that an editor finds the node
//! behind them. Glue has the same place, but is hidden from the user's names.

use graphweft_graph::{NodeIx, Way};
use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::{Expr, Path, PathArguments, Type};

use crate::diagnostics::Blame;
use crate::ir::{Flow, Label, Let, LetValue, Mention, MentionIx, MentionTokens, NodeKind};
use crate::names::snake_case;

/// The shared data of the passes of emission: the lets of the workflow, and the flow that is being written.
#[derive(Clone, Copy)]
pub struct Emission<'a> {
    /// The lets of the whole workflow.
    pub lets: &'a [Let],
    /// The flow: the workflow's own, or that of the inside of `[..]`.
    pub flow: &'a Flow,
    /// Whether the workflow is an item. One in expression position may name the generic parameters of the function
    /// around it, and a constant may not.
    pub is_item: bool,
}

/// The variable that holds the type of the output.
pub fn out() -> Ident {
    Ident::new("__out", Span::mixed_site())
}

/// What a node is checked to be.
#[derive(Clone, Copy)]
enum Check {
    IsNode,
    Collects,
    /// The first and the last node of a `[..]`.
    Ends,
}

/// A span for glue at a place of the user's source, hidden from the user's names (mixed-site hygiene).
pub fn glue(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}

/// The empty place before a token. Glue there widens no error beyond the token, and an editor that asks what the token
/// means is not sent to the glue.
pub fn before(span: Span) -> Span {
    glue(edge_of(span, proc_macro::Span::start))
}

/// The empty place behind a token.
pub fn after(span: Span) -> Span {
    glue(edge_of(span, proc_macro::Span::end))
}

/// The empty places before and behind what was written. They are kept: each is a question to the compiler, and asked often.
pub fn places_beside(mention: &Mention) -> [Span; 2] {
    *mention.beside.get_or_init(|| {
        let blame = mention.blame();
        [before(blame.first), after(blame.last)]
    })
}

/// Only a compiler knows where a token begins and ends; in tests the whole token is used.
fn edge_of(span: Span, edge: impl Fn(&proc_macro::Span) -> proc_macro::Span) -> Span {
    if proc_macro::is_available() { edge(&span.unwrap()).into() } else { span }
}

impl<'a> Emission<'a> {
    /// Whether a node is the target of `a | b => node`.
    pub fn collects(&self, node: NodeIx) -> bool {
        self.flow.graph.nodes.get(node).is_some_and(|data| data.ways.iter().any(|way| matches!(way, Way::Any(_))))
    }

    /// Whether the errors of a node are routed, by `err` or by `_` beside `ok`.
    pub fn routes_errors(&self, node: NodeIx) -> bool {
        node != graphweft_graph::START && self.names_result(node)
    }

    /// Whether the route map of a node names `ok` or `err`.
    pub fn names_result(&self, node: NodeIx) -> bool {
        self.label_names(node).iter().any(|name| name == "ok" || name == "err")
    }

    /// The labels of a node that are names, in snake_case.
    pub fn label_names(&self, node: NodeIx) -> Vec<String> {
        self.labels(node)
            .filter_map(|label| match label {
                Label::Name(name) => Some(snake_case(&name.to_string())),
                _ => None,
            })
            .collect()
    }

    /// The flow inside `[..]`, for a node that is one.
    pub fn inside(&self, node: NodeIx) -> Option<Emission<'a>> {
        match self.flow.nodes.get(node).map(|node| &node.kind) {
            Some(NodeKind::Each(flow)) => Some(Emission { flow, ..*self }),
            _ => None,
        }
    }

    /// What a node is checked to be before anything else is made of it; nothing in a graph that was refused. A function
    /// is a node by its attribute, or rustc does not find its type at all.
    fn check(&self, node: NodeIx) -> Option<Check> {
        if self.flow.plan.is_none() || self.flow.unknown.contains(&node) {
            None
        } else if self.collects(node) {
            Some(Check::Collects)
        } else if let Some(inside) = self.inside(node) {
            inside.ends().into_iter().flatten().any(|end| inside.check(end).is_some()).then_some(Check::Ends)
        } else {
            self.is_by_hand(node).then_some(Check::IsNode)
        }
    }

    /// Whether a node is a value of a type, or a type that is named as it is, and a constant can name that type.
    fn is_by_hand(&self, node: NodeIx) -> bool {
        let of_path = |path| is_written_by_hand(path) && (self.is_item || is_item(path));
        match self.flow.nodes.get(node).map(|node| &node.kind) {
            Some(NodeKind::Path(path)) => of_path(path),
            Some(NodeKind::Let(at)) => match self.lets.get(*at).map(|one| &one.value) {
                Some(LetValue::Configured { path, .. }) => of_path(path),
                // A constant has no type that is inferred.
                Some(LetValue::Value { ty, value }) => {
                    if self.is_item {
                        !is_inferred(quote!(#ty))
                    } else {
                        is_made_of_item(ty, value)
                    }
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Whether a node is checked to be one.
    pub fn is_checked(&self, node: NodeIx) -> bool {
        self.check(node).is_some()
    }

    /// The constant that checks that a node is one, and that the target of `a | b => node` is a collecting one. If it is
    /// none, everything that is computed from the constant is an error too, which rustc does not report again.
    pub fn node_check(&self, node: NodeIx) -> TokenStream {
        let Some(is_so) = self.is_so(node) else { return TokenStream::new() };
        let known = checked_alias(node);
        quote!(const #known: ::core::primitive::bool = #is_so;)
    }

    /// The value of that constant. The ends of a `[..]` are checked inside and outside: rustc reports an error once if it
    /// is the same twice.
    fn is_so(&self, node: NodeIx) -> Option<TokenStream> {
        let check = self.check(node)?;
        let ty = self.bare_type(node);
        let at = self.flow.mentions.iter().position(|mention| mention.node == node);
        let ty = match self.flow.nodes.get(node).map(|node| &node.kind) {
            Some(NodeKind::Path(path)) => quote!(#path),
            _ => at.map_or_else(|| ty.clone(), |at| self.standing_at(at, &ty)),
        };
        Some(match check {
            Check::Collects => quote!(<#ty as __gw::Collects>::COLLECTS),
            Check::IsNode => quote!({ let _ = <#ty as __gw::Node>::USES_STATE; true }),
            Check::Ends => {
                let inside = self.inside(node)?;
                let ends = inside.ends().into_iter().flatten().filter_map(|end| inside.is_so(end));
                quote!(true #(& #ends)*)
            }
        })
    }

    /// The type that implements `Node`.
    pub fn node_type(&self, node: NodeIx) -> TokenStream {
        let ty = self.bare_type(node);
        if !self.is_checked(node) {
            return ty;
        }
        let known = checked_alias(node);
        quote!(<#ty as __gw::Checked<#known>>::Type)
    }

    /// The same, whether or not it has to be held to anything.
    pub fn bare_type(&self, node: NodeIx) -> TokenStream {
        match self.flow.nodes.get(node).map(|node| &node.kind) {
            Some(NodeKind::Path(path)) => quote!(#path),
            Some(NodeKind::Let(at)) => match self.lets.get(*at).map(|one| &one.value) {
                Some(LetValue::Configured { path, .. }) => quote!(#path),
                Some(LetValue::Value { ty, .. }) => quote!(#ty),
                Some(LetValue::Unknown) | None => quote!(__Unknown),
            },
            Some(NodeKind::Each(_)) => {
                let (first, last) = self.ends_of_each(node);
                let (first, last) = (argument(&first), argument(&last));
                quote!(__gw::Each<#first, #last>)
            }
            Some(NodeKind::Start) => quote!(__gw::StartOf<__Input>),
            Some(NodeKind::End) => quote!(__gw::END),
            None => quote!(()),
        }
    }

    /// The type of a node as the source of an edge.
    pub fn source_type(&self, node: NodeIx) -> TokenStream {
        collected(self.node_type(node), self.collects(node))
    }

    /// The types of the first node inside a `[..]`, and of a last one. They are named outside of the brackets too, where the
    /// checks inside are not in scope: that of the `[..]` is.
    pub fn ends_of_each(&self, each: NodeIx) -> (TokenStream, TokenStream) {
        let Some(inside) = self.inside(each) else { return (quote!(()), quote!(())) };
        let known = self.is_checked(each).then(|| checked_alias(each));
        let ty = |end: NodeIx| {
            let ty = inside.bare_type(end);
            match &known {
                Some(known) => quote!(<#ty as __gw::Checked<#known>>::Type),
                None => ty,
            }
        };
        let [first, last] = inside.ends();
        let last = last.map(|last| collected(ty(last), inside.collects(last)));
        (first.map_or_else(|| quote!(()), ty), last.unwrap_or_else(|| quote!(())))
    }

    /// The first node behind START, and a last one before END.
    fn ends(&self) -> [Option<NodeIx>; 2] {
        let edges = &self.flow.graph.edges;
        [
            edges.iter().find(|edge| edge.from == graphweft_graph::START).map(|edge| edge.to),
            edges.iter().find(|edge| edge.to == graphweft_graph::END).map(|edge| edge.from),
        ]
    }

    /// A node as the target of an edge.
    pub fn target(&self, at: MentionIx) -> TokenStream {
        self.mention(at, |node| self.node_type(node), false)
    }

    /// A node as the source of an edge that carries its output.
    pub fn source(&self, at: MentionIx) -> TokenStream {
        self.mention(
            at,
            |node| self.source_type(node),
            self.flow.mentions.get(at).is_some_and(|m| self.collects(m.node)),
        )
    }

    /// A node as the source of a plain edge beside routes: it carries the whole `Result` if errors are routed.
    pub fn whole_source(&self, at: MentionIx) -> TokenStream {
        let routed = self.flow.mentions.get(at).is_some_and(|mention| self.routes_errors(mention.node));
        if !routed {
            return self.source(at);
        }
        let whole = |node| {
            let ty = argument(&self.source_type(node));
            quote!(__gw::Whole<#ty>)
        };
        self.mention(at, whole, true)
    }

    /// A node as the target of an edge, as a type with the span of the written node.
    pub fn target_type(&self, at: MentionIx) -> TokenStream {
        self.type_at(at, |node| self.node_type(node))
    }

    fn type_at(&self, at: MentionIx, ty: impl Fn(NodeIx) -> TokenStream) -> TokenStream {
        match (self.as_written(at), self.flow.mentions.get(at)) {
            (Some(path), _) => quote!(#path),
            (None, Some(mention)) => self.standing_at(at, &ty(mention.node)),
            (None, None) => TokenStream::new(),
        }
    }

    /// The path by which a node is written there, if that names its type, which is not held to be a node first.
    fn as_written(&self, at: MentionIx) -> Option<&'a Path> {
        let Mention { node, tokens: MentionTokens::Path(path), .. } = self.flow.mentions.get(at)? else { return None };
        let is_path = matches!(self.flow.nodes.get(*node).map(|node| &node.kind), Some(NodeKind::Path(_)));
        (is_path && !self.is_checked(*node)).then_some(path)
    }

    /// A node as the source of a plain edge, as a type with the span of the written node: see
    /// [`whole_source`](Self::whole_source).
    pub fn whole_source_type(&self, at: MentionIx) -> TokenStream {
        match self.flow.mentions.get(at) {
            Some(mention) if self.routes_errors(mention.node) => {
                let ty = argument(&self.source_type(mention.node));
                self.standing_at(at, &quote!(__gw::Whole<#ty>))
            }
            _ => self.type_at(at, |node| self.source_type(node)),
        }
    }

    /// END as a type: an error of an edge to END points to the place where END was written, or to the node that leads
    /// there.
    pub fn end_type(&self, at: MentionIx) -> TokenStream {
        self.standing_at(at, &quote!(__gw::END))
    }

    fn standing_at(&self, at: MentionIx, ty: &TokenStream) -> TokenStream {
        let Some(mention) = self.flow.mentions.get(at) else { return TokenStream::new() };
        let [open, close] = places_beside(mention);
        let ty = argument(ty);
        let mut tokens = quote_spanned!(open=> __gw::Is<#ty);
        tokens.extend(quote_spanned!(close=> >));
        tokens
    }

    /// An item of a trait of a node's type, in tokens with the span of the written node.
    fn item_of(&self, at: MentionIx, ty: &TokenStream, item: &TokenStream) -> TokenStream {
        let Some(mention) = self.flow.mentions.get(at) else { return TokenStream::new() };
        let [open, close] = places_beside(mention);
        let mut tokens = quote_spanned!(open=> <#ty);
        tokens.extend(quote_spanned!(close=> as __gw::#item));
        tokens
    }

    /// The input of an edge's target.
    pub fn input_of(&self, target: MentionIx) -> TokenStream {
        self.item_of(target, &self.target_type(target), &quote!(Node > ::Input))
    }

    /// The output of a plain edge's source.
    pub fn output_of(&self, source: MentionIx) -> TokenStream {
        self.item_of(source, &self.whole_source_type(source), &quote!(Source > ::Output))
    }

    /// What messages call the source of an arm.
    pub fn arm_shown(&self, source: MentionIx) -> TokenStream {
        self.item_of(source, &self.type_at(source, |node| self.source_type(node)), &quote!(Source > ::Shown))
    }

    /// What messages call the source of a plain edge.
    pub fn shown(&self, source: MentionIx) -> TokenStream {
        self.item_of(source, &self.whole_source_type(source), &quote!(Source > ::Shown))
    }

    /// For an edge into a `[..]`: its type, that of its first node, and what that takes, in tokens with the span of the
    /// brackets.
    pub fn each_types(&self, each: NodeIx, target: MentionIx) -> (TokenStream, TokenStream, TokenStream) {
        let (first, _) = self.ends_of_each(each);
        let input = self.item_of(target, &first, &quote!(Target > ::Input));
        (self.target_type(target), self.standing_at(target, &first), input)
    }

    /// `Follows<..>` for an edge that carries the output of its source.
    pub fn follows(&self, source: MentionIx, target: MentionIx) -> TokenStream {
        let input = self.input_of(target);
        // Rustc finds the items of `Source` by those of `Node`, which takes it longer.
        if let Some(path) = self.unwrapped_source(source) {
            let ty = quote!(#path);
            let (shown, output) = (argument(&ty), self.item_of(source, &ty, &quote!(Node > ::Output)));
            return quote!(<#shown, #output, #input, _>);
        }
        let ty = self.whole_source_type(source);
        let shown = self.item_of(source, &ty, &quote!(Source > ::Shown));
        let output = self.item_of(source, &ty, &quote!(Source > ::Output));
        quote!(<#shown, #output, #input, _>)
    }

    /// The path of a source whose type is neither `Collected` nor `Whole`.
    fn unwrapped_source(&self, source: MentionIx) -> Option<&'a Path> {
        let node = self.flow.mentions.get(source)?.node;
        self.as_written(source).filter(|_| !self.collects(node) && !self.routes_errors(node))
    }

    fn mention(&self, at: MentionIx, ty: impl Fn(NodeIx) -> TokenStream, by_type: bool) -> TokenStream {
        let Some(mention) = self.flow.mentions.get(at) else { return TokenStream::new() };
        let ty = match self.as_written(at) {
            Some(path) if !by_type => quote!(#path),
            _ => ty(mention.node),
        };
        let ty = argument(&ty);
        let [open, close] = places_beside(mention);
        let mut tokens = quote_spanned!(open=> __gw::of::<#ty);
        tokens.extend(quote_spanned!(close=> >()));
        tokens
    }

    /// Every node that is written in a `[..]` in which nothing else can be checked.
    pub fn names(&self) -> TokenStream {
        let is_path =
            |node: NodeIx| matches!(self.flow.nodes.get(node).map(|node| &node.kind), Some(NodeKind::Path(_)));
        let here = self.flow.mentions.iter().enumerate().filter(|(_, mention)| is_path(mention.node)).map(|(at, _)| {
            let node = self.target(at);
            quote!(let _ = #node;)
        });
        let inside = (0..self.flow.nodes.len()).filter_map(|node| self.inside(node)).map(|inside| inside.names());
        here.chain(inside).collect()
    }

    /// Every name as it was written, so that an editor can resolve it.
    pub fn sightings(&self) -> TokenStream {
        self.flow
            .mentions
            .iter()
            .map(|mention| match &mention.tokens {
                MentionTokens::Boundary(name) => {
                    let boundary = literal(quote!(__gw::#name), name.span());
                    quote!(let _ = #boundary;)
                }
                MentionTokens::Path(path) => match self.flow.nodes.get(mention.node).map(|node| &node.kind) {
                    Some(NodeKind::Let(_)) if !self.flow.unknown.contains(&mention.node) => quote!(let _ = &#path;),
                    _ => TokenStream::new(),
                },
                MentionTokens::Each(_) | MentionTokens::Implied(_) => TokenStream::new(),
            })
            .collect()
    }
}

/// The constant that checks that a node is one.
fn checked_alias(node: NodeIx) -> Ident {
    format_ident!("__CHECKED_{node}", span = Span::mixed_site())
}

/// Whether a path names a type rather than a function.
pub fn is_written_by_hand(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| last.ident.to_string().starts_with(char::is_uppercase))
}

/// Whether a value is made by the name of its type, `Batch { size }` or `Batch(size)`, which a parameter of a function has
/// not: a type that a constant can name anywhere.
pub fn is_made_of_item(ty: &Type, value: &Expr) -> bool {
    let made_by = match value {
        Expr::Struct(literal) => Some(&literal.path),
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) => Some(&function.path),
            _ => None,
        },
        _ => None,
    };
    made_by.is_some_and(|path| quote!(#ty).to_string() == quote!(#path).to_string() && is_item(path))
}

/// Whether a path leads through modules only, and has nothing in it that a function around it may have named.
pub fn is_item(path: &Path) -> bool {
    let is_plain = path.segments.iter().all(|segment| matches!(segment.arguments, PathArguments::None));
    let is_type = |name: String| name.starts_with(char::is_uppercase);
    let before_last = path.segments.len().saturating_sub(1);
    let through_modules = path.segments.iter().take(before_last).all(|segment| !is_type(segment.ident.to_string()));
    is_plain && through_modules && !path.is_ident("Self")
}

/// Whether a type has a `_` in it, which is left to the compiler: a constant leaves it nothing.
pub fn is_inferred(ty: TokenStream) -> bool {
    ty.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "_",
        TokenTree::Group(group) => is_inferred(group.stream()),
        _ => false,
    })
}

/// A type among generic arguments, where a bare path could be a constant too, and the error of a plain function would call
/// it one. In parentheses it can only be a type. Elsewhere they are left out: each pair costs rustc time.
pub fn argument(ty: &TokenStream) -> TokenStream {
    let span = match ty.clone().into_iter().next() {
        Some(TokenTree::Ident(first)) if first != "__gw" => first.span(),
        Some(TokenTree::Punct(first)) if first.as_char() == ':' => first.span(),
        _ => return ty.clone(),
    };
    let mut parens = Group::new(Delimiter::Parenthesis, ty.clone());
    parens.set_span(before(span));
    TokenTree::Group(parens).into()
}

/// The type of a node as the source of an edge.
fn collected(ty: TokenStream, collects: bool) -> TokenStream {
    if !collects {
        return ty;
    }
    let ty = argument(&ty);
    quote!(__gw::Collected<#ty>)
}

/// `charge {}`, with the braces located behind the name.
pub fn literal(path: TokenStream, span: Span) -> TokenStream {
    let mut braces = Group::new(Delimiter::Brace, TokenStream::new());
    braces.set_span(after(span));
    let mut tokens = path;
    tokens.extend([TokenTree::Group(braces)]);
    tokens
}

/// Where a path begins.
pub fn first_span(path: &Path) -> Span {
    let blame: Blame = path.into();
    blame.first
}

/// Where a path ends.
pub fn last_span(path: &Path) -> Span {
    let blame: Blame = path.into();
    blame.last
}
