//! Values over a restart, and those that cannot be recorded.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::scope::App;
use graphweft::state::{Append, MergeMap};
use graphweft::store::SqliteStore;
use graphweft::{AnswerError, ChildError, Fault, ForkError, Json, StartError, json};
use graphweft_tests::{Journal, failure, life};
use tokio::sync::Notify;

use super::cannot_continue::soon;

/// What plain JSON merges with something else, or cannot write, and a float that is easily read as its neighbour.
#[value]
#[derive(Debug)]
struct Odd {
    floats: Vec<f64>,
    narrow: Vec<f32>,
    nested: Vec<Option<Option<u32>>>,
    units: Vec<Option<()>>,
    whole: (u128, i128, u64, i64),
    cells: BTreeMap<(u8, Option<char>), Option<Option<String>>>,
    json: Option<Json>,
    choices: Vec<Choice>,
    text: Option<Box<str>>,
    shared: Vec<Arc<str>>,
}

#[value]
#[derive(Debug)]
enum Choice {
    Nothing,
    One(Option<()>),
    Both { left: f64, right: Option<Option<bool>> },
}

impl Odd {
    fn new() -> Odd {
        Odd {
            floats: vec![950.098_145_061_411_3, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324],
            narrow: vec![0.1, f32::NAN, f32::NEG_INFINITY, 1e-45],
            nested: vec![None, Some(None), Some(Some(1))],
            units: vec![None, Some(())],
            whole: (u128::MAX, i128::MIN, u64::MAX, i64::MIN),
            cells: BTreeMap::from([((1, None), Some(None)), ((2, Some('x')), None)]),
            json: Some(Json::Null),
            choices: vec![
                Choice::Nothing,
                Choice::One(Some(())),
                Choice::One(None),
                Choice::Both { left: f64::NAN, right: Some(None) },
            ],
            text: Some("boxed".into()),
            shared: vec!["shared".into()],
        }
    }

    /// All of its bits.
    fn shown(&self) -> String {
        let bits: Vec<u64> = self.floats.iter().map(|float| float.to_bits()).collect();
        let narrow: Vec<u32> = self.narrow.iter().map(|float| float.to_bits()).collect();
        format!("{self:?} {bits:x?} {narrow:x?}")
    }
}

const KEPT: StateKey<Odd> = StateKey::new("kept");

#[node]
async fn keep(odd: Odd, #[writes(KEPT)] kept: StateWriter<Odd>) -> Odd {
    kept.set(odd.clone());
    odd
}

#[node]
async fn echo(odd: Odd) -> Odd {
    odd
}

#[node]
async fn refuse(odd: Odd) -> Result<u32, Odd> {
    Err(odd)
}

/// Notes everything that it sees, and waits.
#[node]
async fn look(odd: Odd, ctx: &Context, #[state] kept: Odd, #[resource] journal: &Journal) -> (Odd, bool) {
    let child = ctx.call::<echo>(odd.clone()).key("child").await.map_err(|error| error.to_string());
    let step = ctx.step("step", async || Ok::<_, Never>(odd.clone())).await.map_err(|error| error.to_string());
    let error = match ctx.call::<refuse>(odd.clone()).await {
        Err(ChildError::Error(odd)) => odd.shown(),
        other => format!("{other:?}"),
    };
    let shown = |odd: Result<Odd, String>| odd.map_or_else(|error| error, |odd| odd.shown());
    journal.note([odd.shown(), kept.shown(), shown(child), shown(step), error].join("\n"));
    let answer = ctx.ask::<bool>("on", "Go on?").await;
    (odd, answer)
}

#[node]
async fn show((odd, _): (Odd, bool)) -> Odd {
    odd
}

workflow! { odd(Odd) -> Odd { START => keep => look => show; } }

#[node]
async fn cells(number: u128) -> BTreeMap<(u8, bool), u128> {
    BTreeMap::from([((1, true), number)])
}

workflow! { celled(u128) -> BTreeMap<(u8, bool), u128> { START => cells; } }

