//! How long the value of a key lives: the third parameter of a [`StateKey`](super::StateKey).

/// One run. It is what a [`StateKey`](super::StateKey) has if nothing is written, and the one of which the compiler proves something.
///
/// ```
/// use graphweft::StateKey;
/// use graphweft::state::{Overwrite, PerRun};
///
/// // Three ways to write the same type:
/// const SHORT: StateKey<String> = StateKey::new("owner");
/// const LONGER: StateKey<String, Overwrite> = SHORT;
/// const ALL: StateKey<String, Overwrite, PerRun> = LONGER;
/// assert_eq!(ALL.name(), "owner");
/// ```
#[derive(Clone, Copy, Debug)]
pub enum PerRun {}

/// All runs of one session: those that have the same [`SESSION`](crate::scope::SESSION).
///
/// A chat that greets only once, over all of its runs:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::{SESSION, ScopeError, Session};
/// use graphweft::state::Overwrite;
///
/// const IS_GREETED: StateKey<bool, Overwrite, Session> = StateKey::new("is_greeted");
///
/// #[node]
/// async fn reply(text: String, ctx: &Context) -> Result<String, ScopeError> {
///     let session = ctx.scope(Session).await?;
///     if session.get(IS_GREETED)?.unwrap_or_default() {
///         return Ok(format!("{text}?"));
///     }
///     session.update().set(IS_GREETED, true).await?;
///     Ok(format!("Hello! {text}?"))
/// }
///
/// workflow! { pub chat(String) -> String { START => reply; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// for expected in ["Hello! ants?", "ants?"] {
///     let run = engine.start::<chat>("ants".into()).state(SESSION, "monday".to_owned()).await?;
///     assert_eq!(run.result().await?, expected);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Session;

/// All runs for one user: those that have the same [`USER`](crate::scope::USER).
///
/// What one user has spent, whatever the run:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::{ScopeError, USER, User};
/// use graphweft::state::Sum;
///
/// const CENTS: StateKey<u64, Sum, User> = StateKey::new("cents");
///
/// #[node]
/// async fn buy(cents: u64, ctx: &Context) -> Result<u64, ScopeError> {
///     let user = ctx.scope(User).await?;
///     let before = user.get(CENTS)?.unwrap_or_default();
///     user.update().merge(CENTS, cents).await?;
///     Ok(before + cents)
/// }
///
/// workflow! { pub shop(u64) -> u64 { START => buy; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// for (user, total) in [("ada", 40), ("bob", 40), ("ada", 80)] {
///     assert_eq!(engine.start::<shop>(40).state(USER, user.to_owned()).await?.result().await?, total);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct User;

/// All runs of one application: those that have the same [`APP`](crate::scope::APP), or are of the same workflow.
///
/// A setting of the program, which an administrator writes and every run reads:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::{App, ScopeError};
/// use graphweft::state::Overwrite;
///
/// const GREETING: StateKey<String, Overwrite, App> = StateKey::new("greeting");
///
/// #[node]
/// async fn greet(name: String, ctx: &Context) -> Result<String, ScopeError> {
///     let greeting = ctx.scope(App).await?.get(GREETING)?.unwrap_or_else(|| "Hello".into());
///     Ok(format!("{greeting}, {name}!"))
/// }
///
/// workflow! { pub hello(String) -> String { START => greet; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.scope(App, "hello").await?.update().set(GREETING, "Good day".into()).await?; // of the workflow `hello`
/// assert_eq!(engine.start::<hello>("Ada".into()).await?.result().await?, "Good day, Ada!");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct App;
