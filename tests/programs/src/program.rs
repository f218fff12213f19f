//! A program: what is drawn, written as source, and executed by the model.

/// The place of an element in [`Program::elements`].
pub(crate) type ElementIx = usize;

/// Workflows, of which the last one is started. Others are nodes of those behind them.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) elements: Vec<Element>,
    pub(crate) flows: Vec<Scope>,
}

/// Elements that are executed together: those of a workflow, of a turn of a loop, or of an item of a list.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    /// Gives what comes into it.
    pub(crate) start: ElementIx,
    pub(crate) first: ElementIx,
    /// In an order in which each is behind all that it needs.
    pub(crate) elements: Vec<ElementIx>,
    /// Exactly one of these gives a value.
    pub(crate) ends: Vec<Source>,
}

/// Where a value comes from: what an element gives, or what it gives with a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Source {
    pub(crate) element: ElementIx,
    pub(crate) label: Option<Label>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    Arm(&'static str),
    /// One of [`What::Loop::exits`].
    Exit(usize),
}

#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) what: What,
    /// Sources that come together, where one of these ways brings it something.
    pub(crate) ways: Vec<Vec<Source>>,
}

#[derive(Debug)]
pub(crate) enum What {
    Start,
    Function(Function),
    Loop {
        inside: Scope,
        exits: Vec<Source>,
        back: Vec<Source>,
    },
    /// A list, what is executed for each of its items, and what gets the outputs.
    Each {
        items: Function,
        inside: Scope,
        gathers: Function,
    },
    /// A workflow, by its place in [`Program::flows`].
    Flow(usize),
    /// The first so many outputs of those that come, which are all.
    FirstN(usize),
}

#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) id: usize,
    pub(crate) inputs: Vec<Input>,
    pub(crate) returns: Returns,
    pub(crate) style: Style,
    /// The arm that leads back so often.
    pub(crate) bound: Option<(&'static str, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Value,
    Maybe,
    List,
    /// In the order in which they come, which may be any.
    Arrivals,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Returns {
    Value,
    /// So many items: up to three.
    List,
    Two,
    Three,
    Result,
    /// A `Result` whose output has labels of its own.
    Nested,
    Option,
    /// A number that is routed by literals.
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Async,
    Yields,
    /// So does each that sleeps at the same time, and they wake together.
    Sleeps,
    Plain,
    Blocking,
    /// Fails up to twice, and is retried.
    Retries,
    /// Fails for some inputs, and with it the run.
    Fails,
}

impl Returns {
    /// The labels in an order in which they can be written.
    pub(crate) fn labels(self) -> &'static [&'static str] {
        match self {
            Returns::Value | Returns::List => &[],
            Returns::Two => &["a", "b"],
            Returns::Three => &["a", "b", "c"],
            Returns::Result => &["ok", "err"],
            Returns::Nested => &["a", "b", "err"],
            Returns::Option => &["some", "none"],
            Returns::Number => &["0..=9", "10 | 11", "_"],
        }
    }
}

impl Program {
    pub(crate) fn what(&self, element: ElementIx) -> &What {
        &self.elements[element].what
    }

    pub(crate) fn function(&self, element: ElementIx) -> Option<&Function> {
        match self.what(element) {
            What::Function(function) => Some(function),
            _ => None,
        }
    }

    /// The element in which a value is made that comes out of a loop.
    pub(crate) fn origin(&self, source: Source) -> Source {
        match (self.what(source.element), source.label) {
            (What::Loop { exits, .. }, Some(Label::Exit(exit))) => self.origin(exits[exit]),
            _ => source,
        }
    }

    /// The element that gets what comes into one.
    pub(crate) fn entry(&self, element: ElementIx) -> ElementIx {
        match self.what(element) {
            What::Loop { inside, .. } => self.entry(inside.first),
            _ => element,
        }
    }

    /// All elements of a scope, with those in its loops.
    pub(crate) fn flat(&self, scope: &Scope) -> Vec<ElementIx> {
        let mut all = Vec::new();
        for element in &scope.elements {
            match self.what(*element) {
                What::Loop { inside, .. } => all.extend(self.flat(inside)),
                _ => all.push(*element),
            }
        }
        all
    }
}
