//! Starting a run.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::changed::is_same_input;
use super::error::StartError;
use super::inner::Engine;
use super::live::{Beginning, ReadyRun, Undriven};
use super::run::Run;
use super::runs::{Found, Reservation};
use super::runtime;
use crate::box_value::BoxValue;
use crate::catch::caught;
use crate::compile::check_resources;
use crate::core::{TimeLimit, after};
use crate::event::{Begins, EventKind, Limit};
use crate::halt::Halt;
use crate::meter;
use crate::node::Payload;
use crate::shared::Journal;
use crate::state::StateKey;
use crate::store::{Created, NewRun, Owner, Record, StartedBy, Tags};
use crate::table::Definition;
use crate::trace::{self, GuardedSpan, TRACEPARENT};
use crate::value::{self, Unrecordable, drop_refused};
use crate::workflow::{Flow, Workflow};

/// A new run. Awaiting it starts the run and returns a [`Run`] or a [`StartError`].
#[must_use = "nothing starts before it is awaited"]
pub struct Start<T> {
    engine: Engine,
    id: Option<String>,
    state: Map<String, Json>,
    tags: Tags,
    /// The node of another run that starts it.
    started_by: Option<StartedBy>,
    begins: Option<Later>,
    /// Why it cannot begin later, if it cannot: its workflow is not registered, and so would not be found then.
    not_later: Option<StartError>,
    what: Result<(Arc<Definition>, BoxValue), StartError>,
    gives: PhantomData<fn() -> T>,
}

impl Engine {
    /// A new run of a workflow. It starts when the result is awaited:
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> Result<String, std::io::Error> { Ok(format!("{cents}")) }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// # let engine = Engine::builder().build()?;
    /// let run = engine.start::<pay>(4000).id("order-42").await?;
    /// assert_eq!(run.result().await?, "4000");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// With a [`store`](crate::EngineBuilder::store) that outlives the process, the workflow must be
    /// [registered](crate::EngineBuilder::register), so that its run can be resumed: otherwise awaiting it returns
    /// [`StartError::NotRegistered`].
    ///
    /// # Cancel safety
    /// If the future is dropped before it returns, the run may or may not have been recorded. A recorded run is
    /// executed: [`get_run`](Self::get_run) finds it by its id.
    pub fn start<W: Workflow>(&self, input: W::Input) -> Start<W::Output> {
        let definition = W::definition();
        let unknown = StartError::NotRegistered { workflow: W::NAME.to_owned() };
        if self.could_be_resumed(definition) {
            Start::new(self, definition, Ok(BoxValue::new(input))).later_if_registered(definition, unknown)
        } else {
            Start::refused(self, unknown)
        }
    }

    /// A new run of a workflow in expression position, in an engine without a [`store`](crate::EngineBuilder::store).
    ///
    /// Awaiting it returns [`StartError::FlowInStore`] with a store that outlives the process: a flow has no name by
    /// which it can be registered, so its run could not be resumed.
    pub fn start_flow<I: Payload, O: Payload>(&self, flow: &Flow<I, O>, input: I) -> Start<O> {
        if self.could_be_resumed(flow.definition()) {
            let start = Start::new(self, flow.definition(), Ok(BoxValue::new(input)));
            start.later_if_registered(flow.definition(), StartError::FlowInStore)
        } else {
            Start::refused(self, StartError::FlowInStore)
        }
    }

    /// Whether this program could resume a run after a restart, if its store has it by then.
    fn could_be_resumed(&self, definition: &Arc<Definition>) -> bool {
        self.0.store.is_volatile() || self.has_registered(definition)
    }

    /// A new run of a registered workflow, from JSON: for command lines and servers. The input is validated against the
    /// workflow's input type before anything runs.
    ///
    /// Keys of the state are set by [`Start::state`] or [`Start::state_json`].
    ///
    /// Awaiting it returns [`StartError::UnknownWorkflow`] with the registered names, or [`StartError::InvalidInput`]
    /// with the invalid field.
    pub fn start_json(&self, workflow: &str, input: Json) -> Start<Json> {
        let input = value::check_json(input, self.0.env.max_value_size);
        match self.newest(workflow) {
            Some(definition) => {
                let invalid = |field: String, message: String| {
                    let workflow = workflow.to_owned();
                    StartError::InvalidInput { workflow, field, message }
                };
                let read = match input {
                    Ok(input) => {
                        (definition.door.read_plain_input)(&input).map_err(|error| invalid(error.field, error.message))
                    }
                    Err(error) => Err(invalid(error.field(), error.message().to_owned())),
                };
                Start::new(self, definition, read)
            }
            None => Start::refused(
                self,
                StartError::UnknownWorkflow {
                    name: workflow.to_owned(),
                    registered: self.workflows().map(str::to_owned).collect(),
                },
            ),
        }
    }
}