#[test]
fn without_the_type_an_output_is_the_closest_json() {
    life(async {
        let engine = Engine::builder().register::<celled>().build().unwrap();
        let run = engine.start::<celled>(u128::MAX).id("x").await.unwrap();
        soon(run.outcome()).await.unwrap();
        let untyped = engine.get_run("x").await.unwrap().unwrap();
        assert_eq!(soon(untyped.result()).await.unwrap(), json!([[[1, true], u128::MAX.to_string()]]));
    });
}

#[test]
fn values_are_the_same_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let journal = Journal::default();
    let engine = async || {
        let builder = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).resource(journal.clone());
        builder.register::<odd>().build().unwrap()
    };
    life(async {
        let run = engine().await.start::<odd>(Odd::new()).id("x").await.unwrap();
        assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
    });
    let output = life(async {
        let engine = engine().await;
        soon(engine.recover()).await.unwrap();
        let run = engine.start::<odd>(Odd::new()).id("x").await.expect("the same input");
        run.answer("on", true).await.unwrap();
        soon(run.result()).await.unwrap()
    });
    assert_eq!(output.shown(), Odd::new().shown());
    let noted = journal.lines();
    assert_eq!(noted.len(), 2, "it has run twice");
    assert_eq!(noted[0], [Odd::new().shown().as_str(); 5].join("\n"));
    assert_eq!(noted[1], noted[0]);
    let read = life(async {
        let run = engine().await.start::<odd>(Odd::new()).id("x").await.unwrap();
        soon(run.result()).await.unwrap()
    });
    assert_eq!(read.shown(), Odd::new().shown());
}

/// Finite ones of all magnitudes: an answer is plain JSON, which has no others.
fn answered_floats() -> Vec<f64> {
    let of_any_bits = (1..2000).map(|n: u64| f64::from_bits(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    let odd = [950.098_145_061_411_3, -0.0, 5e-324, f64::MAX, f64::MIN_POSITIVE];
    odd.into_iter().chain(of_any_bits).filter(|float| float.is_finite()).collect()
}

#[node]
async fn takes_floats(ctx: &Context, #[resource] journal: &Journal) -> Vec<f64> {
    let floats = ctx.ask::<Vec<f64>>("floats", "Which?").await;
    let bits: Vec<u64> = floats.iter().map(|float| float.to_bits()).collect();
    journal.note(format!("{bits:x?}"));
    ctx.ask::<bool>("on", "Go on?").await;
    floats
}

workflow! { taking_floats(()) -> Vec<f64> { START => takes_floats; } }

#[test]
fn answers_are_the_same_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let journal = Journal::default();
    let engine = async || {
        let builder = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).resource(journal.clone());
        builder.register::<taking_floats>().build().unwrap()
    };
    life(async {
        let run = engine().await.start::<taking_floats>(()).id("x").await.unwrap();
        assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
        run.answer("floats", json!(answered_floats())).await.unwrap();
        let asks = soon(run.outcome()).await.unwrap();
        assert!(matches!(&asks, Outcome::Waiting(asked) if asked.iter().any(|asks| asks.name == "on")), "{asks:?}");
    });
    let output = life(async {
        let engine = engine().await;
        soon(engine.recover()).await.unwrap();
        let run = engine.get_run_of::<taking_floats>("x").await.unwrap().unwrap();
        run.answer("on", true).await.unwrap();
        soon(run.result()).await.unwrap()
    });
    let bits = |floats: &[f64]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&output), bits(&answered_floats()));
    let shown = format!("{:x?}", bits(&answered_floats()));
    assert_eq!(journal.lines(), [shown.clone(), shown]);
}

const CELLS: StateKey<BTreeMap<(u8, u8), u32>, MergeMap> = StateKey::new("cells");

#[node]
async fn merge(n: u32, #[writes(CELLS)] cells: StateWriter<BTreeMap<(u8, u8), u32>, MergeMap>) -> u32 {
    cells.merge(BTreeMap::from([((1, 2), n)]));
    n
}

workflow! { merging(u32) -> u32 { START => merge; } }

/// It is recorded as an object with one key, and the entries of another would replace it.
#[tokio::test]
async fn a_map_without_text_for_keys_is_not_merged() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<merging>(1).await.unwrap();
    let failure = failure(run.result().await);
    assert!(failure.to_string().contains("its reducer merges a map whose keys are text"), "{failure}");
}

