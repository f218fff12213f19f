//! Branches that run at once, and what a join is given of them.

use graphweft::prelude::*;
use graphweft_tests::{Journal, failure, records_of, started};
use tokio::sync::Barrier;

#[node]
async fn number(n: u32) -> u32 {
    n
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
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn is_even(n: u32) -> bool {
    n.is_multiple_of(2)
}

#[node]
async fn half(n: u32) -> Result<u32, String> {
    if n.is_multiple_of(2) { Ok(n / 2) } else { Err(format!("{n} is odd")) }
}

#[node]
async fn of_word(word: String) -> u32 {
    word.len() as u32
}

#[node]
async fn yes(_even: bool) -> u32 {
    1
}

#[node]
async fn no(_even: bool) -> u32 {
    0
}

#[node]
async fn pair(a: u32, b: u32) -> String {
    format!("{a} {b}")
}

#[node]
async fn labelled(n: u32, text: String) -> String {
    format!("{n} {text}")
}

#[node]
async fn one(n: u32) -> String {
    format!("one {n}")
}

#[node]
async fn second_optional(a: u32, b: Option<u32>) -> String {
    format!("{a} {b:?}")
}

#[node]
async fn both_optional(a: Option<u32>, b: Option<u32>) -> String {
    format!("{a:?} {b:?}")
}

#[tokio::test]
async fn all_of_gives_the_values_in_the_order_in_which_they_are_written() {
    let flow = workflow! { START => number => (double, text) => labelled };
    assert_eq!(flow.run(3).await.unwrap(), "6 3");
}

#[tokio::test(start_paused = true)]
async fn the_order_of_finishing_does_not_matter() {
    #[node]
    async fn late(n: u32) -> u32 {
        tokio::time::sleep(std::time::Duration::from_secs(9)).await;
        n + 1
    }
    let flow = workflow! { START => (late, double) => pair };
    assert_eq!(flow.run(3).await.unwrap(), "4 6");
}

#[tokio::test]
async fn branches_run_at_once() {
    #[node]
    async fn left(n: u32, #[resource] meet: &Barrier) -> u32 {
        meet.wait().await;
        n
    }
    #[node]
    async fn right(n: u32, #[resource] meet: &Barrier) -> u32 {
        meet.wait().await;
        n
    }
    workflow! { meeting(u32) -> String { START => (left, right) => pair; } }
    let engine = Engine::builder().resource(Barrier::new(2)).build().unwrap();
    let run = engine.start::<meeting>(1).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "1 1");
}

#[tokio::test]
async fn a_join_runs_once() {
    workflow! { joined(u32) -> String { START => (number, double) => pair; } }
    let joins = started(&records_of::<joined>(1).await).iter().filter(|path| path.ends_with("pair")).count();
    assert_eq!(joins, 1);
}

#[tokio::test]
async fn three_branches_are_joined() {
    #[node]
    async fn sum(a: u32, b: u32, c: u32) -> u32 {
        a + b + c
    }
    let flow = workflow! { START => (number, double, triple) => sum };
    assert_eq!(flow.run(2).await.unwrap(), 12);
}

#[tokio::test]
async fn a_join_of_exclusive_routes_is_given_the_one_that_ran() {
    let flow = workflow! { START => half => <ok: double, err: of_word>; (double, of_word) => one };
    assert_eq!(flow.run(8).await.unwrap(), "one 8");
}

#[tokio::test]
async fn a_join_of_exclusive_routes_is_given_the_other_one_too() {
    let flow = workflow! { START => half => <ok: double, err: of_word>; (double, of_word) => one };
    assert_eq!(flow.run(7).await.unwrap(), "one 8");
}

#[tokio::test]
async fn a_join_that_a_third_route_passes_by_is_given_the_one_that_ran() {
    #[node]
    async fn size(n: u32) -> u32 {
        n
    }
    let flow = workflow! {
        START => size => <0..=9: double, 10..=99: triple, _: text>;
        (double, triple) => one => END;
        text => END;
    };
    assert_eq!(flow.run(10).await.unwrap(), "one 30");
}

#[tokio::test]
async fn a_route_past_the_join_ends_without_it() {
    let flow = workflow! {
        START => number => <0..=9: double, 10..=99: triple, _: text>;
        (double, triple) => one => END;
        text => END;
    };
    assert_eq!(flow.run(100).await.unwrap(), "100");
}

#[tokio::test]
async fn a_join_that_only_ever_gets_both_is_given_both() {
    let flow = workflow! {
        START => number => <0: text, _: (double, triple)>;
        (double, triple) => pair => END;
        text => END;
    };
    assert_eq!(flow.run(2).await.unwrap(), "4 6");
}

workflow! {
    optional(u32) -> String {
        START => (number, is_even);
        is_even => <true: yes, false: no>;
        (number, yes) => second_optional => END;
    }
}

#[tokio::test]
async fn a_join_takes_some_for_the_branch_that_a_route_took() {
    assert_eq!(optional(4).await.unwrap(), "4 Some(1)");
}

#[tokio::test]
async fn a_join_takes_none_for_the_branch_that_a_route_skipped() {
    assert_eq!(optional(5).await.unwrap(), "5 None");
}

#[tokio::test]
async fn skipping_goes_on_to_what_follows_the_skipped_node() {
    let flow = workflow! {
        START => (number, is_even);
        is_even => <true: yes => double, false: no>;
        (number, double) => second_optional => END;
    };
    assert_eq!(flow.run(5).await.unwrap(), "5 None");
}

