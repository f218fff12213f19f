use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::seconds_since;
use crate::box_value::BoxValue;
use crate::context::Context;
use crate::driver::{Ending, Job, Part};
use crate::json_graphs::{Made, Step, made};
use crate::shared::{Env, Shared};

/// Says when it goes.
struct Gone(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for Gone {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

fn job(flow: Made, env: Env) -> (Job, CancellationToken) {
    let token = CancellationToken::new();
    let job = Job {
        definition: flow.build(),
        shared: Arc::new(Shared::in_memory(Arc::new(env))),
        cancel: Some(token.clone()),
        state: Map::new(),
        part: Part::Whole,
        limit: None,
        history: Vec::new(),
        snapshot: None,
    };
    (job, token)
}

fn holds(say: &mpsc::UnboundedSender<&'static str>, name: &'static str) -> impl Fn() -> Gone + Send + Sync + 'static {
    let say = say.clone();
    move || Gone(say.clone(), name)
}

#[tokio::test]
async fn cancelling_a_run_drops_every_node() {
    let (say, mut said) = mpsc::unbounded_channel();
    let (a, b) = (holds(&say, "a"), holds(&say, "b"));
    let wait = |held: Gone| async move {
        let _held = held;
        std::future::pending().await
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", move |_, _| wait(a())).node("b", move |_, _| wait(b()));
    let (job, token) = job(flow, Env::default());
    let run = tokio::spawn(job.run(BoxValue::new(json!(1))));
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    token.cancel();
    assert!(matches!(run.await, Ok(Ending::Cancelled)));
    let mut gone = vec![said.recv().await, said.recv().await];
    gone.sort_unstable();
    assert_eq!(gone, [Some("a"), Some("b")]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_listens_may_clean_up() {
    let (say, mut said) = mpsc::unbounded_channel();
    let clean_up = move |input, context: Context| {
        let say = say.clone();
        async move {
            context.cancelled().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
            let _ = say.send("cleaned up");
            Step::Give(input)
        }
    };
    let (job, token) = job(made("START>a; a>END").node("a", clean_up), Env::default());
    let run = tokio::spawn(job.run(BoxValue::new(json!(1))));
    tokio::task::yield_now().await;
    token.cancel();
    assert!(matches!(run.await, Ok(Ending::Cancelled)));
    assert_eq!(said.try_recv(), Ok("cleaned up"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_listens_and_stays_is_dropped_after_the_grace_period() {
    let stay = |_, context: Context| async move {
        context.cancelled().await;
        std::future::pending().await
    };
    let env = Env { cancel_grace_period: Duration::from_secs(3), ..Env::default() };
    let (job, token) = job(made("START>a; a>END").node("a", stay), env);
    let run = tokio::spawn(job.run(BoxValue::new(json!(1))));
    tokio::task::yield_now().await;
    let begun = Instant::now();
    token.cancel();
    assert!(matches!(run.await, Ok(Ending::Cancelled)));
    assert_eq!(seconds_since(begun), 3);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_does_not_listen_is_not_waited_for() {
    let begun = Instant::now();
    let (job, token) = job(made("START>a; a>END").node("a", |_, _| std::future::pending()), Env::default());
    token.cancel();
    job.run(BoxValue::new(json!(1))).await;
    assert_eq!(begun.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_failing_node_drops_its_siblings() {
    let (say, mut said) = mpsc::unbounded_channel();
    let held = holds(&say, "b");
    let wait = move |_, _| {
        let held = held();
        async move {
            let _held = held;
            std::future::pending().await
        }
    };
    let fail = |_, _| async {
        tokio::task::yield_now().await;
        Step::Fail("boom")
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", fail).node("b", wait);
    assert_eq!(flow.run(json!(1)).await.unwrap_err().path, "w/a");
    assert_eq!(said.recv().await, Some("b"));
}

#[tokio::test]
async fn dropping_the_future_of_a_run_drops_its_nodes() {
    let (say, mut said) = mpsc::unbounded_channel();
    let (a, b) = (holds(&say, "a"), holds(&say, "b"));
    let wait = |held: Gone| async move {
        let _held = held;
        std::future::pending().await
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", move |_, _| wait(a())).node("b", move |_, _| wait(b()));
    let run = tokio::spawn(flow.run(json!(1)));
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    run.abort();
    let mut gone = vec![said.recv().await, said.recv().await];
    gone.sort_unstable();
    assert_eq!(gone, [Some("a"), Some("b")]);
}
