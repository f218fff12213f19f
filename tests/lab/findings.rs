//! Wrong effects in workflows of users, which a crash brings to light.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use graphweft::prelude::*;
use graphweft::testing::Lab;

use crate::{has_line, message, message_of};

#[derive(Clone, Default)]
struct Bank(Arc<Mutex<Vec<String>>>);

impl Bank {
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }

    fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

#[node]
async fn fulfil(cents: u64, #[resource] bank: &Bank) -> u64 {
    bank.note("charge");
    bank.note("ship");
    cents
}

workflow! { order(u64) -> u64 { START => fulfil; } }

#[tokio::test]
async fn a_node_with_two_effects_is_found_by_what_it_does() {
    let lab = Lab::of::<order>().repeatable::<fulfil>().resource_with(Bank::default);
    // Its result is the same, so nothing is seen without a look at the resource.
    lab.crash_at_every_commit(1).await;
    let text = message_of(lab.effects_on::<Bank, _>(Bank::lines).crash_at_every_commit(1)).await;
    has_line(&text, &["tests/lab/findings.rs:", "`order`: crash at commit", "the effects on", "Bank"]);
    has_line(&text, &["under way at the crash: `order/fulfil`"]);
    has_line(&text, &["lost:", "node_completed `order/fulfil`"]);
    has_line(&text, &["help:", "ctx.step(..)", "idempotency_key"]);
}

#[tokio::test]
async fn effects_on_a_resource_that_all_runs_share_cannot_be_compared() {
    let lab = Lab::of::<order>().resource(Bank::default());
    has_line(&message(|| drop(lab.effects_on::<Bank, _>(Bank::lines))), &["Bank", ".resource_with("]);
}

#[tokio::test]
async fn a_node_that_reads_a_global_counter_is_found_by_its_result() {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    #[node]
    async fn number(n: u32) -> u32 {
        n + COUNTER.fetch_add(1, Ordering::Relaxed)
    }
    #[node]
    async fn print(n: u32) -> String {
        format!("invoice {n}")
    }
    workflow! { invoice(u32) -> String { START => number => print; } }
    let lab = Lab::of::<invoice>().repeatable::<(number, print)>();
    let text = message_of(lab.crash_at_every_commit(100)).await;
    has_line(&text, &["crash at commit 2: `invoice/number` has another result than without a crash"]);
    has_line(&text, &["undisturbed: 100"]);
    has_line(&text, &["crashed:     101"]);
    has_line(&text, &["stored:"]);
    has_line(&text, &["help:", "mock what reads a clock"]);
    has_line(&text, &["note: `invoice/number` differs in a second run without a crash as well"]);
    lab.mock::<number>(7).crash_at_every_commit(100).await;
}

#[tokio::test]
async fn a_result_that_depends_on_memory_that_a_crash_loses_is_found() {
    #[derive(Default)]
    struct Cache(Mutex<Option<u32>>);
    #[node]
    async fn warm(n: u32, #[resource] cache: &Cache) -> u32 {
        *cache.0.lock().unwrap() = Some(n);
        n
    }
    #[node]
    async fn hit(n: u32, #[resource] cache: &Cache) -> u32 {
        cache.0.lock().unwrap().map_or(0, |cached| cached + n)
    }
    workflow! { cached(u32) -> u32 { START => warm => hit; } }
    let lab = Lab::of::<cached>().repeatable::<(warm, hit)>().fresh_resource(Cache::default);
    assert_eq!(lab.run(4).await.output(), &8);
    let text = message_of(lab.crash_at_every_commit(4)).await;
    has_line(&text, &["`cached/hit` has another result"]);
    has_line(&text, &["undisturbed: 8"]);
    has_line(&text, &["crashed:     0"]);
    assert!(!text.contains("note:"), "{text}");
}

