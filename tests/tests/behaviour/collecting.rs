//! `a | b => node`: arrivals one by one, until the node gives an output.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::state::{Append, StateKey};
use graphweft_tests::{Journal, failure, paths, records, records_of, started};
use tokio::sync::Notify;
use tokio::time::sleep;

const KEPT: StateKey<Vec<u32>, Append> = StateKey::new("kept");

#[node]
async fn one(n: u32) -> u32 {
    n + 1
}

#[node]
async fn two(n: u32) -> u32 {
    n + 2
}

#[node]
async fn three(n: u32) -> u32 {
    n + 3
}

#[node]
async fn never(_n: u32) -> u32 {
    std::future::pending().await
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node(collect)]
async fn first(n: u32) -> Option<u32> {
    Some(n)
}

/// The first two, sorted.
#[node(collect)]
async fn two_of(n: u32, ctx: &Context) -> Result<Option<Vec<u32>>, Fault> {
    let mut kept = ctx.collector_state().get(KEPT)?.unwrap_or_default();
    kept.push(n);
    kept.sort_unstable();
    if kept.len() == 2 {
        return Ok(Some(kept));
    }
    ctx.collector_state().push(KEPT, n);
    Ok(None)
}

#[node(collect)]
async fn unsatisfied(_n: u32) -> Option<u32> {
    None
}

#[tokio::test]
async fn the_first_arrival_may_be_enough() {
    let flow = workflow! { START => (never, two); never | two => first };
    assert_eq!(flow.run(1).await.unwrap(), 3);
}

#[tokio::test]
async fn what_follows_takes_what_is_inside_the_option() {
    let flow = workflow! { START => (never, two); never | two => first => text };
    assert_eq!(flow.run(1).await.unwrap(), "3");
}

#[tokio::test]
async fn work_that_could_only_arrive_there_is_stopped() {
    #[node]
    async fn parked(_n: u32, #[resource] journal: &Journal, #[resource] started: &Notify) -> u32 {
        let _told = journal.when_dropped("stopped");
        started.notify_one();
        std::future::pending().await
    }
    #[node]
    async fn after(n: u32, #[resource] started: &Notify) -> u32 {
        started.notified().await;
        n
    }
    workflow! { race(u32) -> u32 { START => (parked, after); parked | after => first; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).resource(Notify::new()).build().unwrap();
    engine.start::<race>(1).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["stopped"]);
}

#[tokio::test]
async fn the_chain_to_a_late_arrival_is_stopped_where_it_is() {
    workflow! { race(u32) -> u32 { START => (never => three, two); three | two => first; } }
    let events = records_of::<race>(1).await;
    let stopped = paths(&events, |kind| matches!(kind, graphweft::EventKind::NodeCancelled));
    assert_eq!(stopped, ["race/never"]);
}

#[tokio::test]
async fn work_that_also_leads_elsewhere_goes_on() {
    #[node]
    async fn slow(n: u32, #[resource] go: &Notify) -> u32 {
        go.notified().await;
        n * 10
    }
    #[node]
    async fn signal(n: u32, #[resource] go: &Notify) -> u32 {
        go.notify_one();
        n
    }
    #[node]
    async fn pair(a: u32, b: u32) -> (u32, u32) {
        (a, b)
    }
    workflow! {
        race(u32) -> (u32, u32) {
            START => (slow, two);
            slow | two => first => signal;
            (signal, slow) => pair => END;
        }
    }
    let engine = Engine::builder().resource(Notify::new()).build().unwrap();
    assert_eq!(engine.start::<race>(1).await.unwrap().result().await.unwrap(), (3, 10));
}

#[tokio::test]
async fn a_collecting_node_keeps_what_it_needs_between_arrivals() {
    let flow = workflow! { START => (one, never, three); one | never | three => two_of };
    assert_eq!(flow.run(0).await.unwrap(), [1, 3]);
}

#[tokio::test]
async fn late_arrivals_are_dropped() {
    workflow! { race(u32) -> u32 { START => (one, two, three); one | two | three => first; } }
    let events = records_of::<race>(0).await;
    let runs = started(&events).iter().filter(|path| path.ends_with("first")).count();
    assert_eq!(runs, 1);
}

#[tokio::test]
async fn what_it_keeps_is_seen_by_nobody_else() {
    #[node]
    async fn look(_n: Vec<u32>, ctx: &Context) -> Result<bool, Fault> {
        Ok(ctx.state().get(KEPT)?.is_none())
    }
    let flow = workflow! { START => (one, two); one | two => two_of => look };
    assert!(flow.run(0).await.unwrap());
}

#[tokio::test]
async fn each_run_collects_anew() {
    let flow = workflow! { START => (one, two); one | two => two_of };
    flow.run(0).await.unwrap();
    assert_eq!(flow.run(10).await.unwrap(), [11, 12]);
}

#[tokio::test]
async fn a_node_that_never_has_enough_fails_the_run_by_its_name() {
    workflow! { endless(u32) -> u32 { START => (one, two); one | two => unsatisfied; } }
    assert_eq!(failure(endless(0).await).path, "endless/unsatisfied");
}

#[tokio::test]
async fn a_node_that_never_has_enough_says_how_many_arrivals_it_had() {
    workflow! { endless(u32) -> u32 { START => (one, two, three); one | two | three => unsatisfied; } }
    assert_eq!(failure(endless(0).await).cause.fault, Some(Fault::NothingCollected { arrivals: 3 }));
}

