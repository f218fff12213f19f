//! Nodes of pools: their attempts leave the engine as data, are executed by another one, and return as data.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use graphweft::prelude::*;
use graphweft::state::Append;
use graphweft::{BuildError, EngineBuilder, ExecuteError, Executor, NodeResult, NodeTask, ProgressSender, json};
use graphweft_tests::{Death, Gauge, Journal, OnDisk, failure, records, started};
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;

type Result<T = (), E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Another machine: an engine in a runtime of its own, and the tasks that it was ever given, by their ids.
#[derive(Clone)]
struct Machine {
    engine: Engine,
    runtime: Arc<OwnRuntime>,
    tasks: Arc<Mutex<HashMap<String, Given>>>,
    journal: Journal,
}

struct Given {
    result: watch::Receiver<Option<NodeResult>>,
    cancel: watch::Sender<bool>,
}

impl Machine {
    fn with(engine: EngineBuilder) -> Self {
        let journal = Journal::default();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let engine = engine.resource(journal.clone()).build().unwrap();
        Machine { engine, runtime: Arc::new(OwnRuntime(Some(runtime))), tasks: Arc::default(), journal }
    }

    fn begin(&self, task: NodeTask, progress: ProgressSender) -> Given {
        let ((results, result), (cancel, mut cancelled)) = (watch::channel(None), watch::channel(false));
        self.journal.note(format!("task {}", task.path));
        // As if over a network.
        let task: NodeTask = serde_json::from_str(&serde_json::to_string(&task).unwrap()).unwrap();
        let execution = self.engine.execute(task).on_progress(move |data| progress.send(data));
        let execution = execution.cancelled_by(async move { _ = cancelled.wait_for(|is| *is).await });
        let journal = self.journal.clone();
        self.runtime.0.as_ref().unwrap().spawn(async move {
            match execution.await {
                Ok(result) => {
                    let result = serde_json::from_str(&serde_json::to_string(&result).unwrap()).unwrap();
                    _ = results.send(Some(result));
                }
                Err(error) => {
                    journal.note(error.to_string());
                    let fault = Fault::Context { message: error.to_string() };
                    _ = results.send(Some(NodeResult::of_fault(fault)));
                }
            }
        });
        Given { result, cancel }
    }
}

impl Executor for Machine {
    fn execute(
        &self,
        task: NodeTask,
        progress: ProgressSender,
    ) -> BoxFuture<'static, std::result::Result<NodeResult, Fault>> {
        let mut tasks = self.tasks.lock().unwrap();
        let id = task.id.clone();
        let mut result = tasks.entry(id).or_insert_with(|| self.begin(task, progress)).result.clone();
        async move { Ok(result.wait_for(Option::is_some).await.unwrap().clone().unwrap()) }.boxed()
    }

    fn cancel(&self, _: &str, id: &str) {
        self.tasks.lock().unwrap()[id].cancel.send_replace(true);
    }
}

/// A runtime that ends in the background: it is dropped within that of the test.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

const SEEN: StateKey<Vec<String>, Append> = StateKey::new("seen");

#[value]
#[derive(Debug)]
enum EmbedError {
    Busy,
    Empty { text: String },
}

impl std::fmt::Display for EmbedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot embed: {self:?}")
    }
}

#[node(pool = "gpu", retry(max_attempts = 3, initial_delay = "1ms"))]
async fn embed(
    text: String,
    ctx: &PoolContext,
    #[resource] journal: &Journal,
    #[writes(SEEN)] seen: StateWriter<Vec<String>, Append>,
) -> std::result::Result<usize, EmbedError> {
    journal.note(format!("{} {}", ctx.path(), ctx.attempt()));
    ctx.progress(json!({ "of": text }));
    ctx.note("letters", text.len());
    seen.push(text.clone());
    match text.as_str() {
        "" => {
            ctx.no_retry();
            Err(EmbedError::Empty { text })
        }
        "busy" if ctx.attempt() < 3 => Err(EmbedError::Busy),
        "panic" => panic!("no card"),
        _ => Ok(text.len()),
    }
}

#[node]
async fn count(lengths: Vec<usize>, #[state(SEEN)] seen: Vec<String>) -> String {
    format!("{lengths:?} of {seen:?}")
}