#[tokio::test]
async fn every_branch_that_a_route_may_skip_is_optional() {
    let flow = workflow! {
        START => number => <0: (double, triple), 1: double, _: triple>;
        (double, triple) => both_optional;
    };
    let mut given = Vec::new();
    for n in 0..3 {
        given.push(flow.run(n).await.unwrap());
    }
    assert_eq!(given, ["Some(0) Some(0)", "Some(2) None", "None Some(6)"]);
}

#[tokio::test]
async fn a_place_may_be_fed_by_routes() {
    let flow = workflow! { START => number => (is_even => <true: yes, false: no>, double) => pair };
    assert_eq!(flow.run(5).await.unwrap(), "0 10");
}

#[tokio::test]
async fn a_place_may_be_a_chain() {
    let flow = workflow! { START => number => (double => triple, text) => labelled };
    assert_eq!(flow.run(2).await.unwrap(), "12 2");
}

#[tokio::test]
async fn a_place_may_end_in_a_join_of_its_own() {
    let flow = workflow! { START => number => ((double, triple) => pair => of_word, text) => labelled };
    assert_eq!(flow.run(5).await.unwrap(), "5 5");
}

#[tokio::test]
async fn an_arm_may_be_a_group_that_is_joined_beside_another_arm() {
    #[node]
    async fn twice(word: String) -> (u32, u32) {
        (word.len() as u32, 0)
    }
    let flow = workflow! { START => half => <ok: (number, double), err: twice> => pair };
    assert_eq!(flow.run(6).await.unwrap(), "3 6");
}

#[tokio::test]
async fn beside_a_group_the_other_arm_leads_into_the_same_node() {
    #[node]
    async fn twice(word: String) -> (u32, u32) {
        (word.len() as u32, 0)
    }
    let flow = workflow! { START => half => <ok: (number, double), err: twice> => pair };
    assert_eq!(flow.run(7).await.unwrap(), "8 0");
}

#[tokio::test]
async fn start_may_be_a_place() {
    let flow = workflow! { START => double; (START, double) => pair };
    assert_eq!(flow.run(3).await.unwrap(), "3 6");
}

#[tokio::test]
async fn a_group_may_lead_to_several_targets() {
    #[node]
    async fn reversed(a: u32, b: u32) -> String {
        format!("{b} {a}")
    }
    #[node]
    async fn lines(a: String, b: String) -> String {
        format!("{a}, {b}")
    }
    let flow = workflow! { START => (number, double) => (pair, reversed) => lines };
    assert_eq!(flow.run(1).await.unwrap(), "1 2, 2 1");
}

#[tokio::test]
async fn end_may_be_a_join() {
    workflow! { both(u32) -> (u32, String) { START => (double, text); (double, text) => END; } }
    assert_eq!(both(2).await.unwrap(), (4, "2".to_owned()));
}

#[tokio::test]
async fn end_as_a_join_has_options_for_what_a_route_may_skip() {
    workflow! {
        maybe(u32) -> (u32, Option<u32>) {
            START => (double, is_even);
            is_even => <true: yes, false: no>;
            (double, yes) => END;
        }
    }
    assert_eq!(maybe(3).await.unwrap(), (6, None));
}

#[tokio::test]
async fn branches_that_give_nothing_are_waited_for() {
    #[node]
    async fn note_left(#[resource] journal: &Journal) {
        journal.note("left");
    }
    #[node]
    async fn note_right(#[resource] journal: &Journal) {
        journal.note("right");
    }
    #[node]
    async fn seen(_left: (), _right: (), #[resource] journal: &Journal) -> usize {
        journal.lines().len()
    }
    workflow! { notes(u32) -> usize { START => (note_left, note_right) => seen; } }
    let engine = Engine::builder().resource(Journal::default()).build().unwrap();
    assert_eq!(engine.start::<notes>(0).await.unwrap().result().await.unwrap(), 2);
}

#[tokio::test]
async fn a_branch_whose_error_is_routed_is_joined_by_its_arm() {
    let flow = workflow! { START => (half => <ok: double, err: of_word>, text) => labelled };
    assert_eq!(flow.run(3).await.unwrap(), "8 3");
}

#[tokio::test]
async fn a_side_branch_is_waited_for_and_its_output_is_dropped() {
    #[node]
    async fn log(n: u32, #[resource] journal: &Journal) -> u32 {
        tokio::task::yield_now().await;
        journal.note("logged");
        n
    }
    workflow! { with_log(u32) -> u32 { START => (double, log); double => END; } }
    let journal = Journal::default();
    let engine = Engine::builder().resource(journal.clone()).build().unwrap();
    engine.start::<with_log>(4).await.unwrap().result().await.unwrap();
    assert_eq!(journal.lines(), ["logged"]);
}

#[tokio::test]
async fn a_side_branch_that_fails_fails_the_run() {
    workflow! { with_check(u32) -> u32 { START => (double, half); double => END; } }
    assert_eq!(failure(with_check(3).await).path, "with_check/half");
}

#[tokio::test]
async fn a_diamond_in_a_diamond_joins_inside_out() {
    let flow = workflow! {
        START => number => (double, triple);
        double => (is_even => <true: yes, false: no>, number_again) => inner;
        (inner, triple) => outer;
        let number_again = number();
        let inner = pair();
        let outer = reversed();
    };
    #[node]
    async fn reversed(text: String, n: u32) -> String {
        format!("{n} | {text}")
    }
    assert_eq!(flow.run(2).await.unwrap(), "6 | 1 4");
}

#[tokio::test]
async fn a_node_may_lead_into_two_joins() {
    #[node]
    async fn words(a: String, b: String) -> String {
        format!("{a} / {b}")
    }
    let flow = workflow! {
        START => (number, double, text);
        (number, double) => pair;
        (number, text) => labelled;
        (pair, labelled) => words => END;
    };
    assert_eq!(flow.run(2).await.unwrap(), "2 4 / 2 2");
}