impl Start<Json> {
    /// Sets the initial value of a key that the workflow names in `#[given(..)]`, from JSON. The value is validated
    /// against the type of the key.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::json;
    ///
    /// const OWNER: StateKey<String> = StateKey::new("owner");
    ///
    /// #[node]
    /// async fn who(#[state(OWNER)] owner: String) -> String {
    ///     owner
    /// }
    ///
    /// workflow! {
    ///     #[given(OWNER)]
    ///     owned() -> String { START => who; }
    /// }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<owned>().build()?;
    /// let run = engine.start_json("owned", json!(null)).state_json("owner", json!("Ada")).await?;
    /// assert_eq!(run.result().await?, json!("Ada"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// Awaiting it returns [`StartError::InvalidState`] if the workflow is not given this key, or with the invalid
    /// field.
    pub fn state_json(mut self, key: &str, value: Json) -> Self {
        let max = self.engine.0.env.max_value_size;
        let value = value::check_json(value, max);
        let Ok((definition, _)) = &self.what else { return self };
        let given = definition.given.iter().find(|given| given.fact.name == key);
        let invalid = |field: String, message: String| StartError::InvalidState {
            workflow: definition.name.clone(),
            key: key.to_owned(),
            field,
            message,
        };
        let read = match (given, value) {
            (Some(given), Ok(value)) => {
                (given.read_plain)(&value, max).map_err(|error| invalid(error.field, error.message))
            }
            (Some(_), Err(error)) => Err(invalid(error.field(), error.message().to_owned())),
            (None, _) => Err(invalid(".".to_owned(), "the workflow does not name it in `#[given(..)]`".to_owned())),
        };
        match read {
            Ok(value) => {
                self.state.insert(key.to_owned(), value);
            }
            Err(error) => self.what = Err(error),
        }
        self
    }
}

impl<T> Start<T> {
    pub(super) fn new(engine: &Engine, definition: &Arc<Definition>, input: Result<BoxValue, StartError>) -> Self {
        Start::of(engine, input.map(|input| (Arc::clone(definition), input)))
    }

    fn of(engine: &Engine, what: Result<(Arc<Definition>, BoxValue), StartError>) -> Self {
        let (state, tags) = (Map::new(), Tags::new());
        Start {
            engine: engine.clone(),
            id: None,
            state,
            tags,
            started_by: None,
            begins: None,
            not_later: None,
            what,
            gives: PhantomData,
        }
    }

    /// It can begin later only if its workflow is registered.
    fn later_if_registered(mut self, definition: &Arc<Definition>, otherwise: StartError) -> Self {
        self.not_later = Some(otherwise).filter(|_| !self.engine.has_registered(definition));
        self
    }

    pub(super) fn refused(engine: &Engine, error: StartError) -> Self {
        Start::of(engine, Err(error))
    }

    /// Sets the id of the run, of at most 1,024 bytes, and not `.` or `..`. The default is a new UUID. If a run with this id, the same
    /// workflow and the same input exists, that run is returned, whether it runs, waits or has ended; if its process
    /// has died it is resumed here, and it keeps its own state and tags. With another workflow or input, starting fails. Inputs are
    /// compared as JSON, so one that is written in another order each time, such as a `HashSet`, is always another: use a `BTreeSet`.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the initial value of a state key. Those that the workflow names in `#[given(..)]` have to be set, unless
    /// they have a [zero](crate::state::Zero): without one of them, awaiting this returns [`StartError::MissingState`].
    pub fn state<S: Serialize + DeserializeOwned + Send, R>(mut self, key: StateKey<S, R>, value: S) -> Self {
        match value::encode(&value, self.engine.0.env.max_value_size) {
            Ok(value) => {
                self.state.insert(key.name().to_owned(), value);
            }
            Err(error) => {
                drop_refused(value);
                if self.what.is_ok() {
                    let what = format!("state key `{}`", key.name());
                    self.what = Err(StartError::NotRecordable { what, message: error.to_string() });
                }
            }
        }
        self
    }

