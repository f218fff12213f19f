//! The numbers that a store gives.

/// The number that a store has given to a run.
///
/// The order in which runs were started, for the next page of a list:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn charge(cents: u32) -> u32 { cents }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// for id in ["first", "second"] {
///     engine.start::<pay>(40).id(id).await?.result().await?;
/// }
/// let newest = engine.list_runs(RunFilter::default().limit(1)).await?.remove(0);
/// let older = engine.list_runs(RunFilter::default().before(newest.key)).await?.remove(0);
/// assert_eq!((&*newest.id, &*older.id), ("second", "first"));
/// assert!(older.key < newest.key);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct RunKey(pub(crate) u64);

impl RunKey {
    /// The run with this number.
    pub const fn new(number: u64) -> Self {
        RunKey(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// The number that a store has given to an engine. Each is greater than all before.
///
/// ```
/// use graphweft::store::{MemoryStore, Store};
///
/// # graphweft::block_on(async {
/// let store = MemoryStore::new();
/// let (first, second) = (store.join(vec!["pay".into()]).await?, store.join(vec![]).await?); // two engines
/// assert!(first < second);
/// store.leave(first).await;
/// assert!(!store.is_alive(first).await? && store.is_alive(second).await?);
/// # Ok::<(), graphweft::store::StoreError>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Owner(pub(crate) u64);

impl Owner {
    /// The engine with this number.
    pub const fn new(number: u64) -> Self {
        Owner(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}
