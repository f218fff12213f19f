//! The items of `[node]`, and branches that meet at a join, without an engine: they are done one after another where their
//! nodes do not wait. What nodes can see of that is what they see with a task each.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::Sum;
use graphweft_tests::failure;
use tokio::sync::{Notify, Semaphore};

const TOTAL: StateKey<u32, Sum> = StateKey::new("total");

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn triple(n: u32) -> u32 {
    n * 3
}

#[node]
async fn path(_: u32, ctx: &Context) -> String {
    ctx.path()
}

/// Item 3 waits, or fails, or panics, as its name says; all others are done at once.
#[node]
async fn third_waits(n: u32, ctx: &Context) -> String {
    if n == 3 {
        tokio::task::yield_now().await;
    }
    ctx.path()
}

#[node]
async fn third_fails(n: u32) -> Result<u32, String> {
    if n == 3 { Err("on purpose".to_owned()) } else { Ok(n) }
}

#[node]
async fn odd_ones_panic(n: u32) -> u32 {
    assert!(n.is_multiple_of(2), "on purpose");
    n
}

workflow! { paths(u32) -> Vec<String> { START => count => [path]; } }
workflow! { one_waits(u32) -> Vec<String> { START => count => [third_waits]; } }
workflow! { one_fails(u32) -> Vec<u32> { START => count => [third_fails]; } }
workflow! { some_panic(u32) -> Vec<u32> { START => count => [odd_ones_panic]; } }

fn paths_of(workflow: &str, node: &str, items: u32) -> Vec<String> {
    (0..items).map(|item| format!("{workflow}/{node}[{item}]")).collect()
}

