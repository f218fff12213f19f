//! The error with which a run has failed, as a value: live, by its id, and after a restart.

use graphweft::prelude::*;
use graphweft::{AfterFailure, Cause, Json};
use graphweft_tests::{Death, Journal, OnDisk, failure};

#[value]
#[derive(Debug, Clone, PartialEq)]
enum PaymentError {
    Declined { cents: u64, hint: Option<Option<f64>> },
    NoCard,
}

fn declined(cents: u64) -> PaymentError {
    PaymentError::Declined { cents, hint: Some(None) }
}

#[node]
async fn charge(cents: u64, #[resource] journal: &Journal) -> Result<u64, PaymentError> {
    journal.note("charge");
    if cents > 5_000 { Err(declined(cents)) } else { Ok(cents) }
}

/// Fails once its sibling listens for its cancellation.
#[node]
async fn declines(cents: u64, #[resource] journal: &Journal) -> Result<u64, PaymentError> {
    while journal.count("packs") == 0 {
        tokio::task::yield_now().await;
    }
    journal.note("declines");
    Err(declined(cents))
}

/// Listens for its cancellation, so that the run is still under way when its sibling has failed.
#[node]
async fn packs(cents: u64, ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> u64 {
    let listens = !ctx.is_cancelled();
    if listens {
        journal.note("packs");
    }
    ctx.cancelled().await;
    death.come("cancelled").await;
    cents
}

#[node]
async fn ships(charged: u64, packed: u64) -> u64 {
    charged + packed
}

workflow! {
    pub pay(u64) -> u64 { START => charge; }
}
workflow! {
    pub buy(u64) -> u64 {
        START => declines;
        START => packs;
        (declines, packs) => ships;
    }
}

#[test]
fn the_error_of_a_failed_run_is_the_same_live_by_id_and_in_the_next_process() {
    let disk = OnDisk::default();
    let (live, events) = disk.runs::<pay>(6_000);
    let live = failure(live);
    assert_eq!(live.error_as(), Some(declined(6_000)));

    let later = disk.process::<pay, _, _>(|engine| async move {
        let by_id = engine.get_run("run").await.unwrap().unwrap();
        failure(by_id.result().await)
    });
    assert_eq!(later, live);
    assert_eq!(later.error_as(), Some(declined(6_000)));
    let Some(EventKind::RunFailed { failure, .. }) = events.last().map(|event| &event.kind) else { panic!() };
    assert_eq!(*failure, live);
}

#[test]
fn a_process_that_dies_between_the_failure_of_a_node_and_the_end_of_its_run_leaves_the_error() {
    let disk = OnDisk::default();
    disk.dies_at::<buy>(6_000, "cancelled");
    let (result, _) = disk.resumes::<buy>();
    assert_eq!(failure(result).error_as(), Some(declined(6_000)));
    assert_eq!(disk.journal.count("declines"), 1);
}

#[tokio::test]
async fn a_run_in_memory_has_it_too() {
    workflow! { fails(u64) -> u64 { START => fail; } }
    #[node]
    async fn fail(cents: u64) -> Result<u64, PaymentError> {
        Err(declined(cents))
    }
    assert_eq!(failure(fails(6_000).await).error_as(), Some(declined(6_000)));
}

#[test]
fn the_error_inside_nested_workflows_items_and_children_is_that_of_the_node_that_failed() {
    #[node]
    async fn calls(cents: u64, ctx: &Context) -> Result<u64, Failure> {
        match ctx.call::<pay>(cents).await {
            Err(ChildError::Error(failure)) => Err(failure),
            other => Ok(other.unwrap()),
        }
    }
    #[node]
    async fn amounts(cents: u64) -> Vec<u64> {
        vec![1, cents]
    }
    #[node]
    async fn sums(all: Vec<u64>) -> u64 {
        all.iter().sum()
    }
    workflow! { nested(u64) -> u64 { START => pay; } }
    workflow! { items(u64) -> u64 { START => amounts => [charge] => sums; } }
    workflow! { child(u64) -> u64 { START => calls; } }

    let of_nested = failure(OnDisk::default().runs::<nested>(6_000).0);
    assert_eq!((of_nested.path.as_str(), of_nested.error_as()), ("nested/pay/charge", Some(declined(6_000))));
    let of_items = failure(OnDisk::default().runs::<items>(6_000).0);
    assert_eq!(of_items.error_as(), Some(declined(6_000)), "{of_items:?}");
    let of_child = failure(OnDisk::default().runs::<child>(6_000).0);
    let inner: Failure = of_child.error_as().expect("the failure of the child");
    assert_eq!((of_child.path.as_str(), inner.path.as_str()), ("child/calls", "child/calls/pay/charge"));
    assert_eq!(inner.error_as(), Some(declined(6_000)));
}

#[test]
fn it_is_recorded_with_the_node_that_failed_and_not_again_with_those_around_it() {
    workflow! { nested(u64) -> u64 { START => pay; } }
    let (_, events) = OnDisk::default().runs::<nested>(6_000);
    let failed: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::NodeFailed { then: AfterFailure::Fails, error, .. } => Some((&*event.path, error.is_some())),
            _ => None,
        })
        .collect();
    assert_eq!(failed, [("nested/pay/charge", true), ("nested/pay", false)]);
}

