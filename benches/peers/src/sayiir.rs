//! `sayiir`: its in-process runner, with the codec that it calls the quick one.

use std::sync::Arc;

use sayiir_runtime::prelude::*;
use sayiir_runtime::serialization::RkyvCodec;

use super::{NODES, TURNS, Work, add_one};

type Context = WorkflowContext<RkyvCodec, ()>;

fn context(name: &str) -> Context {
    WorkflowContext::new(name, Arc::new(RkyvCodec), Arc::new(()))
}

fn work(workflow: Workflow<RkyvCodec, u64>, input: u64) -> Work {
    let workflow: &'static Workflow<RkyvCodec, u64> = Box::leak(Box::new(workflow));
    super::again(move || async move {
        let status = InProcessRunner.run(workflow, input).await.expect("it runs");
        assert!(matches!(status, WorkflowStatus::Completed), "it ends well");
    })
}

async fn one_more(n: u64) -> Result<u64, BoxError> {
    Ok(add_one(n))
}

pub(super) fn chain() -> Work {
    let mut builder = WorkflowBuilder::new(context("chain")).then("n0", one_more);
    for n in 1..NODES {
        builder = builder.then(&format!("n{n}"), one_more);
    }
    work(builder.build().expect("it is sound"), 1)
}

pub(super) fn fan_out() -> Work {
    let builder = WorkflowBuilder::new(context("fan-out")).then("first", one_more);
    let mut fork = builder.fork();
    for n in 0..NODES {
        fork = fork.branch(&format!("n{n}"), one_more);
    }
    let joined = fork.join("join", |outputs: sayiir_core::task::BranchOutputs<RkyvCodec>| async move {
        let mut sum = 0;
        for n in 0..NODES {
            sum += outputs.get_by_id::<u64>(&format!("n{n}"))?;
        }
        Ok::<u64, BoxError>(sum)
    });
    work(joined.build().expect("it is sound"), 1)
}

pub(super) fn rounds() -> Work {
    use sayiir_core::LoopResult;
    let turn = |left: u64| async move {
        let left = std::hint::black_box(left);
        Ok::<_, BoxError>(if left == 0 { LoopResult::Done(0) } else { LoopResult::Again(left - 1) })
    };
    let builder = WorkflowBuilder::new(context("rounds")).loop_task("turn", turn, 2 * TURNS as u32);
    work(builder.build().expect("it is sound"), TURNS)
}
