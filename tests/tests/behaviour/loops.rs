//! Loops: going round, leaving, nesting, and what runs beside them.

use graphweft::prelude::*;
use graphweft::state::{Append, StateKey, Sum};
use graphweft_tests::{failure, records_of, started};

const TURNS: StateKey<u32, Sum> = StateKey::new("turns");
const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");

#[value]
#[derive(Route)]
enum Next {
    Again(u32),
    Done(u32),
}

#[node]
async fn draft(n: u32) -> u32 {
    n + 1
}

#[node]
async fn review(n: u32) -> Next {
    if n < 3 { Next::Again(n) } else { Next::Done(n) }
}

#[node]
async fn review_long(n: u32) -> Next {
    if n < 5_000 { Next::Again(n) } else { Next::Done(n) }
}

#[node]
async fn publish(n: u32) -> String {
    format!("published {n}")
}

#[node]
async fn log(n: u32, #[writes(SEEN)] seen: StateWriter<Vec<u32>, Append>) {
    seen.push(n);
}

#[node]
async fn seen(#[state] seen: Vec<u32>) -> Vec<u32> {
    seen
}

workflow! {
    writing(u32) -> String {
        START => draft => review => <again: draft, done: publish>;
    }
}

#[tokio::test]
async fn a_loop_goes_round_until_it_is_left() {
    assert_eq!(writing(0).await.unwrap(), "published 3");
}

#[tokio::test]
async fn a_loop_may_be_left_in_its_first_turn() {
    assert_eq!(writing(10).await.unwrap(), "published 11");
}

#[tokio::test]
async fn a_loop_may_go_round_thousands_of_times() {
    let flow = workflow! { START => draft => review_long => <again: draft, done: publish> };
    assert_eq!(flow.run(0).await.unwrap(), "published 5000");
}

#[tokio::test]
async fn each_turn_has_paths_of_its_own() {
    let events = records_of::<writing>(1).await;
    assert_eq!(
        started(&events),
        ["writing/draft", "writing/review", "writing/draft#2", "writing/review#2", "writing/publish"]
    );
}

#[tokio::test]
async fn a_node_may_be_its_own_loop() {
    #[node]
    async fn step(n: u32) -> Next {
        if n < 10 { Next::Again(n + 4) } else { Next::Done(n) }
    }
    let flow = workflow! { START => step => <again: step, done: END> };
    assert_eq!(flow.run(0).await.unwrap(), 12);
}

#[tokio::test]
async fn a_node_may_count_its_turns_in_the_runs_state() {
    #[node]
    async fn count(n: u32, #[writes(TURNS)] turns: StateWriter<u32, Sum>) -> u32 {
        turns.merge(1);
        n + 1
    }
    #[node]
    async fn turns(#[state] turns: u32) -> u32 {
        turns
    }
    let flow = workflow! { START => count => review => <again: count, done: turns> };
    assert_eq!(flow.run(0).await.unwrap(), 3);
}

#[tokio::test]
async fn a_side_branch_runs_once_for_each_turn_under_that_turns_path() {
    workflow! {
        logged(u32) -> String {
            START => draft => review => <again: draft, done: publish>;
            draft => log;
            publish => END;
        }
    }
    let events = records_of::<logged>(0).await;
    let mut logs: Vec<String> = started(&events).into_iter().filter(|path| path.starts_with("logged/log")).collect();
    logs.sort();
    assert_eq!(logs, ["logged/log", "logged/log#2", "logged/log#3"]);
}

#[tokio::test]
async fn a_side_branch_in_an_arm_runs_in_the_turns_that_take_it() {
    workflow! {
        logged(u32) -> u32 {
            START => draft => review => <again: (draft, log), done: END>;
        }
    }
    let events = records_of::<logged>(0).await;
    let mut logs: Vec<String> = started(&events).into_iter().filter(|path| path.starts_with("logged/log")).collect();
    logs.sort();
    assert_eq!(logs, ["logged/log", "logged/log#2"]);
}

#[tokio::test]
async fn a_chain_may_lead_back() {
    #[node]
    async fn mend(n: u32) -> u32 {
        n * 10
    }
    let flow = workflow! { START => draft => review => <again: mend => draft, done: publish> };
    assert_eq!(flow.run(0).await.unwrap(), "published 11");
}

#[tokio::test]
async fn a_loop_may_lead_back_from_several_nodes() {
    #[node]
    async fn odd_or_even(n: u32) -> bool {
        n.is_multiple_of(2)
    }
    #[node]
    async fn steps(n: u32) -> Next {
        if n > 20 { Next::Done(n) } else { Next::Again(n) }
    }
    #[node]
    async fn by_two(n: u32) -> u32 {
        n * 2
    }
    #[node]
    async fn parity(n: u32) -> Result<u32, u32> {
        if odd_or_even(n).await { Ok(n) } else { Err(n) }
    }
    #[node]
    async fn by_three(n: u32) -> u32 {
        n * 3
    }
    let flow = workflow! {
        START => draft => steps => <again: parity => <ok: by_two => draft, err: by_three => draft>, done: publish>
    };
    // 1 -> 2; 2 * 2 -> 5; 5 * 3 -> 16; 16 * 2 -> 33
    assert_eq!(flow.run(1).await.unwrap(), "published 33");
}

