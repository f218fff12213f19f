//! The state of a scope as it was read.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::ScopeError;
use super::fold::{Entry, Fold};
use super::id::{Scope, id_of};
use super::log::{self, ScopeLog};
use crate::child::Step;
use crate::context::Context;
use crate::core::Totals;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::options::RetryPolicy;
use crate::run_id::new_run_id;
use crate::state::{StateKey, WriteMode, decode, zero_of};
use crate::value::{self, MaxSize};

impl Context {
    /// Reads the state of this run's session, of its user or of its application, as it is now. It is a step of the node, with its
    /// position as the output (`chat/greet/state.user`): a node that starts again reads the same. See [`scope`](crate::scope).
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::scope::{ScopeError, USER, User};
    /// use graphweft::state::Sum;
    ///
    /// const VISITS: StateKey<u64, Sum, User> = StateKey::new("visits");
    ///
    /// #[node]
    /// async fn greet(name: String, ctx: &Context) -> Result<String, ScopeError> {
    ///     let user = ctx.scope(User).await?;
    ///     let visit = user.get(VISITS)?.unwrap_or_default() + 1;
    ///     user.update().merge(VISITS, 1).await?;
    ///     Ok(format!("Hello {name}, visit {visit}"))
    /// }
    ///
    /// workflow! { pub hello(String) -> String { START => greet; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// for expected in ["Hello Ada, visit 1", "Hello Ada, visit 2"] {
    ///     let run = engine.start::<hello>("Ada".into()).state(USER, "ada".to_owned()).await?;
    ///     assert_eq!(run.result().await?, expected);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Awaiting it fails if the run has no id for this scope, is executed without an engine, or the store fails or keeps no logs. While the store is away
    /// it does not fail: the run stops, as if it could not record something, and the node begins again when the store is back, or, if it is
    /// [`at_most_once`](macro@crate::node), ends as one that was interrupted. So does an update.
    ///
    /// Dropping the future before it is ready reads nothing.
    pub fn scope<S: Scope>(&self, _: S) -> OpenScope<'_, S> {
        OpenScope { by: OpenedBy::Node(self), key: None, scope: PhantomData }
    }
}

impl Engine {
    /// Reads the state of a session, a user or an application from outside of a run, as it is now: for a page of administrators, or
    /// an import. It need not be there. See [`scope`](crate::scope).
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::scope::User;
    /// use graphweft::state::Overwrite;
    ///
    /// const LANGUAGE: StateKey<String, Overwrite, User> = StateKey::new("language");
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// let ada = engine.scope(User, "ada").await?;
    /// assert_eq!(ada.get(LANGUAGE)?, None);
    /// ada.update().set(LANGUAGE, "en".to_owned()).await?;
    /// assert_eq!(engine.scope(User, "ada").await?.get(LANGUAGE)?, Some("en".to_owned()));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Awaiting it fails if the store fails or keeps no logs.
    pub fn scope<S: Scope>(&self, _: S, id: impl Into<String>) -> OpenScope<'static, S> {
        OpenScope { by: OpenedBy::Program(self.clone(), id.into()), key: None, scope: PhantomData }
    }

    /// The sessions, users or applications that have state, sorted.
    ///
    /// # Errors
    /// If the store fails or keeps no logs.
    pub async fn scope_ids<S: Scope>(&self, _: S) -> Result<Vec<String>, ScopeError> {
        log::ids(&*self.logs()?, S::NAME).await
    }

    /// Deletes the state of a session, a user or an application for good, and returns whether there was any. A run that has read it
    /// before may still write, to what is empty then.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::scope::Session;
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// assert!(!engine.delete_scope(Session, "monday").await?);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store fails or keeps no logs.
    pub async fn delete_scope<S: Scope>(&self, _: S, id: impl Into<String>) -> Result<bool, ScopeError> {
        ScopeLog::new(self, S::NAME, id.into())?.delete().await
    }
}

/// State that is to be read: [`Context::scope`], [`Engine::scope`]. Awaiting it reads.
///
/// An import that is repeated after a crash adds everything once, since it has a key:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::User;
/// use graphweft::state::Sum;
///
/// const POINTS: StateKey<u64, Sum, User> = StateKey::new("points");
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// for _repeated in 0..2 {
///     engine.scope(User, "ada").key("import-2026").await?.update().merge(POINTS, 10).await?;
/// }
/// assert_eq!(engine.scope(User, "ada").await?.get(POINTS)?, Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[must_use = "nothing is read before it is awaited"]
pub struct OpenScope<'c, S> {
    by: OpenedBy<'c>,
    key: Option<String>,
    scope: PhantomData<S>,
}

enum OpenedBy<'c> {
    Node(&'c Context),
    Program(Engine, String),
}