workflow! { index(Vec<String>) -> String { START => [embed] => count => END; } }

#[node]
async fn excuse(error: EmbedError) -> usize {
    match error {
        EmbedError::Busy => 1000,
        EmbedError::Empty { text } => 2000 + text.len(),
    }
}

workflow! { one(String) -> usize { START => embed => <ok: END, err: excuse>; excuse => END; } }

/// Its own pool node under the name of one in `index`, and with another one inside.
#[node(pool = "cpu", name = "embed")]
async fn embed_twice(length: usize, ctx: &PoolContext) -> String {
    format!("{length} twice in {}", ctx.idempotency_key())
}

workflow! { outer(String) -> String { START => one => embed_twice => END; } }

fn machine() -> Machine {
    Machine::with(Engine::builder().register::<index>().register::<one>().register::<outer>())
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[tokio::test]
async fn without_an_executor_the_attempts_are_executed_by_the_engine_itself() -> Result {
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build()?;
    let run = engine.start::<index>(texts(&["busy"])).await?;
    assert_eq!(run.result().await?, r#"[4] of ["busy"]"#);
    assert_eq!(journal.lines(), ["index/embed[0] 1", "index/embed[0] 2", "index/embed[0] 3"]);
    Ok(())
}

#[tokio::test]
async fn the_executor_gets_every_attempt_and_the_driver_needs_no_resource_of_the_node() -> Result {
    let machine = machine();
    let engine = Engine::builder().executor(machine.clone()).build()?;
    let run = engine.start::<index>(texts(&["a", "busy"])).await?;
    let output = run.result().await?;
    assert!(output.starts_with("[1, 4] of "), "{output}");
    let mut lines = machine.journal.lines();
    lines.retain(|line| !line.starts_with("task"));
    lines.sort();
    assert_eq!(lines, ["index/embed[0] 1", "index/embed[1] 1", "index/embed[1] 2", "index/embed[1] 3"]);
    let events = records(&run).await;
    let letters =
        events.iter().filter(|event| matches!(&event.kind, EventKind::Note { name, .. } if name == "letters"));
    assert_eq!(letters.count(), 4);
    Ok(())
}

#[tokio::test]
async fn an_error_takes_its_arm_and_no_retry_is_obeyed() -> Result {
    let machine = machine();
    let engine = Engine::builder().executor(machine.clone()).build()?;
    let run = engine.start::<one>(String::new()).await?;
    assert_eq!(run.result().await?, 2000);
    assert_eq!(started(&records(&run).await), ["one/embed", "one/excuse"]);
    Ok(())
}

#[tokio::test]
async fn an_error_without_an_arm_fails_the_run_and_is_recorded() -> Result {
    let engine = Engine::builder().executor(machine()).build()?;
    let failure = failure(engine.start::<index>(texts(&[""])).await?.result().await);
    assert_eq!(failure.path, "index/embed[0]");
    let Some(EmbedError::Empty { text }) = failure.error_as() else { panic!("{failure:?}") };
    assert_eq!(text, "");
    Ok(())
}

#[tokio::test]
async fn a_panic_elsewhere_is_a_fault_of_the_attempt() -> Result {
    let machine = machine();
    let engine = Engine::builder().executor(machine.clone()).build()?;
    let failure = failure(engine.start::<index>(texts(&["panic"])).await?.result().await);
    assert_eq!(failure.cause.fault, Some(Fault::Panic { message: "no card".to_owned() }));
    assert_eq!(failure.attempts, 3);
    Ok(())
}

#[tokio::test]
async fn two_nodes_of_one_name_are_found_by_the_graphs_around_them() -> Result {
    let engine = Engine::builder().executor(machine()).build()?;
    let run = engine.start::<outer>("abc".to_owned()).id("run").await?;
    assert_eq!(run.result().await?, "3 twice in run:outer/embed");
    assert_eq!(started(&records(&run).await), ["outer/one", "outer/one/embed", "outer/embed"]);
    Ok(())
}

#[node(uses(one))]
async fn call(
    text: String,
    ctx: &Context,
    #[may_write(SEEN)] _seen: StateWriter<Vec<String>, Append>,
) -> std::result::Result<usize, String> {
    ctx.call::<one>(text).await.map_err(|error| error.to_string())
}

workflow! { caller(String) -> usize { START => call => END; } }

#[tokio::test]
async fn a_called_workflow_has_its_pools_too() -> Result {
    // The machine finds the workflow by `uses`.
    let machine = Machine::with(Engine::builder().register::<caller>());
    let engine = Engine::builder().executor(machine.clone()).build()?;
    let run = engine.start::<caller>("abc".to_owned()).await?;
    assert_eq!(run.result().await?, 3);
    assert_eq!(machine.journal.count("caller/call/one/embed 1"), 1);
    Ok(())
}

#[tokio::test]
async fn progress_comes_back_while_the_node_runs() -> Result {
    let engine = Engine::builder().executor(machine()).build()?;
    let run = engine.start::<index>(texts(&["abc"])).await?;
    let events = records(&run).await;
    let progress: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Progress { data, .. } => Some((event.path.as_str(), data.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(progress, [("index/embed[0]", json!({ "of": "abc" }))]);
    Ok(())
}

#[tokio::test]
async fn a_machine_without_the_node_says_what_to_register() -> Result {
    let machine = Machine::with(Engine::builder().register::<one>());
    let engine = Engine::builder().executor(machine).build()?;
    let failure = failure(engine.start::<index>(texts(&["a"])).await?.result().await);
    let text = failure.cause.to_string();
    assert!(text.contains("no node `[embed]/embed` of pool `gpu` in workflow `index`; register"), "{text}");
    Ok(())
}

/// Versions of one workflow, whose graphs differ behind the node of the pool.
macro_rules! version {
    ($version:ident, $($behind:ident),*) => {
        mod $version {
            use graphweft::prelude::*;

            #[node(pool = "gpu")]
            async fn name(_n: u32) -> String {
                stringify!($version).to_owned()
            }

            $(#[node]
            async fn $behind(text: String) -> String {
                text
            })*

            workflow! { pub(crate) named(u32) -> String { START => name $(=> $behind)* => END; } }
        }
    };
}

version!(v1,);
version!(v2, second);
version!(v3, second, third);

#[tokio::test]
async fn the_machine_executes_the_node_of_the_version_that_the_run_is_driven_with() -> Result {
    let machine = Machine::with(Engine::builder().register::<v2::named>().register_earlier::<v1::named>());
    let engine = Engine::builder().executor(machine.clone()).build()?;
    assert_eq!(engine.start::<v1::named>(1).await?.result().await?, "v1");
    let engine = Engine::builder().executor(machine.clone()).build()?;
    assert_eq!(engine.start::<v2::named>(1).await?.result().await?, "v2");
    // It has two others.
    let engine = Engine::builder().executor(machine).build()?;
    let failure = failure(engine.start::<v3::named>(1).await?.result().await);
    let text = failure.cause.to_string();
    assert!(text.contains("no node `name` of pool `gpu` in workflow `named`; register the version"), "{text}");
    // The only one that there is may fit.
    let machine = Machine::with(Engine::builder().register::<v1::named>());
    let engine = Engine::builder().executor(machine).build()?;
    assert_eq!(engine.start::<v3::named>(1).await?.result().await?, "v1");
    Ok(())
}

#[node(pool = "gpu")]
async fn meet(n: u32, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    n
}

workflow! { party(Vec<u32>) -> Vec<u32> { START => [meet] => END; } }

#[tokio::test]
async fn an_attempt_elsewhere_holds_no_permit() -> Result {
    let gauge = Gauge::expecting(3);
    let machine = Machine::with(Engine::builder().resource(gauge.clone()).register::<party>());
    let engine = Engine::builder().executor(machine).max_concurrency(1usize).build()?;
    assert_eq!(engine.start::<party>(vec![1, 2, 3]).await?.result().await?, [1, 2, 3]);
    assert_eq!(gauge.highest(), 3);
    Ok(())
}

#[node(pool = "gpu", timeout = "20ms")]
async fn stuck(n: u32) -> u32 {
    std::future::pending::<()>().await;
    n
}

workflow! { hang(u32) -> u32 { START => stuck => END; } }

#[tokio::test]
async fn the_time_limit_is_that_of_the_execution() -> Result {
    let machine = Machine::with(Engine::builder().register::<hang>());
    let engine = Engine::builder().executor(machine).build()?;
    let failure = failure(engine.start::<hang>(1).await?.result().await);
    assert_eq!(failure.cause.fault, Some(Fault::Timeout { after: Duration::from_millis(20) }));
    Ok(())
}

#[node(pool = "gpu")]
async fn endless(n: u32, ctx: &PoolContext, #[resource] journal: &Journal) -> u32 {
    let _dropped = journal.when_dropped("dropped");
    journal.note("begins");
    ctx.cancelled().await;
    journal.note("hears of it");
    n
}

workflow! { ever(u32) -> u32 { START => endless => END; } }

#[tokio::test]
async fn a_cancelled_run_cancels_what_runs_elsewhere() -> Result {
    let machine = Machine::with(Engine::builder().register::<ever>());
    let engine = Engine::builder().executor(machine.clone()).build()?;
    let run = engine.start::<ever>(1).await?;
    until(&machine.journal, "begins").await;
    run.cancel().await?;
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));
    until(&machine.journal, "dropped").await;
    assert_eq!(machine.journal.count("hears of it"), 1);
    Ok(())
}

async fn until(journal: &Journal, line: &str) {
    let came = async {
        while journal.count(line) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), came).await.unwrap_or_else(|_| panic!("never: {line}"));
}

#[node(pool = "gpu")]
async fn slow(n: u32, #[resource] journal: &Journal, #[resource] gate: &Gate) -> u32 {
    journal.note(format!("executes {n}"));
    _ = gate.0.subscribe().wait_for(|open| *open).await;
    n
}

#[derive(Clone)]
struct Gate(watch::Sender<bool>);

#[node]
async fn wait_here(n: u32, #[resource] death: &Death) -> u32 {
    death.come("beside it").await;
    n
}

#[node]
async fn both(a: u32, b: u32) -> u32 {
    a + b
}

workflow! { pair(u32) -> u32 { START => (slow, wait_here) => both => END; } }

#[test]
fn the_process_after_a_crash_attaches_to_the_task_of_the_one_before() {
    let gate = Gate(watch::Sender::new(false));
    let machine = Machine::with(Engine::builder().resource(gate.clone()).register::<pair>());
    let file = OnDisk::default();
    graphweft_tests::life(async {
        let death = Death::at("beside it");
        let engine = file.engine(&death).await.executor(machine.clone()).register::<pair>().build().unwrap();
        let _run = engine.start::<pair>(3).id("run").await.unwrap();
        death.came().await;
        until(&machine.journal, "executes 3").await;
    });
    let output = graphweft_tests::life(async {
        let engine = file.engine(&Death::default()).await;
        let engine = engine.executor(machine.clone()).register::<pair>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run_of::<pair>("run").await.unwrap().unwrap();
        gate.0.send_replace(true);
        run.result().await.unwrap()
    });
    assert_eq!(output, 6);
    assert_eq!(machine.journal.count("executes 3"), 1);
    assert_eq!(machine.tasks.lock().unwrap().len(), 1);
}

#[test]
fn a_retry_of_the_run_is_another_task() {
    let machine = Machine::with(Engine::builder().register::<index>());
    let file = OnDisk::default();
    graphweft_tests::life(async {
        let engine = file.engine(&Death::default()).await;
        let engine = engine.executor(machine.clone()).register::<index>().build().unwrap();
        let run = engine.start::<index>(texts(&[""])).id("run").await.unwrap();
        failure(run.result().await);
        engine.retry("run").await.unwrap();
        failure(run.result().await);
    });
    assert_eq!(machine.tasks.lock().unwrap().len(), 2);
    assert_eq!(machine.journal.count("index/embed[0] 1"), 2);
}

#[test]
fn an_engine_whose_store_outlives_it_has_to_say_who_executes_a_pool() {
    let file = OnDisk::default();
    graphweft_tests::life(async {
        let engine = file.engine(&Death::default()).await;
        let error = engine.register::<outer>().build().unwrap_err();
        assert_eq!(error, BuildError::UnservedPool { node: "outer/embed".to_owned(), pool: "cpu".to_owned() });
        assert!(error.to_string().contains(r#"add `.executor(..)` for workers in other processes, or `.pool("cpu")`"#));
        let engine = file.engine(&Death::default()).await.pool("cpu").pool("gpu").register::<outer>().build().unwrap();
        assert_eq!(
            engine.start::<outer>("ab".to_owned()).id("run").await.unwrap().result().await.unwrap(),
            "2 twice in run:outer/embed"
        );
    });
}

#[test]
fn graphs_and_their_pictures_have_the_pool() {
    let graph = outer::graph();
    let pools: Vec<_> = graph.nodes.iter().map(|node| (node.name.as_str(), node.pool.as_deref())).collect();
    assert_eq!(pools, [("START", None), ("END", None), ("one", None), ("embed", Some("cpu"))]);
    let pictures = [graph.to_mermaid(), graph.to_dot(), graph.to_text(), graph.to_svg()];
    assert!(pictures.iter().all(|picture| picture.contains("embed @ cpu")), "{pictures:?}");
}

#[tokio::test]
async fn a_mock_runs_here() -> Result {
    let machine = machine();
    let builder = Engine::builder().executor(machine.clone());
    let engine = builder.mock::<embed_twice>(|length, _| async move { Ok(format!("mocked {length}")) }).build()?;
    assert_eq!(engine.start::<outer>("abc".to_owned()).await?.result().await?, "mocked 3");
    assert_eq!(machine.journal.count("task outer/embed"), 0);
    Ok(())
}

/// Never has a result.
struct Silent(Journal);

impl Executor for Silent {
    fn execute(&self, task: NodeTask, _: ProgressSender) -> BoxFuture<'static, std::result::Result<NodeResult, Fault>> {
        self.0.note(format!("task {}", task.path));
        futures::future::pending().boxed()
    }

    fn cancel(&self, _: &str, _: &str) {
        self.0.note("cancelled");
    }
}

#[tokio::test]
async fn a_run_that_waits_for_a_pool_stays_in_memory_and_leaves_its_task_when_the_engine_is_shut_down() -> Result {
    let (file, journal) = (OnDisk::default(), Journal::default());
    let engine = file.engine(&Death::default()).await.max_resident_waiting(0);
    let engine = engine.executor(Silent(journal.clone())).register::<ever>().build()?;
    let run = engine.start::<ever>(1).await?;
    until(&journal, "task ever/endless").await;
    assert_eq!(run.status().await?, RunStatus::Running);
    engine.shutdown().await;
    assert_eq!(journal.lines(), ["task ever/endless"]);
    Ok(())
}

/// A queue of one's own: it keeps tasks and results, whichever engine asks, and has runs resumed by an engine.
#[derive(Clone, Default)]
struct Queue {
    tasks: Arc<Mutex<HashMap<String, Queued>>>,
    /// Of each time that it was asked for a task: whether that was sent before.
    sent: Arc<Mutex<Vec<bool>>>,
    wakes: Arc<Mutex<Option<Engine>>>,
    /// It says that it does not keep tasks.
    forgets: bool,
}

struct Queued {
    run: String,
    result: watch::Sender<Option<NodeResult>>,
}

impl Queue {
    /// Ends all tasks with this output.
    fn ends_all(&self, output: u32) {
        let tasks = self.tasks.lock().unwrap();
        for queued in tasks.values() {
            let result = serde_json::from_value(json!({ "outcome": { "completed": { "output": output } } })).unwrap();
            // Nobody waits for it, or who does is just leaving.
            if queued.result.send_replace(Some(result)).is_none() && queued.result.receiver_count() == 0 {
                self.wakes(&queued.run);
            }
        }
    }

    fn wakes(&self, run: &str) {
        let (run, engine) = (run.to_owned(), self.wakes.lock().unwrap().clone());
        if let Some(engine) = engine {
            tokio::spawn(async move { engine.wake(&run).await.unwrap() });
        }
    }

    fn has_tasks(&self) -> usize {
        self.tasks.lock().unwrap().len()
    }
}

/// The future of a task, or what is left of it when its run leaves the memory.
struct Waits(Queue, String);

impl Drop for Waits {
    fn drop(&mut self) {
        let tasks = self.0.tasks.lock().unwrap();
        let queued = &tasks[&self.1];
        if queued.result.borrow().is_some() {
            self.0.wakes(&queued.run);
        }
    }
}

impl Executor for Queue {
    fn execute(
        &self,
        task: NodeTask,
        progress: ProgressSender,
    ) -> BoxFuture<'static, std::result::Result<NodeResult, Fault>> {
        let (run, id) = (task.run_id.clone(), task.id.clone());
        self.sent.lock().unwrap().push(task.was_sent);
        if task.was_sent && task.at_most_once && !self.tasks.lock().unwrap().contains_key(&id) {
            return futures::future::ready(Ok(NodeResult::of_fault(Fault::Interrupted))).boxed();
        }
        let queued = || Queued { run, result: watch::Sender::new(None) };
        let mut result = self.tasks.lock().unwrap().entry(id.clone()).or_insert_with(queued).result.subscribe();
        let waits = Waits(self.clone(), id);
        async move {
            let _waits = waits;
            if result.borrow().is_none() {
                progress.accepted();
            }
            Ok(result.wait_for(Option::is_some).await.unwrap().clone().unwrap())
        }
        .boxed()
    }

    fn keeps_tasks(&self) -> bool {
        !self.forgets
    }
}

#[tokio::test]
async fn a_run_whose_task_is_accepted_leaves_the_memory_and_is_resumed_for_the_result() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).max_resident_waiting(0).register::<ever>().build()?;
    *queue.wakes.lock().unwrap() = Some(engine.clone());
    let run = engine.start::<ever>(1).id("run").await?;
    engine.until_not_driven("run").await?;
    assert_eq!((run.status().await?, queue.has_tasks()), (RunStatus::Sleeping, 1));
    queue.ends_all(7);
    assert_eq!(run.result().await?, 7);
    assert_eq!(queue.has_tasks(), 1);
    queue.wakes.lock().unwrap().take();
    Ok(())
}