#[tokio::test]
async fn each_item_has_a_path_of_its_own() {
    assert_eq!(paths(20).await.unwrap(), paths_of("paths", "path", 20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn each_item_has_a_path_of_its_own_on_several_threads() {
    for _ in 0..200 {
        assert_eq!(paths(50).await.unwrap(), paths_of("paths", "path", 50));
    }
}

#[tokio::test]
async fn an_item_that_waits_keeps_its_place_among_those_that_do_not() {
    assert_eq!(one_waits(20).await.unwrap(), paths_of("one_waits", "third_waits", 20));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_item_that_waits_keeps_its_place_on_several_threads() {
    for _ in 0..200 {
        assert_eq!(one_waits(20).await.unwrap(), paths_of("one_waits", "third_waits", 20));
    }
}

#[tokio::test]
async fn an_item_that_fails_is_reported_with_its_index() {
    assert_eq!(failure(one_fails(20).await).path, "one_fails/third_fails[3]");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn of_items_that_panic_the_lowest_is_reported() {
    for _ in 0..200 {
        let failure = failure(some_panic(20).await);
        assert_eq!(failure.path, "some_panic/odd_ones_panic[1]");
        assert!(failure.to_string().contains("on purpose"), "{failure}");
    }
}

/// What a node keeps of its item stays that of its item.
#[tokio::test]
async fn a_context_that_is_kept_keeps_its_path() {
    static KEPT: Mutex<Vec<Context>> = Mutex::new(Vec::new());
    #[node]
    async fn keeps(n: u32, ctx: &Context) -> u32 {
        if n.is_multiple_of(2) {
            KEPT.lock().unwrap().push(ctx.clone());
        }
        n
    }
    workflow! { keeping(u32) -> Vec<u32> { START => count => [keeps]; } }
    assert_eq!(keeping(6).await.unwrap(), [0, 1, 2, 3, 4, 5]);
    let kept: Vec<String> = KEPT.lock().unwrap().drain(..).map(|context| context.path()).collect();
    assert_eq!(kept, ["keeping/keeps[0]", "keeping/keeps[2]", "keeping/keeps[4]"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_items_write_is_merged_and_none_sees_it() {
    #[node]
    async fn adds(n: u32, #[may_write(TOTAL)] total: StateWriter<u32, Sum>, ctx: &Context) -> Option<u32> {
        let seen = ctx.state().get(TOTAL).unwrap();
        if n.is_multiple_of(3) {
            total.merge(n);
        }
        seen
    }
    #[node]
    async fn total(seen: Vec<Option<u32>>, #[state] total: u32) -> u32 {
        assert!(seen.iter().all(Option::is_none), "{seen:?}");
        total
    }
    workflow! { adding(u32) -> u32 { START => count => [adds] => total; } }
    for _ in 0..100 {
        assert_eq!(adding(10).await.unwrap(), 18);
    }
}

/// They block no other: two of them only end if two threads run them at the same moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn items_that_compute_run_on_several_threads() {
    static MEETING: OnceLock<Barrier> = OnceLock::new();
    #[node]
    async fn meets(n: u32) -> u32 {
        MEETING.get_or_init(|| Barrier::new(3)).wait();
        n
    }
    workflow! { meetings(u32) -> Vec<u32> { START => count => [meets]; } }
    for _ in 0..20 {
        let run = tokio::spawn(meetings(6));
        assert_eq!(run.await.unwrap().unwrap(), [0, 1, 2, 3, 4, 5]);
    }
}

/// A thread that is handed over does not keep a place among those that compute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_that_hand_their_thread_over_are_as_many_at_once_as_there_are() {
    static MEETING: OnceLock<Barrier> = OnceLock::new();
    #[node]
    async fn meets_in_place(n: u32) -> u32 {
        tokio::task::block_in_place(|| MEETING.get_or_init(|| Barrier::new(8)).wait());
        n
    }
    workflow! { meetings_in_place(u32) -> Vec<u32> { START => count => [meets_in_place]; } }
    assert_eq!(meetings_in_place(8).await.unwrap().len(), 8);
}

/// The item that computes is polled when another one fails: it hears that it is cancelled all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_item_that_computes_hears_that_one_before_it_has_failed() {
    static COMPUTES: AtomicBool = AtomicBool::new(false);
    #[node]
    async fn first_fails(n: u32, ctx: &Context) -> Result<u32, String> {
        if n == 0 {
            while !COMPUTES.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            return Err("on purpose".to_owned());
        }
        COMPUTES.store(true, Ordering::Release);
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        Ok(n)
    }
    workflow! { cut_short(u32) -> Vec<u32> { START => count => [first_fails]; } }
    for _ in 0..50 {
        COMPUTES.store(false, Ordering::Release);
        let failed = tokio::spawn(cut_short(10)).await.unwrap();
        assert_eq!(failure(failed).path, "cut_short/first_fails[0]");
    }
}

/// A thread is left that sees to timers.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_item_that_computes_hears_that_the_time_is_up() {
    #[node]
    async fn computes(n: u32, ctx: &Context) -> u32 {
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        n
    }
    workflow! { #[timeout = "50ms"] limited(u32) -> Vec<u32> { START => count => [computes]; } }
    assert!(failure(limited(2).await).to_string().contains("timed out"));
}

struct Counted(Arc<AtomicU32>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A run that is dropped drops its items: those that wait, those that have not begun, and what others have given.
#[tokio::test]
async fn a_run_that_is_dropped_drops_its_items() {
    static DROPPED: OnceLock<Arc<AtomicU32>> = OnceLock::new();
    static WAITS: Notify = Notify::const_new();
    static NEVER: Semaphore = Semaphore::const_new(0);
    #[node]
    async fn last_waits(n: u32) -> u32 {
        let _counted = Counted(Arc::clone(DROPPED.get_or_init(Arc::default)));
        if n >= 7 {
            WAITS.notify_one();
            let _never = NEVER.acquire().await;
        }
        n
    }
    workflow! { dropped(u32) -> Vec<u32> { START => count => [last_waits]; } }
    tokio::select! {
        _ = dropped(10) => panic!("it cannot end"),
        () = WAITS.notified() => {}
    }
    tokio::time::timeout(Duration::from_secs(20), async {
        while DROPPED.get_or_init(Arc::default).load(Ordering::SeqCst) < 8 {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("all that has begun is dropped");
}

/// In a loop, beside each other, and within each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_several_nodes_are_kept_apart() {
    #[node]
    async fn total(all: Vec<u32>) -> u32 {
        all.iter().sum()
    }
    #[node]
    async fn total_again(all: Vec<u32>) -> u32 {
        all.iter().sum()
    }
    #[node]
    async fn both(left: u32, right: u32) -> u32 {
        left + right
    }
    #[node]
    async fn rows(n: u32) -> Vec<Vec<u32>> {
        (0..n).map(|row| vec![row; 5]).collect()
    }
    #[node]
    async fn cells(row: Vec<u32>) -> Vec<u32> {
        row
    }
    #[node]
    async fn sum(row: Vec<u32>) -> u32 {
        row.iter().sum()
    }
    #[node]
    async fn again(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    workflow! {
        beside(u32) -> u32 {
            START => (count, again);
            count => [double] => total;
            again => [triple] => total_again;
            (total, total_again) => both;
        }
    }
    workflow! { within(u32) -> Vec<u32> { START => rows => [cells => [double] => sum]; } }
    for _ in 0..100 {
        assert_eq!(beside(10).await.unwrap(), 225);
        assert_eq!(within(3).await.unwrap(), [0, 10, 20]);
    }
}

#[node]
async fn first(_: u32, ctx: &Context) -> String {
    ctx.path()
}

#[node]
async fn second(n: u32, ctx: &Context) -> String {
    if n > 0 {
        tokio::task::yield_now().await;
    }
    ctx.path()
}

#[node]
async fn third(_: u32, ctx: &Context) -> String {
    ctx.path()
}

#[node]
async fn listed(first: String, second: String, third: String) -> Vec<String> {
    vec![first, second, third]
}

workflow! { branches(u32) -> Vec<String> { START => (first, second, third) => listed; } }

const BRANCHES: [&str; 3] = ["branches/first", "branches/second", "branches/third"];

#[tokio::test]
async fn each_branch_has_a_path_of_its_own_whether_one_waits_or_not() {
    for waits in [0, 1] {
        assert_eq!(branches(waits).await.unwrap(), BRANCHES);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn each_branch_has_a_path_of_its_own_on_several_threads() {
    for round in 0..200 {
        assert_eq!(branches(round % 2).await.unwrap(), BRANCHES);
    }
}

#[node]
async fn passes(n: u32) -> u32 {
    n
}

#[node]
async fn fails(n: u32) -> Result<u32, String> {
    if n == 0 { Err("on purpose".to_owned()) } else { Ok(n) }
}

#[node]
async fn both_of(left: u32, right: u32) -> u32 {
    left + right
}

#[tokio::test]
async fn a_branch_that_fails_is_reported() {
    workflow! { one_branch_fails(u32) -> u32 { START => (passes, fails) => both_of; } }
    assert_eq!(one_branch_fails(1).await.unwrap(), 2);
    assert_eq!(failure(one_branch_fails(0).await).path, "one_branch_fails/fails");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn branches_that_compute_run_on_several_threads() {
    static MEETING: OnceLock<Barrier> = OnceLock::new();
    #[node]
    async fn left(n: u32) -> u32 {
        MEETING.get_or_init(|| Barrier::new(2)).wait();
        n
    }
    #[node]
    async fn right(n: u32) -> u32 {
        MEETING.get_or_init(|| Barrier::new(2)).wait();
        n
    }
    workflow! { branches_meet(u32) -> u32 { START => (left, right) => both_of; } }
    for _ in 0..50 {
        assert_eq!(tokio::spawn(branches_meet(2)).await.unwrap().unwrap(), 4);
    }
}

/// The branch that computes is polled when another one fails: it hears that it is cancelled all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_branch_that_computes_hears_that_another_has_failed() {
    static COMPUTES: AtomicBool = AtomicBool::new(false);
    #[node]
    async fn computes(n: u32, ctx: &Context) -> u32 {
        COMPUTES.store(true, Ordering::Release);
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        n
    }
    #[node]
    async fn fails_meanwhile(_: u32) -> Result<u32, String> {
        while !COMPUTES.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Err("on purpose".to_owned())
    }
    workflow! { branch_cut_short(u32) -> u32 { START => (computes, fails_meanwhile) => both_of; } }
    for _ in 0..50 {
        COMPUTES.store(false, Ordering::Release);
        let failed = tokio::spawn(branch_cut_short(1)).await.unwrap();
        assert_eq!(failure(failed).path, "branch_cut_short/fails_meanwhile");
    }
}

/// In a loop the same branches are done in each turn.
#[tokio::test]
async fn branches_in_a_loop_are_done_in_each_turn() {
    #[value]
    #[derive(Route)]
    enum More {
        Again(u32),
        Done(u32),
    }
    #[node]
    async fn less(left: u32, _right: u32) -> More {
        if left == 0 { More::Done(left) } else { More::Again(left - 1) }
    }
    #[node]
    async fn head(n: u32) -> u32 {
        n
    }
    #[node]
    async fn other(n: u32) -> u32 {
        n
    }
    workflow! {
        turns(u32) -> u32 {
            START => head => (passes, other) => less => <again: head, done: END>;
        }
    }
    assert_eq!(turns(100).await.unwrap(), 0);
}

/// Branches of two graphs begin together: those of the nested one, which is the smaller of the two, and a node of the
/// graph around it. On which of them the driver comes first is chance, so it is tried more than once.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn branches_of_a_nested_workflow_may_begin_together_with_a_node_around_it() {
    static BOTH: OnceLock<tokio::sync::Barrier> = OnceLock::new();
    async fn meet() {
        BOTH.get_or_init(|| tokio::sync::Barrier::new(2)).wait().await;
    }
    #[node]
    async fn inside(n: u32) -> u32 {
        meet().await;
        n
    }
    #[node]
    async fn beside(n: u32) -> u32 {
        meet().await;
        n
    }
    #[node]
    async fn add(a: u32, b: u32) -> u32 {
        a + b
    }
    workflow! {
        smaller(u32) -> u32 { START => inside => (double, triple) => add; }
    }
    workflow! {
        larger(u32) -> u32 {
            let second = passes();
            let third = passes();
            let fourth = passes();
            let fifth = passes();
            let last = double();
            START => passes => second => third => fourth => fifth => (smaller, beside => last) => add;
        }
    }

    for _ in 0..50 {
        assert_eq!(larger(1).await.unwrap(), 5 + 2);
    }
}