impl<S> OpenScope<'_, S> {
    /// Distinguishes the times that a node reads a scope, if it does so more than once. Outside of a run, it names what the
    /// program does: updates with one key are made once, [within 30 days](crate::scope#where-it-is-stored) at least.
    pub fn key(mut self, key: impl ToString) -> Self {
        self.key = Some(key.to_string());
        self
    }
}

impl<'c, S: Scope> IntoFuture for OpenScope<'c, S> {
    type Output = Result<ScopedState<'c, S>, ScopeError>;
    type IntoFuture = BoxFuture<'c, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        match self.by {
            OpenedBy::Node(context) => of_node(context, self.key).boxed(),
            OpenedBy::Program(engine, id) => of_program(engine, id, self.key).boxed(),
        }
    }
}

async fn of_program<'c, S: Scope>(
    engine: Engine,
    id: String,
    key: Option<String>,
) -> Result<ScopedState<'c, S>, ScopeError> {
    let log = ScopeLog::new(&engine, S::NAME, id)?;
    let fold = log.read(u64::MAX).await?;
    let entry =
        key.map_or_else(|| format!("program {}", new_run_id(SystemTime::now())), |key| format!("program {key:?}"));
    Ok(ScopedState { log, fold, max: engine.max_value_size(), entry, reader: Reader::Program, scope: PhantomData })
}

async fn of_node<S: Scope>(context: &Context, key: Option<String>) -> Result<ScopedState<'_, S>, ScopeError> {
    let id = id_of::<S>(context)?;
    let engine = context.engine().ok_or(ScopeError::NoEngine)?;
    let log = ScopeLog { logs: context.__logs(&engine)?, ..ScopeLog::new(&engine, S::NAME, id)? };
    let mut step = ScopeStep { context, scope: S::NAME, key, conflicts: 0 };
    // What the step has read, so that it is not read again behind it.
    let now: Arc<Mutex<Option<Fold>>> = Arc::default();
    let first = step.run("", || {
        let (log, now) = (log.clone(), Arc::clone(&now));
        async move {
            let fold = log.read(u64::MAX).await?;
            let end = fold.end;
            *now.lock().unwrap_or_else(PoisonError::into_inner) = Some(fold);
            Ok(end)
        }
    });
    let first: u64 = first.await?;
    // Of all attempts at this node. A node that is executed anew reads behind what it has written before.
    let entry = format!("node {:?} {:?} {:?} {first}", context.run_id(), context.path(), step.key);
    step.conflicts = step.earlier_conflicts()?;
    let until = match step.conflicts {
        0 => first,
        conflicts => {
            let position = step.run(&format!("@{conflicts}"), || {
                let (log, entry) = (log.clone(), entry.clone());
                async move { log.position_of(&entry, first).await }
            });
            position.await?
        }
    };
    let now = now.lock().unwrap_or_else(PoisonError::into_inner).take();
    let fold = match now.filter(|fold| fold.end == until) {
        Some(fold) => fold,
        None => {
            let read = {
                let log = log.clone();
                async move { log.read(until).await }
            };
            context.0.requests().follow(&step.name(""), read).await??.read_to(until)
        }
    };
    Ok(ScopedState { log, fold, max: engine.max_value_size(), entry, reader: Reader::Node(step), scope: PhantomData })
}

/// The steps of a node that reads and updates a scope.
///
/// ```text
/// state.user                  the position up to which it reads
/// state.user.write            fails, since another one has written the key
/// state.user.conflict1        says so, since a retry of the run voids the steps that have failed
/// state.user@1                of a later attempt at the node: the position up to which that reads
/// state.user@1.write
/// ```
///
/// The number of the node's attempt could not take the place of that of conflicts: a retry of the run begins with 1 again.
pub(super) struct ScopeStep<'c> {
    pub(super) context: &'c Context,
    scope: &'static str,
    key: Option<String>,
    /// How many there were in earlier attempts.
    conflicts: u32,
}