#[tokio::test]
async fn a_result_that_comes_while_its_run_leaves_the_memory_is_not_lost() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).max_resident_waiting(0).register::<ever>().build()?;
    *queue.wakes.lock().unwrap() = Some(engine.clone());
    for n in 0..40 {
        let run = engine.start::<ever>(1).id(format!("run-{n}")).await?;
        let before = queue.has_tasks();
        while queue.has_tasks() == before {
            tokio::task::yield_now().await;
        }
        for _ in 0..n % 10 {
            tokio::task::yield_now().await;
        }
        queue.ends_all(n);
        let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await;
        assert_eq!(result.expect("it is not lost")?, n);
    }
    queue.wakes.lock().unwrap().take();
    Ok(())
}

#[test]
fn a_run_that_has_left_the_memory_of_one_process_continues_in_the_next() {
    let (queue, file) = (Queue::default(), OnDisk::default());
    graphweft_tests::life(async {
        let engine = file.engine(&Death::default()).await.max_resident_waiting(0).executor(queue.clone());
        let engine = engine.register::<ever>().build().unwrap();
        engine.start::<ever>(1).id("run").await.unwrap();
        engine.until_not_driven("run").await.unwrap();
    });
    let output = graphweft_tests::life(async {
        let engine = file.engine(&Death::default()).await.executor(queue.clone()).register::<ever>().build().unwrap();
        engine.recover().await.unwrap();
        queue.ends_all(9);
        engine.wake("run").await.unwrap();
        engine.get_run_of::<ever>("run").await.unwrap().unwrap().result().await.unwrap()
    });
    assert_eq!((output, queue.has_tasks()), (9, 1));
}

