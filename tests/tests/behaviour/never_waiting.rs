//! Nodes whose function has no `.await`: they are done by their first poll, and no future is kept for them. Nobody sees a
//! difference to nodes that have one.

use std::sync::atomic::{AtomicUsize, Ordering};

use graphweft::prelude::*;
use graphweft::{Engine, NodeFacts};

/// Which are alive.
static ALIVE: AtomicUsize = AtomicUsize::new(0);
static MADE: AtomicUsize = AtomicUsize::new(0);

#[value]
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    n: u32,
    #[serde(skip)]
    alive: Alive,
}

#[derive(Debug, PartialEq, Eq)]
struct Alive {}

impl Default for Alive {
    fn default() -> Self {
        ALIVE.fetch_add(1, Ordering::SeqCst);
        MADE.fetch_add(1, Ordering::SeqCst);
        Alive {}
    }
}

impl Clone for Alive {
    fn clone(&self) -> Self {
        Alive::default()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.fetch_sub(1, Ordering::SeqCst);
    }
}

#[node]
async fn begin(n: u32) -> Counted {
    Counted { n, alive: Alive::default() }
}

#[node]
async fn same(counted: Counted) -> Counted {
    Counted { n: counted.n + 1, ..counted }
}

#[node]
async fn another(counted: Counted) -> Counted {
    Counted { n: counted.n + 1, alive: Alive::default() }
}

#[node]
async fn panics_late(counted: Counted) -> Counted {
    assert!(counted.n < 100, "{} is too much", counted.n);
    counted
}

#[node]
async fn copies(counted: Counted) -> (Counted, Counted) {
    (counted.clone(), counted)
}

#[node]
async fn adds(both: (Counted, Counted)) -> u32 {
    both.0.n + both.1.n
}

workflow! {
    pub counts(u32) -> u32 {
        START => begin => same => another => panics_late => copies => adds => END;
    }
}

#[tokio::test]
async fn each_value_is_dropped_once() {
    assert_eq!(counts(1).await.unwrap(), 6);
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    let error = counts(1_000).await.unwrap_err().to_string();
    assert!(error.contains("panics_late") && error.contains("1002 is too much"), "{error}");
    assert_eq!(ALIVE.load(Ordering::SeqCst), 0);
    let engine = Engine::builder().register::<counts>().build().unwrap();
    assert_eq!(engine.start::<counts>(1).await.unwrap().result().await.unwrap(), 6);
    assert_eq!((ALIVE.load(Ordering::SeqCst), MADE.load(Ordering::SeqCst) > 0), (0, true));
}

#[node]
async fn wraps(n: u32) -> Option<Option<u32>> {
    match n {
        0 => None,
        1 => Some(None),
        n => Some(Some(n)),
    }
}

#[node]
async fn unwraps(n: Option<Option<u32>>) -> String {
    format!("{n:?}")
}

#[node]
async fn measures(text: String) -> usize {
    text.len()
}

workflow! { pub shows(u32) -> String { START => wraps => unwraps => END } }
workflow! { pub measures_all(u32) -> usize { START => wraps => unwraps => measures => END } }

#[tokio::test]
async fn values_of_all_types_pass() {
    for (n, expected) in [(0, "None"), (1, "Some(None)"), (2, "Some(Some(2))")] {
        assert_eq!(shows(n).await.unwrap(), expected);
    }
    assert_eq!(measures_all(2).await.unwrap(), 13);
}

#[derive(Route)]
#[value]
enum Sized {
    Small(u32),
    Large(String),
    Nothing,
}

#[node]
async fn sizes(n: u32) -> Sized {
    match n {
        0 => Sized::Nothing,
        1..10 => Sized::Small(n),
        n => Sized::Large(n.to_string()),
    }
}

#[node]
async fn small(n: u32, ctx: &Context) -> String {
    format!("{} has {n}", ctx.path())
}

#[node]
async fn large(n: String, ctx: &Context) -> String {
    format!("{} has {n}", ctx.path())
}

#[node]
async fn nothing(ctx: &Context) -> String {
    format!("{} has nothing", ctx.path())
}

