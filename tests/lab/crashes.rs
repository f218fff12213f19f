//! Workflows that survive a crash at every commit.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::testing::{Lab, fails, sequence};
use graphweft::{AskHuman, Signal};

use crate::shop::{charge, checkout, notify, refuse, validate};
use crate::{has_line, message_of};

#[tokio::test(start_paused = true)]
async fn retries_and_routes_survive() {
    let lab = Lab::of::<checkout>()
        .mock::<charge>(fails(2).then("a receipt".to_owned()))
        .repeatable::<(validate, refuse, notify)>();
    // validate, two failures, a receipt, a message, and the end: a crash at each.
    let crashes = lab.crash_at_every_commit(4000).await;
    assert!(crashes.count >= 5, "{crashes:?}");
    assert!(crashes.interrupted.is_empty(), "{crashes:?}");
    lab.crash_at_every_commit(0).await;
    Lab::of::<checkout>()
        .mock::<charge>(fails(3).then(String::new()))
        .repeatable::<(validate, refuse, notify)>()
        .crash_at_every_commit(4000)
        .await;
}

#[tokio::test]
async fn a_node_that_may_not_be_repeated_is_refused() {
    let lab = Lab::of::<checkout>().repeatable::<(validate, notify)>();
    let text = message_of(lab.crash_at_every_commit(4000)).await;
    has_line(&text, &["tests/lab/crashes.rs:", "a crash would repeat nodes that are not mocked: `charge`, `refuse`"]);
    has_line(&text, &["help:", ".mock::<charge>(..)", ".repeatable::<charge>()"]);
}

#[tokio::test]
async fn a_node_of_a_let_is_named_by_its_type_where_one_is_written() {
    workflow! {
        asking(u32) -> u32 {
            let how_many: AskHuman<u32, u32> = AskHuman::new("how many", "How many?");
            START => how_many;
        }
    }
    let text = message_of(Lab::of::<asking>().crash_at_every_commit(1)).await;
    has_line(&text, &["nodes that are not mocked: `how_many`"]);
    has_line(&text, &["help:", ".repeatable::<AskHuman<u32, u32>>()"]);
}

#[tokio::test]
async fn a_child_that_may_not_be_repeated_is_refused() {
    #[node]
    async fn search(query: String) -> usize {
        query.len()
    }
    #[node]
    async fn plan(query: String, ctx: &Context) -> usize {
        let _noted = ctx.step("note", async || Ok::<_, Never>(1)).await;
        ctx.call::<search>(query).await.unwrap_or_default()
    }
    #[node(uses(search))]
    async fn declared(query: String, ctx: &Context) -> usize {
        ctx.call::<search>(query).await.unwrap_or_default()
    }
    workflow! { research(String) -> usize { START => plan; } }
    workflow! { stated(String) -> usize { START => declared; } }
    let lab = Lab::of::<research>().repeatable::<plan>();
    has_line(&message_of(lab.crash_at_every_commit("ants".into())).await, &["not mocked: `search`"]);
    lab.repeatable::<search>().crash_at_every_commit("ants".into()).await;
    let lab = Lab::of::<stated>().repeatable::<declared>();
    has_line(&message_of(lab.crash_at_every_commit("ants".into())).await, &["not mocked: `search`"]);
    lab.mock::<search>(4).crash_at_every_commit("ants".into()).await;
}

#[tokio::test(start_paused = true)]
async fn steps_of_retried_nodes_in_loops_and_items_are_none_in_addition() {
    #[node(retry(max_attempts = 3))]
    async fn measure(n: u32, ctx: &Context) -> Result<u32, String> {
        let measured = ctx.step("probe", async || Ok::<_, String>(n)).key(ctx.attempt()).await?;
        ctx.sleep(Duration::from_secs(60)).await;
        ctx.step("once", async || Ok::<_, String>(())).await?;
        if ctx.attempt() < 3 { Err("not yet".to_owned()) } else { Ok(measured + 1) }
    }
    #[node]
    async fn is_enough(n: u32, ctx: &Context) -> Result<u32, u32> {
        let is_enough = ctx.step("compare", async || Ok::<_, String>(n > 3)).key(n).await;
        if is_enough.unwrap_or_default() { Ok(n) } else { Err(n) }
    }
    #[node]
    async fn sum(all: Vec<u32>) -> u32 {
        all.iter().sum()
    }
    #[node]
    async fn up_to(n: u32) -> Vec<u32> {
        (1..=n).collect()
    }
    workflow! { measured(u32) -> u32 { START => measure => is_enough => <ok: END, err: measure>; } }
    workflow! { summed(u32) -> u32 { START => up_to => [measured] => sum; } }
    Lab::of::<summed>().repeatable::<(measure, is_enough, sum, up_to)>().crash_at_every_commit(2).await;
}