#[tokio::test]
async fn waiting_for_more_is_recorded() {
    workflow! { pairs(u32) -> Vec<u32> { START => (one, two); one | two => two_of; } }
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<pairs>(0).await.unwrap();
    let waits = paths(&records(&run).await, |kind| matches!(kind, graphweft::EventKind::NodeCollecting { .. }));
    assert_eq!(waits, ["pairs/two_of"]);
}

#[tokio::test]
async fn arrivals_that_a_route_skips_are_not_waited_for() {
    #[node]
    async fn choose(n: u32) -> bool {
        n > 0
    }
    #[node]
    async fn as_number(_n: bool) -> u32 {
        7
    }
    let flow = workflow! {
        START => (choose, one);
        choose => <true: as_number, false: other>;
        as_number | one => unless_last => END;
        let other = as_number();
    };
    #[node(collect)]
    async fn unless_last(n: u32) -> Option<u32> {
        (n == 1).then_some(n)
    }
    assert_eq!(flow.run(0).await.unwrap(), 1);
}

#[tokio::test]
async fn members_of_different_types_convert_with_from() {
    #[value]
    #[derive(Debug, PartialEq)]
    enum Answer {
        Text(String),
        Number(u32),
    }
    impl From<String> for Answer {
        fn from(text: String) -> Self {
            Answer::Text(text)
        }
    }
    impl From<u32> for Answer {
        fn from(number: u32) -> Self {
            Answer::Number(number)
        }
    }
    #[node(collect)]
    async fn first_text(answer: Answer) -> Option<String> {
        match answer {
            Answer::Text(text) => Some(text),
            Answer::Number(_) => None,
        }
    }
    let flow = workflow! { START => (text, one); text | one => first_text };
    assert_eq!(flow.run(5).await.unwrap(), "5");
}

#[tokio::test]
async fn a_collecting_node_that_fails_fails_the_run() {
    #[node(collect)]
    async fn fails(_n: u32) -> Result<Option<u32>, String> {
        Err("no more".to_owned())
    }
    workflow! { broken(u32) -> u32 { START => (one, two); one | two => fails; } }
    assert_eq!(failure(broken(0).await).cause.to_string(), "no more");
}

#[tokio::test]
async fn each_turn_of_a_loop_collects_for_itself() {
    #[node]
    async fn enough(n: u32) -> Result<u32, u32> {
        if n > 10 { Ok(n) } else { Err(n) }
    }
    #[node]
    async fn begin(n: u32) -> u32 {
        n
    }
    #[node(collect)]
    async fn highest(n: u32, ctx: &Context) -> Result<Option<u32>, Fault> {
        let before = ctx.collector_state().get(KEPT)?.unwrap_or_default();
        ctx.collector_state().push(KEPT, n);
        Ok(before.first().map(|before| n.max(*before)))
    }
    let flow = workflow! {
        START => begin => (two, three);
        two | three => highest => enough => <err: begin, ok: END>;
    };
    // 0 -> 3 -> 6 -> 9 -> 12
    assert_eq!(flow.run(0).await.unwrap(), 12);
}

#[tokio::test]
async fn a_member_may_fail_the_run_before_anything_is_collected() {
    #[node]
    async fn fails(_n: u32) -> Result<u32, String> {
        Err("down".to_owned())
    }
    workflow! { broken(u32) -> u32 { START => (never, fails); never | fails => first; } }
    assert_eq!(failure(broken(0).await).path, "broken/fails");
}

#[tokio::test]
async fn collecting_may_stand_inside_each_of() {
    #[node]
    async fn count(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    let flow = workflow! { START => count => [begin => (never, two); never | two => first] };
    #[node]
    async fn begin(n: u32) -> u32 {
        n
    }
    assert_eq!(flow.run(3).await.unwrap(), [2, 3, 4]);
}

#[tokio::test]
async fn a_collecting_node_with_all_members_skipped_is_skipped() {
    #[node]
    async fn choose(n: u32) -> Option<u32> {
        (n > 0).then_some(n)
    }
    #[node]
    async fn nothing() -> u32 {
        0
    }
    let flow = workflow! {
        START => choose => <some: (one, two), none: nothing>;
        one | two => first => END;
        nothing => END;
    };
    assert_eq!(flow.run(0).await.unwrap(), 0);
}

/// It stops slowly, so that the race is decided between its time limit and its end.
#[tokio::test(start_paused = true)]
async fn a_graph_whose_time_is_up_is_not_entered_again_when_its_output_is_no_longer_needed() {
    #[node]
    async fn soon(n: u32) -> u32 {
        sleep(Duration::from_millis(1200)).await;
        n
    }
    #[node]
    async fn stops_slowly(n: u32, ctx: &Context, #[resource] journal: &Journal) -> u32 {
        journal.note("begins");
        ctx.cancelled().await;
        sleep(Duration::from_millis(600)).await;
        n
    }
    workflow! { slow(u32) -> u32 { START => stops_slowly; } }
    workflow! {
        race(u32) -> u32 {
            let slow = slow(timeout = "1s", retry(max_attempts = 3, initial_delay = "1ms"));
            START => (soon, slow);
            soon | slow => first;
        }
    }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).register::<race>().build().unwrap();
    assert_eq!(engine.start::<race>(5).await.unwrap().result().await.unwrap(), 5);
    assert_eq!(journal.lines(), ["begins"]);
}
