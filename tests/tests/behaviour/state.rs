//! The state that the nodes of a run share: what they read, how writes merge, and when they clash.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use graphweft::prelude::*;
use graphweft::state::{Append, Max, MergeMap, Min, Sum, Union};
use graphweft::{ChildError, EventKind, Failure, RunError, Start, StartError};
use graphweft_tests::{failure, records_of};
use tokio::sync::Barrier;

const LIST: StateKey<Vec<u32>, Append> = StateKey::new("list");
const SET: StateKey<Vec<u32>, Union> = StateKey::new("set");
const TOTAL: StateKey<u32, Sum> = StateKey::new("total");
const LEAST: StateKey<u32, Min> = StateKey::new("least");
const GREATEST: StateKey<u32, Max> = StateKey::new("greatest");
const TABLE: StateKey<BTreeMap<String, u32>, MergeMap> = StateKey::new("table");
const OWNER: StateKey<String> = StateKey::new("owner");

/// Writes its item under every key that merges.
#[node]
async fn write(
    n: u32,
    #[writes(LIST)] list: StateWriter<Vec<u32>, Append>,
    #[writes(SET)] set: StateWriter<Vec<u32>, Union>,
    #[writes(TOTAL)] total: StateWriter<u32, Sum>,
    #[writes(LEAST)] least: StateWriter<u32, Min>,
    #[writes(GREATEST)] greatest: StateWriter<u32, Max>,
    #[writes(TABLE)] table: StateWriter<BTreeMap<String, u32>, MergeMap>,
) -> u32 {
    list.push(n);
    set.push(n % 2);
    total.merge(n);
    least.merge(n);
    greatest.merge(n);
    table.merge(BTreeMap::from([(format!("item {n}"), n)]));
    n
}

#[node]
async fn count(n: u32) -> Vec<u32> {
    (1..=n).collect()
}

#[node]
async fn list(#[state] list: Vec<u32>) -> Vec<u32> {
    list
}

#[node]
async fn set(#[state] set: Vec<u32>) -> usize {
    set.len()
}

#[node]
async fn total(#[state] total: u32) -> u32 {
    total
}

#[node]
async fn least(#[state] least: Option<u32>) -> Option<u32> {
    least
}

#[node]
async fn greatest(#[state] greatest: Option<u32>) -> Option<u32> {
    greatest
}

#[node]
async fn table(#[state] table: BTreeMap<String, u32>) -> Vec<String> {
    table.into_keys().collect()
}

#[node]
async fn own(name: String, #[writes(OWNER)] owner: StateWriter<String>) -> String {
    owner.set(name.clone());
    name
}

#[node]
async fn owner(#[state] owner: String) -> String {
    owner
}

#[node]
async fn owner_if_any(#[state] owner: Option<String>) -> Option<String> {
    owner
}

workflow! { owned(String) -> String { START => own => owner; } }
workflow! {
    #[given(OWNER)]
    unowned(String) -> String { START => owner; }
}

async fn ending<T: graphweft::Payload>(start: Start<T>) -> Result<T, RunError> {
    start.await.unwrap().result().await
}

#[tokio::test]
async fn a_node_reads_what_a_node_before_it_wrote() {
    assert_eq!(owned("ada".to_owned()).await.unwrap(), "ada");
}

#[tokio::test]
async fn a_node_reads_its_own_writes() {
    #[node]
    async fn twice(n: u32, ctx: &Context, #[writes(TOTAL)] total: StateWriter<u32, Sum>) -> Result<Option<u32>, Fault> {
        total.merge(n);
        total.merge(n);
        ctx.state().get(TOTAL)
    }
    let flow = workflow! { START => twice };
    assert_eq!(flow.run(4).await.unwrap(), Some(8));
}

#[tokio::test]
async fn a_key_that_nobody_wrote_is_none() {
    let flow = workflow! { START => owner_if_any };
    assert_eq!(flow.run(()).await.unwrap(), None);
}