#[test]
fn odd_errors_come_back_exactly() {
    #[value]
    #[derive(Debug)]
    struct Odd {
        nan: f64,
        nothing: Option<Option<()>>,
        text: String,
        json: Json,
    }
    #[node]
    async fn fail(length: usize) -> Result<u32, Odd> {
        let json = graphweft::json!({ "$graphweft:float": "NaN" });
        Err(Odd { nan: f64::NAN, nothing: Some(None), text: "é".repeat(length), json })
    }
    workflow! { fails(usize) -> u32 { START => fail; } }
    #[node]
    async fn calls(length: usize, ctx: &Context) -> Result<u32, ChildError<Failure>> {
        ctx.call::<fails>(length).await
    }
    workflow! { calling(usize) -> u32 { START => calls; } }

    let disk = OnDisk::default();
    let _live = disk.runs::<calling>(3 << 20);
    let later = disk.process::<calling, _, _>(|engine| async move {
        failure(engine.get_run("run").await.unwrap().unwrap().result().await)
    });
    let Some(ChildError::Error(inner)) = later.error_as::<ChildError<Failure>>() else { panic!() };
    let odd: Odd = inner.error_as().expect("the error");
    assert!(odd.nan.is_nan());
    assert_eq!((odd.nothing, odd.text.len()), (Some(None), 6 << 20));
    assert_eq!(odd.json, graphweft::json!({ "$graphweft:float": "NaN" }));
}

#[test]
fn an_error_without_a_recorded_form_leaves_its_text() {
    #[node]
    async fn reads(path: String) -> std::io::Result<String> {
        std::fs::read_to_string(path)
    }
    #[node]
    async fn nests(depth: usize) -> Result<u32, Json> {
        Err((0..depth).fold(Json::Null, |inner, _| graphweft::json!([inner])))
    }
    workflow! { reading(String) -> String { START => reads; } }
    workflow! { nesting(usize) -> u32 { START => nests; } }

    let read = failure(OnDisk::default().runs::<reading>("/no/such/file".to_owned()).0);
    assert_eq!(read.error_as::<String>(), None);
    assert!(read.to_string().contains("No such file"), "{read}");
    let deep = failure(OnDisk::default().runs::<nesting>(150).0);
    assert_eq!(deep.error_json(), None);
}