#[tokio::test]
async fn a_run_that_has_left_the_memory_is_cancelled_as_any_other() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).max_resident_waiting(0).register::<ever>().build()?;
    let run = engine.start::<ever>(1).id("run").await?;
    engine.until_not_driven("run").await?;
    run.cancel().await?;
    assert!(matches!(run.result().await, Err(RunError::Cancelled)));
    engine.wake("run").await?;
    engine.wake("unknown").await?;
    Ok(())
}

#[node(pool = "gpu", at_most_once)]
async fn once(n: u32) -> u32 {
    n
}

workflow! { just_once(u32) -> u32 { START => once => END; } }

workflow! { once_in_a_pair(u32) -> u32 { START => (once, wait_here) => both => END; } }

#[tokio::test]
async fn a_run_with_an_attempt_that_is_made_once_leaves_the_memory_and_does_not_make_it_again() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).max_resident_waiting(0).register::<just_once>().build()?;
    *queue.wakes.lock().unwrap() = Some(engine.clone());
    let run = engine.start::<just_once>(1).id("run").await?;
    engine.until_not_driven("run").await?;
    assert_eq!((run.status().await?, queue.has_tasks()), (RunStatus::Sleeping, 1));
    queue.ends_all(5);
    assert_eq!(run.result().await?, 5);
    assert_eq!(*queue.sent.lock().unwrap(), [false, true]);
    queue.wakes.lock().unwrap().take();
    Ok(())
}