impl ScopeStep<'_> {
    /// A step. Each is repeated if the store fails in another way than to be away, which stops the run.
    fn run<'s, F, R, T>(&'s self, suffix: &str, body: F) -> Step<'s, T, ScopeError>
    where
        F: FnMut() -> R + Send + 's,
        R: Future<Output = Result<T, ScopeError>> + Send + 's,
    {
        let step = self.context.step(self.name(suffix), body);
        let step = step.retry(RetryPolicy::with_max_attempts(3)).retry_when(ScopeError::is_passing);
        match &self.key {
            Some(key) => step.key(key),
            None => step,
        }
    }

    fn name(&self, suffix: &str) -> String {
        format!("state.{}{suffix}", self.scope)
    }

    pub(super) async fn write(
        &self,
        log: &ScopeLog,
        key: &str,
        entry: &Entry,
        fold: &Fold,
        totals: &Totals,
    ) -> Result<(), ScopeError> {
        let written = self
            .run(&write_at(self.conflicts), || log.append(key, entry, fold, totals))
            .await
            .map_err(ScopeError::from);
        if written.as_ref().is_err_and(ScopeError::is_conflict) {
            let noted: Result<(), _> = self.run(&conflict(self.conflicts + 1), || async { Ok(()) }).await;
            noted?;
        }
        written
    }

    /// How many conflicts there were in earlier attempts. One of this attempt, which starts again, is none of them.
    fn earlier_conflicts(&self) -> Result<u32, Fault> {
        let Some(desk) = self.context.0.run.known_desk() else { return Ok(0) };
        let path = |suffix: &str| self.context.0.path_of(&self.name(suffix), self.key.as_deref());
        let mut conflicts = 0;
        while desk.item(&path(&conflict(conflicts + 1))?).is_some_and(|noted| noted.is_done()) {
            let update = desk.item(&path(&write_at(conflicts))?);
            if update.is_some_and(|update| !update.attempts.is_due()) {
                break;
            }
            conflicts += 1;
        }
        Ok(conflicts)
    }
}

fn write_at(conflicts: u32) -> String {
    if conflicts == 0 { ".write".to_owned() } else { format!("@{conflicts}.write") }
}

fn conflict(number: u32) -> String {
    format!(".conflict{number}")
}

/// The state of one scope, as it was read by [`Context::scope`] or [`Engine::scope`].
///
/// All that is stored of a user, for a request for their data:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::Json;
/// use graphweft::scope::{ScopeError, User};
/// use graphweft::state::Sum;
///
/// const VISITS: StateKey<u64, Sum, User> = StateKey::new("visits");
///
/// async fn export(engine: &Engine, user: &str) -> Result<Json, ScopeError> {
///     let state = engine.scope(User, user).await?;
///     let entry = |key: &str| Ok((key.to_owned(), state.get_json(key)?.unwrap_or_default()));
///     Ok(Json::Object(state.keys().map(entry).collect::<Result<_, ScopeError>>()?))
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.scope(User, "ada").await?.update().merge(VISITS, 3).await?;
/// assert_eq!(export(&engine, "ada").await?, graphweft::json!({ "visits": 3 }));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct ScopedState<'c, S> {
    pub(super) log: ScopeLog,
    pub(super) fold: Fold,
    pub(super) max: MaxSize,
    /// The key of the entry that an update adds.
    pub(super) entry: String,
    pub(super) reader: Reader<'c>,
    scope: PhantomData<S>,
}

pub(super) enum Reader<'c> {
    Node(ScopeStep<'c>),
    Program,
}

impl<S: Scope> ScopedState<'_, S> {
    /// The value of a key; `None` if nothing has been written to it, and its reducer has no [`Zero`](crate::state::Zero).
    ///
    /// As for the state of a run, a field with a default or an `Option` may be added to the type, and a field that the value
    /// has and `T` does not read is an error.
    ///
    /// # Errors
    /// [`ScopeError::Mismatch`] if the value is not a `T`.
    pub fn get<T, R>(&self, key: StateKey<T, R, S>) -> Result<Option<T>, ScopeError>
    where
        T: Serialize + DeserializeOwned,
        R: WriteMode<T>,
    {
        let name = key.name();
        let recorded = self.fold.get(name).map_err(|why| self.mismatch(name, why.to_owned()))?;
        let zero = || R::ZERO.map(zero_of);
        let value = recorded.cloned().or_else(zero).map(|value| decode(name, &value)).transpose();
        value.map_err(|fault| self.mismatch(name, fault.to_string()))
    }

    /// The value of any key, by its name.
    ///
    /// # Errors
    /// [`ScopeError::Mismatch`] if there is none, since it was merged by reducers that do not fit each other.
    pub fn get_json(&self, key: &str) -> Result<Option<Value>, ScopeError> {
        let recorded = self.fold.get(key).map_err(|why| self.mismatch(key, why.to_owned()))?;
        let value = recorded.map(value::decode).transpose();
        value.map_err(|error| self.mismatch(key, error.to_string()))
    }

    /// The names of the keys that were written, sorted.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fold.keys()
    }

    fn mismatch(&self, key: &str, message: String) -> ScopeError {
        let (scope, id) = (self.log.scope.to_owned(), self.log.id.clone());
        ScopeError::Mismatch { scope, id, key: key.to_owned(), message }
    }
}

impl<S: Scope> fmt::Debug for ScopedState<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys: Vec<&str> = self.keys().collect();
        f.debug_struct("ScopedState").field("scope", &S::NAME).field("id", &self.log.id).field("keys", &keys).finish()
    }
}

impl<S: Scope> fmt::Debug for OpenScope<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenScope").field("scope", &S::NAME).field("key", &self.key).finish_non_exhaustive()
    }
}
