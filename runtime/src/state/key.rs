//! Keys of the state.

use std::marker::PhantomData;

use graphweft_graph::state_proof::StateKeyFact;

use super::reducer::{Overwrite, WriteMode};
use super::scope::PerRun;

/// A key of the state: a name, the type of its value, its reducer, and how long the value lives.
///
/// | | whose state | read and written by |
/// | --- | --- | --- |
/// | `StateKey<T, R>` | that of the run | parameters of nodes: [`state`](crate::state) |
/// | `StateKey<T, R, Session>`, `StateKey<T, R, User>`, `StateKey<T, R, App>` | that of a session, a user or an application, over all their runs | [`Context::scope`](crate::Context::scope), [`Engine::scope`](crate::Engine::scope): [`scope`](crate::scope) |
///
/// The constant is all that the nodes, the caller and the tests of a run share:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::state::Max;
///
/// const OWNER: StateKey<String> = StateKey::new("owner");
/// const WORST: StateKey<u32, Max> = StateKey::new("worst");
///
/// #[node]
/// async fn inspect(pages: Vec<u32>, #[writes(WORST)] worst: StateWriter<u32, Max>) -> usize {
///     for errors in &pages {
///         worst.merge(*errors);
///     }
///     pages.len()
/// }
///
/// #[node]
/// async fn report(pages: usize, #[state(WORST)] worst: Option<u32>, #[state(OWNER)] owner: String) -> String {
///     format!("{owner}: {pages} pages, at worst {} errors", worst.unwrap_or_default())
/// }
///
/// workflow! {
///     #[given(OWNER)]
///     pub audit(Vec<u32>) -> String { START => inspect => report; }
/// }
///
/// # graphweft::block_on(async {
/// let run = Engine::builder().build()?.start::<audit>(vec![3, 7, 5]).state(OWNER, "Ada".to_owned()).await?;
/// assert_eq!(run.result().await?, "Ada: 3 pages, at worst 7 errors");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct StateKey<T, R = Overwrite, S = PerRun> {
    name: &'static str,
    holds: PhantomData<fn() -> (T, R)>,
    scope: PhantomData<S>,
}

impl<T, R: WriteMode<T>, S> StateKey<T, R, S> {
    /// A key. Use one constant for each, so that all nodes agree on its type and its reducer.
    pub const fn new(name: &'static str) -> Self {
        StateKey { name, holds: PhantomData, scope: PhantomData }
    }
}

impl<T, R: WriteMode<T>> StateKey<T, R> {
    /// Its declaration for [`Node::STATE`](crate::Node::STATE) of a node that is written by hand.
    pub const fn fact(&self) -> StateKeyFact {
        match R::ZERO {
            Some(zero) => StateKeyFact::with_zero(self.name, zero).holding(R::HOLDS),
            None if R::OVERWRITES => StateKeyFact::overwrite(self.name),
            None => StateKeyFact::reduced(self.name, false),
        }
    }
}

impl<T, R, S> StateKey<T, R, S> {
    /// Its name.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

impl<T, R, S> Clone for StateKey<T, R, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, R, S> Copy for StateKey<T, R, S> {}