#[node(uses(just_once))]
async fn calls_it(n: u32, ctx: &Context) -> Result<u32, String> {
    ctx.call::<just_once>(n).await.map_err(|error| error.to_string())
}

workflow! { once_inside(u32) -> u32 { START => calls_it => END; } }

#[tokio::test]
async fn an_attempt_that_is_made_once_in_a_called_workflow_outlives_the_memory_of_its_run() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).max_resident_waiting(0).register::<once_inside>().build()?;
    *queue.wakes.lock().unwrap() = Some(engine.clone());
    let run = engine.start::<once_inside>(1).id("run").await?;
    engine.until_not_driven("run").await?;
    assert_eq!((run.status().await?, queue.has_tasks()), (RunStatus::Sleeping, 1));
    queue.ends_all(5);
    assert_eq!(run.result().await?, 5);
    assert_eq!((queue.sent.lock().unwrap().clone(), queue.has_tasks()), (vec![false, true], 1));
    queue.wakes.lock().unwrap().take();
    Ok(())
}

#[tokio::test]
async fn a_fork_has_tasks_of_its_own() -> Result {
    let queue = Queue::default();
    let engine = Engine::builder().executor(queue.clone()).register::<just_once>().register::<ever>().build()?;
    let once = engine.start::<just_once>(1).id("once").await?;
    let often = engine.start::<ever>(1).id("often").await?;
    while queue.has_tasks() < 2 {
        tokio::task::yield_now().await;
    }
    let forked = engine.fork("once").await?;
    assert!(failure(forked.result().await).cause.to_string().contains("at_most_once"));
    let forked = engine.fork("often").await?;
    while queue.has_tasks() < 3 {
        tokio::task::yield_now().await;
    }
    queue.ends_all(5);
    assert_eq!((once.result().await?, often.result().await?, forked.result().await?), (5, 5, json!(5)));
    assert_eq!(queue.sent.lock().unwrap().clone(), [false, false, false]);
    Ok(())
}