#[tokio::test]
async fn the_turns_of_an_inner_loop_begin_anew_in_each_turn_of_the_outer_one() {
    #[node]
    async fn outer(n: u32) -> u32 {
        n
    }
    #[node]
    async fn inner(n: u32) -> u32 {
        n + 1
    }
    #[node]
    async fn inner_done(n: u32) -> Next {
        if n % 2 == 1 { Next::Again(n) } else { Next::Done(n) }
    }
    #[node]
    async fn outer_done(n: u32) -> Next {
        if n < 4 { Next::Again(n) } else { Next::Done(n) }
    }
    workflow! {
        nested(u32) -> u32 {
            START => outer => inner => inner_done => <again: inner, done: outer_done => <again: outer, done: END>>;
        }
    }
    let inner_turns: Vec<String> =
        started(&records_of::<nested>(0).await).into_iter().filter(|path| path.contains("/inner_done")).collect();
    assert_eq!(
        inner_turns,
        ["nested/inner_done", "nested/inner_done#1.2", "nested/inner_done#2.1", "nested/inner_done#2.2"]
    );
}

#[tokio::test]
async fn a_join_inside_a_loop_never_mixes_turns() {
    #[node]
    async fn via(n: u32) -> u32 {
        tokio::task::yield_now().await;
        n
    }
    #[node]
    async fn same(a: u32, b: u32, #[writes(SEEN)] seen: StateWriter<Vec<u32>, Append>) -> u32 {
        seen.push(a.abs_diff(b));
        a
    }
    let flow = workflow! {
        START => draft => (direct, via => detour) => same => review => <again: draft, done: seen>;
        let direct = draft_copy();
        let detour = draft_copy();
    };
    #[node]
    async fn draft_copy(n: u32) -> u32 {
        n
    }
    assert_eq!(flow.run(0).await.unwrap(), [0, 0, 0]);
}

#[tokio::test]
async fn what_leaves_a_loop_may_be_joined_with_a_branch_beside_it() {
    #[node]
    async fn leave(n: u32) -> u32 {
        n + 1
    }
    #[node]
    async fn beside(n: u32) -> u32 {
        n + 100
    }
    #[node]
    async fn pair(a: u32, b: u32) -> String {
        format!("{a} {b}")
    }
    let flow = workflow! {
        START => (draft, beside);
        draft => review => <again: draft, done: leave>;
        (leave, beside) => pair;
    };
    assert_eq!(flow.run(0).await.unwrap(), "4 100");
}

#[tokio::test]
async fn two_ways_out_of_a_loop_exclude_each_other() {
    #[value]
    #[derive(Route)]
    enum Verdict {
        Redo(u32),
        Good(u32),
        Bad(u32),
    }
    #[node]
    async fn judge(n: u32) -> Verdict {
        match n {
            0..=2 => Verdict::Redo(n),
            3 => Verdict::Good(n),
            _ => Verdict::Bad(n),
        }
    }
    #[node]
    async fn reject(n: u32) -> String {
        format!("rejected {n}")
    }
    let flow = workflow! { START => draft => judge => <redo: draft, good: publish, bad: reject> => notify };
    #[node]
    async fn notify(text: String) -> String {
        format!("{text}!")
    }
    assert_eq!(flow.run(9).await.unwrap(), "rejected 10!");
}

#[tokio::test]
async fn a_failure_names_the_turn() {
    #[node]
    async fn fragile(n: u32) -> Result<Next, String> {
        if n == 2 { Err("worn out".to_owned()) } else { Ok(Next::Again(n)) }
    }
    workflow! { wearing(u32) -> u32 { START => draft => fragile => <again: draft, done: END>; } }
    assert_eq!(failure(wearing(0).await).path, "wearing/fragile#2");
}

#[tokio::test]
async fn an_error_may_lead_back() {
    #[node]
    async fn attempt(n: u32) -> Result<String, u32> {
        if n < 3 { Err(n + 1) } else { Ok(format!("done with {n}")) }
    }
    let flow = workflow! { START => attempt => <err: attempt, ok: END> };
    assert_eq!(flow.run(0).await.unwrap(), "done with 3");
}

#[tokio::test]
async fn a_loop_may_feed_its_first_node_through_from() {
    #[value]
    enum Task {
        New(u32),
        Again(String),
    }
    impl From<u32> for Task {
        fn from(n: u32) -> Self {
            Task::New(n)
        }
    }
    impl From<String> for Task {
        fn from(text: String) -> Self {
            Task::Again(text)
        }
    }
    #[node]
    async fn write(task: Task) -> String {
        match task {
            Task::New(n) => n.to_string(),
            Task::Again(text) => format!("{text}+"),
        }
    }
    #[node]
    async fn long_enough(text: String) -> Result<String, String> {
        if text.len() < 4 { Err(text) } else { Ok(text) }
    }
    let flow = workflow! { (u32) -> String { START => write => long_enough => <err: write, ok: END>; } };
    assert_eq!(flow.run(7).await.unwrap(), "7+++");
}

#[tokio::test]
async fn a_loop_may_stand_in_an_arm() {
    let flow = workflow! {
        START => small => <true: zero => draft => review => <again: draft, done: publish>, false: as_it_is>
    };
    #[node]
    async fn small(n: u32) -> bool {
        n < 10
    }
    #[node]
    async fn zero() -> u32 {
        0
    }
    #[node]
    async fn as_it_is() -> String {
        "untouched".to_owned()
    }
    assert_eq!(flow.run(99).await.unwrap(), "untouched");
}