#[tokio::test]
async fn a_run_may_begin_with_state() {
    let engine = Engine::builder().build().unwrap();
    let start = engine.start::<unowned>("x".to_owned()).state(OWNER, "grace".to_owned());
    assert_eq!(ending(start).await.unwrap(), "grace");
}

#[tokio::test]
async fn lists_grow_by_what_every_branch_appends() {
    let flow = workflow! { START => count => [write] => list };
    let mut list = flow.run(4).await.unwrap();
    list.sort_unstable();
    assert_eq!(list, [1, 2, 3, 4]);
}

#[tokio::test]
async fn sets_hold_each_item_once() {
    let flow = workflow! { START => count => [write] => set };
    assert_eq!(flow.run(5).await.unwrap(), 2);
}

#[tokio::test]
async fn numbers_add_up() {
    let flow = workflow! { START => count => [write] => total };
    assert_eq!(flow.run(4).await.unwrap(), 10);
}

#[tokio::test]
async fn the_least_number_stays() {
    let flow = workflow! { START => count => [write] => least };
    assert_eq!(flow.run(4).await.unwrap(), Some(1));
}

#[tokio::test]
async fn the_greatest_number_stays() {
    let flow = workflow! { START => count => [write] => greatest };
    assert_eq!(flow.run(4).await.unwrap(), Some(4));
}

#[tokio::test]
async fn maps_take_the_entries_of_every_branch() {
    let flow = workflow! { START => count => [write] => table };
    assert_eq!(flow.run(2).await.unwrap(), ["item 1", "item 2"]);
}

#[tokio::test]
async fn one_node_after_another_may_replace_a_key() {
    #[node]
    async fn shout(name: String, #[writes(OWNER)] owner: StateWriter<String>) -> String {
        owner.set(name.to_uppercase());
        name
    }
    let flow = workflow! { START => own => shout => owner };
    assert_eq!(flow.run("ada".to_owned()).await.unwrap(), "ADA");
}

#[tokio::test]
async fn the_writes_of_a_node_are_recorded_with_its_completion() {
    let events = records_of::<owned>("ada".to_owned()).await;
    let written: Vec<(String, usize)> = events
        .into_iter()
        .filter_map(|event| match event.kind {
            EventKind::NodeCompleted { state, .. } => Some((event.path, state.len())),
            _ => None,
        })
        .collect();
    assert_eq!(written, [("owned/own".to_owned(), 1), ("owned/owner".to_owned(), 0)]);
}

#[tokio::test]
async fn runs_do_not_share_their_state() {
    let engine = Engine::builder().build().unwrap();
    ending(engine.start::<owned>("ada".to_owned())).await.unwrap();
    let without = engine.start::<unowned>(String::new()).await.unwrap_err();
    assert!(matches!(without, StartError::MissingState { .. }), "{without}");
}

#[tokio::test]
async fn a_value_of_another_type_fails_the_node_that_reads_it() {
    const NUMBER: StateKey<u32> = StateKey::new("owner");
    let engine = Engine::builder().build().unwrap();
    let failed = failure(ending(engine.start::<unowned>(String::new()).state(NUMBER, 7)).await);
    assert_eq!(failed.path, "unowned/owner");
}

#[tokio::test]
async fn a_node_does_not_see_what_is_written_while_it_runs() {
    #[node]
    async fn looks_late(_name: String, ctx: &Context, #[resource] meet: &Barrier) -> Result<Option<String>, Fault> {
        meet.wait().await;
        ctx.state().get(OWNER)
    }
    #[node]
    async fn after(name: String, #[resource] meet: &Barrier) -> String {
        meet.wait().await;
        name
    }
    #[node]
    async fn seen(seen: Option<String>, _name: String) -> Option<String> {
        seen
    }
    workflow! { late(String) -> Option<String> { START => (looks_late, own => after) => seen; } }
    let engine = Engine::builder().resource(Barrier::new(2)).build().unwrap();
    assert_eq!(ending(engine.start::<late>("ada".to_owned())).await.unwrap(), None);
}

