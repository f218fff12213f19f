use serde_json::{Value, json};

use crate::context::Context;
use crate::fault::Fault;
use crate::json_graphs::{Made, Panics, Step, made};
use crate::table::ScopeKind;

fn chain() -> Made {
    made("START>a; a>b; b>END")
}

fn on_purpose() -> Option<Fault> {
    Some(Fault::Panic { message: "on purpose".to_owned() })
}

#[tokio::test]
async fn a_panic_in_a_node_fails_it() {
    let failure = chain().node("b", |_, _| async { panic!("on purpose") }).run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_before_the_first_await_point_fails_the_node() {
    let body = |_: Value, _: Context| -> std::future::Ready<Step> { panic!("on purpose") };
    let failure = chain().node("b", body).run(json!(1)).await.unwrap_err();
    assert_eq!(failure.cause.fault, on_purpose());
}

#[tokio::test]
async fn a_panic_in_a_node_with_a_task_of_its_own_fails_it() {
    let flow = made("START>a; START>b; (a,b)>END").node("b", |_, _| async { panic!("on purpose") });
    let failure = flow.run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_in_a_conversion_fails_the_target() {
    let failure = chain().panics("b", Panics::Prepare).run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_in_clone_fails_the_attempt_and_not_the_next_which_needs_no_copy() {
    let flow = chain().panics("b", Panics::Copy).options("b", |of| {
        of.retry.max_attempts = 2;
        of.retry.initial_delay = std::time::Duration::ZERO;
    });
    assert_eq!(
        flow.node("b", |_, context| async move { Step::Give(json!(context.attempt())) }).run(json!(1)).await,
        Ok(json!(2))
    );
}

#[tokio::test]
async fn a_panic_while_an_error_is_converted_leaves_the_error() {
    let flow = chain().node("b", |_, _| async { panic!("first") }).panics("b", Panics::RouteFault);
    let failure = flow.run(json!(1)).await.unwrap_err();
    assert_eq!(failure.cause.fault, Some(Fault::Panic { message: "first".to_owned() }));
}

#[tokio::test]
async fn a_panic_on_the_way_into_a_graph_fails_the_node() {
    let inside = made("START>x; x>END");
    let flow = chain().inside("b", ScopeKind::Nested, inside).panics("b", Panics::Enter);
    let failure = flow.run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_on_the_way_out_of_a_graph_fails_the_node() {
    let inside = made("START>x; x>END");
    let flow = chain().inside("b", ScopeKind::Nested, inside).panics("b", Panics::Leave);
    let failure = flow.run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_in_the_route_of_start_inside_a_graph_fails_the_node() {
    let inside = made("START>x; x>END").panics("START", Panics::Start);
    let failure = chain().inside("b", ScopeKind::Nested, inside).run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w/b", on_purpose()));
}

#[tokio::test]
async fn a_panic_in_the_route_of_start_fails_the_run() {
    let failure = chain().panics("START", Panics::Start).run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w", on_purpose()));
}

#[tokio::test]
async fn a_panic_at_end_fails_the_run() {
    let failure = chain().panics("END", Panics::End).run(json!(1)).await.unwrap_err();
    assert_eq!((failure.path.as_str(), failure.cause.fault), ("w", on_purpose()));
}

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

#[tokio::test]
async fn a_panic_in_the_destructor_of_a_cancelled_node_kills_nothing() {
    let holds = |_, _| async {
        let _held = PanicsWhenDropped;
        std::future::pending().await
    };
    let flow = made("START>a; START>b; (a,b)>END").node("a", holds).node("b", |_, _| async {
        tokio::task::yield_now().await;
        Step::Fail("boom")
    });
    assert_eq!(flow.run(json!(1)).await.unwrap_err().path, "w/b");
}

#[tokio::test]
async fn a_panic_that_holds_a_bomb_kills_nothing() {
    let failure =
        chain().node("b", |_, _| async { std::panic::panic_any(PanicsWhenDropped) }).run(json!(1)).await.unwrap_err();
    assert_eq!(failure.path, "w/b");
}

#[tokio::test]
async fn a_panic_may_be_tried_again() {
    let once = |input, context: Context| async move {
        assert!(context.attempt() > 1, "on purpose");
        Step::Give(input)
    };
    let flow = chain().node("b", once).options("b", |of| {
        of.retry.max_attempts = 2;
        of.retry.initial_delay = std::time::Duration::ZERO;
    });
    assert_eq!(flow.run(json!(1)).await, Ok(json!(1)));
}

#[tokio::test]
async fn a_routed_error_takes_its_arm_after_the_last_attempt() {
    let flow = made("START>a; a>ok:END; a>err:b; b>END").node("a", |_, _| async { Step::FailBy("boom", "err") });
    assert_eq!(flow.run(json!(1)).await, Ok(json!("boom")));
}

#[tokio::test]
async fn a_fault_takes_the_arm_that_takes_it() {
    let flow = made("START>a; a>ok:END; a>err:b; b>END").node("a", |_, _| async { panic!("on purpose") });
    assert_eq!(flow.faults_by("a", "err").run(json!(1)).await, Ok(json!("panicked: on purpose")));
}
