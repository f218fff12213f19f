//! A view that has it all shows any moment, and parts make the whole.

use graphweft::prelude::*;
use graphweft::{Event, Workflow};
use graphweft_inspector::view::State;

use crate::flows::*;
use crate::read::Read;
use crate::{History, builder, engine};

/// Histories of all workflows of these tests, with retries, answers, signals and cancellations.
async fn histories() -> Vec<History> {
    histories_in(&engine()).await
}

async fn histories_in(engine: &Engine) -> Vec<History> {
    let mut all = Vec::new();
    all.extend(both::<routed>(engine, &[2, 20]).await);
    all.extend(both::<looped>(engine, &[0, 2]).await);
    all.extend(both::<items>(engine, &[0, 5]).await);
    all.extend(both::<long_items>(engine, &[0, 13]).await);
    all.extend(both::<outer>(engine, &[0, 2]).await);
    all.extend(both::<items_of_items>(engine, &[1, 4]).await);
    all.extend(both::<retrying>(engine, &[3]).await);
    all.extend(both::<children>(engine, &[3]).await);
    all.extend(both::<raced>(engine, &[3]).await);
    all.extend(both::<deep>(engine, &[2, 20]).await);
    for id in both::<fails>(engine, &[1]).await.iter().map(|history| &history.events[0].run_id) {
        engine.retry(id).await.unwrap().outcome().await.unwrap();
        engine.retry(id).from_node("fails/add_one").await.unwrap().outcome().await.unwrap();
        engine.fork(id).before(4).id("fork").await.unwrap().outcome().await.unwrap();
        all.push(History::of::<fails>(engine, id).await);
        all.push(History::of::<fails>(engine, "fork").await);
    }
    for id in both::<calls_broken>(engine, &[20]).await.iter().map(|history| &history.events[0].run_id) {
        engine.retry(id).await.unwrap().outcome().await.unwrap();
        all.push(History::of::<calls_broken>(engine, id).await);
    }
    let asking = both::<asking>(engine, &[1, 2]).await;
    let [answered, cancelled] = [0, 1].map(|at| asking[at].events[0].run_id.as_str());
    engine.answer(answered, "approve", true).await.unwrap();
    engine.get_run(answered).await.unwrap().unwrap().outcome().await.unwrap();
    let run = engine.get_run(cancelled).await.unwrap().unwrap();
    run.cancel().await.unwrap();
    run.outcome().await.unwrap();
    engine.retry(cancelled).await.unwrap().outcome().await.unwrap();
    for id in [answered, cancelled] {
        all.push(History::of::<asking>(engine, id).await);
    }
    let waiting = both::<signalled>(engine, &[1]).await;
    let id = &waiting[0].events[0].run_id;
    engine.signal(id, PAID, 5).await.unwrap();
    engine.get_run(id).await.unwrap().unwrap().outcome().await.unwrap();
    all.push(History::of::<signalled>(engine, id).await);
    all.extend(asking);
    all.extend(waiting);
    all
}

async fn both<W: Workflow<Input = u32>>(engine: &Engine, inputs: &[u32]) -> Vec<History> {
    let mut all = Vec::new();
    for input in inputs {
        let run = engine.start::<W>(*input).await.unwrap();
        run.outcome().await.unwrap();
        all.push(History::of::<W>(engine, run.id()).await);
    }
    all
}

#[tokio::test(start_paused = true)]
async fn the_whole_view_shows_every_moment_as_the_view_of_that_moment_does() {
    for history in histories().await {
        let whole = Read::of(&history.view());
        for seq in 0..history.view().next() {
            let then = Read::of(&history.view_at(seq));
            let at = seq as i64;
            assert_eq!(whole.states_at(at), then.states_at(at), "{} after {seq}", history.workflow);
            assert_eq!(whole.edges_at(at), then.taken, "{} after {seq}", history.workflow);
        }
    }
}

