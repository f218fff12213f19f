//! What is known of a node without a value of it.

use std::any::{TypeId, type_name};
use std::fmt;

use serde::Serialize;

use crate::fault::{Failure, Never};
use crate::value::{MaxSize, Unrecordable, encode_part};

/// An error as text, outermost first.
pub(crate) type ErrorWords<E> = fn(&E) -> Vec<String>;

/// How an error is recorded.
pub(crate) type WriteError<E> = fn(&E, MaxSize) -> Result<serde_json::Value, Unrecordable>;

/// The name, the description and the parameters of a node, and how its error becomes text.
///
/// `#[node]` takes them from the function. A node that is written by hand states them in
/// [`Node::FACTS`](crate::Node::FACTS):
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{NodeFacts, NodeInfo};
///
/// #[derive(Default)]
/// struct Search {
///     limit: usize,
/// }
///
/// impl Node for Search {
///     type Input = String;
///     type Output = Vec<String>;
///     type Error = std::io::Error;
///     const FACTS: NodeFacts<String, std::io::Error> = NodeFacts::named("search")
///         .doc("Searches the archive.")
///         .parameters(&["query"])
///         .error_text(|error| vec![error.to_string()]);
///
///     async fn run(&self, query: String, _: &Context) -> Result<Vec<String>, std::io::Error> {
///         Ok(vec![query; self.limit])
///     }
/// }
///
/// assert_eq!(NodeInfo::of::<Search>().parameters(), ["query"]);
/// ```
// One constant, since each item of an impl costs rustc time.
pub struct NodeFacts<I, E> {
    /// The name of the function, or of the workflow.
    pub(crate) name: Option<&'static str>,
    /// The doc comment, for pictures and UIs.
    pub(crate) doc: &'static str,
    /// The names of the function's inputs, in order; empty for one that is taken apart by its pattern.
    pub(crate) parameters: &'static [&'static str],
    /// How an input is copied for another attempt, if its type is `Clone`; otherwise the copy is made by serde.
    pub(crate) copy: Option<fn(&I) -> I>,
    /// How its error becomes text and source chain, outermost first.
    pub(crate) words: Option<ErrorWords<E>>,
    /// How its error is recorded, if it can be.
    pub(crate) write_error: Option<WriteError<E>>,
    /// Whether its `impl` was written by a person, whose `STATE` may be that of a generic type.
    pub(crate) is_by_hand: bool,
    /// The pool that executes its attempts.
    pub(crate) pool: Option<&'static str>,
    /// The type whose `run` is done by its first poll. These facts may be those of another node, which a node that is
    /// written by hand has inside.
    pub(crate) never_waits: Option<fn() -> TypeId>,
}

impl<I, E> fmt::Debug for NodeFacts<I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeFacts").field("name", &self.name).field("doc", &self.doc).finish_non_exhaustive()
    }
}

impl<I, E> Clone for NodeFacts<I, E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, E> Copy for NodeFacts<I, E> {}

impl<I, E> NodeFacts<I, E> {
    /// Nothing: the node has the name of its type.
    pub const NONE: Self = NodeFacts {
        name: None,
        doc: "",
        parameters: &[],
        copy: None,
        words: None,
        write_error: None,
        is_by_hand: true,
        pool: None,
        never_waits: None,
    };

    /// The name of the node, in paths and as a tool.
    pub const fn named(name: &'static str) -> Self {
        NodeFacts { name: Some(name), ..Self::NONE }
    }

    /// What the node does.
    pub const fn doc(self, doc: &'static str) -> Self {
        NodeFacts { doc, ..self }
    }

    /// The names of the inputs: one, or one for each part of the tuple. They are the properties of the object that
    /// [`DynNode::call`](crate::DynNode::call) takes.
    pub const fn parameters(self, names: &'static [&'static str]) -> Self {
        NodeFacts { parameters: names, ..self }
    }

    /// The text of an error, with those of its sources behind it.
    pub const fn error_text(self, text: fn(&E) -> Vec<String>) -> Self {
        NodeFacts { words: Some(text), ..self }
    }

    /// The error is recorded, as that of a function is: [`Failure::error_as`](crate::Failure::error_as) has it.
    pub const fn recorded_error(self) -> Self
    where
        E: Serialize,
    {
        NodeFacts { write_error: Some(encode_part), ..self }
    }

    /// A node that a macro made. What is to be said of an error is added to it.
    #[doc(hidden)]
    pub const fn of(
        name: &'static str,
        doc: &'static str,
        parameters: &'static [&'static str],
        copy: Option<fn(&I) -> I>,
    ) -> Self {
        NodeFacts {
            name: Some(name),
            doc,
            parameters,
            copy,
            words: None,
            write_error: None,
            is_by_hand: false,
            pool: None,
            never_waits: None,
        }
    }

    /// A node that a macro made, with the ways in which its error may become text.
    // So many parameters, since rustc takes longer for an array or a struct of them.
    #[doc(hidden)]
    #[allow(clippy::too_many_arguments, reason = "see above")]
    pub const fn fallible(
        name: &'static str,
        doc: &'static str,
        parameters: &'static [&'static str],
        copy: Option<fn(&I) -> I>,
        of_error: Option<ErrorWords<E>>,
        of_display: Option<ErrorWords<E>>,
        of_debug: Option<ErrorWords<E>>,
        write_error: Option<WriteError<E>>,
    ) -> Self {
        let words = match (of_error, of_display) {
            (Some(words), _) | (None, Some(words)) => Some(words),
            (None, None) => of_debug,
        };
        NodeFacts { words, write_error, ..Self::of(name, doc, parameters, copy) }
    }

    /// The option `pool`. For macros: the context of a node that is written by hand makes requests, which nothing records elsewhere.
    #[doc(hidden)]
    pub const fn in_pool(self, pool: &'static str) -> Self {
        NodeFacts { pool: Some(pool), ..self }
    }

    /// Each call of the `run` of `N` is done by its first poll. For macros, which see that.
    #[doc(hidden)]
    pub const fn never_waits<N: 'static>(self) -> Self {
        NodeFacts { never_waits: Some(TypeId::of::<N>), ..self }
    }

    /// Whether that is so for `N`.
    pub(crate) fn says_never_waits<N: 'static>(&self) -> bool {
        self.never_waits.is_some_and(|of| of() == TypeId::of::<N>())
    }

    /// What it says of an error, outermost first.
    pub(crate) fn explain(&self, error: &E) -> Vec<String> {
        self.words.map_or_else(|| vec![format!("an error of type `{}`", type_name::<E>())], |words| words(error))
    }
}

impl<I: Clone> NodeFacts<I, Never> {
    /// A node that takes what can be cloned, and cannot fail.
    #[doc(hidden)]
    pub const fn infallible(name: &'static str, doc: &'static str, parameters: &'static [&'static str]) -> Self {
        Self::of(name, doc, parameters, Some(I::clone))
    }
}

impl<I> NodeFacts<I, Failure> {
    /// A workflow as a node.
    #[doc(hidden)]
    pub const fn of_workflow(name: &'static str, doc: &'static str, copy: Option<fn(&I) -> I>) -> Self {
        Self::of(name, doc, &[], copy).error_text(|failure| vec![failure.to_string()])
    }
}
