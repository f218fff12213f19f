//! Collecting nodes that most programs can use as they are: the first of several, and the first k of n.

use std::fmt;
use std::marker::PhantomData;

use crate::context::Context;
use crate::fault::{Fault, Never};
use crate::node::{Collecting, Node, Value};
use crate::state::{Append, StateKey};

/// The first arrival is the output; what the others were working on is cancelled.
///
/// ```
/// use graphweft::FirstOf;
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
///         let fastest: FirstOf<String> = FirstOf::new();
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
pub struct FirstOf<T>(PhantomData<fn() -> T>);

impl<T> FirstOf<T> {
    /// A node that gives what arrives first.
    pub const fn new() -> Self {
        FirstOf(PhantomData)
    }
}

impl<T: Value> Node for FirstOf<T> {
    type Input = T;
    type Output = Option<T>;
    type Error = Never;

    async fn run(&self, arrival: T, _: &Context) -> Result<Option<T>, Never> {
        Ok(Some(arrival))
    }
}

impl<T: Value> Collecting for FirstOf<T> {
    type Collected = T;
}

impl<T> Default for FirstOf<T> {
    fn default() -> Self {
        FirstOf::new()
    }
}

impl<T> fmt::Debug for FirstOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FirstOf")
    }
}

/// The first k arrivals are the output, in the order in which they came; what the others were working on is cancelled.
///
/// Where the routes leave fewer than k of them, the run fails with [`Fault::NothingCollected`].
///
/// ```
/// use graphweft::KOf;
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
///         let majority: KOf<bool> = KOf::new(2);
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
pub struct KOf<T> {
    k: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> KOf<T> {
    /// A node that gives what arrives first, as soon as there are `k` of them.
    ///
    /// # Panics
    /// Where `k` is 0: nothing would ever have to arrive.
    #[track_caller]
    pub const fn new(k: usize) -> Self {
        assert!(k > 0, "`KOf::new(0)` would wait for nothing; give it the number of arrivals to wait for, at least 1");
        KOf { k, of: PhantomData }
    }
}

impl<T: Value> KOf<T> {
    /// What has come so far. Kept with the run and not in the node, which is one for all runs of the process.
    const ARRIVED: StateKey<Vec<T>, Append> = StateKey::new("arrived");
}

impl<T: Value> Node for KOf<T> {
    type Input = T;
    type Output = Option<Vec<T>>;
    type Error = Fault;

    async fn run(&self, arrival: T, context: &Context) -> Result<Option<Vec<T>>, Fault> {
        let local = context.local();
        local.push(Self::ARRIVED, arrival);
        let arrived = local.get(Self::ARRIVED)?;
        Ok(arrived.filter(|arrived| arrived.len() >= self.k))
    }

    fn explain(fault: &Fault) -> Vec<String> {
        vec![fault.to_string()]
    }
}

impl<T: Value> Collecting for KOf<T> {
    type Collected = Vec<T>;
}

impl<T> fmt::Debug for KOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KOf").field("k", &self.k).finish()
    }
}
