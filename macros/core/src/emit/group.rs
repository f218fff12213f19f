//! The ways into a node that are joins.

use graphweft_graph::{Arrival, END, EdgeIx, NodeIx, Presence, Way};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::mention::{Emission, argument, glue, out};
use crate::ir::MentionTokens;

/// The maximum number of places that a tuple of values has.
const MOST_PLACES: usize = 16;

impl Emission<'_> {
    /// Whether an edge feeds a place of a join that sees each of its places.
    pub fn feeds_place(&self, edge: EdgeIx) -> bool {
        let Some(to) = self.flow.graph.edges.get(edge).map(|edge| edge.to) else { return false };
        let ways = self.flow.graph.nodes.get(to).map_or(&[][..], |node| &node.ways);
        ways.iter().enumerate().any(|(way, data)| {
            matches!(data, Way::All(_)) && data.edges().any(|one| one == edge) && self.presence(to, way).is_some()
        })
    }

    /// Whether an edge feeds a join whose branches exclude each other, so that it sees the one value that comes.
    pub fn is_alone_in_join(&self, edge: EdgeIx) -> bool {
        let Some(to) = self.flow.graph.edges.get(edge).map(|edge| edge.to) else { return false };
        let ways = self.flow.graph.nodes.get(to).map_or(&[][..], |node| &node.ways);
        let stands_in = |way: &Way| matches!(way, Way::All(_)) && way.edges().any(|one| one == edge);
        ways.iter().any(stands_in) && !self.feeds_place(edge)
    }

    /// Whether the type of an edge is unknown: it feeds a join of a graph that was refused, or one of its ends could
    /// not be read.
    pub fn is_unknown(&self, edge: EdgeIx) -> bool {
        let Some((from, to)) = self.flow.graph.edges.get(edge).map(|edge| (edge.from, edge.to)) else { return true };
        if self.flow.unknown.contains(&from) || self.flow.unknown.contains(&to) {
            return true;
        }
        // The output of a collecting node is known once it is known to be one, which only a proven graph checks.
        if self.flow.plan.is_none() && self.collects(from) {
            return true;
        }
        // If a part could not be read, a node may only seem to be the last one.
        let implied = self.flow.edges.get(edge).and_then(|edge| self.flow.mentions.get(edge.to));
        let is_implied = implied.is_some_and(|mention| matches!(mention.tokens, MentionTokens::Implied(_)));
        if to == END && is_implied && !self.flow.holes.is_empty() {
            return true;
        }
        self.flow.plan.is_none()
            && self.flow.graph.nodes.get(to).is_some_and(|node| {
                node.ways.iter().any(|way| matches!(way, Way::All(_)) && way.edges().any(|one| one == edge))
            })
    }

    fn presence(&self, node: NodeIx, way: usize) -> Option<&[Presence]> {
        match self.flow.plan.as_ref()?.arrivals.get(node)?.get(way)? {
            Arrival::Places(places) => Some(places),
            Arrival::One => None,
        }
    }

    /// `Joins` of a node: for each way in that sees its places, how their values are assembled.
    pub fn joins(&self, node: NodeIx) -> TokenStream {
        let ways = self.flow.graph.nodes.get(node).map_or(&[][..], |node| &node.ways);
        let joins: Vec<TokenStream> = ways
            .iter()
            .enumerate()
            .filter_map(|(at, way)| match (way, self.presence(node, at)) {
                (Way::All(places), Some(presence)) => {
                    let join = self.join(node, places, presence);
                    Some(quote!(__gw::join(#at, #join)))
                }
                _ => None,
            })
            .collect();
        if joins.is_empty() { quote!(__gw::JoinTable::new()) } else { quote!(__gw::joins([#(#joins),*])) }
    }

    fn join(&self, node: NodeIx, places: &[Vec<EdgeIx>], presence: &[Presence]) -> TokenStream {
        let edges = &self.flow.edges;
        let first = places.iter().flatten().find_map(|edge| edges.get(*edge));
        let span = glue(first.map_or_else(Span::call_site, |edge| edge.arrow));
        let is_end = node == graphweft_graph::END;
        let target = first.map_or_else(TokenStream::new, |edge| self.target_type(edge.to));
        let input = first.map_or_else(TokenStream::new, |edge| self.input_of(edge.to));
        if places.len() > MOST_PLACES && !is_end {
            return quote_spanned!(span=> <#target as __gw::JoinsMany<#input>>::JOINED);
        }
        let tuple = places.iter().zip(presence).map(|(place, presence)| {
            let source = place.first().and_then(|edge| edges.get(*edge));
            let source = source.map(|edge| argument(&self.whole_source_type(edge.from)));
            match presence {
                Presence::Always => quote_spanned!(span=> __gw::Always<#source>),
                Presence::MayBeSkipped => quote_spanned!(span=> __gw::MayBeSkipped<#source>),
            }
        });
        let shared = places.iter().flat_map(|place| {
            let first = place.first().and_then(|edge| edges.get(*edge));
            place.iter().skip(1).filter_map(move |edge| {
                let (first, second) = (first?.from, edges.get(*edge)?.from);
                let (first, second) = (self.whole_source_type(first), self.whole_source_type(second));
                Some(quote_spanned! {span=>
                    let () = <#second as __gw::SharesPlace<
                        <#first as __gw::Source>::Listed,
                        <#second as __gw::Source>::Output,
                        <#first as __gw::Source>::Output,
                    >>::SHARES;
                })
            })
        });
        let tuple = quote_spanned!(span=> (#(#tuple,)*));
        if is_end {
            let (out, end) = (out(), first.map(|edge| self.end_type(edge.to)));
            quote_spanned! {span=>
                { #(#shared)* <#end as __gw::EndsAll<_, _, _, _>>::ended(#out, __gw::together::<#tuple>()) }
            }
        } else {
            quote_spanned! {span=>
                { #(#shared)* <#target as __gw::Joins<_, _, #input, _>>::joined::<#tuple>() }
            }
        }
    }
}