#[tokio::test(start_paused = true)]
async fn answers_timers_steps_and_children_survive() {
    #[node]
    async fn fetch(url: String) -> String {
        format!("{url} for real")
    }
    #[node]
    async fn gather(topic: String, ctx: &Context) -> Vec<String> {
        ctx.sleep(Duration::from_secs(86_400)).await;
        let size = ctx.step("size", async || Ok::<_, Never>(2_u32)).await.unwrap_or_default();
        let more = ctx.ask::<bool>("more", "One more?").await;
        let mut found = Vec::new();
        for at in 0..size + u32::from(more) {
            found.push(ctx.call::<fetch>(format!("{topic}{at}")).key(at).await.unwrap_or_default());
        }
        found
    }
    workflow! { gathered(String) -> Vec<String> { START => gather; } }
    let lab = Lab::of::<gathered>()
        .register_node::<fetch>()
        .mock_fn::<fetch>(|url| Ok(url.to_uppercase()))
        .repeatable::<gather>()
        .answer("more", true);
    let run = lab.run("a".into()).await;
    assert_eq!(run.output(), &["A0", "A1", "A2"]);
    assert_eq!(run.called::<fetch>().count(), 3);
    let crashes = lab.crash_at_every_commit("a".into()).await;
    assert!(crashes.count >= 8, "{crashes:?}");
}

#[node]
async fn draft(text: String) -> String {
    format!("{text}.")
}

#[node]
async fn is_long(text: String) -> Result<String, String> {
    if text.len() < 4 { Err(text) } else { Ok(text) }
}

#[node]
async fn pack(text: String) -> String {
    format!("[{text}]")
}

#[node]
async fn words(text: String) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[node]
async fn join(texts: Vec<String>) -> String {
    texts.join(" ")
}

workflow! { lengthen(String) -> String { START => draft => is_long => <ok: END, err: draft>; } }
workflow! { digest(String) -> String { START => words => [lengthen => pack] => join; } }

#[tokio::test]
async fn loops_items_and_nested_workflows_survive() {
    let lab = Lab::of::<digest>()
        .repeatable::<(words, join, draft, is_long)>()
        .mock_fn::<pack>(|text| Ok(format!("[{text}]")));
    lab.crash_at_every_commit("a quick ant".into()).await;
    Lab::of::<digest>()
        .repeatable::<(words, join, pack)>()
        .mock_fn::<lengthen>(Ok)
        .crash_at_every_commit("a b".into())
        .await;
    let verdicts = sequence::<String, _>(["x".into(), "long".into(), "y".into(), "longer".into()]);
    Lab::of::<digest>()
        .mock::<draft>(verdicts)
        .repeatable::<(words, is_long, pack, join)>()
        .crash_at_every_commit("a".into())
        .await;
}