/// The history of a run that was retried is the events that count, and so are the states of its things.
#[tokio::test(start_paused = true)]
async fn a_retry_takes_everything_back_that_its_events_have_led_to() {
    let mut retries = 0;
    for history in histories().await {
        let mut voids = Vec::new();
        for event in &history.events {
            let EventKind::RunRetried { voids: more, .. } = &event.kind else { continue };
            voids.extend(more.iter().cloned());
            let counts = |other: &Event| other.seq < event.seq && !voids.iter().any(|void| void.contains(&other.seq));
            let mut view = history.empty_view();
            for other in history.events.iter().filter(|other| counts(other)) {
                view.apply(other);
            }
            let (whole, then) = (Read::of(&history.view()), Read::of(&view));
            assert_eq!(whole.states_at(event.seq as i64), then.states_at(i64::MAX), "{}", history.workflow);
            retries += usize::from(!more.is_empty());
        }
    }
    assert!(retries >= 3, "{retries}");
}

/// Cuts at every event, and at every pair of events.
#[tokio::test(start_paused = true)]
async fn parts_make_the_whole() {
    for history in histories().await {
        let whole = Read::of(&history.view());
        let mut view = history.empty_view();
        let mut readers = vec![(Read::default(), None::<String>)];
        for (at, event) in history.events.iter().enumerate() {
            view.apply(event);
            // Each reader has another pace.
            for (pace, (read, cursor)) in readers.iter_mut().enumerate() {
                if at % (pace + 1) == 0 {
                    let part = view.part(cursor.as_deref());
                    assert_eq!(part.whole, cursor.is_none());
                    *cursor = Some(part.cursor.clone());
                    read.add(part);
                }
            }
            if readers.len() < 8 {
                readers.push((Read::default(), None));
            }
        }
        for (mut read, cursor) in readers {
            read.add(view.part(cursor.as_deref()));
            assert_eq!(read, whole, "{}", history.workflow);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_status_of_a_view_is_that_of_the_run() {
    let engine = engine();
    let (mut seen, mut ids) = (std::collections::BTreeSet::new(), Vec::new());
    for (workflow, input) in
        [("routed", 2), ("fails", 1), ("asking", 1), ("signalled", 1), ("children", 1), ("raced", 1)]
    {
        let run = engine.start_json(workflow, input.into()).await.unwrap();
        run.outcome().await.unwrap();
        ids.push(run.id().to_owned());
    }
    let later = engine.start::<routed>(1).after(std::time::Duration::from_secs(3600)).await.unwrap();
    ids.push(later.id().to_owned());
    let cancelled = engine.start::<asking>(1).await.unwrap();
    cancelled.cancel().await.unwrap();
    cancelled.outcome().await.unwrap();
    ids.push(cancelled.id().to_owned());
    for id in ids {
        let run = engine.get_run(&id).await.unwrap().unwrap();
        let graphs = engine.run_graph(&id).await.unwrap();
        let mut view = graphweft_inspector::view::RunView::new(run.workflow(), graphs.as_ref());
        for event in engine.history(&id).await.unwrap().unwrap() {
            view.apply(&event);
        }
        assert_eq!(view.status(), Some(run.status().await.unwrap()), "{}", run.workflow());
        seen.insert(format!("{:?}", run.status().await.unwrap()));
    }
    assert_eq!(seen.len(), 5, "{seen:?}: every status but running, which does not stay");
}

/// Another fold of the run does not know the cursor.
#[tokio::test(start_paused = true)]
async fn a_cursor_of_another_fold_gets_the_whole() {
    let engine = engine();
    let run = engine.start::<looped>(0).await.unwrap();
    run.outcome().await.unwrap();
    let history = History::of::<looped>(&engine, run.id()).await;
    let (view, other) = (history.view(), history.view());
    assert!(!view.part(Some(&view.cursor())).whole);
    for cursor in [other.cursor().as_str(), "", "x", "-", &view.cursor()[1..], &format!("{}.1", view.cursor())] {
        assert!(view.part(Some(cursor)).whole, "{cursor}");
    }
    let ahead = view.cursor().replace('-', "-9");
    assert!(view.part(Some(&ahead)).whole);
}

/// Events that are lost, doubled, exchanged or of another run make a view that is wrong, and no panic.
#[tokio::test(start_paused = true)]
async fn no_order_of_events_leads_to_a_panic() {
    let histories = histories().await;
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below.max(1)
    };
    for _ in 0..2000 {
        let (history, other) = (&histories[next(histories.len())], &histories[next(histories.len())]);
        let graphs = [&history.graphs, &other.graphs, &None][next(3)];
        let mut events = history.events.clone();
        for _ in 0..=next(4) {
            let (from, to) = (next(events.len()), next(events.len()));
            match next(4) {
                0 => events.swap(from, to),
                1 => drop(events.remove(from)),
                2 => events.insert(to, other.events[next(other.events.len())].clone()),
                _ => events[from].kind = other.events[next(other.events.len())].kind.clone(),
            }
            // As they would come.
            for (seq, event) in events.iter_mut().enumerate() {
                event.seq = seq as u64;
            }
        }
        let mut view = graphweft_inspector::view::RunView::new(history.workflow, graphs.as_ref());
        for event in &events {
            view.apply(event);
        }
        let read = Read::of(&view);
        assert!(read.moves.iter().all(|[thing, ..]| (*thing as usize) < read.paths.len()));
    }
}

/// What is skipped or cancelled without a record of its own follows from the graph in the store as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_events_of_a_run_are_the_same_without_its_code() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let engine = builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    histories_in(&engine).await;
    // Which arm of START it takes is in no record.
    for review in [Review::Redo(1), Review::Good(2)] {
        engine.start::<judged>(review).await.unwrap().outcome().await.unwrap();
    }
    let other = Engine::builder().store(SqliteStore::open(&path).await.unwrap()).build().unwrap();
    let (mut skipped, mut runs) = (0, 0);
    for run in engine.list_runs(RunFilter::default()).await.unwrap() {
        let with_code = engine.history(&run.id).await.unwrap().unwrap();
        let without = other.history(&run.id).await.unwrap().unwrap();
        let of_start = |event: &Event| run.workflow == "judged" && event.derived;
        if with_code.iter().any(of_start) {
            // It is known with the next record.
            let derived = |events: &[Event]| {
                events.iter().filter(|event| event.derived).map(|event| event.path.clone()).collect::<Vec<_>>()
            };
            assert_eq!(derived(&without), derived(&with_code));
        } else {
            assert_eq!(without, with_code, "{}", run.workflow);
        }
        skipped += without.iter().filter(|event| event.derived && event.kind == EventKind::NodeSkipped).count();
        runs += 1;
    }
    assert!(skipped > 10 && runs > 20, "{skipped} in {runs} runs");
}

/// What is skipped in a child, and in children of it, is seen by who looks later as by who looks at once.
#[tokio::test(start_paused = true)]
async fn the_derived_events_of_children_are_the_same_later_as_at_once() {
    let engine = engine();
    let mut inside = 0;
    for (workflow, input) in [("deep", 2), ("deep", 20), ("calls_broken", 20), ("children", 3), ("judging", 2)] {
        let run = engine.start_json(workflow, input.into()).await.unwrap();
        let mut events = run.events();
        let mut at_once = Vec::new();
        while let Some(event) = events.next().await {
            at_once.extend(event.derived.then_some((event.path, event.kind)));
        }
        let mut later = Vec::new();
        for event in engine.history(run.id()).await.unwrap().unwrap() {
            later.extend(event.derived.then_some((event.path, event.kind)));
        }
        let sorted = |mut all: Vec<(String, EventKind)>| {
            all.sort_by(|one, other| one.0.cmp(&other.0));
            all
        };
        assert_eq!(sorted(later.clone()), sorted(at_once), "{workflow} of {input}");
        inside += later.iter().filter(|(path, _)| path.matches('/').count() > 1).count();
    }
    assert!(inside >= 8, "{inside} inside of children");
}

/// The child is not recorded to begin again in the other process.
#[tokio::test(start_paused = true)]
async fn what_is_skipped_in_a_child_that_was_resumed_is_known() {
    let store = graphweft::store::MemoryStore::new();
    let engine = builder().store(store.clone()).build().unwrap();
    engine.start::<asking_inside>(2).id("resumed").await.unwrap().outcome().await.unwrap();
    engine.shutdown().await;
    let engine = builder().store(store).build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("resumed", "approve", true).await.unwrap();
    let run = engine.get_run_of::<asking_inside>("resumed").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 8);
    let history = History::of::<asking_inside>(&engine, "resumed").await;
    let skipped = history.events.iter().filter(|event| event.kind == EventKind::NodeSkipped);
    let child = "asking_inside/call_asks/asks_between";
    assert_eq!(
        skipped.map(|event| event.path.clone()).collect::<Vec<_>>(),
        [format!("{child}/explain"), format!("{child}/explain_again")]
    );
    assert_eq!(history.view().state_of(&format!("{child}/explain_again")), State::Skipped);
}
