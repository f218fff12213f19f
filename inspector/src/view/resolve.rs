//! Which thing an event is about.

use super::place::{Segment, turn};
use super::run_view::{RUN, RunView};
use super::shapes::{END, Found, Inside, ShapeIx};
use super::{Kind, State};

impl RunView {
    /// The thing at a path. One that was not seen before is a node of a graph, or else of the kind that the event says.
    pub(super) fn resolve(&mut self, path: &str, otherwise: Kind) -> u32 {
        if let Some(thing) = self.things.at(path) {
            return thing;
        }
        // A path without any `/` is that of a run, and this one is of another.
        let Some((before, last)) = path.rsplit_once('/') else { return self.things.add(path, otherwise, Some(RUN)) };
        let around = self.resolve(before, Kind::Step);
        let segment = Segment::of(last);
        let scope = self.things.get(around);
        let found = match scope.kind {
            Kind::Each | Kind::Item => None,
            _ => scope.inside.and_then(|shape| self.shapes.find(shape, segment.name, segment.items.len())),
        };
        match found {
            Some(found) => self.add_node(path, before, around, &segment, &found),
            None => self.add_other(path, around, &segment, otherwise),
        }
    }

    /// Adds a node of a known graph, with the `[..]` and the item that it is in.
    fn add_node(&mut self, path: &str, before: &str, scope: u32, segment: &Segment<'_>, found: &Found) -> u32 {
        let (mut within, mut item) = (scope, None);
        // What follows the name in the path of the next `[..]`.
        let mut behind = String::new();
        for (&(shape, node), &(turns, index)) in found.around.iter().zip(&segment.items) {
            behind.push_str(turns);
            let name = self.shapes.get(shape).map(|shape| shape.nodes[node].name.clone()).unwrap_or_default();
            let each = format!("{before}/{name}{behind}");
            let each = match self.things.at(&each) {
                Some(each) => each,
                None => self.add(&each, within, item, (shape, node), turns),
            };
            (within, item) = self.inside_of(each, index);
            behind.push_str(&format!("[{index}]"));
        }
        self.add(path, within, item, (found.shape, found.node), segment.turns)
    }

    fn add(&mut self, path: &str, within: u32, item: Option<u64>, node: (ShapeIx, usize), turns: &str) -> u32 {
        let (shape, at) = node;
        let inside = self.shapes.get(shape).map_or(Inside::Nothing, |shape| shape.nodes[at].inside);
        let (kind, inside) = match inside {
            Inside::Nothing => (Kind::Node, None),
            Inside::Workflow(shape) => (Kind::Workflow, shape),
            Inside::Each(body) => (Kind::Each, Some(body)),
        };
        let in_loop = self.shapes.get(shape).is_some_and(|shape| shape.in_loop(at));
        let thing = self.things.add(path, kind, Some(within));
        let added = self.things.get_mut(thing);
        (added.node, added.item, added.inside) = (Some(at), item, inside);
        added.turn = if in_loop { turn(turns) } else { 0 };
        thing
    }

    /// What the nodes of an item are right in, and the item, if they are right in the `[..]`.
    pub(super) fn inside_of(&mut self, each: u32, item: u64) -> (u32, Option<u64>) {
        if self.has_single_body(each) {
            return (each, Some(item));
        }
        let path = format!("{}[{item}]", self.things.get(each).path);
        if let Some(thing) = self.things.at(&path) {
            return (thing, None);
        }
        let body = self.things.get(each).inside;
        let thing = self.things.add(&path, Kind::Item, Some(each));
        let added = self.things.get_mut(thing);
        (added.item, added.inside) = (Some(item), body);
        (thing, None)
    }

    pub(super) fn has_single_body(&self, each: u32) -> bool {
        let body = self.things.get(each).inside.and_then(|body| self.shapes.get(body));
        body.is_some_and(|body| body.is_single)
    }

    /// The path of the single node of a `[..]` for an item, and the thing there.
    pub(super) fn single_visit(&mut self, each: u32, item: u64) -> Option<u32> {
        let around = self.things.get(each);
        let body = self.shapes.get(around.inside?)?;
        let name = self.shape_around(each)?.nodes.get(around.node?)?.name.as_str();
        let (before, last) = around.path.rsplit_once('/')?;
        let path = format!("{before}/{}{}[{item}]", body.nodes.get(END + 1)?.name, last.strip_prefix(name)?);
        Some(self.resolve(&path, Kind::Node))
    }

    /// The graph that a thing is a node of.
    pub(super) fn shape_around(&self, thing: u32) -> Option<&super::shapes::Shape> {
        let around = self.things.get(self.things.get(thing).within?);
        self.shapes.get(around.inside?)
    }

    fn add_other(&mut self, path: &str, around: u32, segment: &Segment<'_>, otherwise: Kind) -> u32 {
        // The names of requests have none of these marks.
        let is_node = !segment.items.is_empty() || !segment.turns.is_empty() || segment.name.starts_with('[');
        let scope = self.things.get(around).is_scope();
        let kind = match otherwise {
            Kind::Step | Kind::Child if is_node || scope => Kind::Node,
            kind => kind,
        };
        let thing = self.things.add(path, kind, Some(around));
        if is_node {
            let added = self.things.get_mut(thing);
            (added.turn, added.item) = (turn(segment.turns), segment.items.last().map(|(_, item)| *item));
        }
        thing
    }

    /// The item that a thing is in, if it is in one of several nodes.
    pub(super) fn item_around(&self, thing: u32) -> Option<u32> {
        let around = self.things.get(thing).within?;
        Some(around).filter(|around| self.things.get(*around).kind == Kind::Item)
    }

    /// An item is under way as soon as something in it is.
    pub(super) fn begin_item(&mut self, thing: u32, seq: u64) {
        if let Some(item) = self.item_around(thing)
            && self.things.get(item).own() != State::Running
        {
            self.things.set(item, seq, State::Running, 0);
        }
    }
}
