//! The inputs with which the nodes of a run have started.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json};

use super::changed::Adapt;
use super::child_folds::{ChildFolds, graph_of_child};
use super::inner::Engine;
use super::run::Run;
use super::voided::effective;
use crate::core::TimeLimit;
use crate::driver::{InputFold, Job, Part};
use crate::event::EventKind;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::shared::{Journal, Shared, Within};
use crate::store::{Owner, RunHeader, Stored};
use crate::table::Definition;

impl<T> Run<T> {
    /// The input with which the node at a path has started last, as JSON in the form of the run's events: what the edges
    /// that lead to it made of the recorded outputs before it. `path` is that of an event, `checkout/charge`; that of the workflow
    /// is the input of the run, and that of a child its recorded input. `None` if nothing has started there, and for a step, which
    /// has none.
    ///
    /// Reads the records of the run, and calls the conversions (`From`) of the edges; no node runs. For the inputs of several nodes,
    /// [`inputs`](Self::inputs) reads them once.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn price(item: String) -> (String, u32) {
    ///     let cents = 100 * item.len() as u32;
    ///     (item, cents)
    /// }
    ///
    /// #[node]
    /// async fn label(item: String, cents: u32) -> String {
    ///     format!("{item}: {cents}")
    /// }
    ///
    /// workflow! { pub shop(String) -> String { START => price => label; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<shop>().build()?;
    /// let run = engine.start::<shop>("tea".into()).await?;
    /// run.outcome().await?;
    /// assert_eq!(run.input_of("shop/label").await?, Some(serde_json::json!(["tea", 300])));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read or does not contain the run, if its workflow is not registered with this engine
    /// ([`RunError::NotRegistered`]), and if its records do not fit the workflow as it is now. For a node in a child workflow, the
    /// same of that workflow: it is also known if it is named by `#[node(uses(..))]` or
    /// [registered as a node](crate::EngineBuilder::register_node), and once this engine has called it.
    pub async fn input_of(&self, path: &str) -> Result<Option<Json>, RunError> {
        let (header, history) = self.header_and_records().await?;
        let starts = |stored: &Stored, is_first: bool| {
            stored.record.path == path
                && match stored.record.kind {
                    EventKind::RunStarted { .. } => true,
                    EventKind::NodeStarted { attempt, .. } => attempt == 1 || !is_first,
                    _ => false,
                }
        };
        // A further attempt has the input of the first one.
        let first = history.iter().rposition(|stored| starts(stored, true));
        let Some(at) = first.or_else(|| history.iter().rposition(|stored| starts(stored, false))) else {
            return Ok(None);
        };
        match &history[at].record.kind {
            EventKind::RunStarted { input, .. } | EventKind::NodeStarted { input: Some(input), .. } => {
                return Ok(Some(input.clone()));
            }
            _ => {}
        }
        let mut inputs = inputs(self.engine(), &header, history, at + 1, |seq| seq == at).await;
        inputs.remove(path).transpose()
    }

    /// The inputs of everything that has started in a run, by path: for each, what [`input_of`](Self::input_of) returns, or why it is
    /// not known. Reads and folds the records of the run once.
    ///
    /// ```
    /// use graphweft::prelude::*;
    ///
    /// #[node]
    /// async fn double(n: u32) -> u32 { 2 * n }
    /// #[node]
    /// async fn add_one(n: u32) -> u32 { n + 1 }
    /// workflow! { pub odd(u32) -> u32 { START => double => add_one; } }
    ///
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<odd>().build()?;
    /// let run = engine.start::<odd>(4).await?;
    /// run.outcome().await?;
    /// let inputs = run.inputs().await?;
    /// let inputs: Vec<(&str, String)> =
    ///     inputs.iter().map(|(path, input)| (&**path, input.as_ref().map_or_else(ToString::to_string, ToString::to_string))).collect();
    /// assert_eq!(inputs, [("odd", "4".into()), ("odd/add_one", "8".into()), ("odd/double", "4".into())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read or does not contain the run.
    pub async fn inputs(&self) -> Result<BTreeMap<String, Result<Json, RunError>>, RunError> {
        let (header, history) = self.header_and_records().await?;
        Ok(inputs(self.engine(), &header, history, usize::MAX, |_| true).await)
    }