workflow! {
    pub routes(u32) -> String {
        START => sizes => <small: small, large: large, nothing: nothing> => END;
    }
}

#[tokio::test]
async fn routes_are_taken() {
    let engine = Engine::builder().register::<routes>().build().unwrap();
    for (n, expected) in [(0, "routes/nothing has nothing"), (5, "routes/small has 5"), (50, "routes/large has 50")] {
        assert_eq!(routes(n).await.unwrap(), expected);
        assert_eq!(engine.start::<routes>(n).await.unwrap().result().await.unwrap(), expected);
    }
}

#[node]
async fn checks(n: u32) -> Result<u32, String> {
    if n > 10 { Err(format!("{n} is too much")) } else { Ok(n) }
}

#[node]
async fn again(n: u32) -> u32 {
    n
}

#[node]
async fn says(error: String) -> u32 {
    u32::try_from(error.len()).unwrap_or_default()
}

workflow! {
    pub catches(u32) -> u32 {
        START => again => checks => <ok: END, err: says>;
        says => END;
    }
}

workflow! {
    pub fails(u32) -> u32 {
        START => again => checks => END;
    }
}

#[tokio::test]
async fn an_error_takes_its_arm_or_fails_the_run() {
    assert_eq!(catches(3).await.unwrap(), 3);
    assert_eq!(catches(30).await.unwrap(), 14);
    let RunError::Failed(failure) = fails(30).await.unwrap_err() else { panic!("it fails") };
    assert_eq!(
        (&*failure.path, failure.attempts, failure.cause.to_string()),
        ("fails/checks", 1, "30 is too much".to_owned())
    );
}

/// A function whose macro has the name of one of the standard library, and awaits.
mod hidden {
    use graphweft::prelude::*;

    macro_rules! format {
        ($future:expr) => {
            $future.await
        };
    }

    async fn later(n: u32) -> u32 {
        tokio::task::yield_now().await;
        n
    }

    #[node]
    pub(super) async fn hides(n: u32) -> u32 {
        format!(later(n))
    }

    #[node]
    async fn same_again(n: u32) -> u32 {
        n
    }

    workflow! { pub at_first(u32) -> u32 { START => hides => END } }
    workflow! { pub behind(u32) -> u32 { START => same_again => hides => END } }
}

#[tokio::test]
async fn an_await_that_a_macro_hides_is_reported_and_not_lost() {
    for error in [hidden::at_first(1).await.unwrap_err(), hidden::behind(1).await.unwrap_err()] {
        let text = error.to_string();
        assert!(text.contains("/hides` waits") && text.contains("Give that macro another name"), "{text}");
    }
}

#[node]
async fn turns(left: u32) -> Result<u32, u32> {
    if left == 0 { Ok(0) } else { Err(left - 1) }
}

workflow! {
    pub spins(u32) -> u32 {
        START => turns => <ok: END, err: turns>;
    }
}

/// On a runtime with one thread.
#[tokio::test]
async fn others_get_their_turn_meanwhile() {
    let spinning = tokio::spawn(spins(100_000));
    let mut seen = 0;
    while !spinning.is_finished() && seen < 10 {
        tokio::task::yield_now().await;
        seen += 1;
    }
    assert_eq!((seen, spinning.await.unwrap().unwrap()), (10, 0));
}

/// Takes its name and its errors from the node inside, and waits.
#[derive(Default)]
struct Later<N>(N);

impl<N: Node> Node for Later<N> {
    type Input = N::Input;
    type Output = N::Output;
    type Error = N::Error;
    const FACTS: NodeFacts<N::Input, N::Error> = N::FACTS;

    async fn run(&self, input: N::Input, ctx: &Context) -> Result<N::Output, N::Error> {
        tokio::task::yield_now().await;
        self.0.run(input, ctx).await
    }
}

workflow! {
    pub wrapped(u32) -> u32 {
        let first: Later<again> = Later(again {});
        let second: Later<again> = Later(again {});
        START => first => again => second => END;
    }
}