    /// Adds a label by which the run is found, [`RunFilter::tag`](crate::RunFilter::tag); it is in the first event of
    /// the run as well. A second value for the same key replaces the first.
    ///
    /// A run has at most 16 tags. A key has 1 to 64 bytes and no `=`, and a value at most 256 bytes, or awaiting this returns
    /// [`StartError::InvalidTag`]. If a run with this [id](Self::id) exists, it keeps its own tags. A fork has those of
    /// its origin.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// engine.start::<doubled>(4).id("seven").tag("tenant", "acme").await?.result().await?;
    /// engine.start::<doubled>(5).tag("tenant", "other").await?.result().await?;
    /// let runs = engine.list_runs(RunFilter::default().tag("tenant", "acme")).await?;
    /// assert_eq!(runs.len(), 1);
    /// assert_eq!(runs[0].id, "seven");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn tag(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.insert(key.into(), value.into());
        self
    }

    /// Begins the run at this time and not at once, to the millisecond; at once if the time has passed. Until then it is
    /// [`Sleeping`](crate::RunStatus::Sleeping) in the store, and any engine with the store that has registered its
    /// workflow begins it. It can be cancelled before it begins. The time limit of the workflow counts from its
    /// beginning. A [retry](crate::Engine::retry) of one that was cancelled before, and a [fork](crate::Engine::fork) of one that has
    /// not begun, begin at once.
    ///
    /// The workflow must be [registered](crate::EngineBuilder::register), also in an engine without a store: otherwise
    /// awaiting this returns [`StartError::NotRegistered`] or [`StartError::FlowInStore`].
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use std::time::{Duration, SystemTime};
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// let soon = SystemTime::now() + Duration::from_millis(30);
    /// let run = engine.start::<doubled>(4).at(soon).await?;
    /// assert_eq!(run.status().await?, RunStatus::Sleeping);
    /// assert_eq!(run.result().await?, 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub fn at(mut self, time: SystemTime) -> Self {
        self.begins = Some(Later::At(time));
        self
    }

    /// The same, this long after it was started. If the clock is set back meanwhile, what is left is never longer than the delay.
    pub fn after(mut self, delay: Duration) -> Self {
        self.begins = Some(Later::After(delay));
        self
    }

    /// It is started by a node of another run.
    pub(crate) fn started_by(mut self, by: StartedBy) -> Self {
        self.started_by = Some(by);
        self
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The same, with an output in the form of its record.
    #[cfg(feature = "test-util")]
    pub(crate) fn of_json(self) -> Start<Json> {
        let Start { engine, id, state, tags, started_by, begins, not_later, what, .. } = self;
        Start { engine, id, state, tags, started_by, begins, not_later, what, gives: PhantomData }
    }

    async fn start(self) -> Result<Run<T>, StartError> {
        let engine = self.engine.clone();
        match self.prepare().await? {
            Prepared::Existing(run) => Ok(run),
            Prepared::New(reservation, ready) => {
                let journal = Arc::clone(ready.journal());
                match engine.launch(reservation, ready) {
                    Ok(live) => Ok(Run::of_live(&engine, live)),
                    Err(Halt::ShutDown) => Ok(Box::pin(left_to_others(&engine, &journal)).await),
                    Err(halt) => Err(halt.into()),
                }
            }
            Prepared::Later(run) => Ok(run),
        }
    }

    /// Makes every check that needs no store.
    pub(super) fn checked(self) -> Result<Checked, StartError> {
        let Start { engine, id, state, tags, started_by, begins, not_later, what, .. } = self;
        let (definition, input) = what?;
        runtime::current()?;
        check_tags(&tags)?;
        let begins = begins.map(|later| later.begins(engine.0.env.clock.now()));
        if let (Some(_), Some(error)) = (begins, &not_later) {
            return Err(error.clone());
        }
        if engine.0.runs.is_closed() {
            return Err(StartError::ShutDown);
        }
        check_resources(&engine.0.env, &definition)?;
        let missing = definition.missing_keys(&state);
        if !missing.is_empty() {
            return Err(StartError::MissingState { workflow: definition.name.clone(), keys: missing });
        }
        let recorded = match written("the input", || (definition.door.write_input)(&input, engine.0.env.max_value_size))
        {
            Ok(recorded) => recorded,
            Err(error) => {
                drop_refused(input);
                return Err(error);
            }
        };
        let id = id.unwrap_or_else(|| engine.0.env.clock.new_run_id());
        StartError::check_id(&id)?;
        Ok(Checked { engine, definition, input, recorded, id, state, tags, started_by, begins, not_later })
    }

    /// Makes every check, and adds the run to the store.
    pub(super) async fn prepare(self) -> Result<Prepared<T>, StartError> {
        let mut checked = self.checked()?;
        let engine = checked.engine.clone();
        let reservation = loop {
            match engine.0.runs.reserve(&checked.id) {
                // It may have been deleted since, and this be the first run of that id.
                Found::Live(live) if live.journal.is_ending() => Box::pin(Engine::until_gone(&live)).await,
                Found::Live(live) => {
                    checked.is_same(&live.journal.workflow, Some(&live.input))?;
                    return Ok(Prepared::Existing(Run::of_live(&engine, live)));
                }
                Found::Reserved(over) => over.cancelled().await,
                Found::Free(reservation) => break reservation,
            }
        };
        let span = checked.span();
        let owner = engine.owner().await?;
        let limit = checked.limit();
        let new = checked.new_run(Some(owner).filter(|_| checked.begins.is_none()), limit);
        let Checked { definition, input, recorded, id, state, begins, .. } = checked;
        let undriven = Undriven::by(&engine);
        let created = engine.0.create(new).await;
        // From here the run is driven without another `.await`. What has failed may be done.
        let created = created?;
        undriven.done();
        if let Created::New(_) = created {
            meter::run_started(&definition.name);
        }
        match created {
            Created::New(header) if begins.is_some() => {
                engine.keep();
                Ok(Prepared::Later(Run::of_header(&engine, &header)))
            }
            Created::Deleted { until } => Err(StartError::Deleted { id, until }),
            Created::New(header) => {
                let start = Beginning {
                    input,
                    recorded: Arc::new(recorded),
                    state,
                    limit,
                    history: Vec::new(),
                    snapshot: None,
                    former: None,
                    new_graph: None,
                    has_started_runs: false,
                    span: Some(span),
                };
                Ok(Prepared::New(reservation, engine.make_ready(&header, &definition, start, owner)?))
            }
            Created::Existing(header) => {
                let first = engine.0.store.read(header.key, 0, 1).await?;
                let input = first.first().and_then(|stored| match &stored.record.kind {
                    EventKind::RunStarted { input, .. } => Some(input),
                    _ => None,
                });
                same_run(&id, &header.workflow, &definition, input, &recorded)?;
                if header.status.is_over() {
                    return Ok(Prepared::Existing(Run::of_header(&engine, &header)));
                }
                // In a box, as all that is seldom done: it is twice as large as the rest of the future.
                let taken_up = Box::pin(engine.take_up(reservation, header.clone(), &definition));
                Ok(Prepared::Existing(match taken_up.await? {
                    Some(live) => Run::of_live(&engine, live),
                    None => Run::of_header(&engine, &header),
                }))
            }
        }
    }
}