    async fn header_and_records(&self) -> Result<(RunHeader, Vec<Stored>), RunError> {
        if let Some(live) = self.live() {
            live.journal.catch_up_now();
        }
        let store = &self.engine().0.store;
        let header = store.header(self.id()).await?.ok_or(RunError::NotFound)?;
        let history = store.read(header.key, 0, usize::MAX).await?;
        if self.engine().is_deleted_since(&header, &history).await? {
            return Err(RunError::NotFound);
        }
        Ok((header, history))
    }
}

/// The inputs of the starts that are wanted, by their places among the first `count` records; of several at a path, the last one
/// counts. The records behind those say under which graphs they were made.
async fn inputs(
    engine: &Engine,
    header: &RunHeader,
    mut history: Vec<Stored>,
    count: usize,
    wants: impl Fn(usize) -> bool,
) -> BTreeMap<String, Result<Json, RunError>> {
    let is_start = |stored: &Stored| matches!(stored.record.kind, EventKind::NodeStarted { .. });
    // Its path may be another one under the graph of this program.
    let starts = history.iter().enumerate().filter(|(at, stored)| is_start(stored) && wants(*at));
    let mut wanted =
        starts.map(|(at, stored)| (at, stored.record.path.clone())).collect::<Vec<_>>().into_iter().peekable();
    let mut folds = InputFolds::of(engine, header, &mut history).await;
    history.truncate(count);
    let mut found = BTreeMap::new();
    let is_retry = |stored: &Stored| matches!(stored.record.kind, EventKind::RunRetried { .. });
    let was_retried = history.iter().any(is_retry);
    // For a retry, which voids some of them.
    let mut before = Vec::new();
    for (at, stored) in history.into_iter().enumerate() {
        if was_retried {
            before.push(stored.clone());
        }
        if is_retry(&stored) {
            folds.begin_anew();
            effective(before.clone()).into_iter().for_each(|stored| folds.take(stored));
            continue;
        }
        match &stored.record.kind {
            EventKind::RunStarted { input, .. } if wants(at) => {
                found.insert(stored.record.path.clone(), Ok(input.clone()));
            }
            EventKind::NodeStarted { attempt, input, began, .. } => {
                if let Some((_, path)) = wanted.next_if(|(next, _)| *next == at) {
                    let input = match input {
                        Some(input) => Some(Ok(input.clone())),
                        // A step, which has none.
                        None if began.is_some() => None,
                        // A further attempt has the input of the first one.
                        None if *attempt > 1 && found.contains_key(&path) => None,
                        None => folds.input_of(&stored).transpose(),
                    };
                    found.extend(input.map(|input| (path, input.map_err(RunError::from))));
                }
            }
            _ => {}
        }
        folds.take(stored);
    }
    found
}

/// The graphs of a run, folded at the same time: each record once.
struct InputFolds<'e> {
    engine: &'e Engine,
    header: &'e RunHeader,
    definition: Result<Arc<Definition>, Halt>,
    /// The child workflows by the hashes of their graphs.
    called: HashMap<u64, Result<Arc<Definition>, Halt>>,
    /// The run itself, from its first record on.
    whole: Option<Result<InputFold, Halt>>,
    children: ChildFolds<Result<InputFold, Halt>>,
}

impl<'e> InputFolds<'e> {
    /// Before the first record. Translates the records to the graph of this program.
    async fn of(engine: &'e Engine, header: &'e RunHeader, history: &mut [Stored]) -> Self {
        let mut called = HashMap::new();
        for graph in history.iter().filter_map(|stored| graph_of_child(&stored.record.kind)) {
            if let Entry::Vacant(unknown) = called.entry(graph) {
                unknown.insert(engine.called(graph).await);
            }
        }
        let mut definition = engine.definition_for(header).await;
        if let Ok(known) = &definition
            && let Err(halt) = engine.adapt(header, known, history, Adapt::NamesAndValues).await
        {
            definition = Err(halt);
        }
        InputFolds { engine, header, definition, called, whole: None, children: ChildFolds::default() }
    }