#[test]
fn an_error_of_another_type_is_none_and_a_unit_is_an_error() {
    #[node]
    async fn fail(_n: u64) -> Result<u64, ()> {
        Err(())
    }
    workflow! { fails(u64) -> u64 { START => fail; } }
    let disk = OnDisk::default();
    let _live = disk.runs::<fails>(1);
    let later = disk.process::<fails, _, _>(|engine| async move {
        failure(engine.get_run("run").await.unwrap().unwrap().result().await)
    });
    assert_eq!((later.error_as::<()>(), later.error_as::<u64>()), (Some(()), None));
    assert_eq!(Failure::new("a/b", Cause::new("no")).error_as::<()>(), None);
}

#[test]
fn only_the_last_attempt_leaves_its_error_and_a_retried_run_leaves_the_new_one() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn tries(n: u64, ctx: &Context, #[resource] journal: &Journal) -> Result<u64, PaymentError> {
        journal.note("tries");
        Err(declined(n + journal.count("tries") as u64 * 100 + u64::from(ctx.attempt())))
    }
    workflow! { trying(u64) -> u64 { START => tries; } }
    let disk = OnDisk::default();
    let (first, events) = disk.runs::<trying>(0);
    assert_eq!(failure(first).error_as(), Some(declined(202)));
    let recorded = |event: &&graphweft::Event| matches!(event.kind, EventKind::NodeFailed { error: Some(_), .. });
    assert_eq!(events.iter().filter(recorded).count(), 1);
    let again = disk
        .process::<trying, _, _>(|engine| async move { failure(engine.retry("run").await.unwrap().result().await) });
    assert_eq!(again.error_as(), Some(declined(402)));
}

#[tokio::test]
async fn a_node_that_is_written_by_hand_has_it() {
    struct Charges;
    impl Node for Charges {
        type Input = u64;
        type Output = u64;
        type Error = PaymentError;

        async fn run(&self, _: u64, _: &Context) -> Result<u64, PaymentError> {
            Err(PaymentError::NoCard)
        }
    }
    let flow = workflow! {
        let charges: Charges = Charges;
        START => charges
    };
    assert_eq!(failure(flow.run(1).await).error_as(), Some(PaymentError::NoCard));
}

#[tokio::test]
async fn a_text_that_is_not_owned_is_read_as_one_that_is() {
    #[node]
    async fn fail(_n: u64) -> Result<u64, &'static str> {
        Err("no")
    }
    workflow! { fails(u64) -> u64 { START => fail; } }
    assert_eq!(failure(fails(1).await).error_as(), Some("no".to_owned()));
}

#[test]
fn an_error_with_numbers_for_keys_is_read_by_a_type_that_serde_buffers() {
    type Names = std::collections::BTreeMap<i64, String>;
    #[value]
    #[derive(Debug, PartialEq)]
    #[serde(tag = "kind")]
    enum Tagged {
        Rows { names: Names, answers: std::collections::BTreeMap<bool, Names> },
    }
    #[value]
    #[derive(Debug, PartialEq)]
    #[serde(untagged)]
    enum Untagged {
        Text(String),
        Names(Names),
    }
    fn names() -> Names {
        Names::from([(i64::MIN, "least".to_owned()), (7, String::new())])
    }
    fn rows() -> Tagged {
        Tagged::Rows { names: names(), answers: [(true, names()), (false, Names::new())].into() }
    }
    #[node]
    async fn tagged(_n: u64) -> Result<u64, Tagged> {
        Err(rows())
    }
    #[node]
    async fn untagged(_n: u64) -> Result<u64, Untagged> {
        Err(Untagged::Names(names()))
    }
    workflow! { tags(u64) -> u64 { START => tagged; } }
    workflow! { leaves_out(u64) -> u64 { START => untagged; } }

    let failed = failure(OnDisk::default().runs::<tags>(1).0);
    assert_eq!(failed.error_as(), Some(rows()));
    let failed = failure(OnDisk::default().runs::<leaves_out>(1).0);
    assert_eq!(failed.error_as(), Some(Untagged::Names(names())));
    assert_eq!(failed.error_as::<Names>(), Some(names()));
}
