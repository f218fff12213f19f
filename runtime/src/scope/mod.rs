//! State beyond a run: what a session, a user or the whole application keeps from one run to the next.
//!
//! ```
//! use graphweft::prelude::*;
//! use graphweft::scope::{App, ScopeError, USER, User};
//! use graphweft::state::{Append, Overwrite, Sum};
//!
//! const VISITS: StateKey<u64, Sum, App> = StateKey::new("visits");
//! const TOPICS: StateKey<Vec<String>, Append, User> = StateKey::new("topics");
//! const LANGUAGE: StateKey<String, Overwrite, User> = StateKey::new("language");
//!
//! #[node]
//! async fn greet(topic: String, ctx: &Context) -> Result<String, ScopeError> {
//!     let user = ctx.scope(User).await?; // as it is now
//!     let before = user.get(TOPICS)?.unwrap_or_default();
//!     let greeting = format!("{topic} after {before:?}, in {:?}", user.get(LANGUAGE)?);
//!     // Written last, all at once.
//!     user.update().push(TOPICS, topic).await?;
//!     ctx.scope(App).await?.update().merge(VISITS, 1).await?;
//!     Ok(greeting)
//! }
//!
//! workflow! { pub chat(String) -> String { START => greet; } }
//!
//! # graphweft::block_on(async {
//! let engine = Engine::builder().build()?;
//! // Outside of a run: an import, a page for administrators.
//! engine.scope(User, "ada").await?.update().set(LANGUAGE, "en".to_owned()).await?;
//! for (topic, expected) in [("ants", r#"ants after [], in Some("en")"#), ("bees", r#"bees after ["ants"], in Some("en")"#)] {
//!     let run = engine.start::<chat>(topic.into()).state(USER, "ada".to_owned()).await?;
//!     assert_eq!(run.result().await?, expected);
//! }
//! assert_eq!(engine.scope(App, "chat").await?.get(VISITS)?, Some(2));
//! assert_eq!(engine.scope_ids(User).await?, ["ada"]);
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # Whose state
//!
//! | third parameter | all runs with the same | id of the scope |
//! | --- | --- | --- |
//! | [`Session`] | session | [`SESSION`], set at the start: `.state(SESSION, "monday".to_owned())` |
//! | [`User`] | user | [`USER`], set at the start: `.state(USER, "ada".to_owned())` |
//! | [`App`] | application | [`APP`], if it is set at the start, or else the name of the workflow |
//!
//! An id may be any text of up to 1,024 bytes. Ids of different scopes have nothing to do with each other. Set [`APP`] where several workflows
//! share the state of one application, or where a workflow may be renamed.
//!
//! # Reading
//! [`Context::scope`](crate::Context::scope) reads the state of one scope as it is at this time, and records *how far* it has read, which is a number,
//! and not what. So a node that starts again, after a restart or since its run was unloaded, reads the same ([for so long](#where-it-is-stored)), and many runs do not hold many copies. The next
//! attempt of a node that has failed reads the same too, as with all that is recorded, unless its update was a conflict: then it reads what is there now. [`ScopedState::get`] returns a value.
//!
//! # Writing
//! [`ScopedState::update`] collects writes, and writes all of them at once when it is awaited. It takes the state that was
//! read, so an update comes last; to update again, read again.
//!
//! - **Reducers** merge, whatever others have written meanwhile: two runs that add 1 add 2, in one process or in several.
//!   A [`Sum`](crate::state::Sum) takes only what its type holds, also of several that add at the same time: each reads what the others have added before.
//! - [`Overwrite`](crate::state::Overwrite) checks a version: if another one has written the key since it was read, nothing of the update is
//!   written, and it is a [`ScopeError::Conflict`] that names the key, the scope and who has written. Let the node retry:
//!   `#[node(retry(max_attempts = 3, when = ScopeError::is_conflict))]` reads anew and decides anew.
//! - **Once.** An update has a key of the run and the path of the node. What happens to the process, and how often the node
//!   is attempted, adds nothing twice. If an attempt fails behind its update, the next attempt reads what that one has read, and its own
//!   update adds nothing: so update last, and an attempt that fails leaves nothing. A node that is executed anew ([`Retry::from_node`](crate::Retry::from_node), a
//!   fork) is another one, and writes again.
//!
//! What a run writes here is its own decision: it stays if a later node of the run fails.
//!
//! # What is proven, and what is not
//! The compiler proves of a `StateKey<T, R>` that no node reads it before it is written, and that no two nodes overwrite it at the same time
//! ([`state`](crate::state)). Of a key that outlives the run it can prove neither, since other runs write it: so such a key is no
//! parameter of a node, what it holds is an `Option` unless its reducer has a [`Zero`](crate::state::Zero), and a conflict is a value.
//! That a key belongs to this scope is checked by rustc.
//!
//! ```compile_fail,E0308
//! use graphweft::prelude::*;
//! use graphweft::state::{Sum, User};
//!
//! const VISITS: StateKey<u64, Sum, User> = StateKey::new("visits");
//!
//! #[node]
//! async fn count(#[state(VISITS)] visits: u64) -> u64 { visits } // it is read with `ctx.scope(User)`
//! ```
//!
//! # Where it is stored
//! In the logs of the engine's store ([`Engine::logs`](crate::Engine::logs)), beside the runs: names that begin with `%state` are taken. Each update is an entry, of
//! the size of what it writes and some 200 bytes. The last 4,096 updates are kept one by one
//! ([`keep_scope_updates`](crate::EngineBuilder::keep_scope_updates)); when as many again are behind them, all before them become one entry with the values, in
//! one commit. So a counter that is increased a million times takes some 8,000 entries. Reading does not grow with that either: after every
//! 256 entries the values are stored as one, and what is read is that and what came behind it.
//!
//! What is left of an update that has become a part of that entry:
//!
//! - **Its key**, for as long as it may be sent again, so that it is made once: that of a run until the run has completed or is deleted, since one that
//!   has failed can be retried; a [key](OpenScope::key) that a program has given, for 30 days. A run that never ends and updates one scope for
//!   ever leaves all its keys there; let it [start over](crate::Context::start_over) from time to time.
//! - **Who has written a key of the state last**, and at which position. So an [`Overwrite`](crate::state::Overwrite) of what was read long before is still a conflict
//!   if another one has written the key since, and none otherwise.
//! - **Not the states in between.** A node that starts again after more than 4,096 other updates, such as after a restart or behind a long wait
//!   for a person, reads the oldest state that is left, and not the one that it had read. What it has recorded since stays. If it has to decide the same again,
//!   let it keep what it decides by: `ctx.step("visits", ..)` records a value.
//!
//! A node that restarts with a position from before a deletion may find nothing.
//!
//! Neither a retention nor `graphweft prune` deletes it. What a list holds is read and stored whole: keep long histories elsewhere.

mod error;
mod fold;
mod id;
mod log;
mod scoped;
mod summary;
mod trim;
mod update;

pub use error::{ScopeError, WrittenBy};
pub use id::{APP, SESSION, Scope, USER};
pub use scoped::{OpenScope, ScopedState};
pub use update::ScopeUpdate;

pub use crate::state::{App, Session, User};
