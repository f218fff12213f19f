//! Loops that say how often they go round: `redo (at most 5): draft`, and `spent` for what follows after that.

use graphweft::prelude::*;
use graphweft::{EventKind, Failure, Fault, Workflow};
use graphweft_tests::{Death, Journal, Remains, failure, records_of, seconds_since, started};

#[value]
#[derive(Route)]
enum Verdict {
    Redo(u32),
    Deeper(u32),
    Good(u32),
}

#[node]
async fn draft(n: u32) -> u32 {
    n + 1
}

/// Good from 10 on.
#[node]
async fn review(n: u32) -> Verdict {
    match n {
        10.. => Verdict::Good(n),
        _ => Verdict::Redo(n),
    }
}

#[node]
async fn publish(n: u32) -> String {
    format!("published {n}")
}

#[node]
async fn give_up(n: u32) -> String {
    format!("gave up at {n}")
}

mod counted {
    use super::*;

    workflow! {
        pub(super) writing(u32) -> String {
            START => draft => review => <redo (at most 3): draft, good: publish, deeper: publish, spent: give_up>;
        }
    }
}
use counted::writing;

#[tokio::test]
async fn a_bounded_arm_is_taken_so_often_and_then_spent_takes_what_it_carries() {
    // Three times again after the first.
    assert_eq!(writing(0).await.unwrap(), "gave up at 4");
    assert_eq!(started(&records_of::<writing>(0).await).iter().filter(|path| path.contains("draft")).count(), 4);
}

#[tokio::test]
async fn a_loop_is_left_before_its_bound_and_in_the_turn_in_which_it_would_be_spent() {
    assert_eq!(writing(9).await.unwrap(), "published 10");
    assert_eq!(writing(7).await.unwrap(), "published 10");
    assert_eq!(writing(6).await.unwrap(), "published 10");
    assert_eq!(writing(5).await.unwrap(), "gave up at 9");
}

#[tokio::test]
async fn the_label_on_record_is_the_one_that_was_taken() {
    let records = records_of::<writing>(0).await;
    let labels = records.iter().filter_map(|event| match &event.kind {
        EventKind::NodeCompleted { label: Some(label), .. } => Some(label.as_str()),
        _ => None,
    });
    assert_eq!(labels.collect::<Vec<_>>(), ["redo", "redo", "redo", "spent"]);
}

#[test]
fn the_graph_says_how_often() {
    let graph = writing::graph();
    let review = graph.nodes.iter().find(|node| node.name == "review").unwrap();
    assert_eq!(review.labels, ["redo", "good", "deeper", "spent"]);
    assert_eq!(review.at_most.iter().collect::<Vec<_>>(), [(&0, &3)]);
    assert!(graph.to_mermaid().contains("redo (at most 3)"), "{}", graph.to_mermaid());
    assert!(graph.to_dot().contains("redo (at most 3)"), "{}", graph.to_dot());
}

#[node]
async fn check(n: u32) -> Result<u32, String> {
    if n < 100 { Err(format!("{n} is too small")) } else { Ok(n) }
}

#[node]
async fn shorten(problem: String) -> u32 {
    problem.split(' ').next().and_then(|number| number.parse::<u32>().ok()).unwrap_or_default() + 10
}

workflow! {
    /// The way back leads through another node, and it is an error that goes it.
    by_another(u32) -> String {
        START => check;
        check => <err (at most 2): shorten => check, ok: publish>;
        check => <spent: say>;
    }
}

#[node]
async fn say(problem: String) -> String {
    format!("in the end: {problem}")
}

#[tokio::test]
async fn the_way_back_may_lead_through_further_nodes_and_spent_stand_in_another_map() {
    assert_eq!(by_another(0).await.unwrap(), "in the end: 20 is too small");
    assert_eq!(by_another(80).await.unwrap(), "published 100");
}

#[node]
async fn count(n: u32) -> u32 {
    n + 1
}

#[node]
async fn tens(n: u32) -> u32 {
    n * 10
}

workflow! {
    /// Literals, several labels in an arm, and a default, each with a bound of its own.
    by_number(u32) -> u32 {
        START => count => <0..=4 | 7 (at most 2): count, 1000..: END, _ (at most 4): tens => count, spent: END>;
    }
}

#[tokio::test]
async fn literals_and_defaults_are_bounded_too_each_arm_by_its_own_number() {
    assert_eq!(by_number(0).await.unwrap(), 3, "1, 2, 3: spent in the third turn");
    assert_eq!(by_number(4).await.unwrap(), 5111, "5, 51, 511, 5111");
    assert_eq!(by_number(7).await.unwrap(), 8111);
}