/// serde keeps what is beside a `tag` as it is recorded until it knows the variant, and reads no number in the text of a key then.
#[value]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind")]
enum Entry {
    Scores { of: BTreeMap<u64, u32> },
    Remark { text: String },
}

impl Entry {
    fn all() -> Vec<Entry> {
        vec![Entry::Remark { text: "begun".into() }, Entry::Scores { of: BTreeMap::from([(7, 40)]) }]
    }
}

const ENTRIES: StateKey<Vec<Entry>, Append> = StateKey::new("entries");
const NUMBERED: StateKey<BTreeMap<u64, Entry>, MergeMap> = StateKey::new("numbered");

#[node]
async fn notes(
    all: Vec<Entry>,
    #[writes(ENTRIES)] entries: StateWriter<Vec<Entry>, Append>,
    #[writes(NUMBERED)] numbered: StateWriter<BTreeMap<u64, Entry>, MergeMap>,
) -> usize {
    entries.merge(all.clone());
    for entry in all.clone() {
        entries.push(entry);
    }
    for (number, entry) in (1..).zip(all.clone()) {
        numbered.merge(BTreeMap::from([(number, entry)]));
    }
    all.len()
}

#[node]
async fn listed(
    _: usize,
    #[state(ENTRIES)] entries: Vec<Entry>,
    #[state(NUMBERED)] numbered: BTreeMap<u64, Entry>,
) -> (Vec<Entry>, BTreeMap<u64, Entry>) {
    (entries, numbered)
}

workflow! { noting(Vec<Entry>) -> (Vec<Entry>, BTreeMap<u64, Entry>) { START => notes => listed; } }

#[tokio::test]
async fn what_is_merged_is_recorded_in_a_form_that_its_type_reads() {
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<noting>(Entry::all()).await.unwrap();
    let (entries, numbered) = run.result().await.unwrap();
    assert_eq!(entries, [Entry::all(), Entry::all()].concat());
    assert_eq!(numbered, (1..).zip(Entry::all()).collect());
}

#[tokio::test]
async fn a_map_with_which_a_run_begins_takes_what_is_merged_into_it() {
    let engine = Engine::builder().build().unwrap();
    let begins: BTreeMap<_, _> = (7..).zip(Entry::all()).collect();
    let run = engine.start::<noting>(Entry::all()).state(NUMBERED, begins.clone()).await.unwrap();
    let (_, mut numbered) = run.result().await.unwrap();
    assert_eq!(numbered.split_off(&7), begins);
    assert_eq!(numbered, (1..).zip(Entry::all()).collect());
}

#[tokio::test]
async fn what_is_merged_beyond_a_run_is_recorded_in_a_form_that_its_type_reads() {
    const OF_APP: StateKey<Vec<Entry>, Append, App> = StateKey::new("entries");
    let engine = Engine::builder().build().unwrap();
    let update = engine.scope(App, "chess").await.unwrap().update();
    let [remark, scores] = Entry::all().try_into().unwrap();
    update.push(OF_APP, remark).push(OF_APP, scores).merge(OF_APP, Entry::all()).await.unwrap();
    let chess = engine.scope(App, "chess").await.unwrap();
    assert_eq!(chess.get(OF_APP).unwrap(), Some([Entry::all(), Entry::all()].concat()));
}

fn nested(levels: usize) -> Json {
    (0..levels).fold(Json::Null, |inner, _| Json::Array(vec![inner]))
}

#[node]
async fn deep(levels: usize) -> Json {
    nested(levels)
}

#[node]
async fn asks(json: Json, ctx: &Context) -> Json {
    let answer = ctx.ask::<Json>("what", "What?").await;
    json!([json.is_null(), answer.is_null()])
}

const DEEPEST: StateKey<Json> = StateKey::new("deepest");

#[node]
async fn given(json: Json, #[state(DEEPEST)] _deepest: Json) -> Json {
    json
}

#[node]
async fn same(json: Json) -> Json {
    json
}

#[node]
async fn errs(levels: usize) -> Result<u32, Json> {
    Err(nested(levels))
}