/// Writes, and what it returns `Err` for is a number that is too large.
#[node]
async fn at_most_two(n: u32, #[writes(TOTAL)] total: StateWriter<u32, Sum>) -> Result<u32, String> {
    total.merge(n);
    if n > 2 { Err(format!("{n} is too large")) } else { Ok(n) }
}

#[node]
async fn total_if_any(_why: Failure, #[state] total: Option<u32>) -> Option<u32> {
    total
}

#[node]
async fn total_or_none(_n: u32, #[state] total: Option<u32>) -> Option<u32> {
    total
}

#[node]
async fn add(n: u32, #[writes(TOTAL)] total: StateWriter<u32, Sum>) -> u32 {
    total.merge(n);
    n
}

workflow! { written_twice(u32) -> u32 { START => add => at_most_two; } }

workflow! {
    one_or_the_other(u32) -> Option<u32> {
        START => written_twice => <ok: total_or_none, err: total_if_any>;
    }
}

#[tokio::test]
async fn what_a_nested_workflow_has_written_is_there_behind_it() {
    assert_eq!(one_or_the_other(2).await.unwrap(), Some(4));
}

#[tokio::test]
async fn what_a_nested_workflow_has_written_that_failed_is_not() {
    assert_eq!(one_or_the_other(3).await.unwrap(), None);
}

#[tokio::test]
async fn what_a_child_workflow_has_written_in_a_nested_workflow_that_failed_is_not_there_either() {
    #[node]
    async fn calls(
        n: u32,
        ctx: &Context,
        #[may_write(TOTAL)] _total: StateWriter<u32, Sum>,
    ) -> Result<(Option<u32>, Option<u32>), ChildError<Failure>> {
        let child = ctx.call::<one_or_the_other>(n).await?;
        Ok((child, ctx.state().get(TOTAL).unwrap()))
    }
    let flow = workflow! { START => calls };
    assert_eq!(flow.run(3).await.unwrap(), (None, None));
    assert_eq!(flow.run(2).await.unwrap(), (Some(4), Some(4)));
}

#[tokio::test]
async fn a_nested_workflow_that_is_tried_again_begins_with_the_state_that_it_began_with() {
    #[node]
    async fn at_the_second_time(#[state] list: Vec<u32>, #[resource] tries: &AtomicU32) -> Result<Vec<u32>, String> {
        match tries.fetch_add(1, Ordering::Relaxed) {
            0 => Err("not yet".to_owned()),
            _ => Ok(list),
        }
    }
    workflow! { writes_and_fails(u32) -> Vec<u32> { START => write => at_the_second_time; } }
    workflow! {
        tried_twice(u32) -> Vec<u32> {
            START => write => again;
            let again = writes_and_fails(retry(max_attempts = 2, initial_delay = "1ms"));
        }
    }
    let engine = Engine::builder().resource(AtomicU32::new(0)).build().unwrap();
    assert_eq!(ending(engine.start::<tried_twice>(7)).await.unwrap(), [7, 7]);
}

/// A sum of a type of one's own, which holds less than 64 bits.
mod small_sums {
    use super::*;
    use graphweft::state::Zero;

    #[value]
    #[derive(Debug, Default, PartialEq)]
    struct Percent(u8);
    impl Zero<Sum> for Percent {}

    const DONE: StateKey<Percent, Sum> = StateKey::new("done");
    const STEPS: StateKey<i64, Sum> = StateKey::new("steps");

