//! `[..]`: the same work for every item, at once and in order.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft_tests::{Gauge, Journal, failure, records_of, started};
use tokio::sync::{Barrier, Notify};

#[node]
async fn count(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn total(items: Vec<u32>) -> u32 {
    items.iter().sum()
}

#[node]
async fn half(n: u32) -> Result<u32, String> {
    if n.is_multiple_of(2) { Ok(n / 2) } else { Err(format!("{n} is odd")) }
}

#[node]
async fn of_word(word: String) -> u32 {
    word.len() as u32
}

#[tokio::test]
async fn every_item_is_worked_on() {
    let flow = workflow! { START => count => [double] => total };
    assert_eq!(flow.run(5).await.unwrap(), 20);
}

#[tokio::test(start_paused = true)]
async fn the_order_of_the_items_is_kept_whoever_is_done_first() {
    #[node]
    async fn later_first(n: u32) -> String {
        tokio::time::sleep(Duration::from_secs(u64::from(10 - n))).await;
        n.to_string()
    }
    let flow = workflow! { START => count => [later_first] };
    assert_eq!(flow.run(4).await.unwrap(), ["0", "1", "2", "3"]);
}

#[tokio::test]
async fn no_items_give_no_values() {
    let flow = workflow! { START => count => [double] };
    assert_eq!(flow.run(0).await.unwrap(), Vec::<u32>::new());
}

#[tokio::test]
async fn what_follows_runs_for_no_items_too() {
    let flow = workflow! { START => count => [double] => total };
    assert_eq!(flow.run(0).await.unwrap(), 0);
}

#[tokio::test]
async fn one_item_gives_one_value() {
    let flow = workflow! { START => count => [text] };
    assert_eq!(flow.run(1).await.unwrap(), ["0"]);
}

#[tokio::test]
async fn a_thousand_items_are_no_trouble() {
    let flow = workflow! { START => count => [double] => total };
    assert_eq!(flow.run(1000).await.unwrap(), 999_000);
}

#[tokio::test]
async fn all_items_are_under_way_at_once() {
    #[node]
    async fn meet(n: u32, #[resource] meeting: &Barrier) -> u32 {
        meeting.wait().await;
        n
    }
    workflow! { meetings(u32) -> u32 { START => count => [meet] => total; } }
    let engine = Engine::builder().resource(Barrier::new(6)).build().unwrap();
    assert_eq!(engine.start::<meetings>(6).await.unwrap().result().await.unwrap(), 15);
}

#[tokio::test]
async fn items_have_paths_by_their_index() {
    workflow! { doubles(u32) -> Vec<u32> { START => count => [double]; } }
    let mut paths = started(&records_of::<doubles>(2).await);
    paths.retain(|path| path.starts_with("doubles/double"));
    paths.sort();
    assert_eq!(paths, ["doubles/double[0]", "doubles/double[1]"]);
}

#[tokio::test]
async fn a_chain_may_stand_inside() {
    let flow = workflow! { START => count => [double => text] };
    assert_eq!(flow.run(3).await.unwrap(), ["0", "2", "4"]);
}

#[tokio::test]
async fn routes_may_stand_inside() {
    let flow = workflow! { START => count => [half => <ok: double, err: of_word>] };
    assert_eq!(flow.run(4).await.unwrap(), [0, 8, 2, 8]);
}

#[tokio::test]
async fn joins_may_stand_inside() {
    #[node]
    async fn label(n: u32, text: String) -> String {
        format!("{n}:{text}")
    }
    let flow = workflow! { START => count => [itself => (double, text) => label] };
    #[node]
    async fn itself(n: u32) -> u32 {
        n
    }
    assert_eq!(flow.run(3).await.unwrap(), ["0:0", "2:1", "4:2"]);
}

#[tokio::test]
async fn loops_may_stand_inside() {
    #[node]
    async fn grow(n: u32) -> u32 {
        n + 3
    }
    #[node]
    async fn big(n: u32) -> Result<u32, u32> {
        if n < 10 { Err(n) } else { Ok(n) }
    }
    let flow = workflow! { START => count => [grow => big => <err: grow, ok: text>] };
    assert_eq!(flow.run(3).await.unwrap(), ["12", "10", "11"]);
}

#[tokio::test]
async fn each_of_may_stand_in_each_of() {
    let flow = workflow! { START => count => [count_again => [double] => total] };
    #[node]
    async fn count_again(n: u32) -> Vec<u32> {
        (0..=n).collect()
    }
    assert_eq!(flow.run(4).await.unwrap(), [0, 2, 6, 12]);
}

#[tokio::test]
async fn brackets_in_brackets_take_lists_of_lists() {
    workflow! { doubles(Vec<Vec<u32>>) -> Vec<Vec<u32>> { START => [[double]]; } }
    assert_eq!(doubles(vec![vec![1, 2], vec![], vec![3]]).await.unwrap(), [vec![2, 4], vec![], vec![6]]);
}

#[tokio::test]
async fn each_of_may_follow_each_of() {
    let flow = workflow! { START => count => [double] => [text] };
    assert_eq!(flow.run(3).await.unwrap(), ["0", "2", "4"]);
}

#[tokio::test]
async fn a_workflow_may_run_for_each_item() {
    workflow! { twice(u32) -> u32 { START => double => again; let again = double(); } }
    let flow = workflow! { START => count => [twice] };
    assert_eq!(flow.run(3).await.unwrap(), [0, 4, 8]);
}

#[tokio::test]
async fn each_of_may_be_a_place_of_a_join() {
    #[node]
    async fn show(items: Vec<u32>, sum: u32) -> String {
        format!("{items:?} {sum}")
    }
    let flow = workflow! { START => count => ([double], total) => show };
    assert_eq!(flow.run(3).await.unwrap(), "[0, 2, 4] 3");
}

#[tokio::test]
async fn each_of_may_stand_in_an_arm() {
    #[node]
    async fn maybe(n: u32) -> Option<Vec<u32>> {
        (n > 0).then(|| (0..n).collect())
    }
    #[node]
    async fn nothing() -> Vec<u32> {
        vec![7]
    }
    let flow = workflow! { START => maybe => <some: [double], none: nothing> => total };
    assert_eq!([flow.run(0).await.unwrap(), flow.run(3).await.unwrap()], [7, 6]);
}

#[tokio::test]
async fn an_item_converts_with_from() {
    #[node]
    async fn wide(n: u64) -> u64 {
        n
    }
    let flow = workflow! { START => count => [wide] };
    assert_eq!(flow.run(2).await.unwrap(), [0_u64, 1]);
}

#[node(max_parallel = 3)]
async fn bounded(n: u32, #[resource] gauge: &Gauge) -> u32 {
    gauge.stay_inside().await;
    n
}

#[tokio::test]
async fn no_more_items_than_max_parallel_are_in_a_node_at_once() {
    workflow! { gauged(u32) -> u32 { START => count => [bounded] => total; } }
    let gauge = Gauge::expecting(3);
    let engine = Engine::builder().resource(gauge.clone()).build().unwrap();
    engine.start::<gauged>(20).await.unwrap().result().await.unwrap();
    assert_eq!(gauge.highest(), 3);
}

#[tokio::test]
async fn a_bound_changes_nothing_about_the_output() {
    workflow! { gauged(u32) -> Vec<u32> { START => count => [bounded]; } }
    let engine = Engine::builder().resource(Gauge::expecting(1)).build().unwrap();
    assert_eq!(engine.start::<gauged>(7).await.unwrap().result().await.unwrap(), [0, 1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_let_may_set_the_bound() {
    workflow! {
        gauged(u32) -> u32 {
            let bounded = bounded(max_parallel = 1);
            START => count => [bounded] => total;
        }
    }
    let gauge = Gauge::expecting(1);
    let engine = Engine::builder().resource(gauge.clone()).build().unwrap();
    engine.start::<gauged>(5).await.unwrap().result().await.unwrap();
    assert_eq!(gauge.highest(), 1);
}

#[tokio::test]
async fn a_failing_item_fails_the_run_under_its_index() {
    workflow! { halves(u32) -> Vec<u32> { START => count => [half]; } }
    assert_eq!(failure(halves(2).await).path, "halves/half[1]");
}

#[tokio::test]
async fn of_several_failing_items_the_lowest_index_is_reported() {
    #[node]
    async fn all_fail(n: u32, #[resource] meeting: &Barrier) -> Result<u32, String> {
        meeting.wait().await;
        Err(format!("{n} failed"))
    }
    workflow! { failing(u32) -> Vec<u32> { START => count => [all_fail]; } }
    let engine = Engine::builder().resource(Barrier::new(5)).build().unwrap();
    let failed = failure(engine.start::<failing>(5).await.unwrap().result().await);
    assert_eq!((failed.path.as_str(), failed.cause.to_string().as_str()), ("failing/all_fail[0]", "0 failed"));
}

#[tokio::test]
async fn the_lowest_index_is_reported_even_where_a_higher_one_fails_first() {
    #[node]
    async fn in_reverse(n: u32, #[resource] failed: &Notify) -> Result<u32, String> {
        match n {
            0 => failed.notified().await,
            _ => failed.notify_one(),
        }
        Err("failed".to_owned())
    }
    workflow! { failing(u32) -> Vec<u32> { START => count => [in_reverse]; } }
    let engine = Engine::builder().resource(Notify::new()).build().unwrap();
    assert_eq!(failure(engine.start::<failing>(2).await.unwrap().result().await).path, "failing/in_reverse[0]");
}

#[tokio::test]
async fn a_failing_item_cancels_those_behind_it() {
    #[node]
    async fn first_fails(n: u32, #[resource] parked: &Notify, #[resource] journal: &Journal) -> Result<u32, String> {
        match n {
            0 => {
                parked.notified().await;
                Err("failed".to_owned())
            }
            _ => {
                let _told = journal.when_dropped("stopped");
                parked.notify_one();
                std::future::pending().await
            }
        }
    }
    workflow! { failing(u32) -> Vec<u32> { START => count => [first_fails]; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).resource(Notify::new()).build().unwrap();
    engine.start::<failing>(2).await.unwrap().result().await.unwrap_err();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn an_item_is_tried_again_on_its_own() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn flaky(n: u32, ctx: &Context) -> Result<String, String> {
        if n == 1 && ctx.attempt() == 1 { Err("once".to_owned()) } else { Ok(format!("{n} in {}", ctx.attempt())) }
    }
    let flow = workflow! { START => count => [flaky] };
    assert_eq!(flow.run(3).await.unwrap(), ["0 in 1", "1 in 2", "2 in 1"]);
}

#[tokio::test]
async fn a_panicking_item_fails_the_run_under_its_index() {
    #[node]
    async fn panics(n: u32) -> u32 {
        assert_ne!(n, 2, "two is out");
        n
    }
    workflow! { panicking(u32) -> Vec<u32> { START => count => [panics]; } }
    assert_eq!(failure(panicking(4).await).path, "panicking/panics[2]");
}

#[tokio::test]
async fn brackets_in_a_loop_have_the_turn_in_their_paths() {
    #[node]
    async fn again(items: Vec<u32>) -> Result<u32, u32> {
        let sum = items.iter().sum();
        if sum < 3 { Err(sum + 2) } else { Ok(sum) }
    }
    workflow! { rounds(u32) -> u32 { START => count => [double] => again => <err: count, ok: END>; } }
    let mut paths = started(&records_of::<rounds>(1).await);
    paths.retain(|path| path.starts_with("rounds/double"));
    paths.sort();
    assert_eq!(
        paths,
        [
            "rounds/double#2[0]",
            "rounds/double#2[1]",
            "rounds/double#3[0]",
            "rounds/double#3[1]",
            "rounds/double#3[2]",
            "rounds/double#3[3]",
            "rounds/double[0]"
        ]
    );
}

#[tokio::test]
async fn statements_may_stand_inside() {
    let flow = workflow! { START => count => [half => <ok: double, err: of_word>; (double, of_word) => text] };
    assert_eq!(flow.run(3).await.unwrap(), ["0", "8", "2"]);
}
