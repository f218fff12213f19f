//! Errors of a run: faults, causes and failures.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value as Json;

/// The error of a node that cannot fail.
///
/// [`Infallible`](std::convert::Infallible) works too, but is neither `Serialize` nor `JsonSchema`, so it is not a
/// [`Payload`](crate::Payload), and a node with that error cannot be called as a child.
///
/// A node without an error has no arm `err`, and its caller has nothing to handle:
///
/// ```
/// use graphweft::prelude::*;
///
/// struct Greeter { greeting: String }
///
/// impl Node for Greeter {
///     type Input = String;
///     type Output = String;
///     type Error = Never;
///
///     async fn run(&self, name: String, _: &Context) -> Result<String, Never> {
///         Ok(format!("{}, {name}!", self.greeting))
///     }
/// }
///
/// let flow = workflow! { let greet = Greeter { greeting: "Hello".to_owned() }; START => greet };
/// assert_eq!(graphweft::block_on(flow.run("Ada".to_owned())).unwrap(), "Hello, Ada!");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Never {}

impl std::fmt::Display for Never {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

impl std::error::Error for Never {}

/// The end of an attempt by something other than the node's own error.
///
/// A fault takes a routed `err` only if the node's error type is `From<Fault>`, or [`FromFault`], which gets the input
/// of the node as well; otherwise it fails the run.
///
/// An error that takes faults too has its arm for a panic, as for everything else that is wrong:
///
/// ```
/// use graphweft::prelude::*;
///
/// #[value]
/// #[derive(Debug)]
/// enum PayError { Declined, Unknown(String) }
///
/// impl From<Fault> for PayError {
///     fn from(fault: Fault) -> Self { PayError::Unknown(fault.to_string()) }
/// }
/// # impl std::fmt::Display for PayError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
/// # }
///
/// #[node]
/// async fn charge(cents: u32) -> Result<u32, PayError> { if cents < 50 { Err(PayError::Declined) } else { panic!("no such card") } }
/// #[node]
/// async fn report(cents: u32) -> String { format!("{cents} cents") }
/// #[node]
/// async fn explain(error: PayError) -> String { format!("not charged: {error:?}") }
///
/// workflow! { pub pay(u32) -> String { START => charge => <ok: report, err: explain>; } }
///
/// assert_eq!(graphweft::block_on(pay(40)).unwrap(), "not charged: Declined");
/// assert_eq!(graphweft::block_on(pay(80)).unwrap(), r#"not charged: Unknown("panicked: no such card")"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The attempt took longer than the node's `timeout`.
    #[error("timed out after {after:?}")]
    Timeout {
        /// The limit.
        after: Duration,
    },
    /// The node panicked.
    #[error("panicked: {message}")]
    Panic {
        /// The panic message.
        message: String,
    },
    /// An attempt that may run at most once was cut off: its process stopped, or its run was stopped and is retried.
    #[error("interrupted in the middle of an `at_most_once` attempt, which may have had its effect")]
    Interrupted,
    /// An attempt of a child or a step that may run at most once was dropped by its caller before it ended; or one at a
    /// node of a child workflow that has failed meanwhile.
    #[error("dropped before the end of an `at_most_once` attempt, which may have had its effect")]
    Dropped,
    /// An attempt ended, and its output or its error cannot be recorded: it is too large or too deep, or its type cannot be
    /// written as JSON. With such an output the same attempt would end so again: no retry policy repeats it, and a retry of the run
    /// does unless the attempt may run at most once. With such an error it has failed as with any other.
    #[error("{message}{}", if *at_most_once { "; the attempt has ended, may have had its effect, and is not repeated" } else { "" })]
    Unrecordable {
        /// The problem, with the size and the limit for a value that is too large.
        message: Box<str>,
        /// Whether it was an attempt at a child or a step that may run at most once.
        at_most_once: bool,
    },
    /// A collecting node has had its last arrival and returned no output.
    #[error("produced no output after {}", all_arrivals(*arrivals))]
    NothingCollected {
        /// How many arrivals it had.
        arrivals: u64,
    },
    /// Two nodes overwrote one key of the run's state at the same time: the later write would have undone the earlier
    /// one without having seen it. Give the key a reducer, or add an edge between the nodes.
    #[error(
        "state key `{key}` was overwritten by `{first}` while `{second}` was about to overwrite it; give the key a \
         reducer, or add an edge between the two nodes"
    )]
    StateConflict {
        /// The key.
        key: Box<str>,
        /// The path of the node whose write was recorded.
        first: Box<str>,
        /// The path of the node whose write was rejected.
        second: Box<str>,
    },
    /// A node completed without having written a key of the run's state that it declares by `#[writes(..)]`.
    #[error(
        "`{node}` is done and has not written state key `{key}`, which it declares by `#[writes(..)]`; write it on every way \
         through the node (its mock by `ctx.state_writer(..)`), or declare it by `#[may_write(..)]`"
    )]
    StateNotWritten {
        /// The path of the node.
        node: Box<str>,
        /// The key.
        key: Box<str>,
    },
    /// A node asked for a writer of a key of the run's state that it does not declare, or called a child that writes
    /// one.
    #[error(
        "`{node}` {}state key `{key}` and does not declare it; add `#[may_write(..)] name: StateWriter<..>` to its parameters, \
         or the key to the `Node::STATE` of a node that is written by hand", by_child(child.as_deref())
    )]
    StateNotDeclared {
        /// The path of the node.
        node: Box<str>,
        /// The key.
        key: Box<str>,
        /// The path of the child that writes it.
        child: Option<Box<str>>,
    },
    /// A node that was called by name ([`DynNode::call`](crate::DynNode::call)) does not take this input. It has not run.
    #[error("`{node}` does not take this input: {}{message}", at(field))]
    InvalidInput {
        /// The name of the node.
        node: Box<str>,
        /// Where in the input: `lines[2].price`; `.` for the whole.
        field: Box<str>,
        /// The problem there.
        message: Box<str>,
    },
    /// The function [around](crate::EngineBuilder::around) the attempt has refused it, or made it fail.
    #[error("{message}")]
    Refused {
        /// Why.
        message: String,
    },
    /// A request of the node to its context failed: a resource, a state key, a child, a question.
    #[error("{message}")]
    Context {
        /// What failed, where, and what to do.
        message: String,
    },
}