/// The result of a run whose process dies while an only attempt is in a pool, and what the pool was asked for. `forgets`: whether the pool
/// does not know the task afterwards. `next`: the engine of the next process.
fn after_a_crash(
    forgets: bool,
    next: impl FnOnce(EngineBuilder, &Queue) -> EngineBuilder,
) -> (std::result::Result<u32, RunError>, Vec<bool>) {
    let (queue, file) = (Queue::default(), OnDisk::default());
    graphweft_tests::life(async {
        let death = Death::at("beside it");
        let engine = file.engine(&death).await.executor(queue.clone()).register::<once_in_a_pair>().build().unwrap();
        let _run = engine.start::<once_in_a_pair>(1).id("run").await.unwrap();
        death.came().await;
        while queue.has_tasks() == 0 {
            tokio::task::yield_now().await;
        }
    });
    if forgets {
        queue.tasks.lock().unwrap().clear();
    }
    let result = graphweft_tests::life(async {
        let engine = next(file.engine(&Death::default()).await, &queue).register::<once_in_a_pair>().build().unwrap();
        queue.ends_all(9);
        engine.recover().await.unwrap();
        engine.get_run_of::<once_in_a_pair>("run").await.unwrap().unwrap().result().await
    });
    let sent = queue.sent.lock().unwrap().clone();
    (result, sent)
}