workflow! {
    /// The only way out is that it is spent.
    for_ever(u32) -> u32 { START => count => <_ (at most 99): count, spent: END>; }
}

#[tokio::test]
async fn a_loop_whose_only_way_out_is_spent_has_a_way_out() {
    assert_eq!(for_ever(0).await.unwrap(), 100);
    let engine = Engine::builder().register::<for_ever>().build().unwrap();
    assert_eq!(engine.start::<for_ever>(1).await.unwrap().result().await.unwrap(), 101);
}

#[value]
#[derive(Route)]
enum Depth {
    Inner(Vec<u32>),
    Outer(Vec<u32>),
}

#[node]
async fn outer(mut turns: Vec<u32>) -> Vec<u32> {
    turns.push(0);
    turns
}

#[node]
async fn inner(mut turns: Vec<u32>) -> Vec<u32> {
    *turns.last_mut().unwrap() += 1;
    turns
}

#[node]
async fn in_and_in(turns: Vec<u32>) -> Depth {
    Depth::Inner(turns)
}

#[node]
async fn leave(turns: Vec<u32>) -> Depth {
    Depth::Outer(turns)
}

workflow! {
    /// The outer arm stands at a node behind the inner loop.
    nested_loops(Vec<u32>) -> Vec<u32> {
        START => outer => inner => in_and_in => <inner (at most 2): inner, outer: leave, spent: leave>;
        leave => <outer (at most 1): outer, inner: END, spent: END>;
    }
}

#[tokio::test]
async fn an_inner_loop_counts_anew_in_each_turn_of_the_outer() {
    assert_eq!(nested_loops(vec![]).await.unwrap(), [3, 3]);
}

#[node]
async fn twice_in_and_out(turns: Vec<u32>) -> Depth {
    if turns.last().is_some_and(|inner| *inner < 2) { Depth::Inner(turns) } else { Depth::Outer(turns) }
}

workflow! {
    /// One node decides on both loops.
    from_within(Vec<u32>) -> Vec<u32> {
        START => outer => inner => twice_in_and_out => <inner: inner, outer (at most 2): outer, spent: END>;
    }
}

#[tokio::test]
async fn an_arm_that_begins_the_outer_loop_again_counts_that_ones_turns() {
    assert_eq!(from_within(vec![]).await.unwrap(), [2, 2, 2]);
}

#[node]
async fn fails_below(n: u32) -> Result<u32, String> {
    if n < 3 { Err("too small".to_owned()) } else { Ok(n) }
}

workflow! { inside(u32) -> u32 { START => count => fails_below; } }

#[node]
async fn path_of(failure: Failure) -> u32 {
    failure.path.matches('#').count() as u32
}

workflow! {
    /// What fails is a graph.
    of_graphs(u32) -> u32 { START => inside => <err (at most 2): path_of => inside, ok: END, spent: path_of_last => END>; }
}

#[node]
async fn path_of_last(failure: Failure) -> u32 {
    assert_eq!(failure.path, "of_graphs/inside#3/fails_below");
    77
}

workflow! {
    of_items(u32) -> u32 { START => list => [fails_below] => <err (at most 2): path_of => list, ok: sum => END, spent: last_item => END>; }
}

#[node]
async fn list(n: u32) -> Vec<u32> {
    vec![n]
}

#[node]
async fn sum(all: Vec<u32>) -> u32 {
    all.iter().sum()
}

#[node]
async fn last_item(failure: Failure) -> u32 {
    assert_eq!(failure.path, "of_items/fails_below#3[0]");
    78
}

#[tokio::test]
async fn a_nested_workflow_and_brackets_may_be_tried_so_often() {
    assert_eq!(of_graphs(0).await.unwrap(), 77);
    assert_eq!(of_graphs(5).await.unwrap(), 6);
    assert_eq!(of_items(5).await.unwrap(), 5);
    assert_eq!(of_items(0).await.unwrap(), 78);
}

#[value]
struct Slow(bool);

impl From<Fault> for Slow {
    fn from(fault: Fault) -> Self {
        Slow(matches!(fault, Fault::Timeout { .. }))
    }
}

#[node(timeout = "1s")]
async fn hangs(_n: u32) -> Result<u32, Slow> {
    std::future::pending().await
}

#[node]
async fn again(slow: Slow) -> u32 {
    slow.0.into()
}

workflow! {
    hanging(u32) -> u32 { START => hangs => <err (at most 2): again => hangs, ok: END, spent: again_last => END>; }
}

#[node]
async fn again_last(slow: Slow) -> u32 {
    10 + u32::from(slow.0)
}

