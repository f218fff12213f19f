//! The writer's queue and the two who do its work, in every interleaving. What does not move any more is a deadlock, and
//! fails the model.
//!
//! `runtime/models.sh` plays them.

use std::path::Path;
use std::time::Duration;

use loom::future::block_on;
use loom::sync::Arc;
use loom::thread;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::store::StoreError;
use crate::store::sqlite::file::OpenFile;
use crate::store::sqlite::queue::{Queue, Wake};
use crate::store::sqlite::schema::migrate;
use crate::store::sqlite::settings::{Access, beside};
use crate::store::sqlite::tests::place;
use crate::store::sqlite::trouble::Trouble;
use crate::store::sqlite::write_transaction::{Journals, WriteTransaction};
use crate::store::sqlite::writer::Shared;
use crate::store::sqlite::{Durability, Settings};

type Answer = oneshot::Receiver<Result<u32, StoreError>>;

fn works(number: u32) -> impl FnOnce(&mut WriteTransaction<'_>) -> Result<u32, Trouble> + Send {
    move |_| Ok(number)
}

/// The answer, which has to be there: whoever gives it is done.
fn taken(mut answer: Answer) -> Result<u32, StoreError> {
    answer.try_recv().expect("it was answered")
}

fn model(check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(3));
    builder.check(check);
}

/// A database of its own.
fn database() -> Connection {
    let mut connection = Connection::open_in_memory().expect("a database");
    migrate(&mut connection, Path::new("in memory")).expect("the tables");
    connection
}

/// The writer's thread.
fn serve(queue: &Queue) {
    let connection = database();
    loop {
        match queue.wait(None, None) {
            Some(Wake::End) => return,
            Some(Wake::Chores) | None => {}
            Some(Wake::Work) => {
                let mut journals = Journals::default();
                let mut jobs = queue.take(8, true);
                let ran = WriteTransaction::within(&connection, &mut journals, |transaction| {
                    jobs.iter_mut().try_for_each(|job| job.run(transaction))
                });
                assert!(ran.is_ok());
                for job in jobs {
                    job.answer(Ok(()));
                }
            }
        }
    }
}

#[test]
fn whoever_pushes_and_wakes_is_answered() {
    model(|| {
        let queue = Arc::new(Queue::default());
        let pushing = [1, 2].map(|number| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                let answer = queue.push(works(number));
                queue.wake();
                answer
            })
        });
        let serving = thread::spawn({
            let queue = Arc::clone(&queue);
            move || serve(&queue)
        });
        // The end would wake it as well: only then does it come.
        for (number, pushing) in [1, 2].into_iter().zip(pushing) {
            let answer = pushing.join().expect("it pushes");
            assert_eq!(block_on(answer), Ok(Ok(number)));
        }
        queue.finish();
        serving.join().expect("it serves");
    });
}

#[test]
fn what_comes_after_the_queue_is_closed_is_refused_and_not_kept() {
    model(|| {
        let queue = Arc::new(Queue::default());
        let pushing = thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.push(works(1))
        });
        queue.close();
        let mut answer = pushing.join().expect("it pushes");
        assert!(matches!(answer.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    });
}

/// The real thread and a caller that helps it, over a database in memory.
#[test]
fn a_caller_that_helps_leaves_nobody_without_an_answer() {
    let (_directory, path) = place();
    for part in [&path, &beside(&path, "wal"), &beside(&path, "shm")] {
        std::fs::write(part, "something").expect("a file");
    }
    let file = std::sync::Arc::new(OpenFile::of(path).expect("it is there"));
    for durability in [Durability::Relaxed, Durability::Full] {
        let file = std::sync::Arc::clone(&file);
        model(move || {
            let connection = database();
            let settings = Settings {
                access: Access::Write,
                durability,
                lease: Duration::from_secs(10),
                busy_timeout: Duration::ZERO,
                log_rows: 1,
                is_existing: false,
            };
            let shared = Arc::new(Shared::new(std::sync::Arc::clone(&file), settings, connection));
            let calling = thread::spawn({
                let shared = Arc::clone(&shared);
                move || {
                    let answer = shared.queue.push(works(1));
                    shared.help();
                    answer
                }
            });
            let working = thread::spawn({
                let shared = Arc::clone(&shared);
                move || shared.work()
            });
            let mine = shared.queue.push(works(2));
            shared.help();
            let its = calling.join().expect("it calls");
            assert_eq!((block_on(mine), block_on(its)), (Ok(Ok(2)), Ok(Ok(1))));
            shared.queue.finish();
            working.join().expect("it works");
        });
    }
}