/// A run that is to be started, and that nothing is against but what its store may have.
pub(super) struct Checked {
    pub(super) engine: Engine,
    definition: Arc<Definition>,
    input: BoxValue,
    recorded: Json,
    pub(super) id: String,
    state: Map<String, Json>,
    tags: Tags,
    started_by: Option<StartedBy>,
    begins: Option<Begins>,
    pub(super) not_later: Option<StartError>,
}

impl Checked {
    /// The span of the start, which later spans of the run are connected to.
    pub(super) fn span(&mut self) -> GuardedSpan {
        let span = trace::start_span(&self.definition.name, &self.id);
        if let Some(context) = &self.engine.0.env.trace_context
            && !self.tags.contains_key(TRACEPARENT)
            && let Some(traceparent) = trace::traceparent(&**context, &span)
            && traceparent.len() <= MAX_TAG_VALUE
        {
            self.tags.insert(TRACEPARENT.to_owned(), traceparent);
        }
        span
    }

    /// Until when the run may take, if it begins as it is to.
    pub(super) fn limit(&self) -> Option<TimeLimit> {
        let begins = self.begins.map_or_else(|| self.engine.0.env.clock.now(), |begins| begins.at);
        self.definition.limits.time_limit(begins)
    }

    /// The run as a store adds it.
    pub(super) fn new_run(&self, owner: Option<Owner>, limit: Option<TimeLimit>) -> NewRun {
        let first = EventKind::RunStarted {
            workflow: self.definition.name.clone(),
            input: self.recorded.clone(),
            state: self.state.clone(),
            tags: self.tags.clone(),
            previous: None,
            begins: self.begins,
            limit: limit.map(Limit::from),
        };
        NewRun {
            id: self.id.clone(),
            workflow: self.definition.name.clone(),
            owner,
            graph: self.engine.graph_of(&self.definition),
            forked_from: None,
            previous: None,
            started_by: self.started_by.clone(),
            tags: self.tags.clone(),
            wake_at: self.begins.map(|begins| begins.at),
            time: self.engine.0.env.clock.now(),
            records: vec![Record { path: self.definition.name.clone(), kind: first }],
        }
    }