/// Passes on what is nested too deep.
#[node]
async fn passes(door: String, ctx: &Context, #[may_write(DEEPEST)] deepest: StateWriter<Json>) -> Result<(), String> {
    let text = |fault: ChildError<Json>| match fault {
        ChildError::Fault(fault) => fault.to_string(),
        other => format!("{other:?}"),
    };
    match door.as_str() {
        "state" => deepest.set(nested(1000)),
        "payload" => drop(ctx.ask::<bool>("what", "?").payload(nested(1000)).await),
        "step" => drop(ctx.step("step", async || Ok::<_, String>(nested(1000))).await?),
        "error of a step" => drop(ctx.step("step", async || Err::<u32, _>(nested(1000))).await.map_err(text)?),
        "child" => drop(ctx.call::<same>(nested(1000)).await.map_err(|error| error.to_string())?),
        _ => drop(ctx.call::<errs>(1000).await.map_err(text)?),
    }
    Ok(())
}

workflow! { doors(String) -> () { START => passes; } }
workflow! { #[given(DEEPEST)] keeping(Json) -> Json { START => given; } }
workflow! { deeply(usize) -> Json { START => deep => END; } }
workflow! { asking(Json) -> Json { START => asks; } }

#[tokio::test]
async fn a_value_that_is_too_deep_is_refused_at_every_door() {
    let builder = Engine::builder().register::<asking>().register::<deeply>().register::<keeping>();
    let engine = builder.register::<doors>().build().unwrap();
    let run = engine.start::<deeply>(100).await.unwrap();
    assert_eq!(run.result().await, Ok(nested(100)));
    let failed = failure(engine.start::<deeply>(101).await.unwrap().result().await);
    assert!(failed.to_string().contains("nested more than 100 levels deep"), "{failed}");

    for levels in [101, 100_000] {
        let error = engine.start_json("asking", nested(levels)).await.unwrap_err();
        assert!(matches!(&error, StartError::InvalidInput { .. }), "{error}");
        assert!(error.to_string().contains("nested more than 100 levels deep"), "{error}");
    }
    for levels in [101, 100_000] {
        let start = || engine.start_json("keeping", Json::Null);
        let error = start().state_json("deepest", nested(levels)).await.unwrap_err();
        assert!(matches!(&error, StartError::InvalidState { .. }), "{error}");
        assert!(error.to_string().contains("nested more than 100 levels deep"), "{error}");
        // What is refused for another reason is dropped, level by level too.
        assert!(start().state_json("other", nested(levels)).await.is_err());
        assert!(engine.start_json("unknown", nested(levels)).state_json("deepest", nested(levels)).await.is_err());
    }
    let error = engine.start::<asking>(nested(101)).await.unwrap_err();
    assert!(matches!(&error, StartError::NotRecordable { .. }), "{error}");

    let run = engine.start_json("asking", nested(100)).await.unwrap();
    assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
    for levels in [101, 100_000] {
        let error = run.answer("what", nested(levels)).await.unwrap_err();
        assert!(matches!(&error, AnswerError::Invalid { .. }), "{error}");
        assert!(error.to_string().contains("nested more than 100 levels deep"), "{error}");
    }
    run.answer("what", nested(100)).await.unwrap();
    assert_eq!(soon(run.result()).await, Ok(json!([false, false])));

    for door in ["state", "payload", "step", "error of a step", "child", "error of a child"] {
        let failed = failure(soon(engine.start::<doors>(door.to_owned()).await.unwrap().result()).await);
        assert!(failed.to_string().contains("nested more than 100 levels deep"), "{door}: {failed}");
    }
}

/// So deep that its `Display` and its `Drop`, which recurse, need more stack than a thread has.
const ABYSS: usize = 100_000;

/// A list that contains itself, as users write them.
#[value]
#[derive(Debug)]
struct Link {
    next: Option<Box<Link>>,
}

fn chain(links: usize) -> Link {
    (0..links).fold(Link { next: None }, |next, _| Link { next: Some(Box::new(next)) })
}

/// An error with that list inside.
#[value]
struct Tangled(Link);

impl std::fmt::Display for Tangled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        fn write(link: &Link, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("-")?;
            link.next.as_ref().map_or(Ok(()), |next| write(next, f))
        }
        write(&self.0, f)
    }
}

