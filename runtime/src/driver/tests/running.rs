use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::context::Context;
use crate::json_graphs::{Step, made};
use crate::state::{Append, StateKey};
use crate::table::ScopeKind;
use crate::typed::parameter;

async fn add(input: Value, _: Context) -> Step {
    Step::Give(json!(input.as_u64().unwrap_or(0) + 1))
}

#[tokio::test]
async fn a_chain_gives_the_last_nodes_output() {
    let output = made("START>a; a>b; b>END").node("a", add).node("b", add).run(json!(1)).await;
    assert_eq!(output, Ok(json!(3)));
}

#[tokio::test]
async fn a_join_gets_each_branch_in_its_place() {
    let output = made("START>a; a>b; a>c; (b,c)>d; d>END").node("b", add).run(json!(1)).await;
    assert_eq!(output, Ok(json!([2, 1])));
}

#[tokio::test]
async fn a_route_decides() {
    let odd = |input: Value, _| async move { Step::Take(if input == 1 { "one" } else { "other" }, input) };
    let text = "START>a; a>one:b; a>other:c; b>END; c>END";
    let output = made(text).node("a", odd).node("c", add).run(json!(7)).await;
    assert_eq!(output, Ok(json!(8)));
}

#[tokio::test]
async fn a_loop_goes_round_until_a_route_leaves_it() {
    let text = "START>a; a>again:a; a>done:END";
    let count = |input: Value, context: Context| async move {
        let label = if context.path() == "w/a#1000" { "done" } else { "again" };
        Step::Take(label, json!(input.as_u64().unwrap_or(0) + 1))
    };
    assert_eq!(made(text).node("a", count).run(json!(0)).await, Ok(json!(1000)));
}

