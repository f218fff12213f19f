//! Notes: data that nodes record for those who watch the run.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, Json, json};
use graphweft_tests::{Death, Journal, OnDisk};

fn notes(events: &[Event]) -> Vec<(String, String, Json)> {
    let note = |event: &Event| match &event.kind {
        EventKind::Note { name, payload, .. } => Some((event.path.clone(), name.clone(), payload.clone())),
        _ => None,
    };
    events.iter().filter_map(note).collect()
}

fn note(path: &str, name: &str, payload: impl Into<Json>) -> (String, String, Json) {
    (path.to_owned(), name.to_owned(), payload.into())
}

#[node]
async fn child(n: u32, ctx: &Context, #[resource] death: &Death) -> u32 {
    ctx.note("in child", n);
    death.come("child").await;
    n
}

#[node]
async fn works(n: u32, ctx: &Context, #[resource] death: &Death) -> u32 {
    ctx.note("begins", json!({ "n": n }));
    ctx.note("tick", 1);
    ctx.note("tick", 1);
    death.come("begun").await;
    let n = ctx.call::<child>(n).await.unwrap_or_default();
    ctx.note("ends", ());
    death.come("ends").await;
    n
}

#[node]
async fn rests(n: u32, #[resource] death: &Death) -> u32 {
    death.come("rests").await;
    n
}

workflow! { working(u32) -> u32 { START => works => rests; } }

fn all() -> Vec<(String, String, Json)> {
    vec![
        note("working/works", "begins", json!({ "n": 7 })),
        note("working/works", "tick", 1),
        note("working/works", "tick", 1),
        note("working/works/child", "in child", 7),
        note("working/works", "ends", Json::Null),
    ]
}

#[test]
fn a_note_is_a_record_of_its_node() {
    let (_, events) = OnDisk::default().runs::<working>(7);
    assert_eq!(notes(&events), all());
    let event = events.iter().find(|event| matches!(event.kind, EventKind::Note { .. })).unwrap();
    let json = serde_json::to_value(event).unwrap();
    assert_eq!((&json["type"], &json["name"], &json["payload"]["n"]), (&json!("note"), &json!("begins"), &json!(7)));
    assert_eq!(serde_json::from_value::<Event>(json).unwrap(), *event);
    assert_eq!(event.kind.name(), "note");
}

#[test]
fn a_node_that_starts_again_records_its_notes_once_wherever_its_process_died() {
    for place in ["begun", "child", "ends", "rests"] {
        let disk = OnDisk::default();
        disk.dies_at::<working>(7, place);
        let (result, events) = disk.resumes::<working>();
        assert_eq!(result.unwrap(), 7);
        assert_eq!(notes(&events), all(), "died at {place}");
    }
}

#[test]
fn a_note_that_differs_after_the_restart_is_recorded_beside_the_old_one() {
    #[node]
    async fn counts(_n: u32, ctx: &Context, #[resource] journal: &Journal, #[resource] death: &Death) -> u32 {
        journal.note("counts");
        ctx.note("same", 1);
        ctx.note("life", journal.count("counts"));
        // Its record is behind those of the notes: they are on disk when the process dies.
        ctx.step("noted", || async { Ok::<(), String>(()) }).await.unwrap();
        death.come("counts").await;
        0
    }
    workflow! { counting(u32) -> u32 { START => counts; } }
    let disk = OnDisk::default();
    disk.dies_at::<counting>(0, "counts");
    let (_, events) = disk.resumes::<counting>();
    let path = "counting/counts";
    assert_eq!(notes(&events), [note(path, "same", 1), note(path, "life", 1), note(path, "life", 2)]);
}

#[test]
fn the_next_attempt_and_the_next_turn_record_their_own() {
    #[node(retry(max_attempts = 2, initial_delay = "0s"))]
    async fn tries(n: u32, ctx: &Context, #[resource] death: &Death) -> Result<u32, String> {
        ctx.note("tries", 1);
        if ctx.attempt() == 1 {
            death.come("first").await;
            return Err("no".to_owned());
        }
        death.come("second").await;
        Ok(n + 1)
    }
    #[node]
    async fn decides(n: u32) -> bool {
        n < 2
    }
    workflow! { trying(u32) -> bool { START => tries => decides; } }
    for place in ["first", "second"] {
        let disk = OnDisk::default();
        disk.dies_at::<trying>(0, place);
        let (_, events) = disk.resumes::<trying>();
        let one = note("trying/tries", "tries", 1);
        assert_eq!(notes(&events), [one.clone(), one], "died at the {place}");
    }
}