    #[node]
    async fn does(percent: u8, #[writes(DONE)] done: StateWriter<Percent, Sum>) -> u8 {
        done.merge(Percent(percent));
        percent
    }
    #[node]
    async fn also(percent: u8, #[writes(DONE)] done: StateWriter<Percent, Sum>) -> u8 {
        done.merge(Percent(percent));
        percent
    }
    #[node]
    async fn joined(one: u8, other: u8) -> u8 {
        one.saturating_add(other)
    }
    #[node]
    async fn counts(n: i64, #[writes(STEPS)] steps: StateWriter<i64, Sum>) -> i64 {
        steps.merge(n);
        n
    }
    workflow! { items(Vec<u8>) -> Vec<u8> { START => [does]; } }
    workflow! { wide(Vec<i64>) -> Vec<i64> { START => [counts]; } }
    workflow! { inside(u8) -> u8 { START => does; } }
    workflow! { nests(u8) -> u8 { START => (inside, also) => joined; } }

    async fn total<W: graphweft::Workflow<Output: std::fmt::Debug>>(input: W::Input) -> (Failure, Option<Percent>) {
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<W>(input).await.unwrap();
        let failed = failure(run.result().await);
        (failed, run.state(DONE).await.unwrap())
    }

    #[tokio::test]
    async fn a_node_with_which_a_sum_leaves_its_type_fails_and_the_key_stays_readable() {
        let (failed, left) = total::<items>(vec![200, 55, 1]).await;
        assert!(
            failed.to_string().contains("state key `done` cannot take 1: the sum would be 256, which is no `"),
            "{failed}"
        );
        // What the items have written ends with them.
        assert_eq!((failed.path.as_str(), left), ("items/does[2]", None));

        let (failed, left) = total::<nests>(200).await;
        assert!(failed.to_string().contains("the sum would be 400"), "{failed}");
        assert_eq!(left, Some(Percent(200)));
    }