#[tokio::test]
async fn a_node_around_one_that_never_waits_may_wait() {
    assert_eq!(wrapped(7).await.unwrap(), 7);
}

#[node]
async fn upto(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn adds_up(all: Vec<u32>) -> u32 {
    all.into_iter().sum()
}

#[node]
async fn fifth_panics(n: u32) -> u32 {
    assert_ne!(n, 5, "the fifth");
    n
}

workflow! { pub items(u32) -> u32 { START => upto => [checks] => adds_up => END } }
workflow! { pub items_panic(u32) -> u32 { START => upto => [again => fifth_panics] => adds_up => END } }
workflow! { pub items_hide(u32) -> u32 { START => upto => [hidden::hides] => adds_up => END } }

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn as_items_they_end_as_others_do() {
    assert_eq!(items(8).await.unwrap(), 28);
    let ends = [
        (items(20).await.unwrap_err(), "items/checks[11]", "11 is too much"),
        (items_panic(8).await.unwrap_err(), "items_panic/fifth_panics[5]", "the fifth"),
        (items_hide(2).await.unwrap_err(), "items_hide/hides[0]", "Give that macro another name"),
    ];
    for (error, path, text) in ends {
        let RunError::Failed(failure) = error else { panic!("it fails: {error}") };
        assert_eq!(&*failure.path, path);
        assert!(failure.cause.to_string().contains(text), "{failure}");
    }
}

const TOTAL: StateKey<u32, graphweft::state::Sum> = StateKey::new("total");

#[node]
async fn counted_in(n: u32, #[writes(TOTAL)] total: StateWriter<u32, graphweft::state::Sum>) -> u32 {
    total.merge(n);
    n + 1
}

#[node]
async fn total(_: u32, #[state] total: u32) -> u32 {
    total
}

workflow! { pub totals(u32) -> u32 { START => again => counted_in => counted_again => total => END; let counted_again = counted_in(); } }

#[node]
async fn keeps(n: u32, ctx: &Context) -> u32 {
    let kept = ctx.clone();
    drop(std::thread::spawn(move || kept.path()).join());
    ctx.no_retry();
    n
}

#[node]
async fn path_and(n: u32, ctx: &Context) -> String {
    format!("{} {} {n}", ctx.path(), ctx.attempt())
}

workflow! { pub kept(u32) -> String { START => again => keeps => path_and => END } }

#[node]
async fn parts(n: u32) -> u32 {
    n + 1
}

#[node]
async fn joins(left: u32, right: u32) -> u32 {
    left + right
}

workflow! { pub splits(u32) -> u32 { START => again => parts => (again_left, again_right) => joins => END; let again_left = again(); let again_right = again(); } }

#[tokio::test]
async fn what_they_do_besides_is_seen() {
    let engine = Engine::builder().register::<totals>().register::<kept>().register::<splits>().build().unwrap();
    assert_eq!(totals(3).await.unwrap(), 7);
    assert_eq!(engine.start::<totals>(3).await.unwrap().result().await.unwrap(), 7);
    assert_eq!(kept(3).await.unwrap(), "kept/path_and 1 3");
    assert_eq!(engine.start::<kept>(3).await.unwrap().result().await.unwrap(), "kept/path_and 1 3");
    assert_eq!(splits(3).await.unwrap(), 8);
    assert_eq!(engine.start::<splits>(3).await.unwrap().result().await.unwrap(), 8);
}

#[node]
async fn long(n: u32) -> String {
    "x".repeat(n as usize)
}

workflow! { pub refused(u32) -> usize { START => again => long => measures => END } }

#[tokio::test]
async fn an_output_that_cannot_be_recorded_fails_the_node() {
    assert_eq!(refused(10_000).await.unwrap(), 10_000);
    let engine = Engine::builder().register::<refused>().max_value_size(1_000).build().unwrap();
    assert_eq!(engine.start::<refused>(10).await.unwrap().result().await.unwrap(), 10);
    let RunError::Failed(failure) = engine.start::<refused>(10_000).await.unwrap().result().await.unwrap_err() else {
        panic!("it fails")
    };
    assert_eq!(&*failure.path, "refused/long");
}
