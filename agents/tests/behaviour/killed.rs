//! A run that is cut short at each of its calls: no completed one is made twice.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use graphweft::json;
use graphweft::prelude::*;
use graphweft_agents::{Agent, ChatModel, Delta, Message, ModelError, Models, Reply, Request, Scripted, Tool};
use graphweft_tests::{Death, OnDisk, life};
use tokio::sync::Notify;

use crate::scene::call;

/// Every model call and tool call, outside of the records of the run.
#[derive(Clone, Default)]
struct Ledger {
    /// The calls that have begun and those that have ended, of all processes.
    calls: Arc<Mutex<(Vec<String>, Vec<String>)>>,
    /// The call of this process that never ends, from 0.
    cut_short: Option<usize>,
    begun: Arc<Mutex<usize>>,
    reached: Arc<Notify>,
}

impl Ledger {
    /// That of the next process.
    fn next(&self, cut_short: Option<usize>) -> Ledger {
        Ledger { calls: Arc::clone(&self.calls), cut_short, ..Ledger::default() }
    }

    async fn begin(&self, call: &str) {
        self.calls.lock().unwrap().0.push(call.to_owned());
        let number = {
            let mut begun = self.begun.lock().unwrap();
            *begun += 1;
            *begun - 1
        };
        if self.cut_short == Some(number) {
            self.reached.notify_one();
            std::future::pending::<()>().await;
        }
        // A call takes a while, so that those of one turn overlap.
        tokio::task::yield_now().await;
    }

    fn end(&self, call: &str) {
        self.calls.lock().unwrap().1.push(call.to_owned());
    }

    fn begun(&self) -> Vec<String> {
        self.calls.lock().unwrap().0.clone()
    }

    fn ended(&self) -> Vec<String> {
        self.calls.lock().unwrap().1.clone()
    }
}

/// Searches.
#[node]
async fn search(topic: String, ctx: &Context, #[resource] ledger: &Ledger) -> String {
    let call = ctx.path();
    ledger.begin(&call).await;
    ledger.end(&call);
    format!("all about {topic}")
}

fn reader() -> Agent<String, String> {
    Agent::new("reader:1.2").tool(Tool::of::<search>())
}

fn boss() -> Agent<String, String> {
    Agent::new("boss").tool(Tool::of::<search>()).tool(Tool::by_value("reader", reader()))
}

workflow! {
    research(String) -> String {
        let boss: Agent<String, String> = boss();
        START => boss;
    }
}

/// Writes its calls down.
struct Counted(Ledger);

impl ChatModel for Counted {
    fn name(&self) -> &str {
        "counted"
    }

    fn chat<'a>(
        &'a self,
        request: &'a Request,
        _: &'a (dyn Fn(Delta) + Send + Sync),
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let turn = request.messages.iter().filter(|it| matches!(it, Message::Assistant { .. })).count();
            let is_boss = &*request.instructions == "boss";
            let agent =
                if is_boss { "research/boss".to_owned() } else { format!("research/boss/{}", request.instructions) };
            let name = format!("{agent}/model:{}", turn + 1);
            self.0.begin(&name).await;
            let topic = |topic: &str| ("search", json!({ "topic": topic }));
            let message = match (is_boss, turn) {
                (true, 0) => Scripted::calls([topic("ants"), topic("bees"), ("reader", json!({ "input": "wasps" }))]),
                (true, 1) => call("search", json!({ "topic": "flies" })),
                (false, 0) => call("search", json!({ "topic": "wasps" })),
                _ => Message::assistant("A report."),
            };
            self.0.end(&name);
            Ok(Scripted::reply(request, message))
        })
    }
}

async fn engine(disk: &OnDisk, ledger: &Ledger) -> Engine {
    let builder = disk.engine(&Death::default()).await;
    let models = Models::new(Counted(ledger.clone()));
    builder.resource(models).resource(ledger.clone()).register::<research>().build().unwrap()
}

/// A process that is lost in the call of this number, once all completed calls are recorded.
fn is_lost_at(disk: &OnDisk, ledger: &Ledger) {
    life(async {
        let engine = engine(disk, ledger).await;
        let run = engine.start::<research>("Insects".into()).id("run").await.unwrap();
        ledger.reached.notified().await;
        let mut events = run.events();
        let mut recorded = BTreeSet::new();
        while !ledger.ended().iter().all(|call| recorded.contains(call)) {
            let next = tokio::time::timeout(Duration::from_secs(60), events.next()).await;
            let event = next.expect("completed calls are recorded").expect("the run waits");
            if matches!(event.kind, EventKind::NodeCompleted { .. }) {
                recorded.insert(event.path);
            }
        }
    });
}

fn resumes(disk: &OnDisk, ledger: &Ledger) -> String {
    life(async {
        let engine = engine(disk, ledger).await;
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let result = tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("the run ends");
        result.unwrap().as_str().unwrap().to_owned()
    })
}

/// Three model calls of the boss, two of the reader, four searches.
const CALLS: usize = 9;

#[test]
fn no_completed_call_is_made_twice_wherever_the_process_is_lost() {
    for number in 0..CALLS {
        let (disk, ledger) = (OnDisk::default(), Ledger::default());
        let first = ledger.next(Some(number));
        is_lost_at(&disk, &first);
        let completed: BTreeSet<String> = first.ended().into_iter().collect();
        let before = first.begun().len();

        assert_eq!(resumes(&disk, &ledger.next(None)), "A report.");
        let again: Vec<String> = ledger.begun().split_off(before);
        let repeated: Vec<&String> = again.iter().filter(|call| completed.contains(*call)).collect();
        assert!(repeated.is_empty(), "lost at {number}: {repeated:?} were made twice");
        let ended = ledger.ended();
        assert_eq!(ended.len(), CALLS, "lost at {number}: {ended:?}");
        assert_eq!(ended.iter().collect::<BTreeSet<_>>().len(), CALLS, "lost at {number}: {ended:?}");
    }
}