    #[tokio::test]
    async fn the_same_for_integers() {
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<wide>(vec![i64::MAX, 1]).await.unwrap();
        let failed = failure(run.result().await);
        assert!(failed.to_string().contains("the sum would be 9223372036854775808"), "{failed}");
        assert_eq!(run.state(STEPS).await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_a_collecting_node_keeps_is_refused_in_the_same_way() {
        #[node(collect)]
        async fn keeps(percent: u8, ctx: &Context) -> Option<u8> {
            ctx.collector_state().merge(DONE, Percent(percent));
            None
        }
        #[node]
        async fn one(percent: u8) -> u8 {
            percent
        }
        #[node]
        async fn other(percent: u8) -> u8 {
            percent
        }
        workflow! { collected(u8) -> u8 {
            START => (one, other);
            one | other => keeps;
        } }
        let failed = failure(collected(200).await);
        assert!(failed.to_string().contains("the sum would be 400"), "{failed}");
    }

    #[tokio::test]
    async fn the_state_of_a_scope_refuses_it_too() {
        use graphweft::scope::{ScopeError, User};
        const SPENT: StateKey<Percent, Sum, User> = StateKey::new("spent");

        let engine = Engine::builder().build().unwrap();
        engine.scope(User, "ada").await.unwrap().update().merge(SPENT, Percent(200)).await.unwrap();
        let refused = engine.scope(User, "ada").await.unwrap().update().merge(SPENT, Percent(56)).await;
        assert!(matches!(&refused, Err(ScopeError::Refused { key, .. }) if key == "spent"), "{refused:?}");
        assert_eq!(engine.scope(User, "ada").await.unwrap().get(SPENT).unwrap(), Some(Percent(200)));
    }

    #[tokio::test]
    async fn two_that_add_to_a_scope_at_once_cannot_take_more_together_than_there_is_room_for() {
        use graphweft::scope::{ScopeError, USER, User};
        const SPENT: StateKey<Percent, Sum, User> = StateKey::new("spent");
        const HEAT: StateKey<f64, Sum, User> = StateKey::new("heat");

        let engine = Engine::builder().build().unwrap();
        let read = || async { engine.scope(User, "ada").await.unwrap() };
        let (one, other, third) = (read().await, read().await, read().await);
        one.update().merge(SPENT, Percent(200)).merge(HEAT, 1e308).await.unwrap();
        let refused = other.update().merge(SPENT, Percent(56)).await;
        let Err(ScopeError::Refused { key, message, .. }) = &refused else { panic!("{refused:?}") };
        assert!(key == "spent" && message.contains("the sum would be 256"), "{refused:?}");
        // As much as there is room for it takes, behind what it has not read.
        third.update().merge(SPENT, Percent(55)).await.unwrap();
        assert_eq!(read().await.get(SPENT).unwrap(), Some(Percent(255)));

        // Floats have a greatest sum as well.
        let (one, other) = (read().await, read().await);
        one.update().merge(HEAT, 0.5e308).await.unwrap();
        let refused = other.update().merge(HEAT, 0.5e308).await;
        assert!(matches!(&refused, Err(ScopeError::Refused { key, .. }) if key == "heat"), "{refused:?}");
        assert_eq!(read().await.get(HEAT).unwrap(), Some(1.5e308));

        // What was deleted meanwhile does not count.
        let stale = read().await;
        assert!(engine.delete_scope(User, "ada").await.unwrap());
        read().await.update().merge(SPENT, Percent(5)).await.unwrap();
        stale.update().merge(SPENT, Percent(0)).await.unwrap();
        let stale = read().await;
        assert!(engine.delete_scope(User, "ada").await.unwrap());
        read().await.update().merge(SPENT, Percent(200)).await.unwrap();
        stale.update().merge(SPENT, Percent(55)).await.unwrap();
        assert_eq!(read().await.get(SPENT).unwrap(), Some(Percent(255)));

        // The same in a node.
        #[node]
        async fn spend(percent: u8, ctx: &Context) -> Result<u8, ScopeError> {
            let user = ctx.scope(User).await?;
            let engine = ctx.engine().expect("it has one");
            engine.scope(User, "bob").key(percent).await?.update().merge(SPENT, Percent(200)).await?;
            user.update().merge(SPENT, Percent(percent)).await?;
            Ok(percent)
        }
        workflow! { spends(u8) -> u8 { START => spend; } }
        let spends = |percent| engine.start::<spends>(percent).state(USER, "bob".to_owned());
        let failed = failure(spends(56).await.unwrap().result().await);
        assert!(failed.to_string().contains("the sum would be 256"), "{failed}");
        assert_eq!(engine.scope(User, "bob").await.unwrap().get(SPENT).unwrap(), Some(Percent(200)));
    }

    #[tokio::test]
    async fn what_one_node_or_one_update_adds_is_one_sum() {
        use graphweft::scope::User;
        const BALANCE: StateKey<i8, Sum> = StateKey::new("balance");
        const OF_USER: StateKey<i8, Sum, User> = StateKey::new("balance");

        #[node]
        async fn there_and_back(by: Vec<i8>, #[writes(BALANCE)] balance: StateWriter<i8, Sum>) {
            by.into_iter().for_each(|by| balance.merge(by));
        }
        #[node]
        async fn left(_done: (), #[state(BALANCE)] balance: i8) -> i8 {
            balance
        }
        workflow! { moves(Vec<i8>) -> i8 { START => there_and_back => left; } }
        assert_eq!(moves(vec![100, 100, -90]).await.unwrap(), 110);
        let failed = failure(moves(vec![100, 100, -50]).await);
        assert!(failed.to_string().contains("the sum would be 150"), "{failed}");

        let engine = Engine::builder().build().unwrap();
        let read = || async { engine.scope(User, "ada").await.unwrap() };
        read().await.update().merge(OF_USER, 100).merge(OF_USER, 100).merge(OF_USER, -90).await.unwrap();
        assert!(read().await.update().merge(OF_USER, 100).merge(OF_USER, -50).await.is_err());
        assert_eq!(read().await.get(OF_USER).unwrap(), Some(110));
    }
}