/// An error of a node that is made of a fault and the input of the node, so that the arm `err` knows what has failed.
/// The input is cloned before each attempt, and the clone is dropped when the attempt ends otherwise.
///
/// If the type is `From<Fault>` too, that makes the error where there is no input: a collecting node has had its last arrival
/// ([`Fault::NothingCollected`]), or the conversion of the input has panicked. If it is not, such a fault fails the run.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{Fault, FromFault};
///
/// #[value]
/// struct NotCharged {
///     order: u32,
///     why: String,
/// }
///
/// impl FromFault<u32> for NotCharged {
///     fn from_fault(fault: Fault, order: u32) -> Self {
///         NotCharged { order, why: fault.to_string() }
///     }
/// }
///
/// #[node(timeout = "20ms")]
/// async fn charge(order: u32) -> Result<String, NotCharged> {
///     std::future::pending::<()>().await;
///     Ok(format!("charged {order}"))
/// }
///
/// #[node]
/// async fn refuse(not: NotCharged) -> String {
///     format!("order {} {}", not.order, not.why)
/// }
///
/// workflow! { pub checkout(u32) -> String { START => charge => <ok: END, err: refuse>; refuse => END; } }
///
/// # graphweft::block_on(async {
/// assert_eq!(checkout(7).await?, "order 7 timed out after 20ms");
/// # Ok::<(), RunError>(()) }).unwrap();
/// ```
pub trait FromFault<Input: Clone>: Sized {
    /// The error for this fault, in the place of an attempt that had this input.
    fn from_fault(fault: Fault, input: Input) -> Self;
}

const STARTS_OVER: &str = "the run starts over";

impl Fault {
    /// Whether an `at_most_once` attempt has no recorded end of its own: it may have had its effect, and is not repeated.
    pub(crate) fn is_cut_short(&self) -> bool {
        matches!(self, Fault::Interrupted | Fault::Dropped | Fault::Unrecordable { at_most_once: true, .. })
    }

    /// What ends the attempt of a node that starts its run over. It is no failure, and never recorded.
    pub(crate) fn of_start_over() -> Self {
        Fault::Context { message: STARTS_OVER.to_owned() }
    }

    pub(crate) fn is_start_over(&self) -> bool {
        matches!(self, Fault::Context { message } if message == STARTS_OVER)
    }

    /// The output of an attempt cannot be recorded.
    pub(crate) fn unrecordable(what: &str, problem: impl std::fmt::Display) -> Self {
        let message = format!("the {what} cannot be recorded: {problem}").into();
        Fault::Unrecordable { message, at_most_once: false }
    }

