//! Processes that run out of room: their files may get only so long. A run stops with the store's error, is not lost, and
//! goes on in the next process, which has a little more room.

use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::chance::Chance;
use crate::judge::{Judge, Scene};
use crate::kills::{history_as_it_lies, told};
use crate::ledger;
use crate::process::{DONE, Deed, NO_ROOM, Orders, Process, output, run_id};

const PATIENCE: Duration = Duration::from_secs(60);

/// No process of these is killed, so that this counts no crashes.
pub(crate) fn a_run_outlives_a_full_disk(seed: u64, directory: &Path) -> Result<u64, String> {
    let mut chance = Chance::of(seed, "room");
    let mut judge = Judge::of(run_id(0));
    // A database and the index of its log need some before there is anything in them.
    let mut room = 100 + chance.below(100);
    let mut stopped = 0;
    for process in 1..=40 {
        let orders = Orders {
            directory: directory.display().to_string(),
            workflow: "chain_of_60".to_owned(),
            input: 1,
            runs: 1,
            seed,
            process,
            pause: Duration::from_millis(1),
            lease: Duration::from_secs(3600),
            stay: Duration::ZERO,
            room: Some(room),
            deed: Deed::Nothing,
        };
        let code = Process::start(&orders).end_within(PATIENCE)?;
        let looked = judge.look(history_as_it_lies(directory), &ledger::read(directory), Scene::Still);
        let told = || told(judge.history());
        looked.map_err(|error| format!("after process {process} with {room} KiB: {error}\n{}", told()))?;
        match code {
            NO_ROOM => stopped += 1,
            DONE if stopped == 0 => return Err("there was room for everything".to_owned()),
            DONE if output(judge.history()) == Some(&json!(61)) => return Ok(0),
            other => return Err(format!("process {process} with {room} KiB ended with {other}\n{}", told())),
        }
        room += 50 + chance.below(200);
    }
    Err(format!("the run has not ended, after {stopped} processes without room\n{}", told(judge.history())))
}
