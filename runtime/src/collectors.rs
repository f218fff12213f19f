//! Ready-made collecting nodes: the first arrival, and the first k of n.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};

use crate::context::Context;
use crate::fault::{Fault, Never};
use crate::node::{Collector, Node};
use crate::node_facts::NodeFacts;
use crate::state::{Append, StateKey};

/// Returns the first arrival; the branches that would bring others are cancelled.
///
/// ```
/// use graphweft::First;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn mirror(file: String) -> String {
///     format!("{file} from the mirror")
/// }
///
/// #[node]
/// async fn origin(file: String, ctx: &Context) -> String {
///     ctx.cancelled().await; // a server that does not answer
///     format!("{file} from the origin")
/// }
///
/// workflow! {
///     download(String) -> String {
///         let fastest: First<String> = First::new();
///         START => (mirror, origin);
///         mirror | origin => fastest;
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), graphweft::RunError> {
/// assert_eq!(download("a.txt".to_owned()).await?, "a.txt from the mirror");
/// # Ok(())
/// # }
/// ```
pub struct First<T>(PhantomData<fn() -> T>);

impl<T> First<T> {
    /// A node that returns the first arrival.
    pub const fn new() -> Self {
        First(PhantomData)
    }
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Node for First<T> {
    type Input = T;
    type Output = Option<T>;
    type Error = Never;

    async fn run(&self, arrival: T, _: &Context) -> Result<Option<T>, Never> {
        Ok(Some(arrival))
    }
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Collector for First<T> {
    type Collected = T;
}

impl<T> Default for First<T> {
    fn default() -> Self {
        First::new()
    }
}

impl<T> fmt::Debug for First<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("First")
    }
}

/// Returns the first k arrivals, in order of arrival; the branches that would bring others are cancelled.
///
/// If fewer than k arrive, the run fails with [`Fault::NothingCollected`].
///
/// ```
/// use graphweft::FirstN;
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn yes(question: String) -> bool {
///     question.ends_with('?')
/// }
///
/// #[node]
/// async fn silent(ctx: &Context) -> bool {
///     ctx.cancelled().await; // a voter who never answers
///     false
/// }
///
/// workflow! {
///     vote(String) -> Vec<bool> {
///         let also_yes = yes();
///         let majority: FirstN<bool> = FirstN::new(2);
///         START => (yes, also_yes, silent);
///         yes | also_yes | silent => majority;
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), graphweft::RunError> {
/// assert_eq!(vote("Ship it?".to_owned()).await?, [true, true]);
/// # Ok(())
/// # }
/// ```
pub struct FirstN<T> {
    k: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> FirstN<T> {
    /// A node that returns the first `k` arrivals.
    ///
    /// # Panics
    /// If `k` is 0.
    #[track_caller]
    pub const fn new(k: usize) -> Self {
        assert!(k > 0, "`FirstN::new(0)` would wait for nothing; pass the number of arrivals to wait for, at least 1");
        FirstN { k, of: PhantomData }
    }
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> FirstN<T> {
    /// The arrivals so far. Kept with the run and not in the node, which is shared by all runs of the process.
    const ARRIVED: StateKey<Vec<T>, Append> = StateKey::new("arrived");
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Node for FirstN<T> {
    type Input = T;
    type Output = Option<Vec<T>>;
    type Error = Fault;

    const FACTS: NodeFacts<T, Fault> = NodeFacts::NONE.error_text(|fault| vec![fault.to_string()]);

    async fn run(&self, arrival: T, context: &Context) -> Result<Option<Vec<T>>, Fault> {
        let local = context.collector_state();
        local.push(Self::ARRIVED, arrival);
        let arrived = local.get(Self::ARRIVED)?;
        Ok(arrived.filter(|arrived| arrived.len() >= self.k))
    }
}

impl<T: Serialize + DeserializeOwned + JsonSchema + Send + 'static> Collector for FirstN<T> {
    type Collected = Vec<T>;
}

impl<T> fmt::Debug for FirstN<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FirstN").field("k", &self.k).finish()
    }
}