fn objects(levels: usize) -> Json {
    (0..levels).fold(Json::Null, |inner, _| Json::Object([("inner".to_owned(), inner)].into_iter().collect()))
}

#[node]
async fn fails_with_json() -> Result<String, Json> {
    Err(objects(ABYSS))
}

#[node]
async fn fails_with_a_list() -> Result<String, Tangled> {
    Err(Tangled(chain(ABYSS)))
}

#[node]
async fn gives_a_list() -> Link {
    chain(ABYSS)
}

#[node]
async fn gives_json() -> Json {
    objects(ABYSS)
}

const CHAIN: StateKey<Link> = StateKey::new("chain");

#[node]
async fn lets_slip(door: String, ctx: &Context, #[may_write(CHAIN)] chained: StateWriter<Link>) -> Result<(), String> {
    match door.as_str() {
        "state" => chained.set(chain(ABYSS)),
        "payload" => ctx.ask::<()>("what", "?").payload(chain(ABYSS)).await,
        "progress" => {
            ctx.progress(chain(ABYSS));
            ctx.ask::<()>("what", "?").payload(chain(ABYSS)).await;
        }
        "step" => drop(ctx.step("step", async || Ok::<_, Json>(chain(ABYSS))).await.map_err(fault)?),
        "error of a step" => ctx.step("step", async || Err::<(), _>(Tangled(chain(ABYSS)))).await.map_err(fault)?,
        "child" => drop(ctx.call::<shortens>(chain(ABYSS)).await.map_err(fault)?),
        _ => drop(ctx.call::<fails_with_json>(()).await.map_err(fault)?),
    }
    Ok(())
}

fn fault<E>(error: ChildError<E>) -> String {
    match error {
        ChildError::Fault(fault) => fault.to_string(),
        _ => "an error that was not refused".to_owned(),
    }
}

#[node]
async fn shown(text: String) -> Json {
    Json::String(text)
}

#[node]
async fn shortens(_link: Link) -> u32 {
    0
}

workflow! { failing_with_json(()) -> String { START => fails_with_json; } }
workflow! { failing_with_a_list(()) -> String { START => fails_with_a_list; } }
workflow! { recovering(()) -> Json { START => fails_with_json => <ok: shown, err: same> => END; } }
workflow! { giving_a_list(()) -> Link { START => gives_a_list; } }
workflow! { giving_json(()) -> Json { START => gives_json; } }
workflow! { shortening(Link) -> u32 { START => shortens; } }
workflow! { slipping(String) -> () { START => lets_slip; } }

#[tokio::test]
async fn an_error_that_is_too_deep_does_not_overflow_the_stack() {
    let engine = Engine::builder().build().unwrap();

    let in_memory = failure(failing_with_json(()).await);
    let unrouted = failure(engine.start::<failing_with_json>(()).await.unwrap().result().await);
    let of_a_list = failure(engine.start::<failing_with_a_list>(()).await.unwrap().result().await);
    for failed in [in_memory, unrouted, of_a_list] {
        assert!(failed.to_string().contains("it is nested too deep"), "{failed}");
        assert!(failed.to_string().len() < 500, "{failed}");
    }

    let routed = failure(engine.start::<recovering>(()).await.unwrap().result().await);
    assert!(routed.to_string().contains("nested more than 100 levels deep"), "{routed}");
}

#[tokio::test]
async fn a_value_that_was_refused_is_dropped_without_an_overflow() {
    let engine = Engine::builder().build().unwrap();
    let list = failure(engine.start::<giving_a_list>(()).await.unwrap().result().await);
    let json = failure(engine.start::<giving_json>(()).await.unwrap().result().await);
    for failed in [list, json] {
        assert!(failed.to_string().contains("nested more than 100 levels deep"), "{failed}");
    }
    let error = engine.start::<shortening>(chain(ABYSS)).await.unwrap_err();
    assert!(matches!(&error, StartError::NotRecordable { .. }), "{error}");
    let error = engine.start::<shortening>(chain(1)).state(CHAIN, chain(ABYSS)).await.unwrap_err();
    assert!(matches!(&error, StartError::NotRecordable { .. }), "{error}");

    for door in ["state", "payload", "progress", "step", "error of a step", "child", "error of a child"] {
        let run = engine.start::<slipping>(door.to_owned()).await.unwrap();
        let _watched = run.events();
        let failed = failure(soon(run.result()).await);
        assert!(failed.to_string().contains("nested more than 100 levels deep"), "{door}: {failed}");
    }
}

