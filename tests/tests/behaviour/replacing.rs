//! A node replaced by a closure, as in a user's own tests.

use graphweft::prelude::*;
use graphweft::{BuildError, ChildError};
use graphweft_tests::{Journal, failure, seconds_since};

#[node(retry(max_attempts = 3, initial_delay = "0s"))]
async fn charge(cents: u32) -> Result<u32, String> {
    Err(format!("no card reader for {cents}"))
}

#[node]
async fn receipt(cents: u32) -> String {
    format!("paid {cents}")
}

#[node]
async fn apologise(why: String) -> String {
    format!("sorry: {why}")
}

workflow! {
    paying(u32) -> String { START => charge => receipt; }
}

workflow! {
    polite(u32) -> String { START => charge => <ok: receipt, err: apologise>; }
}

#[tokio::test]
async fn the_closure_runs_in_the_place_of_the_node() {
    let engine = Engine::builder().mock::<charge>(|cents, _| async move { Ok(cents + 1) }).build().unwrap();
    assert_eq!(engine.start::<paying>(5).await.unwrap().result().await.unwrap(), "paid 6");
}

#[tokio::test]
async fn other_engines_keep_the_node() {
    let _other = Engine::builder().mock::<charge>(|cents, _| async move { Ok(cents) }).build().unwrap();
    let engine = Engine::builder().build().unwrap();
    assert_eq!(failure(engine.start::<paying>(5).await.unwrap().result().await).path, "paying/charge");
}

#[tokio::test]
async fn the_closure_may_capture() {
    let journal = Journal::default();
    let kept = journal.clone();
    let engine = Engine::builder()
        .mock::<charge>(move |cents, _| {
            kept.note(format!("charged {cents}"));
            async move { Ok(cents) }
        })
        .build()
        .unwrap();
    engine.start::<paying>(5).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["charged 5"]);
}

#[tokio::test]
async fn the_options_of_the_node_stay() {
    let engine = Engine::builder()
        .mock::<charge>(|_, ctx: Context| async move { Err(format!("attempt {}", ctx.attempt())) })
        .build()
        .unwrap();
    assert_eq!(failure(engine.start::<paying>(5).await.unwrap().result().await).attempts, 3);
}

#[tokio::test]
async fn the_error_of_the_closure_is_routed() {
    let engine = Engine::builder().mock::<charge>(|_, _| async { Err("out of order".to_owned()) }).build().unwrap();
    assert_eq!(engine.start::<polite>(5).await.unwrap().result().await.unwrap(), "sorry: out of order");
}

#[tokio::test]
async fn a_node_is_replaced_under_every_name() {
    workflow! {
        twice(u32) -> String {
            let again = charge();
            START => charge => again => receipt;
        }
    }
    let engine = Engine::builder().mock::<charge>(|cents, _| async move { Ok(cents * 10) }).build().unwrap();
    assert_eq!(engine.start::<twice>(5).await.unwrap().result().await.unwrap(), "paid 500");
}

#[tokio::test]
async fn a_node_of_a_nested_workflow_is_replaced_too() {
    workflow! { outer(u32) -> String { START => paying; } }
    let engine = Engine::builder().mock::<charge>(|cents, _| async move { Ok(cents) }).build().unwrap();
    assert_eq!(engine.start::<outer>(5).await.unwrap().result().await.unwrap(), "paid 5");
}

#[tokio::test]
async fn a_nested_workflow_may_be_replaced() {
    workflow! { outer(u32) -> String { START => paying; } }
    let engine =
        Engine::builder().mock::<paying>(|cents, _| async move { Ok(format!("waved {cents} on")) }).build().unwrap();
    assert_eq!(engine.start::<outer>(5).await.unwrap().result().await.unwrap(), "waved 5 on");
}