#[tokio::test]
async fn a_child_that_gets_another_key_in_each_run_is_called_too_often() {
    static KEYS: AtomicU32 = AtomicU32::new(0);
    #[node]
    async fn charge(cents: u64) -> u64 {
        cents
    }
    #[node]
    async fn pay(cents: u64, ctx: &Context) -> u64 {
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        ctx.call::<charge>(cents).key(key).await.unwrap_or_default()
    }
    workflow! { paid(u64) -> u64 { START => pay; } }
    let lab = Lab::of::<paid>().register_node::<charge>().mock::<charge>(7).repeatable::<pay>();
    let text = message_of(lab.crash_at_every_commit(7)).await;
    has_line(&text, &["crash at commit", "`charge` is called 2 times, and at most 1 are expected"]);
    has_line(&text, &["called only here: `paid/pay/charge:"]);
    has_line(&text, &["help:", ".key(..)"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_gets_another_key_in_each_run_is_executed_in_addition() {
    static KEYS: AtomicU32 = AtomicU32::new(0);
    #[node]
    async fn pay(cents: u64, ctx: &Context) -> Result<u64, String> {
        let key = KEYS.fetch_add(1, Ordering::Relaxed);
        ctx.step("charge", async || Ok::<_, String>(())).key(key).await?;
        Ok(if ctx.ask::<bool>("fine", "Is it fine?").await { cents } else { 0 })
    }
    workflow! { paid(u64) -> u64 { START => pay; } }
    let lab = Lab::of::<paid>().answer("fine", true).repeatable::<pay>();
    let text = message_of(lab.crash_at_every_commit(7)).await;
    has_line(
        &text,
        &["crash at commit", "`paid/pay` has executed `paid/pay/charge` 2 times, and 1 times without a crash"],
    );
    has_line(&text, &["undisturbed: `paid/pay/charge:0`"]);
    has_line(&text, &["crashed:     `paid/pay/charge:", ", `paid/pay/charge:"]);
    has_line(&text, &["help:", ".key(..)", "of the input"]);
    has_line(&text, &["note: `paid/pay/charge:0` is not executed in a second run without a crash"]);
}

#[tokio::test]
async fn an_arm_that_depends_on_more_than_the_input_is_found() {
    static TOSSES: AtomicU32 = AtomicU32::new(0);
    #[node]
    async fn toss(n: u32) -> Result<u32, u32> {
        if TOSSES.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { Ok(n) } else { Err(n) }
    }
    #[node]
    async fn heads(n: u32) -> u32 {
        n
    }
    #[node]
    async fn tails(n: u32) -> u32 {
        n
    }
    workflow! { coin(u32) -> u32 { START => toss => <ok: heads, err: tails> => END; } }
    let lab = Lab::of::<coin>().repeatable::<(toss, heads, tails)>();
    let text = message_of(lab.crash_at_every_commit(1)).await;
    has_line(&text, &["crash at commit", "`coin/toss` has another result"]);
    has_line(&text, &["undisturbed: 1, by the arm `ok`"]);
    has_line(&text, &["crashed:     1, by the arm `err`"]);
}

static NOTIFIED: AtomicBool = AtomicBool::new(false);

#[node]
async fn mail(text: String, #[resource] bank: &Bank) -> String {
    bank.note(&text);
    text
}

#[tokio::test]
async fn a_child_that_a_node_leaves_out_after_a_crash_is_found() {
    #[node]
    async fn notify(n: u32, ctx: &Context) -> Result<u32, String> {
        if !NOTIFIED.swap(true, Ordering::Relaxed) {
            ctx.call::<mail>("Dear customer".into()).await?;
        }
        Ok(n)
    }
    workflow! { remind(u32) -> u32 { START => notify; } }
    let lab = Lab::of::<remind>().repeatable::<notify>().register_node::<mail>().mock::<mail>(String::new());
    let text = message_of(lab.crash_at_every_commit(1)).await;
    has_line(
        &text,
        &["crash at commit 2: `remind/notify` has completed, and `remind/notify/mail`", "was not executed"],
    );
    has_line(&text, &["stored:"]);
    has_line(&text, &["help:", "a global or a file"]);
    has_line(&text, &["note: `remind/notify/mail` is missing in a second run without a crash as well"]);
}

#[tokio::test]
async fn an_effect_that_a_node_leaves_out_when_it_runs_again_is_found() {
    /// What is outside of the process, such as a file that says that it was done. It is written before it is done.
    #[derive(Clone, Default)]
    struct Marks(Arc<Mutex<bool>>);
    #[node]
    async fn number(n: u32) -> u32 {
        n
    }
    #[node]
    async fn send(n: u32, ctx: &Context, #[resource] marks: &Marks, #[resource] bank: &Bank) -> Result<u32, String> {
        if !std::mem::replace(&mut *marks.0.lock().unwrap(), true) {
            ctx.step("address", || async { Ok::<u32, String>(7) }).await?;
            bank.note("sent");
        }
        Ok(n)
    }
    workflow! { letter(u32) -> u32 { START => number => send; } }
    let lab = Lab::of::<letter>().repeatable::<(number, send)>().resource_with(Marks::default);
    let lab = lab.resource_with(Bank::default).effects_on::<Bank, _>(Bank::lines);
    let text = message_of(lab.crash_at_every_commit(1)).await;
    has_line(&text, &["crash at commit", "`letter/send`", "`letter/send/address`", "was not executed"]);
}

#[tokio::test]
async fn an_effect_that_is_missing_after_a_crash_is_found_with_the_nodes_that_have_run_again() {
    static SENT: AtomicBool = AtomicBool::new(false);
    #[node]
    async fn number(n: u32) -> u32 {
        n
    }
    #[node]
    async fn send(n: u32, #[resource] bank: &Bank) -> u32 {
        if !SENT.swap(true, Ordering::Relaxed) {
            bank.note("sent");
        }
        n
    }
    workflow! { letter(u32) -> u32 { START => number => send; } }
    let lab = Lab::of::<letter>().repeatable::<(number, send)>().resource_with(Bank::default);
    let text = message_of(lab.effects_on::<Bank, _>(Bank::lines).crash_at_every_commit(1)).await;
    has_line(&text, &["crash at commit 2: the effects on", "Bank"]);
    has_line(&text, &["begun after the crash:", "`letter/send`"]);
    has_line(&text, &["note: a second run without a crash has other effects as well"]);
}