#[test]
fn a_node_that_a_retry_runs_anew_records_its_notes_again() {
    #[node]
    async fn fails(_n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        ctx.note("before", 1);
        journal.note("fails");
        if journal.count("fails") == 1 { Err("no".to_owned()) } else { Ok(2) }
    }
    #[node]
    async fn starts(n: u32, ctx: &Context) -> u32 {
        ctx.note("starts", n);
        n
    }
    workflow! { failing(u32) -> u32 { START => starts => fails; } }
    let disk = OnDisk::default();
    assert!(disk.runs::<failing>(1).0.is_err());
    let events = disk.process::<failing, _, _>(|engine| async move {
        let run = engine.retry("run").from_node("failing/starts").await.unwrap();
        assert_eq!(run.result().await.unwrap(), 2);
        engine.history("run").await.unwrap().unwrap()
    });
    let (starts, fails) = (note("failing/starts", "starts", 1), note("failing/fails", "before", 1));
    assert_eq!(notes(&events), [starts.clone(), fails.clone(), starts, fails]);
}

#[test]
fn odd_payloads_are_recorded_as_plain_json_or_skipped() {
    #[node]
    async fn odd(_n: u32, ctx: &Context, #[resource] death: &Death) -> u32 {
        ctx.note("nan", f64::NAN);
        ctx.note("nested", Some(Option::<u32>::None));
        ctx.note("mark", json!({ "$graphweft:float": "NaN" }));
        ctx.note("large", "é".repeat(2_000));
        let deep = (0..5_000).fold(Json::Null, |inner, _| Json::Array(vec![inner]));
        ctx.note("deep", &deep);
        std::mem::forget(deep);
        ctx.note("", "no name");
        death.come("odd").await;
        0
    }
    workflow! { oddly(u32) -> u32 { START => odd; } }
    let disk = OnDisk::default();
    disk.dies_at::<oddly>(0, "odd");
    let (_, events) = disk.resumes::<oddly>();
    let names: Vec<_> = notes(&events).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["nan", "nested", "mark", "large", ""]);
    assert_eq!(notes(&events)[2].2, json!({ "$graphweft:float": "NaN" }));
}

#[tokio::test]
async fn a_run_that_was_unloaded_while_it_waited_has_its_notes_once() {
    #[node]
    async fn sleeps(_n: u32, ctx: &Context) -> u32 {
        ctx.note("goes to sleep", 1);
        ctx.sleep(Duration::from_millis(300)).await;
        ctx.note("wakes", 1);
        0
    }
    workflow! { sleeping(u32) -> u32 { START => sleeps; } }
    let engine = Engine::builder().max_resident_waiting(0).register::<sleeping>().build().unwrap();
    let run = engine.start::<sleeping>(1).id("run").await.unwrap();
    run.result().await.unwrap();
    let events = engine.history("run").await.unwrap().unwrap();
    let names: Vec<_> = notes(&events).into_iter().map(|(_, name, _)| name).collect();
    assert_eq!(names, ["goes to sleep", "wakes"]);
}

#[tokio::test]
async fn a_run_in_memory_ignores_them_and_a_task_that_outlives_its_node_too() {
    #[node]
    async fn spawns(_n: u32, ctx: &Context) -> u32 {
        ctx.note("here", 1);
        let (late, ended) = (ctx.clone(), ctx.clone());
        tokio::spawn(async move {
            ended.cancelled().await;
            late.note("late", 1);
        });
        0
    }
    workflow! { spawning(u32) -> u32 { START => spawns; } }
    assert_eq!(spawning(1).await.unwrap(), 0);
    let engine = Engine::builder().build().unwrap();
    let run = engine.start::<spawning>(1).id("run").await.unwrap();
    run.result().await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(notes(&engine.history("run").await.unwrap().unwrap()).len(), 1);
}