#[tokio::test]
async fn a_run_that_waits_for_an_answer_survives() {
    #[node]
    async fn ask(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("much", "How much?").await
    }
    workflow! { asked(u32) -> u32 { START => ask; } }
    Lab::of::<asked>().repeatable::<ask>().crash_at_every_commit(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn parallel_branches_survive_on_several_threads() {
    #[node]
    async fn left(n: u32) -> u32 {
        n + 1
    }
    #[node]
    async fn right(n: u32) -> u32 {
        n + 2
    }
    #[node]
    async fn sum(both: (u32, u32)) -> u32 {
        both.0 * both.1
    }
    workflow! { both(u32) -> u32 { START => (left, right) => sum; } }
    let lab = Lab::of::<both>().mock_fn::<left>(|n| Ok(n + 1)).mock_fn::<right>(|n| Ok(n + 2)).repeatable::<sum>();
    lab.crash_at_every_commit(1).await;
}

#[tokio::test]
async fn an_interrupted_attempt_that_may_run_once_is_listed_and_not_called_again() {
    #[node(at_most_once)]
    async fn pay(cents: u64) -> u64 {
        cents
    }
    #[node]
    async fn tell(cents: u64) -> String {
        cents.to_string()
    }
    workflow! { paid(u64) -> String { START => pay => tell; } }
    let lab = Lab::of::<paid>().mock::<pay>(7).mock_fn::<tell>(|cents| Ok(cents.to_string()));
    assert_eq!(lab.crash_at_every_commit(7).await.interrupted, ["paid/pay"]);
}

#[tokio::test]
async fn one_that_may_run_once_is_no_reason_to_run_it_once_for_each_crash() {
    #[node(at_most_once)]
    async fn wire(cents: u64) -> u64 {
        cents
    }
    workflow! { wired(u64) -> u64 { START => wire; } }
    let text = message_of(Lab::of::<wired>().crash_at_every_commit(7)).await;
    has_line(&text, &["not mocked: `wire`"]);
}

#[tokio::test]
async fn nodes_of_runs_that_a_node_starts_are_refused_too() {
    #[node]
    async fn ship(n: u64) -> u64 {
        n
    }
    workflow! { shipping(u64) -> u64 { START => ship; } }
    #[node]
    async fn begin(n: u64, ctx: &Context) -> u64 {
        ctx.start::<shipping>(n).id("shipping").await.map(|_| n).unwrap_or_default()
    }
    workflow! { begun(u64) -> u64 { START => begin; } }
    let lab = Lab::of::<begun>().repeatable::<begin>().register::<shipping>();
    let text = message_of(lab.crash_at_every_commit(7)).await;
    has_line(&text, &["not mocked: `ship`"]);
    let lab = Lab::of::<begun>().repeatable::<(begin, ship)>().register::<shipping>();
    assert!(lab.crash_at_every_commit(7).await.count > 1);
}

#[tokio::test]
async fn an_effect_whose_resource_was_replaced_is_not_compared_with_nothing() {
    #[node]
    async fn book(cents: u64, #[resource] bank: &Bank) -> u64 {
        bank.0.lock().unwrap().insert("book".to_owned(), cents);
        cents
    }
    workflow! { booking(u64) -> u64 { START => book; } }
    let lab = Lab::of::<booking>().repeatable::<book>().resource_with(Bank::default);
    let lab = lab.effects_on::<Bank, _>(|bank| bank.0.lock().unwrap().clone()).fresh_resource(Bank::default);
    let text = message_of(lab.crash_at_every_commit(7)).await;
    has_line(&text, &["Bank", "cannot be compared", "last"]);
}

#[tokio::test]
async fn state_beyond_the_run_is_lost_and_kept_with_its_commits() {
    use graphweft::scope::{App, ScopeError};
    use graphweft::state::Sum;

    const VISITS: StateKey<u64, Sum, App> = StateKey::new("visits");
    #[node]
    async fn visit(n: u64, ctx: &Context) -> Result<u64, ScopeError> {
        let before = ctx.scope(App).await?.get(VISITS)?.unwrap_or_default();
        ctx.scope(App).key("then").await?.update().merge(VISITS, n).await?;
        Ok(before)
    }
    workflow! { visited(u64) -> u64 { START => visit; } }
    let crashes = Lab::of::<visited>().repeatable::<visit>().crash_at_every_commit(7).await;
    // The entry of the log among them.
    assert!(crashes.count >= 4, "{crashes:?}");
}

#[tokio::test(start_paused = true)]
async fn ten_years_pass_at_once() {
    #[node]
    async fn sleep(n: u64, ctx: &Context) -> u64 {
        ctx.sleep(Duration::from_secs(10 * 365 * 86400)).await;
        n
    }
    workflow! { slept(u64) -> u64 { START => sleep; } }
    let lab = Lab::of::<slept>().repeatable::<sleep>().patience(Duration::from_secs(10));
    assert_eq!(lab.run(7).await.output(), &7);
    lab.crash_at_every_commit(7).await;
}

#[tokio::test]
async fn state_of_the_run_survives() {
    const TOTAL: StateKey<u64> = StateKey::new("total");
    #[node]
    async fn add(n: u64, #[writes(TOTAL)] total: StateWriter<u64>) -> u64 {
        total.set(n * 2);
        n
    }
    #[node]
    async fn read(n: u64, #[state(TOTAL)] total: u64) -> u64 {
        n + total
    }
    workflow! { summed(u64) -> u64 { START => add => read; } }
    let lab = Lab::of::<summed>().repeatable::<(add, read)>();
    assert_eq!(lab.run(3).await.output(), &9);
    lab.crash_at_every_commit(3).await;
}

#[derive(Clone, Default)]
struct Bank(Arc<Mutex<BTreeMap<String, u64>>>);

#[tokio::test]
async fn an_effect_under_an_idempotency_key_survives() {
    #[node]
    async fn book(cents: u64, ctx: &Context, #[resource] bank: &Bank) -> u64 {
        bank.0.lock().unwrap().insert(ctx.idempotency_key(), cents);
        cents
    }
    workflow! { booked(u64) -> u64 { START => book; } }
    let lab = Lab::of::<booked>().repeatable::<book>().resource_with(Bank::default);
    lab.effects_on::<Bank, _>(|bank| bank.0.lock().unwrap().clone()).crash_at_every_commit(4000).await;
}

#[tokio::test]
async fn a_run_that_starts_over_survives() {
    #[node]
    async fn count(n: u32, ctx: &Context) -> u32 {
        if n < 3 {
            ctx.start_over::<counting>(n + 1).await;
        }
        n
    }
    workflow! { counting(u32) -> u32 { START => count; } }
    let lab = Lab::of::<counting>().repeatable::<count>();
    assert_eq!(lab.run(0).await.output(), &3);
    lab.crash_at_every_commit(0).await;
}

#[tokio::test]
async fn a_run_that_has_started_over_gets_the_signals_and_answers_of_the_lab() {
    const SAID: Signal<i64> = Signal::new("said");

    #[node]
    async fn talk(mut heard: Vec<i64>, ctx: &Context) -> Vec<i64> {
        for at in 0_u32.. {
            let said = ctx.wait(SAID).key(at).await;
            if said < 0 {
                break;
            }
            heard.push(said);
            if heard.len().is_multiple_of(2) {
                ctx.start_over::<chat>(heard.clone()).await;
            }
        }
        if ctx.ask("agreed", "Is that all?").await { heard } else { Vec::new() }
    }
    workflow! { chat(Vec<i64>) -> Vec<i64> { START => talk; } }

    let lab = Lab::of::<chat>().repeatable::<talk>().answer("agreed", true);
    let lab = [1, 2, 3, -1].into_iter().fold(lab, |lab, said| lab.signal(SAID, said));
    assert_eq!(lab.run(Vec::new()).await.output(), &[1, 2, 3]);
    lab.crash_at_every_commit(Vec::new()).await;
}

#[node]
async fn wrap(order: u32) -> u32 {
    order
}

workflow! { packing(u32) -> u32 { START => wrap; } }

/// Looks why the second start is refused, and works on.
#[node]
async fn start_two(order: u32, ctx: &Context) -> Result<u32, graphweft::StartRunError> {
    ctx.start::<packing>(order).id("parcel").key("first").await?;
    let refused = ctx.start::<packing>(order + 1).id("parcel").key("second").await.map(|_| ());
    if let Err(graphweft::StartRunError::OtherInput { run, .. }) = &refused {
        let text = ctx.step("note", || async { Ok::<_, String>(run.clone()) }).await;
        assert_eq!(text.as_deref(), Ok("parcel"));
    }
    refused.map(|()| order)
}

#[node]
async fn sorry(refused: graphweft::StartRunError) -> String {
    refused.to_string()
}

#[node]
async fn thank(order: u32) -> String {
    order.to_string()
}

workflow! {
    parcels(u32) -> String { START => start_two => <ok: thank, err: sorry>; }
}

#[tokio::test(start_paused = true)]
async fn why_a_run_could_not_be_started_is_the_same_after_a_crash() {
    let lab = Lab::of::<parcels>().register::<packing>().repeatable::<(wrap, start_two, sorry, thank)>();
    let text = "run `parcel` of `packing` was started with another input; choose another id";
    assert_eq!(lab.run(7).await.output(), text);
    lab.crash_at_every_commit(7).await;
}