#[tokio::test(start_paused = true)]
async fn faults_that_are_routed_count_as_well() {
    let before = tokio::time::Instant::now();
    assert_eq!(hanging(0).await.unwrap(), 11);
    assert_eq!(seconds_since(before), 3);
}

#[value]
#[derive(Route)]
enum Money {
    Spent(u32),
    Saved(u32),
}

#[node]
async fn pay(n: u32) -> Money {
    if n > 5 { Money::Spent(n) } else { Money::Saved(n) }
}

workflow! { paying(u32) -> u32 { START => pay => <spent: tens, saved: END>; tens => END; } }

#[tokio::test]
async fn without_a_bound_spent_is_a_label_like_any_other() {
    assert_eq!(paying(6).await.unwrap(), 60);
    assert_eq!(paying(5).await.unwrap(), 5);
}

#[value]
struct Draft {
    turn: u32,
    decided_by: u32,
}

/// Two versions of one program: they differ in how often the loop may go round.
macro_rules! version {
    ($name:ident, $most:literal) => {
        mod $name {
            use super::*;

            #[value]
            #[derive(Route)]
            pub(super) enum Decision {
                Redo(Draft),
                #[allow(dead_code, reason = "nothing is ever good")]
                Good(Draft),
            }

            #[node]
            pub(super) async fn writes(draft: Draft, #[resource] journal: &Journal) -> Draft {
                journal.note(format!("draft {}", draft.turn + 1));
                Draft { turn: draft.turn + 1, ..draft }
            }

            #[node]
            pub(super) async fn judges(draft: Draft) -> Decision {
                Decision::Redo(draft)
            }

            #[node]
            pub(super) async fn waits(draft: Draft, #[resource] death: &Death) -> Draft {
                death.come(["", "first", "second", "third"].get(draft.turn as usize).unwrap_or(&"later")).await;
                draft
            }

            #[node]
            pub(super) async fn gives_up(draft: Draft, #[resource] death: &Death) -> Result<u32, String> {
                death.come("spent").await;
                if draft.decided_by == 0 { Err("nobody decided".to_owned()) } else { Ok(draft.turn + draft.decided_by) }
            }

            workflow! {
                pub(super) trying(Draft) -> u32 {
                    START => writes => judges => <redo (at most $most): waits => writes, good: gives_up, spent: gives_up>;
                }
            }
        }
    };
}

version!(three, 3);
version!(one, 1);

const BEGIN: Draft = Draft { turn: 0, decided_by: 100 };

fn dies_and_goes_on<Dies: Workflow<Input = Draft>, GoesOn: Workflow>(place: &'static str) -> (u64, Vec<String>) {
    let remains = Remains::default();
    remains.dies_at::<Dies>(BEGIN, place);
    let (result, _) = remains.goes_on::<GoesOn>();
    (result.unwrap().as_u64().unwrap(), remains.journal.lines())
}

#[test]
fn a_run_that_goes_on_in_another_process_has_as_many_turns_left_as_before() {
    for place in ["first", "second", "third", "spent"] {
        let (result, drafts) = dies_and_goes_on::<three::trying, three::trying>(place);
        assert_eq!((result, drafts.len()), (104, 4), "died at {place}");
    }
}

#[test]
fn what_was_decided_under_another_bound_stands() {
    // Under the lower bound, the decision of the second turn would have been `spent`.
    let (result, drafts) = dies_and_goes_on::<three::trying, one::trying>("second");
    assert_eq!((result, drafts.len()), (103, 3), "the turn that was granted is made, and no further one");
    // Under the higher bound, there would have been two more turns.
    let (result, drafts) = dies_and_goes_on::<one::trying, three::trying>("spent");
    assert_eq!((result, drafts.len()), (102, 2));
    let (result, drafts) = dies_and_goes_on::<one::trying, three::trying>("first");
    assert_eq!((result, drafts.len()), (104, 4), "what was not decided yet goes by the new bound");
}

#[tokio::test]
async fn a_retry_from_within_the_loop_has_as_many_turns_left_as_there_were() {
    let journal = Journal::default();
    let engine = Engine::builder()
        .store(graphweft::store::MemoryStore::default())
        .resource(journal.clone())
        .resource(Death::default())
        .register::<three::trying>()
        .build()
        .unwrap();
    let run = engine.start::<three::trying>(Draft { decided_by: 0, ..BEGIN }).id("run").await.unwrap();
    failure(run.result().await);
    assert_eq!(journal.lines(), ["draft 1", "draft 2", "draft 3", "draft 4"]);
    let run = engine.retry("run").from_node("trying/judges#2").await.unwrap();
    failure(run.result().await);
    assert_eq!(journal.lines()[4..], ["draft 3", "draft 4"]);
}