#[tokio::test]
async fn a_value_that_is_too_large_is_refused_at_every_door() {
    let engine = Engine::builder().register::<asking>().max_value_size(10_000).build().unwrap();
    let large = Json::String("x".repeat(10_000));
    let error = engine.start_json("asking", large.clone()).await.unwrap_err();
    assert!(error.to_string().contains("it takes 10003 bytes, and a value may take 10000"), "{error}");
    let error = engine.start::<asking>(large.clone()).await.unwrap_err();
    assert!(error.to_string().contains("more than 10000 bytes"), "{error}");
    let run = engine.start::<asking>(Json::Null).await.unwrap();
    assert!(matches!(soon(run.outcome()).await, Ok(Outcome::Waiting(_))));
    let error = run.answer("what", large).await.unwrap_err();
    assert!(error.to_string().contains("it takes 10003 bytes, and a value may take 10000"), "{error}");

    #[node]
    async fn long(n: usize) -> Vec<String> {
        vec!["short".to_owned(), "x".repeat(n)]
    }
    let engine = Engine::builder().max_value_size(10_000).build().unwrap();
    let long = workflow! { START => long };
    let failed = failure(engine.start_flow(&long, 9_999).await.unwrap().result().await);
    assert!(failed.to_string().contains("at `[1]`: it takes more than 10000 bytes"), "{failed}");
}

/// Notes that it was called, and returns more than a record may hold.
#[node]
async fn overlong(n: usize, #[resource] journal: &Journal) -> String {
    journal.note("called");
    "x".repeat(n)
}

/// Whether the child may be called again after such an end.
#[node]
async fn overlong_child(once: bool, ctx: &Context) -> Result<String, Fault> {
    let call = ctx.call::<overlong>(20_000).retry(RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO));
    let given = if once { call.at_most_once().await } else { call.await };
    given.map_err(|error| match error {
        ChildError::Fault(fault) => fault,
        other => panic!("{other}"),
    })
}

workflow! { asks_too_much(bool) -> String { START => overlong_child; } }

/// Fails twice with an error that is too large to be recorded.
#[node]
async fn wordy(#[resource] journal: &Journal) -> Result<u32, String> {
    journal.note("called");
    if journal.count("called") < 3 { Err("x".repeat(20_000)) } else { Ok(7) }
}

#[node]
async fn wordy_child(once: bool, ctx: &Context) -> u32 {
    let call = ctx.call::<wordy>(()).retry(RetryPolicy::with_max_attempts(3).initial_delay(Duration::ZERO));
    let given = if once { call.at_most_once().await } else { call.await };
    given.unwrap_or_default()
}

workflow! { hears_too_much(bool) -> u32 { START => wordy_child; } }

/// An attempt that returns an error has ended with it, whether its words fit into a record or not.
#[tokio::test]
async fn a_child_whose_error_cannot_be_recorded_is_called_again_as_its_policy_says() {
    for once in [false, true] {
        let journal = Journal::default();
        let builder = Engine::builder().resource(journal.clone()).register::<hears_too_much>();
        let engine = builder.max_value_size(10_000).build().unwrap();
        let run = engine.start::<hears_too_much>(once).await.unwrap();
        assert_eq!(soon(run.result()).await.unwrap(), 7);
        assert_eq!(journal.count("called"), 3);
    }
}

