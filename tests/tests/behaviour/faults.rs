//! Panics: in a body, in a conversion, in a copy, in a destructor. A node fails; the engine lives.

use graphweft::prelude::*;
use graphweft_tests::{Journal, failure};

#[value]
#[derive(Debug)]
struct Trouble {
    what: String,
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Trouble { what: fault.to_string() }
    }
}

#[node]
async fn number(n: u32) -> u32 {
    n
}

#[node]
async fn panics(n: u32) -> u32 {
    panic!("cannot work with {n}")
}

#[node]
fn panics_in_step(n: u32) -> u32 {
    panic!("cannot work with {n}")
}

#[node(blocking)]
fn panics_on_its_thread(n: u32) -> u32 {
    panic!("cannot work with {n}")
}

#[node]
async fn panics_fallibly(n: u32) -> Result<u32, Trouble> {
    if n == 0 { Err(Trouble { what: "zero".to_owned() }) } else { panic!("cannot work with {n}") }
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn handle(trouble: Trouble) -> String {
    trouble.what
}

workflow! {
    panicking(u32) -> u32 { START => panics; }
}

#[tokio::test]
async fn a_panic_fails_the_node() {
    assert_eq!(failure(panicking(1).await).path, "panicking/panics");
}

#[tokio::test]
async fn the_cause_holds_what_the_panic_said() {
    let fault = Fault::Panic { message: "cannot work with 1".to_owned() };
    assert_eq!(failure(panicking(1).await).cause.fault, Some(fault));
}

#[tokio::test]
async fn a_panic_in_a_plain_function_fails_the_node() {
    let flow = workflow! { START => panics_in_step };
    assert_eq!(failure(flow.run(1).await).cause.to_string(), "panicked: cannot work with 1");
}

#[tokio::test]
async fn a_panic_on_the_blocking_pool_fails_the_node() {
    let flow = workflow! { START => panics_on_its_thread };
    assert_eq!(failure(flow.run(1).await).cause.to_string(), "panicked: cannot work with 1");
}

#[tokio::test]
async fn a_panic_beside_other_branches_fails_the_node() {
    #[node]
    async fn sum(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! { both(u32) -> u32 { START => (panics, number) => sum; } }
    assert_eq!(failure(both(1).await).path, "both/panics");
}

#[tokio::test]
async fn a_panic_flows_to_err_where_the_error_is_made_from_faults() {
    let flow = workflow! { START => panics_fallibly => <ok: text, err: handle> };
    assert_eq!(flow.run(1).await.unwrap(), "panicked: cannot work with 1");
}

#[tokio::test]
async fn a_panic_fails_the_run_where_the_error_is_not_made_from_faults() {
    #[node]
    async fn unprepared(n: u32) -> Result<u32, String> {
        panic!("cannot work with {n}")
    }
    #[node]
    async fn answer(error: String) -> String {
        error
    }
    workflow! { unroutable(u32) -> String { START => unprepared => <ok: text, err: answer>; } }
    assert_eq!(failure(unroutable(1).await).path, "unroutable/unprepared");
}

#[tokio::test]
async fn a_panic_is_tried_again() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn at_first(n: u32, ctx: &Context) -> u32 {
        assert!(ctx.attempt() > 1, "not yet");
        n
    }
    let flow = workflow! { START => at_first };
    assert_eq!(flow.run(5).await.unwrap(), 5);
}

#[tokio::test]
async fn the_engine_goes_on_after_a_panic() {
    workflow! { numbers(u32) -> u32 { START => number; } }
    let engine = Engine::builder().build().unwrap();
    engine.start::<panicking>(1).await.unwrap().result().await.unwrap_err();
    assert_eq!(engine.start::<numbers>(2).await.unwrap().result().await.unwrap(), 2);
}

#[value]
struct Converted {
    n: u32,
}

impl From<u32> for Converted {
    fn from(n: u32) -> Self {
        assert_ne!(n, 13, "no thirteen");
        Converted { n }
    }
}

#[node]
async fn takes_converted(converted: Converted) -> u32 {
    converted.n
}

#[tokio::test]
async fn a_panic_in_a_conversion_fails_the_target() {
    workflow! { converting(u32) -> u32 { START => number => takes_converted; } }
    assert_eq!(failure(converting(13).await).path, "converting/takes_converted");
}

#[tokio::test]
async fn a_panic_in_a_conversion_of_the_input_fails_the_target() {
    workflow! { converting(u32) -> u32 { START => takes_converted; } }
    assert_eq!(failure(converting(13).await).path, "converting/takes_converted");
}

#[tokio::test]
async fn a_panic_in_the_conversion_of_an_arm_fails_the_target() {
    #[node]
    async fn chosen(n: u32) -> Option<u32> {
        Some(n)
    }
    #[node]
    async fn zero() -> u32 {
        0
    }
    workflow! { converting(u32) -> u32 { START => chosen => <some: takes_converted, none: zero>; } }
    assert_eq!(failure(converting(13).await).path, "converting/takes_converted");
}

mod bomb {
    use graphweft::prelude::*;

    #[value]
    #[derive(Debug)]
    pub(super) struct Bomb {
        pub(super) armed: bool,
    }

    #[derive(Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub(super) struct Uncopyable {
        pub(super) n: u32,
    }

    impl Clone for Uncopyable {
        fn clone(&self) -> Self {
            panic!("no copies")
        }
    }
}

