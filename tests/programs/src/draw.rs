//! Draws programs that are sound.
//!
//! Each value of a scope is drawn with the decisions under which it is there. Values that exclude each other may come into a node by two
//! ways; others come together, as `Option`s where one may be missing. In the end the values that nothing has taken are joined until
//! exactly one of them is there under each decision.

use graphweft_judge::random_graphs::Random;

use crate::program::{Element, ElementIx, Function, Input, Label, Program, Returns, Scope, Source, Style, What};

/// A set of decisions, one bit for each: one arm for every router that a scope may have.
type When = u128;

/// A program, of the workflows that it needs.
pub(crate) fn program(random: &mut Random) -> Program {
    loop {
        let mut draw = Draw { random, program: Program::default(), functions: 0 };
        let size = 3 + draw.random.below(7);
        if let Some(scope) = draw.scope(size, 2, Within::FLOW) {
            draw.program.flows.push(scope);
            if draw.functions <= 60 {
                return draw.program;
            }
        }
    }
}

struct Draw<'a> {
    random: &'a mut Random,
    program: Program,
    functions: usize,
}

/// Where a scope is.
#[derive(Clone, Copy)]
struct Within {
    is_loop: bool,
    /// It is executed for items. There are no branches on the side, and its ends have no labels.
    has_items: bool,
}

impl Within {
    const FLOW: Within = Within { is_loop: false, has_items: false };
    const ITEMS: Within = Within { is_loop: false, has_items: true };

    fn is_flow(self) -> bool {
        !self.is_loop && !self.has_items
    }
}

/// A scope that is being drawn.
struct Sketch {
    within: Within,
    depth: usize,
    elements: Vec<ElementIx>,
    /// What may still be taken.
    open: Vec<Open>,
    /// The routers that it may still have: for each arm, the decisions in which it is taken.
    routers: Vec<Vec<When>>,
    all: When,
}

#[derive(Clone, Copy)]
struct Open {
    source: Source,
    when: When,
    /// Whether it carries a value.
    has_value: bool,
}

impl Sketch {
    fn has_router(&self, arms: usize) -> bool {
        self.routers.iter().any(|router| router.len() == arms)
    }

    fn take_router(&mut self, arms: usize) -> Option<Vec<When>> {
        let at = self.routers.iter().position(|router| router.len() == arms)?;
        Some(self.routers.remove(at))
    }

    fn offer(&mut self, element: ElementIx, label: Option<Label>, when: When) {
        let has_value = label != Some(Label::Arm("none"));
        self.open.push(Open { source: Source { element, label }, when, has_value });
    }
}