#[tokio::test]
async fn a_child_whose_output_cannot_be_recorded_is_called_once_and_again_by_a_retry_of_the_run_if_it_may_be() {
    for (once, calls) in [(false, 2), (true, 1)] {
        let journal = Journal::default();
        let builder = Engine::builder().resource(journal.clone()).register::<asks_too_much>();
        let engine = builder.max_value_size(10_000).build().unwrap();
        let run = engine.start::<asks_too_much>(once).id("run").await.unwrap();
        let first = failure(soon(run.result()).await);
        assert!(first.to_string().contains("the output cannot be recorded: it takes more than 10000 bytes"), "{first}");
        assert_eq!(first.to_string().contains("is not repeated"), once, "{first}");
        let fault = first.error_as::<Fault>().unwrap();
        assert!(matches!(fault, Fault::Unrecordable { at_most_once, .. } if at_most_once == once), "{fault:?}");
        assert_eq!(journal.lines().len(), 1);

        let second = failure(soon(engine.retry("run").await.unwrap().result()).await);
        assert_eq!(second.to_string(), first.to_string());
        assert_eq!(journal.lines().len(), calls);
    }
}

#[tokio::test]
async fn an_id_has_at_most_1024_bytes() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    engine.start::<asking>(Json::Null).id("x".repeat(1024)).await.unwrap();
    for length in [0, 1025, 10_000_000] {
        let error = engine.start::<asking>(Json::Null).id("x".repeat(length)).await.unwrap_err();
        assert_eq!(error, StartError::InvalidId { length });
        let error = engine.fork("x".repeat(1024)).id("x".repeat(length)).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the id of a run may have 1 to 1024 bytes, and this one has {length}"));
    }
}

/// A client would remove them from the URL of the run.
#[tokio::test]
async fn an_id_is_not_a_folder() {
    let engine = Engine::builder().register::<asking>().build().unwrap();
    engine.start::<asking>(Json::Null).id("...").await.unwrap();
    for id in [".", ".."] {
        let error = engine.start::<asking>(Json::Null).id(id).await.unwrap_err();
        assert_eq!(error, StartError::ReservedId { id: id.to_owned() });
        let error = engine.fork("...").id(id).await.unwrap_err();
        assert_eq!(error, ForkError::ReservedId { id: id.to_owned() });
    }
}

/// Calls itself until there is nothing left.
#[node]
async fn down(left: u32, ctx: &Context, #[resource] go: &Arc<Notify>) -> Result<u32, String> {
    match left.checked_sub(1) {
        None => {
            // It is woken through all levels.
            go.notified().await;
            Ok(0)
        }
        Some(left) => match ctx.call::<down>(left).await {
            Ok(below) => Ok(below + 1),
            Err(ChildError::Error(error)) => Err(error),
            Err(fault) => Err(fault.to_string()),
        },
    }
}

workflow! { descent(u32) -> u32 { START => down; } }

#[node]
async fn next(n: u64) -> u64 {
    n + 1
}

workflow! {
    endless(u64) -> u64 { START => next => again; let again = endless(); }
}

/// In a thread with as little stack as tokio gives its own, and in a build without optimisation.
#[test]
fn what_calls_itself_for_ever_fails() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("runs.db");
    let on_a_thread = std::thread::Builder::new().stack_size(2 << 20).spawn(move || {
        life(async {
            for file in [false, true] {
                let go = Arc::new(Notify::new());
                let builder = Engine::builder().resource(Arc::clone(&go)).register::<descent>().register::<endless>();
                let builder = match file {
                    true => builder.store(SqliteStore::open(&path).await.unwrap()),
                    false => builder,
                };
                let engine = builder.build().unwrap();
                go.notify_one();
                let run = engine.start::<descent>(99).await.unwrap();
                assert_eq!(soon(run.result()).await, Ok(99));
                let failed = failure(soon(engine.start::<descent>(u32::MAX).await.unwrap().result()).await);
                assert!(failed.to_string().contains("is nested 101 levels deep, and 100 are allowed"), "{failed}");
                let failed = failure(soon(engine.start::<endless>(0).await.unwrap().result()).await);
                assert!(failed.to_string().contains("is nested 101 levels deep, and 100 are allowed"), "{failed}");
            }
            let go = Arc::new(Notify::new());
            go.notify_one();
            let engine = Engine::builder().resource(go).max_nesting(1000).build().unwrap();
            let run = engine.start::<descent>(999).await.unwrap();
            assert_eq!(soon(run.result()).await, Ok(999));
            assert!(endless(0).await.is_err());
        });
    });
    on_a_thread.unwrap().join().unwrap();
}