#[tokio::test]
async fn a_replaced_node_needs_no_resource() {
    #[node]
    async fn stores(n: u32, #[resource] _journal: &Journal) -> u32 {
        n
    }
    workflow! { storing(u32) -> u32 { START => stores; } }
    let engine = Engine::builder().mock::<stores>(|n, _| async move { Ok(n) }).build().unwrap();
    assert!(engine.start::<storing>(5).await.is_ok());
}

#[tokio::test]
async fn a_node_inside_each_of_may_be_replaced() {
    workflow! { several(Vec<u32>) -> Vec<u32> { START => [charge]; } }
    let engine = Engine::builder().mock::<charge>(|cents, _| async move { Ok(cents + 1) }).build().unwrap();
    assert_eq!(engine.start::<several>(vec![1, 2]).await.unwrap().result().await.unwrap(), [2, 3]);
}

#[tokio::test(start_paused = true)]
async fn time_may_be_paused() {
    #[node]
    async fn overnight(n: u32) -> u32 {
        tokio::time::sleep(std::time::Duration::from_secs(8 * 3600)).await;
        n
    }
    let flow = workflow! { START => overnight };
    let start = tokio::time::Instant::now();
    flow.run(1).await.unwrap();
    assert_eq!(seconds_since(start), 8 * 3600);
}

#[node]
async fn shout(text: String) -> String {
    text.to_uppercase()
}

workflow! {
    shouting(String) -> String { START => shout; }
}

#[tokio::test]
async fn the_parameters_of_a_replacing_closure_have_the_types_of_the_node() {
    let with_attempt = Engine::builder()
        .mock::<shout>(|text, ctx| async move { Ok(format!("{} {}", text.to_lowercase(), ctx.attempt())) })
        .build()
        .unwrap();
    let run = with_attempt.start::<shouting>("Hey".to_owned()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "hey 1");
}

#[node]
async fn priced(n: u32, #[resource] journal: &Journal) -> u32 {
    journal.note("priced");
    n
}

workflow! {
    pricing(u32) -> u32 { START => priced; }
}

#[node]
async fn calls(n: u32, ctx: &Context) -> Result<u32, ChildError<Never>> {
    ctx.call::<priced>(n).await
}

workflow! {
    calling(u32) -> u32 { START => calls; }
}

workflow! {
    around(u32) -> u32 { START => calling; }
}

#[test]
fn a_mock_of_a_node_that_stands_nowhere_is_an_error() {
    let build =
        |builder: graphweft::EngineBuilder| builder.mock::<priced>(|n, _| async move { Ok(n) }).build().map(drop);
    let Err(BuildError::UnusedMock { node }) = build(Engine::builder().register::<around>()) else { panic!("unused") };
    assert!(node.ends_with("priced"), "{node}");
    assert_eq!(build(Engine::builder().register::<around>().register_node::<priced>()), Ok(()));
    assert_eq!(build(Engine::builder().register::<around>().register_node::<pricing>()), Ok(()), "inside of it");
    assert_eq!(build(Engine::builder().register::<pricing>()), Ok(()));
    assert_eq!(build(Engine::builder()), Ok(()), "nothing is known of what will be started");
}

#[tokio::test]
async fn what_a_called_node_lacks_is_known_before_it_is_called() {
    for builder in [Engine::builder().register_node::<priced>(), Engine::builder().register_node::<pricing>()] {
        let Err(error) = builder.build() else { panic!("it lacks the journal") };
        assert!(matches!(error, BuildError::MissingResources(_)), "{error}");
        assert!(error.to_string().contains("Journal"), "{error}");
    }
    let engine = Engine::builder().register_node::<priced>().resource(Journal::default()).build().unwrap();
    assert_eq!(engine.start::<around>(1).await.unwrap().result().await, Ok(1));
    // One that is replaced needs nothing.
    Engine::builder().register_node::<priced>().mock::<priced>(|n, _| async move { Ok(n) }).build().unwrap();
    // Without that, the call says so.
    let engine = Engine::builder().build().unwrap();
    let failure = failure(engine.start::<around>(1).await.unwrap().result().await);
    assert!(failure.to_string().contains("Journal"), "{failure}");
}