    /// Checks that a run with this id is the one that is to be started. `had`: its input.
    pub(super) fn is_same(&self, existing: &str, had: Option<&Json>) -> Result<(), StartError> {
        same_run(&self.id, existing, &self.definition, had, &self.recorded)
    }
}

/// A run that is in the store.
pub(super) enum Prepared<T> {
    /// It is new, and nothing drives it yet.
    New(Reservation, ReadyRun),
    /// It was there before.
    Existing(Run<T>),
    /// It begins later.
    Later(Run<T>),
}

/// A run that was recorded when the engine was shut down: the process that recovers its runs begins it.
pub(super) async fn left_to_others<T>(engine: &Engine, journal: &Journal) -> Run<T> {
    engine.release(&journal.run_id).await;
    Run::of_journal(engine, journal)
}

/// When a run is to begin.
#[derive(Clone, Copy, Debug)]
enum Later {
    At(SystemTime),
    After(Duration),
}

impl Later {
    /// As it is recorded, for a run that is started now.
    fn begins(self, now: SystemTime) -> Begins {
        match self {
            Later::At(at) => Begins { at, after: None },
            Later::After(delay) => Begins { at: after(now, delay), after: Some(delay) },
        }
    }
}

fn check_tags(tags: &Tags) -> Result<(), StartError> {
    let invalid = |key: &str, message: String| Err(StartError::InvalidTag { key: key.to_owned(), message });
    for (key, value) in tags {
        if !(1..=MAX_TAG_KEY).contains(&key.len()) {
            return invalid(key, format!("a key has 1 to {MAX_TAG_KEY} bytes, and this one has {}", key.len()));
        }
        if key.contains('=') {
            return invalid(
                key,
                "a key has no `=`, which separates it from its value where runs are looked for".to_owned(),
            );
        }
        if value.len() > MAX_TAG_VALUE {
            return invalid(
                key,
                format!("a value has at most {MAX_TAG_VALUE} bytes, and this one has {}", value.len()),
            );
        }
    }
    match tags.keys().nth(MAX_TAGS) {
        Some(key) => invalid(key, format!("a run has at most {MAX_TAGS} tags, and this one has {}", tags.len())),
        None => Ok(()),
    }
}

const MAX_TAGS: usize = 16;
const MAX_TAG_KEY: usize = 64;
const MAX_TAG_VALUE: usize = 256;

/// Checks that the existing run with this id is the one that was to be started.
fn same_run(
    id: &str,
    existing: &str,
    definition: &Definition,
    had: Option<&Json>,
    input: &Json,
) -> Result<(), StartError> {
    let (id, workflow) = (id.to_owned(), definition.name.clone());
    if existing != workflow {
        return Err(StartError::OtherWorkflow { id, existing: existing.to_owned(), requested: workflow });
    }
    if had.is_some_and(|had| !is_same_input(definition, had, input)) {
        return Err(StartError::OtherInput { id, workflow });
    }
    Ok(())
}

fn written(what: &str, write: impl FnOnce() -> Result<Json, Unrecordable>) -> Result<Json, StartError> {
    let refused = |message| StartError::NotRecordable { what: what.to_owned(), message };
    caught(write).map_err(|fault| refused(fault.to_string()))?.map_err(|error| refused(error.to_string()))
}

impl<T: 'static> IntoFuture for Start<T> {
    type Output = Result<Run<T>, StartError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.start())
    }
}

impl<T> std::fmt::Debug for Start<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Start").field("id", &self.id).finish_non_exhaustive()
    }
}