#[test]
fn an_attempt_that_is_made_once_outlives_the_engine_that_has_sent_it() {
    let (result, sent) = after_a_crash(false, |engine, queue| engine.executor(queue.clone()));
    assert_eq!(result.unwrap(), 10);
    assert_eq!(sent, [false, true]);
}

#[test]
fn an_attempt_that_is_made_once_is_interrupted_if_its_pool_does_not_know_it_any_more() {
    let (result, sent) = after_a_crash(true, |engine, queue| engine.executor(queue.clone()));
    let failure = failure(result);
    assert_eq!((failure.cause.fault, failure.attempts), (Some(Fault::Interrupted), 1));
    assert_eq!(sent, [false, true]);
}

#[test]
fn an_attempt_that_is_made_once_is_interrupted_if_its_pool_does_not_keep_tasks() {
    let forgets = |queue: &Queue| Queue { forgets: true, ..queue.clone() };
    let (result, sent) = after_a_crash(false, |engine, queue| engine.executor(forgets(queue)));
    assert_eq!(failure(result).cause.fault, Some(Fault::Interrupted));
    assert_eq!(sent, [false]);
}

#[tokio::test]
async fn a_run_with_an_attempt_that_may_not_begin_again_stays_in_memory() -> Result {
    let queue = Queue { forgets: true, ..Queue::default() };
    let builder = Engine::builder().executor(queue.clone()).max_resident_waiting(0);
    let engine = builder.register::<ever>().register::<just_once>().build()?;
    let stays = engine.start::<just_once>(1).await?;
    while queue.has_tasks() == 0 {
        tokio::task::yield_now().await;
    }
    engine.start::<ever>(1).id("leaves").await?;
    engine.until_not_driven("leaves").await?;
    assert_eq!(stays.status().await?, RunStatus::Running);
    queue.ends_all(5);
    assert_eq!(stays.result().await?, 5);
    Ok(())
}