impl Draw<'_> {
    fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len())]
    }

    fn element(&mut self, what: What, ways: Vec<Vec<Source>>) -> ElementIx {
        self.program.elements.push(Element { what, ways });
        self.program.elements.len() - 1
    }

    fn function(&mut self, inputs: Vec<Input>, returns: Returns) -> Function {
        let style = match returns {
            Returns::Value if inputs == [Input::Value] => self.one_of(&[
                Style::Async,
                Style::Async,
                Style::Yields,
                Style::Sleeps,
                Style::Plain,
                Style::Blocking,
                Style::Retries,
                Style::Fails,
            ]),
            _ => self.one_of(&[Style::Async, Style::Yields, Style::Sleeps, Style::Plain]),
        };
        self.functions += 1;
        Function { id: self.functions - 1, inputs, returns, style, bound: None }
    }

    /// A node behind some ways, which are there under these decisions.
    fn node(
        &mut self,
        sketch: &mut Sketch,
        inputs: Vec<Input>,
        returns: Returns,
        ways: Vec<Vec<Source>>,
        when: When,
    ) -> Option<ElementIx> {
        let function = self.function(inputs, returns);
        let node = self.element(What::Function(function), ways);
        self.add(sketch, node, when)?;
        Some(node)
    }

    /// A node that takes one value, or comes where there is none.
    fn after(&mut self, sketch: &mut Sketch, open: Open, returns: Returns) -> Option<ElementIx> {
        let inputs = if open.has_value { vec![Input::Value] } else { Vec::new() };
        self.node(sketch, inputs, returns, vec![vec![open.source]], open.when)
    }

    /// Puts an element into a scope, and what it gives among what may be taken.
    fn add(&mut self, sketch: &mut Sketch, element: ElementIx, when: When) -> Option<()> {
        sketch.elements.push(element);
        let labels: Vec<Label> = match &self.program.elements[element].what {
            What::Loop { exits, .. } => (0..exits.len()).map(Label::Exit).collect(),
            What::Function(function) => function.returns.labels().iter().map(|label| Label::Arm(label)).collect(),
            _ => Vec::new(),
        };
        match labels[..] {
            [] => sketch.offer(element, None, when),
            [exit] => sketch.offer(element, Some(exit), when),
            _ => {
                let arms = sketch.take_router(labels.len())?;
                for (label, arm) in labels.iter().zip(arms) {
                    sketch.offer(element, Some(*label), when & arm);
                }
                // Beside its arms, it may lead on with the whole route.
                let is_whole = self.returns(element).is_some_and(|it| matches!(it, Returns::Two | Returns::Three));
                if is_whole && !sketch.within.has_items && self.random.in_percent(25) {
                    sketch.offer(element, None, when);
                }
            }
        }
        Some(())
    }

    fn returns(&self, element: ElementIx) -> Option<Returns> {
        self.program.function(element).map(|function| function.returns)
    }

    /// Whether a value can come together with others: it is the whole output of a node that has no arms.
    fn is_plain(&self, open: &Open) -> bool {
        let source = open.source;
        let is_start = matches!(self.program.what(source.element), What::Start);
        source.label.is_none() && !is_start && self.returns(source.element).is_none_or(|it| it.labels().is_empty())
    }

    fn plain(&mut self, sketch: &mut Sketch, open: Open) -> Option<Open> {
        if self.is_plain(&open) {
            return Some(open);
        }
        self.after(sketch, open, Returns::Value)?;
        sketch.open.pop()
    }

    fn scope(&mut self, size: usize, depth: usize, within: Within) -> Option<Scope> {
        let routers = if within.has_items { 2 } else { 4 };
        let arms: Vec<usize> = (0..routers).map(|_| self.one_of(&[2, 2, 3])).collect();
        let (routers, all) = decisions(&arms);
        let mut sketch = Sketch { within, depth, elements: Vec::new(), open: Vec::new(), routers, all };
        let start = self.element(What::Start, Vec::new());
        let from_start = Open { source: Source { element: start, label: None }, when: all, has_value: true };
        let first = self.after(&mut sketch, from_start, Returns::Value)?;
        if within.is_flow() && self.random.in_percent(40) {
            sketch.open.push(from_start);
        }
        for _ in 0..size {
            match self.random.below(100) {
                0..60 => self.extend(&mut sketch)?,
                60..75 => self.meet(&mut sketch)?,
                75..92 => self.join_some(&mut sketch)?,
                _ => self.gather(&mut sketch)?,
            }
        }
        if !within.has_items {
            self.leave_some_on_the_side(&mut sketch)?;
        }
        self.close(&mut sketch)?;
        let ends = sketch.open.iter().map(|open| open.source).collect();
        Some(Scope { start, first, elements: sketch.elements, ends })
    }

    /// One more element behind a value, which others may take too.
    fn extend(&mut self, sketch: &mut Sketch) -> Option<()> {
        let at = self.random.below(sketch.open.len());
        let open = sketch.open[at];
        let is_start = matches!(self.program.what(open.source.element), What::Start);
        let stays = if open.source.label.is_some() { 10 } else { 20 };
        if is_start || !self.random.in_percent(stays) {
            sketch.open.remove(at);
        }
        self.behind(sketch, open)
    }

    fn behind(&mut self, sketch: &mut Sketch, open: Open) -> Option<()> {
        let drawn = if open.has_value { self.random.below(100) } else { 100 };
        let way = vec![vec![open.source]];
        match drawn {
            0..30 => {
                let mut returns = vec![
                    Returns::Two,
                    Returns::Three,
                    Returns::Result,
                    Returns::Nested,
                    Returns::Option,
                    Returns::Number,
                ];
                returns.retain(|returns| sketch.has_router(returns.labels().len()));
                let returns = if returns.is_empty() { Returns::Value } else { self.one_of(&returns) };
                self.after(sketch, open, returns)?;
            }
            30..50 if sketch.depth > 0 => {
                let turns = self.turns(sketch.depth - 1, Within { is_loop: true, ..sketch.within })?;
                let What::Loop { exits, .. } = &turns else { return None };
                if exits.len() == 1 || sketch.has_router(exits.len()) {
                    let element = self.element(turns, way);
                    self.add(sketch, element, open.when)?;
                } else {
                    self.after(sketch, open, Returns::Value)?;
                }
            }
            50..57 if sketch.depth > 0 => {
                let items = self.function(vec![Input::Value], Returns::List);
                let size = 1 + self.random.below(4);
                let inside = self.scope(size, sketch.depth - 1, Within::ITEMS)?;
                let gathers = self.function(vec![Input::List], Returns::Value);
                let element = self.element(What::Each { items, inside, gathers }, way);
                self.add(sketch, element, open.when)?;
            }
            57..70 if sketch.depth > 0 => {
                let size = 2 + self.random.below(4);
                let scope = self.scope(size, sketch.depth - 1, Within::FLOW)?;
                self.program.flows.push(scope);
                let element = self.element(What::Flow(self.program.flows.len() - 1), way);
                self.add(sketch, element, open.when)?;
            }
            _ => drop(self.after(sketch, open, Returns::Value)?),
        }
        Some(())
    }

    /// A loop: a scope of which some ends lead back.
    fn turns(&mut self, depth: usize, within: Within) -> Option<What> {
        let before = (self.functions, self.program.elements.len(), self.program.flows.len());
        let mut inside = (0..8).find_map(|_| {
            self.functions = before.0;
            self.program.elements.truncate(before.1);
            self.program.flows.truncate(before.2);
            let size = 1 + self.random.below(5);
            let depth = if self.random.in_percent(60) { depth } else { 0 };
            self.scope(size, depth, within).filter(|inside| (2..=4).contains(&inside.ends.len()))
        })?;
        shuffle(self.random, &mut inside.ends);
        let exits = 1 + self.random.below((inside.ends.len() - 1).min(3));
        let (exits, back) = inside.ends.split_at(exits);
        let (mut exits, back) = (exits.to_vec(), back.to_vec());
        for source in &back {
            let Some(Label::Arm(label)) = source.label else { continue };
            if exits.len() < 3 && self.random.in_percent(40) {
                let times = 1 + self.random.below(3) as u32;
                let What::Function(function) = &mut self.program.elements[source.element].what else { continue };
                if function.bound.is_none() && label != "spent" && label != "_" {
                    function.bound = Some((label, times));
                    exits.push(Source { element: source.element, label: Some(Label::Arm("spent")) });
                }
            }
        }
        Some(What::Loop { inside, exits, back })
    }

    /// Two values that exclude each other come into one node.
    fn meet(&mut self, sketch: &mut Sketch) -> Option<()> {
        let one = self.random.below(sketch.open.len());
        let a = sketch.open[one];
        let excluded = |(at, b): (usize, &Open)| (at != one && a.when & b.when == 0 && b.has_value).then_some(at);
        let others: Vec<usize> = sketch.open.iter().enumerate().filter_map(excluded).collect();
        if !a.has_value || others.is_empty() {
            return Some(());
        }
        let other = self.one_of(&others);
        let b = sketch.open[other];
        sketch.open.remove(one.max(other));
        sketch.open.remove(one.min(other));
        let ways = vec![vec![a.source], vec![b.source]];
        self.node(sketch, vec![Input::Value], Returns::Value, ways, a.when | b.when)?;
        Some(())
    }

    /// Two or three values come together.
    fn join_some(&mut self, sketch: &mut Sketch) -> Option<()> {
        let count = self.one_of(&[2, 2, 3]).min(sketch.open.len());
        if count < 2 {
            return Some(());
        }
        let mut together = Vec::new();
        for _ in 0..count {
            let open = sketch.open.remove(self.random.below(sketch.open.len()));
            together.push(self.plain(sketch, open)?);
        }
        let is_new = |at: usize| together[..at].iter().all(|other| other.source != together[at].source);
        if (0..count).all(is_new) {
            self.join(sketch, &together)?;
        } else {
            sketch.open.extend(together);
        }
        Some(())
    }

    fn join(&mut self, sketch: &mut Sketch, together: &[Open]) -> Option<()> {
        let when = together.iter().fold(0, |when, open| when | open.when);
        let excludes = |at: usize| together[at + 1..].iter().all(|other| other.when & together[at].when == 0);
        let inputs = if (0..together.len()).all(excludes) {
            vec![Input::Value]
        } else {
            together.iter().map(|open| if open.when == when { Input::Value } else { Input::Maybe }).collect()
        };
        let way = together.iter().map(|open| open.source).collect();
        self.node(sketch, inputs, Returns::Value, vec![way], when)?;
        Some(())
    }

    /// The outputs of nodes that run together are gathered as they come.
    fn gather(&mut self, sketch: &mut Sketch) -> Option<()> {
        if !sketch.within.is_flow() {
            return Some(());
        }
        let are_functions = |open: &&Open| self.is_plain(open) && self.returns(open.source.element).is_some();
        let mut candidates: Vec<Open> = sketch.open.iter().filter(are_functions).copied().collect();
        let Some(when) = candidates.first().map(|open| open.when) else { return Some(()) };
        candidates.retain(|open| open.when == when);
        candidates.truncate(3);
        candidates.dedup_by_key(|open| open.source);
        if candidates.len() < 2 {
            return Some(());
        }
        sketch.open.retain(|open| candidates.iter().all(|taken| taken.source != open.source));
        let ways = candidates.iter().map(|open| vec![open.source]).collect();
        let gathers = self.element(What::FirstN(candidates.len()), ways);
        sketch.elements.push(gathers);
        let source = Source { element: gathers, label: None };
        self.node(sketch, vec![Input::Arrivals], Returns::Value, vec![vec![source]], when)?;
        Some(())
    }

    /// Some values lead nowhere, where others are there under each decision.
    fn leave_some_on_the_side(&mut self, sketch: &mut Sketch) -> Option<()> {
        for at in (0..sketch.open.len()).rev() {
            let open = sketch.open[at];
            let others = sketch.open.iter().enumerate().filter(|(other, _)| *other != at);
            let covered = others.fold(0, |when, (_, other)| when | other.when);
            let is_start = matches!(self.program.what(open.source.element), What::Start);
            if !is_start && covered == sketch.all && self.random.in_percent(25) {
                sketch.open.remove(at);
                if !self.is_plain(&open) {
                    self.after(sketch, open, Returns::Value)?;
                    sketch.open.pop();
                }
            }
        }
        Some(())
    }

    /// Joins what is open until exactly one value is there under each decision.
    fn close(&mut self, sketch: &mut Sketch) -> Option<()> {
        sketch.open.sort_by_key(|open| open.source);
        sketch.open.dedup_by_key(|open| open.source);
        loop {
            let count = sketch.open.len();
            let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
            let meets = |(a, b): &(usize, usize)| sketch.open[*a].when & sketch.open[*b].when != 0;
            let overlapping: Vec<(usize, usize)> = pairs.filter(meets).collect();
            if overlapping.is_empty() {
                break;
            }
            let (a, b) = self.one_of(&overlapping);
            let (b, a) = (sketch.open.remove(b), sketch.open.remove(a));
            let (a, b) = (self.plain(sketch, a)?, self.plain(sketch, b)?);
            if a.source == b.source {
                sketch.open.push(a);
            } else {
                self.join(sketch, &[a, b])?;
            }
        }
        for at in (0..sketch.open.len()).rev() {
            let open = sketch.open[at];
            let source = open.source;
            let is_number = self.returns(source.element) == Some(Returns::Number);
            let may_end = source.label.is_some()
                && open.has_value
                && !is_number
                && (sketch.within.is_loop || !sketch.within.has_items);
            if !may_end && !self.is_plain(&open) {
                sketch.open.remove(at);
                let plain = self.plain(sketch, open)?;
                sketch.open.push(plain);
            }
        }
        let covered = sketch.open.iter().fold(0, |when, open| when | open.when);
        assert_eq!(covered, sketch.all, "a value is there under each decision");
        Some(())
    }
}

/// For routers with so many arms, the decisions in which each arm is taken, and all that there are.
fn decisions(routers: &[usize]) -> (Vec<Vec<When>>, When) {
    let count: usize = routers.iter().product();
    let mut step = 1;
    let mut all = Vec::new();
    for arms in routers {
        let mut taken: Vec<When> = vec![0; *arms];
        for decision in 0..count {
            taken[decision / step % arms] |= 1 << decision;
        }
        all.push(taken);
        step *= arms;
    }
    (all, (1 << count) - 1)
}

pub(crate) fn shuffle<T>(random: &mut Random, items: &mut [T]) {
    for at in (1..items.len()).rev() {
        items.swap(at, random.below(at + 1));
    }
}
