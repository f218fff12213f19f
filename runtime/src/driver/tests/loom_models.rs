//! How a driver is told that something happened while it looked elsewhere, in every interleaving. A driver that is not
//! woken for it waits for ever, and fails the model.
//!
//! `runtime/models.sh` plays them.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::SystemTime;

use futures_util::FutureExt;
use loom::future::block_on;
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;
use serde_json::{Value, json};

use crate::attempt::{At, Attempt, Beat};
use crate::clock::Clock;
use crate::driver::ends::Ends;
use crate::event::EventKind;
use crate::requests::Held;
use crate::shared::Pulse;
use crate::shared::{Env, Fits, Journal, Shared};
use crate::store::{Created, MemoryStore, NewRun, Store};

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3));
    builder.check(check);
}

/// As the driver does it: first the waker, then a look.
async fn until<T>(pulse: &Pulse, look: impl Fn() -> Option<T>) -> T {
    poll_fn(|waker| {
        pulse.waker.register(waker.waker());
        look().map_or(Poll::Pending, Poll::Ready)
    })
    .await
}

#[test]
fn the_last_one_that_stops_wakes_the_driver() {
    model(|| {
        let pulse = Arc::new(Pulse::default());
        pulse.enter();
        let moving = [(); 2].map(|()| {
            let pulse = Arc::clone(&pulse);
            pulse.enter();
            thread::spawn(move || pulse.leave())
        });
        pulse.leave();
        block_on(until(&pulse, || pulse.still()));
        for moving in moving {
            moving.join().expect("it moves");
        }
    });
}

#[test]
fn what_is_said_and_a_run_that_is_to_leave_wake_the_driver() {
    model(|| {
        let pulse = Arc::new(Pulse::default());
        let saying = thread::spawn({
            let pulse = Arc::clone(&pulse);
            move || pulse.say()
        });
        block_on(until(&pulse, || pulse.take_said().then_some(())));
        saying.join().expect("it is said");
        let unloading = thread::spawn({
            let pulse = Arc::clone(&pulse);
            move || pulse.unload()
        });
        block_on(until(&pulse, || pulse.is_unwanted().then_some(())));
        unloading.join().expect("it is asked for");
    });
}

#[test]
fn what_has_ended_wakes_the_driver() {
    model(|| {
        let ends = Arc::new(Ends::default());
        let lanes = [1, 2].map(|of| {
            let ends = Arc::clone(&ends);
            thread::spawn(move || {
                ends.push(of);
                ends.tell();
            })
        });
        let mut ended = Vec::new();
        block_on(poll_fn(|waker| {
            ended.extend(ends.take(waker.waker()));
            if ended.len() == 2 { Poll::Ready(()) } else { Poll::Pending }
        }));
        for lane in lanes {
            lane.join().expect("it tells");
        }
    });
}

/// What the driver takes for still may be moving by then; but never under the same generation.
#[test]
fn nothing_begins_to_move_in_a_generation_that_was_still() {
    model(|| {
        let pulse = Arc::new(Pulse::default());
        let moves = Arc::new(AtomicBool::new(false));
        let moving = thread::spawn({
            let (pulse, moves) = (Arc::clone(&pulse), Arc::clone(&moves));
            move || {
                pulse.enter();
                moves.store(true, Ordering::SeqCst);
            }
        });
        if let Some(still_at) = pulse.still() {
            let has_begun = moves.load(Ordering::SeqCst);
            assert!(!has_begun || pulse.generation() != still_at, "it moves in a generation that is taken for still");
            moving.join().expect("it moves");
            assert_ne!(pulse.generation(), still_at, "that it has begun to move is no news");
        } else {
            moving.join().expect("it moves");
        }
    });
}

/// The run of a node that has asked, in a store that does everything at once; and the node, which waits.
fn asking() -> (MemoryStore, Arc<Shared>, Beat, Held) {
    let store = MemoryStore::new();
    let owner = store.join(Vec::new()).now_or_never().expect("at once").expect("it joins");
    let new = NewRun {
        id: "x".to_owned(),
        workflow: "flow".to_owned(),
        owner: Some(owner),
        graph: Arc::new((1, json!(1))),
        forked_from: None,
        previous: None,
        started_by: None,
        tags: Default::default(),
        wake_at: None,
        time: SystemTime::UNIX_EPOCH,
        records: Vec::new(),
    };
    let Some(Ok(Created::New(header))) = store.create(new).now_or_never() else { panic!("it is new") };
    let journal = Arc::new(Journal::new(&header, owner, Arc::new(store.clone()), Clock::default(), Arc::default()));
    let run = Arc::new(Shared::recorded(Arc::new(Env::default()), journal));
    let attempt = Attempt::new(Arc::clone(&run), At::Child("flow/a".into()), 1, Arc::default(), None);
    let attempt = Arc::new(attempt);
    let beat = Beat::of(&attempt, false).expect("the run is recorded");
    let fits = Fits { read: |_| Ok(()), read_recorded: |_| Ok(()), schema: || json!(true) };
    let (held, _) = Held::new(&attempt, "flow/a/ask".to_owned(), Some(fits)).expect("its first");
    let asked = EventKind::QuestionAsked {
        prompt: String::new(),
        payload: Value::Null,
        until: None,
        schema: json!(true),
        again: false,
    };
    // As whoever polls the body does it.
    attempt.requests().push("flow/a/ask", asked);
    attempt.requests().push_batch();
    let journal = run.journal.as_ref().expect("it records");
    block_on(journal.flush()).expect("it is recorded");
    let requests = attempt.requests();
    requests.waker.take_woken();
    assert!(requests.waker.begin_waiting(), "nothing has woken it");
    (store, run, beat, held)
}

/// Or the header would say, behind the answer, that nothing moves before an answer comes, and nobody would go on with it.
#[test]
fn a_run_does_not_rest_over_an_answer() {
    model(|| {
        let (store, run, _beat, _held) = asking();
        let journal = Arc::clone(run.journal.as_ref().expect("it records"));
        let answering = thread::spawn({
            let journal = Arc::clone(&journal);
            move || {
                journal.push(
                    "flow/a/ask".to_owned(),
                    EventKind::Answered { answer: json!(1), by: None, comment: None, unchecked: false },
                );
                block_on(journal.flush())
            }
        });
        // As the driver does it, until it has left or sees that something moves.
        while let Some(still_at) = run.pulse.still() {
            let leaves = journal.rest(None, || run.pulse.generation() == still_at);
            block_on(journal.flush()).expect("it is recorded");
            if leaves {
                break;
            }
        }
        answering.join().expect("it answers").expect("it is recorded");
        let header = store.header("x").now_or_never().expect("at once").expect("it can be read").expect("it is there");
        assert!(!header.status.is_suspended() || header.records != 2, "it rests over its answer");
    });
}