    /// The same fault of an attempt that may run at most once.
    pub(crate) fn at_most_once(self) -> Self {
        match self {
            Fault::Unrecordable { message, .. } => Fault::Unrecordable { message, at_most_once: true },
            other => other,
        }
    }
}

/// An error and its sources, outermost first: the recorded form of any error.
///
/// Logs have the whole chain, and a program looks for the fault:
///
/// ```
/// use std::time::Duration;
/// use graphweft::prelude::*;
///
/// #[node(timeout = "1ms")]
/// async fn slow(ctx: &Context) { ctx.sleep(Duration::from_secs(3600)).await }
/// #[node]
/// async fn read(path: String) -> Result<String, std::io::Error> { std::fs::read_to_string(path) }
///
/// let cause = |error| match error {
///     RunError::Failed(failure) => failure.cause,
///     other => panic!("{other}"),
/// };
/// let late = cause(graphweft::block_on(workflow! { START => slow }.run(())).unwrap_err());
/// assert_eq!(late.fault, Some(Fault::Timeout { after: Duration::from_millis(1) }));
///
/// let absent = cause(graphweft::block_on(workflow! { START => read }.run("/no/such/file".to_owned())).unwrap_err());
/// assert_eq!(absent.fault, None);
/// assert!(absent.chain[0].starts_with("No such file"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Cause {
    /// The error's own text and those of its sources, up to 100. A text ends after 1 MiB, and where it is nested too
    /// deep to be written by a recursive `Display`.
    pub chain: Vec<String>,
    /// The fault, if it was one. Of a child workflow in which an `at_most_once` attempt was interrupted or dropped, that
    /// of this attempt, or [`Fault::Dropped`]: the workflow is not repeated either.
    pub fault: Option<Fault>,
}

fn at(field: &str) -> String {
    if field == "." { String::new() } else { format!("at `{field}`: ") }
}

fn by_child(child: Option<&str>) -> String {
    child.map_or_else(|| "writes ".to_owned(), |child| format!("calls `{child}`, which writes "))
}

fn all_arrivals(arrivals: u64) -> String {
    if arrivals == 1 { "its only arrival".to_owned() } else { format!("all {arrivals} arrivals") }
}

impl Cause {
    /// Whether it is the fault itself, and not an error with a fault behind it.
    pub(crate) fn is_fault(&self) -> bool {
        self.fault.as_ref().is_some_and(|fault| self.chain == [fault.to_string()])
    }

    /// Whether an `at_most_once` attempt was cut short.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.fault.as_ref().is_some_and(Fault::is_cut_short)
    }
}

impl From<Fault> for Cause {
    fn from(fault: Fault) -> Self {
        Cause { chain: vec![fault.to_string()], fault: Some(fault) }
    }
}

impl std::fmt::Display for Cause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, text) in self.chain.iter().enumerate() {
            f.write_str(if at > 0 { ": " } else { "" })?;
            f.write_str(text)?;
        }
        Ok(())
    }
}

impl Cause {
    /// An error with this text, to construct a [`Failure`].
    pub fn new(text: impl Into<String>) -> Self {
        Cause { chain: vec![text.into()], fault: None }
    }
}

/// Why a run failed: the node, its number of attempts, and its last error.
///
/// `{}` is all of it in one line, with the sources of the error, so [`source`](std::error::Error::source) is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{}: {cause}", self.what())]
#[non_exhaustive]
pub struct Failure {
    /// The node, as in `checkout/charge` or `checkout/draft#2`; the workflow, `checkout`, if the run itself has failed:
    /// it took longer than `#[timeout = ".."]` says, or something outside of its nodes panicked.
    pub path: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The last error.
    pub cause: Cause,
    /// The last error itself, in the form in which it is recorded. Boxed, since few have one and all are moved.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "some")]
    pub(crate) error: Option<Box<Json>>,
}

/// `null` is an error, and not its absence.
fn some<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Box<Json>>, D::Error> {
    Box::deserialize(from).map(Some)
}

impl Failure {
    /// The failure of a node after one attempt, for the mock of a nested workflow.
    pub fn new(path: impl Into<String>, cause: Cause) -> Self {
        Failure::at(path.into(), 1, cause)
    }

    pub(crate) fn at(path: String, attempts: u32, cause: Cause) -> Self {
        Failure { path, attempts, cause, error: None }
    }

    fn what(&self) -> String {
        let Failure { path, attempts, .. } = self;
        match path.contains('/') {
            true => format!("node `{path}` failed after {attempts} attempt{}", if *attempts == 1 { "" } else { "s" }),
            false => format!("workflow `{path}` failed"),
        }
    }
}