use bomb::{Bomb, Uncopyable};

#[node]
async fn uncopyable(n: u32) -> Uncopyable {
    Uncopyable { n }
}

#[node]
async fn left(value: Uncopyable) -> u32 {
    value.n
}

#[node]
async fn right(value: Uncopyable) -> u32 {
    value.n
}

#[node]
async fn pair(a: u32, b: u32) -> (u32, u32) {
    (a, b)
}

#[tokio::test]
async fn a_panic_in_a_copy_fails_the_run() {
    workflow! { copying(u32) -> (u32, u32) { START => uncopyable => (left, right) => pair; } }
    assert_eq!(failure(copying(1).await).cause.to_string(), "panicked: no copies");
}

#[tokio::test]
async fn a_value_with_one_target_is_not_copied() {
    let flow = workflow! { START => uncopyable => left };
    assert_eq!(flow.run(1).await.unwrap(), 1);
}

#[tokio::test]
async fn a_panic_in_a_destructor_fails_the_node() {
    struct Loud;
    impl Drop for Loud {
        fn drop(&mut self) {
            panic!("not without me");
        }
    }
    #[node]
    async fn holds(n: u32) -> u32 {
        let _loud = Loud;
        n
    }
    workflow! { holding(u32) -> u32 { START => holds; } }
    assert_eq!(failure(holding(1).await).path, "holding/holds");
}

#[tokio::test]
async fn a_panic_in_when_fails_the_node() {
    #[node(retry(max_attempts = 3, initial_delay = "0s", when = |error: &String| error.parse::<u8>().unwrap() > 0))]
    async fn fails(_n: u32) -> Result<u32, String> {
        Err("no number".to_owned())
    }
    workflow! { failing(u32) -> u32 { START => fails; } }
    assert_eq!(failure(failing(1).await).path, "failing/fails");
}

#[tokio::test]
async fn a_panicking_node_cancels_its_siblings() {
    #[node]
    async fn parked(_n: u32, #[resource] journal: &Journal) -> u32 {
        let _told = journal.when_dropped("stopped");
        std::future::pending().await
    }
    workflow! { both(u32) -> (u32, u32) { START => (parked, panics) => pair; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<both>(1).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn a_panic_that_is_no_text_fails_the_node_too() {
    #[node]
    async fn throws(bomb: Bomb) -> bool {
        if bomb.armed {
            std::panic::panic_any(7_u8);
        }
        bomb.armed
    }
    workflow! { throwing(Bomb) -> bool { START => throws; } }
    assert_eq!(failure(throwing(Bomb { armed: true }).await).path, "throwing/throws");
}

#[value]
struct Fragile {
    text: String,
}

impl Drop for Fragile {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.text.is_empty(), "dropped with {}", self.text);
    }
}

#[node]
async fn makes_fragile(_n: u32) -> Fragile {
    Fragile { text: "care".to_owned() }
}

#[node]
async fn fails_later(_n: u32) -> Result<u32, String> {
    tokio::task::yield_now().await;
    Err("no".to_owned())
}

#[node]
async fn packs(mut fragile: Fragile, n: u32) -> u32 {
    fragile.text.clear();
    n
}

workflow! {
    packing(u32) -> u32 { START => (makes_fragile, fails_later) => packs; }
}

#[tokio::test]
async fn a_value_that_panics_when_it_is_let_go_of_ends_its_run() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<packing>(1).await.unwrap();
    assert!(matches!(run.outcome().await, Ok(Outcome::Failed(_))));
    let mut events = run.events();
    let mut last = None;
    while let Some(event) = events.next().await {
        last = Some(event.kind);
    }
    assert!(matches!(last, Some(graphweft::EventKind::RunFailed { .. })), "{last:?}");
}