#[test]
fn an_attempt_that_is_made_once_is_interrupted_if_the_next_engine_has_no_executor() {
    let (result, sent) = after_a_crash(false, |engine, _| engine.pool("gpu"));
    assert_eq!(failure(result).cause.fault, Some(Fault::Interrupted));
    assert_eq!(sent, [false]);
}

#[value]
#[derive(Debug)]
struct Letter {
    text: String,
}

#[node(pool = "gpu")]
async fn seal(letter: Letter) -> Letter {
    letter
}

workflow! { sealed(Letter) -> Letter { START => seal => END; } }

#[tokio::test]
async fn a_worker_refuses_an_input_with_a_field_that_its_type_does_not_have() -> Result {
    let task: NodeTask = serde_json::from_value(json!({
        "id": "1", "pool": "gpu", "run_id": "run", "workflow": "sealed", "node": ["seal"], "path": "sealed/seal", "attempt": 1,
        "input": { "text": "a", "copies": 2 },
    }))?;
    let error = Engine::builder().register::<sealed>().build()?.execute(task).await.unwrap_err();
    assert!(matches!(&error, ExecuteError::InvalidInput { field, .. } if field == "copies"), "{error:?}");
    Ok(())
}

/// Has this output for every attempt.
struct Returns(Value);

impl Executor for Returns {
    fn execute(&self, _: NodeTask, _: ProgressSender) -> BoxFuture<'static, std::result::Result<NodeResult, Fault>> {
        let result = serde_json::from_value(json!({ "outcome": { "completed": { "output": self.0 } } })).unwrap();
        futures::future::ready(Ok(result)).boxed()
    }
}

#[tokio::test]
async fn an_output_with_a_field_that_the_type_of_the_driver_does_not_have_fails_the_attempt() -> Result {
    let engine = Engine::builder().executor(Returns(json!({ "text": "a", "copies": 2 }))).build()?;
    let failure = failure(engine.start::<sealed>(Letter { text: "a".to_owned() }).await?.result().await);
    let text = failure.cause.to_string();
    assert!(text.contains("`sealed/seal` has returned from its pool cannot be read: at `copies`"), "{text}");
    Ok(())
}