#[tokio::test]
async fn nodes_that_are_ready_at_once_run_at_once() {
    let all = Arc::new(Barrier::new(2));
    let meet = move |input, _| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            Step::Give(input)
        }
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", meet.clone()).node("b", meet);
    assert_eq!(flow.run(json!(1)).await, Ok(json!([1, 1])));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_block_run_in_parallel_on_several_threads() {
    let all = Arc::new(std::sync::Barrier::new(2));
    let meet = move |input, _| {
        let all = Arc::clone(&all);
        async move {
            all.wait();
            Step::Give(input)
        }
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", meet.clone()).node("b", meet);
    assert_eq!(flow.run(json!(1)).await, Ok(json!([1, 1])));
}

#[tokio::test]
async fn each_of_keeps_the_order_whatever_ends_first() {
    let text = "START>[b]; [b]>END";
    let (sender, receiver) = tokio::sync::watch::channel(3);
    let sender = Arc::new(sender);
    let in_reverse = move |input: Value, _| {
        let (sender, mut receiver) = (Arc::clone(&sender), receiver.clone());
        async move {
            let at = input.as_u64().unwrap_or(0);
            receiver.wait_for(|next| *next == at).await.map(|_| ()).unwrap_or_default();
            sender.send_replace(at - 1);
            Step::Give(json!(at * 10))
        }
    };
    let inside = made("START>b; b>END").node("b", in_reverse);
    let output = made(text).inside("[b]", ScopeKind::Each, inside).run(json!([1, 2, 3])).await;
    assert_eq!(output, Ok(json!([10, 20, 30])));
}

#[tokio::test]
async fn a_nested_workflow_gives_its_output() {
    let inside = made("START>x; x>y; y>END").node("x", add).node("y", add);
    let output = made("START>n; n>END").inside("n", ScopeKind::Nested, inside).run(json!(1)).await;
    assert_eq!(output, Ok(json!(3)));
}

#[tokio::test]
async fn a_collecting_node_gives_its_first_output() {
    const SEEN: StateKey<Vec<Value>, Append> = StateKey::new("seen");
    let two = |input, context: Context| async move {
        context.collector_state().push(SEEN, input);
        match context.collector_state().get(SEEN) {
            Ok(Some(seen)) if seen.len() == 2 => Step::Give(json!(seen)),
            _ => Step::Wait,
        }
    };
    let never = |_, _| std::future::pending();
    let flow = made("START>a; START>b; START>c; a|b|c>two; two>END").node("two", two).node("c", never);
    assert_eq!(flow.run(json!(5)).await, Ok(json!([5, 5])));
}

#[tokio::test]
async fn a_node_reads_what_those_before_it_wrote() {
    const SEEN: StateKey<Vec<String>, Append> = StateKey::new("seen");
    let write = |input, context: Context| async move {
        context.state_writer(SEEN).push(context.path());
        Step::Give(input)
    };
    let read = |_, context: Context| async move { Step::Give(json!(context.state().get(SEEN).unwrap_or_default())) };
    let flow = made("START>a; a>b; b>c; c>END").node("a", write).node("b", write).node("c", read);
    let flow = flow.may_write(const { &[SEEN.fact()] });
    assert_eq!(flow.run(json!(0)).await, Ok(json!(["w/a", "w/b"])));
}

#[tokio::test]
async fn the_writes_of_a_failed_attempt_are_lost() {
    const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");
    let write = |input, context: Context| async move {
        context.state_writer(SEEN).push(context.attempt());
        if context.attempt() == 1 { Step::Fail("once") } else { Step::Give(input) }
    };
    let read = |_, context: Context| async move { Step::Give(json!(context.state().get(SEEN).unwrap_or_default())) };
    let retry = |of: &mut crate::NodeOptions| {
        of.retry.max_attempts = 2;
        of.retry.initial_delay = std::time::Duration::ZERO;
    };
    let flow = made("START>a; a>b; b>END").node("a", write).node("b", read).options("a", retry);
    let flow = flow.may_write(const { &[SEEN.fact()] });
    assert_eq!(flow.run(json!(0)).await, Ok(json!([2])));
}

#[tokio::test]
async fn a_missing_state_parameter_ends_the_attempt_with_a_fault() {
    let take = |_, context: Context| async move { Step::Give(json!(parameter::<u32>(&context, "limit", false).await)) };
    let failure = made("START>a; a>END").node("a", take).run(json!(0)).await.expect_err("nothing is there");
    assert!(failure.to_string().contains("state key `limit` has no value"), "{failure}");
}

#[tokio::test]
async fn a_missing_state_parameter_that_may_be_missing_is_none() {
    let take =
        |_, context: Context| async move { Step::Give(json!(parameter::<Option<u32>>(&context, "limit", true).await)) };
    assert_eq!(made("START>a; a>END").node("a", take).run(json!(0)).await, Ok(Value::Null));
}

#[tokio::test]
async fn an_attempt_has_one_key_for_all_its_repetitions() {
    let keys = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = Arc::clone(&keys);
    let fail_once = move |input, context: Context| {
        seen.lock().unwrap().push(context.idempotency_key());
        async move { if context.attempt() == 1 { Step::Fail("once") } else { Step::Give(input) } }
    };
    let retry = |of: &mut crate::NodeOptions| {
        of.retry.max_attempts = 2;
        of.retry.initial_delay = std::time::Duration::ZERO;
    };
    made("START>a; a>END").node("a", fail_once).options("a", retry).run(json!(0)).await.unwrap();
    let keys = keys.lock().unwrap();
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test]
async fn no_more_nodes_than_max_concurrency_run_at_once() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&most);
    let count = move |input, _| {
        let (now, most) = (Arc::clone(&now), Arc::clone(&counted));
        async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::task::yield_now().await;
            now.fetch_sub(1, Ordering::SeqCst);
            Step::Give(input)
        }
    };
    let inside = made("START>b; b>END").node("b", count);
    let mut env = crate::shared::Env::default();
    env.limit_concurrency(3);
    let flow = made("START>[b]; [b]>END").inside("[b]", ScopeKind::Each, inside);
    flow.run_with(env, json!([1, 2, 3, 4, 5, 6, 7])).await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

#[test]
fn without_a_runtime_a_run_says_what_it_lacks() {
    let mut run = std::pin::pin!(made("START>a; a>END").run(json!(1)));
    let mut waker = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(Err(failure)) = run.as_mut().poll(&mut waker) else { panic!("it found a runtime") };
    assert!(failure.to_string().contains("inside a tokio runtime"), "{failure}");
}