    fn begin_anew(&mut self) {
        self.whole = None;
        self.children.clear();
    }

    /// The input of a node that starts with this record, which is not folded yet.
    fn input_of(&mut self, start: &Stored) -> Result<Option<Json>, Halt> {
        let fold = match self.children.around(&start.record) {
            Some((_, child)) => Some(&*child),
            None => self.whole.as_ref(),
        };
        match fold {
            Some(Ok(fold)) => fold.input_of(&start.record.path),
            Some(Err(halt)) => Err(halt.clone()),
            None => Ok(None),
        }
    }

    fn take(&mut self, stored: Stored) {
        if let EventKind::RunStarted { input, state, limit, .. } = &stored.record.kind {
            let limit = limit.as_ref().map(TimeLimit::from);
            self.whole = Some(self.begin(&self.definition, input, state.clone(), limit, Part::Whole));
            return;
        }
        self.children.end(&stored.record);
        if let EventKind::NodeStarted { input: Some(input), .. } = &stored.record.kind
            && let Some(called) = graph_of_child(&stored.record.kind).and_then(|graph| self.called.get(&graph))
        {
            let path = &stored.record.path;
            let part = Part::Child(path.clone(), Arc::new(Within::new(None, Vec::new(), None)));
            // No input follows from the state of the run.
            let child = self.begin(called, input, Map::new(), None, part);
            self.children.insert(path, child);
        }
        // The start and the end of a child are records of what has called it.
        let fold = match self.children.around(&stored.record) {
            Some((_, child)) => Some(child),
            None => self.whole.as_mut(),
        };
        if let Some(fold) = fold
            && let Ok(known) = fold
            && let Err(halt) = known.take(stored)
        {
            *fold = Err(halt);
        }
    }

    fn begin(
        &self,
        definition: &Result<Arc<Definition>, Halt>,
        input: &Json,
        state: Map<String, Json>,
        limit: Option<TimeLimit>,
        part: Part,
    ) -> Result<InputFold, Halt> {
        let definition = Arc::clone(definition.as_ref().map_err(Halt::clone)?);
        let inner = &self.engine.0;
        let (clock, feeds) = (inner.env.clock.clone(), Arc::clone(&inner.env.feeds));
        let journal = Journal::new(self.header, Owner(0), Arc::clone(&inner.store), clock, feeds);
        let shared = Arc::new(Shared::recorded(Arc::clone(&inner.env), Arc::new(journal)));
        let job = Job { definition, shared, cancel: None, state, part, limit, history: Vec::new(), snapshot: None };
        InputFold::begin(job, &Arc::new(input.clone()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::box_value::BoxValue;
    use crate::driver::FOLDED;
    use crate::engine::{Engine, Run, Start};
    use crate::json_graphs::made;

    /// One by one, the records before each node are folded for it.
    #[tokio::test]
    async fn the_inputs_of_all_nodes_take_one_fold_of_the_records() {
        let engine = Engine::builder().build().expect("nothing is wrong with it");
        let flow = made("START>a; a>b; b>c; c>d; d>END");
        let run: Run<Value> = Start::new(&engine, &flow.build(), Ok(BoxValue::new(json!(1)))).await.expect("it starts");
        run.outcome().await.expect("it ends");
        let records = run.info().await.expect("it is there").records;
        let before = FOLDED.get();
        let inputs = run.inputs().await.expect("they are read");
        let folded = FOLDED.get() - before;
        assert_eq!(inputs.len(), 5, "{inputs:?}");
        // The first record begins the fold.
        assert_eq!(folded as u64, records - 1);
        for path in inputs.keys() {
            assert_eq!(run.input_of(path).await.as_ref().ok(), Some(&inputs[path].clone().ok()), "{path}");
        }
        assert!(FOLDED.get() - before > 2 * folded, "each of them is a fold");
    }
}
