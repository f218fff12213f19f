//! `graph-flow`: tasks that go on by themselves, a session in memory.

use std::sync::Arc;

use async_trait::async_trait;
use graph_flow::{
    Context, ExecutionStatus, FanOutTask, FlowRunner, GraphBuilder, InMemorySessionStorage, NextAction, Session,
    SessionStorage, Task, TaskResult,
};

use super::{NODES, TURNS, Work, add_one};

struct AddOne {
    id: String,
    next: NextAction,
}

#[async_trait]
impl Task for AddOne {
    fn id(&self) -> &str {
        &self.id
    }

    async fn run(&self, context: Context) -> graph_flow::Result<TaskResult> {
        context.set("n", add_one(context.get("n").unwrap_or_default()))?;
        Ok(TaskResult::new(None, self.next.clone()))
    }
}

fn task(id: impl Into<String>, next: NextAction) -> Arc<dyn Task> {
    Arc::new(AddOne { id: id.into(), next })
}

fn work(builder: GraphBuilder, first: &'static str) -> Work {
    let graph = Arc::new(builder.with_max_execution_steps(3 * TURNS as usize).build().expect("it is sound"));
    let storage = Arc::new(InMemorySessionStorage::new());
    let runner = Arc::new(FlowRunner::new(graph, storage.clone()));
    super::again(move || {
        let (storage, runner) = (storage.clone(), runner.clone());
        async move {
            let session = Session::new_from_task("session".to_owned(), first);
            storage.delete("session").await.expect("a session");
            storage.save(session).await.expect("a session");
            let result = runner.run("session").await.expect("it runs");
            assert!(matches!(result.status, ExecutionStatus::Completed), "it ends well");
        }
    })
}

pub(super) fn chain() -> Work {
    let mut builder = GraphBuilder::new("chain");
    for n in 0..NODES {
        let next = if n + 1 < NODES { NextAction::ContinueAndExecute } else { NextAction::End };
        builder = builder.add_task(task(format!("n{n}"), next));
    }
    for n in 1..NODES {
        builder = builder.add_edge(format!("n{}", n - 1), format!("n{n}"));
    }
    work(builder.set_start_task("n0"), "n0")
}

pub(super) fn fan_out() -> Work {
    let children = (0..NODES).map(|n| task(format!("n{n}"), NextAction::End)).collect();
    let all = FanOutTask::new("all", children).with_next_action(NextAction::ContinueAndExecute);
    let builder = GraphBuilder::new("fan-out").add_task(all).add_task(task("join", NextAction::End));
    work(builder.add_edge("all", "join").set_start_task("all"), "all")
}

pub(super) fn rounds() -> Work {
    let builder = GraphBuilder::new("rounds")
        .add_task(task("turn", NextAction::ContinueAndExecute))
        .add_task(task("end", NextAction::End))
        .add_conditional_edge("turn", |context| context.get::<u64>("n").unwrap_or_default() < TURNS, "turn", "end");
    work(builder.set_start_task("turn"), "turn")
}
