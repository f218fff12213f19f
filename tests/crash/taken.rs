//! A database that is taken away from a living process, or cut off: the process stops, and says why. It does not complete runs in a
//! file without a name.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::chance::Chance;
use crate::owners::{began, lines_of, orders};
use crate::process::{DONE, Deed, NO_FILE, Orders, Process, run_id};

const PATIENCE: Duration = Duration::from_secs(60);

type TakeAway = fn(&Path) -> io::Result<()>;

const WAYS: [(&str, TakeAway); 5] = [
    ("removed", |file| fs::remove_file(file)),
    ("removed with its log", |file| {
        fs::remove_file(file)?;
        fs::remove_file(file.with_extension("db-wal"))?;
        fs::remove_file(file.with_extension("db-shm"))
    }),
    ("renamed", |file| fs::rename(file, file.with_extension("old"))),
    ("replaced", |file| {
        let other = file.with_extension("new");
        fs::write(&other, [])?;
        fs::rename(other, file)
    }),
    ("emptied", |file| OpenOptions::new().write(true).open(file)?.set_len(0)),
];

/// A file that holds the records of runs which are over is cut off at some length.
pub(crate) fn a_process_whose_file_is_cut_off_stops(seed: u64, directory: &Path) -> Result<u64, String> {
    let mut chance = Chance::of(seed, "cut off");
    for part in ["a quarter", "a half", "most of it"] {
        let directory = directory.join(part.replace(' ', "_"));
        fs::create_dir(&directory).map_err(|error| error.to_string())?;
        let lease = Duration::from_millis(300);
        let mut first =
            Process::start(&Orders { pause: Duration::ZERO, ..orders(&directory, RUNS_BEFORE, seed, 1, lease) });
        let code = first.end_within(PATIENCE)?;
        if code != DONE {
            return Err(format!("the process before ended with {code}"));
        }
        let file = directory.join("runs.db");
        let whole = fs::metadata(&file).map_err(|error| error.to_string())?.len();
        let left = match part {
            "a quarter" => whole / 4,
            "a half" => whole / 2,
            _ => whole - 1 - chance.up_to(Duration::from_nanos(4_000)).as_nanos() as u64,
        };
        let now = Orders {
            pause: Duration::from_millis(200),
            deed: Deed::LosesItsFile,
            ..orders(&directory, RUNS_BEFORE + 1, seed, 2, lease)
        };
        let mut process = Process::start(&now);
        began(&directory, 2, "chain_of_20/a1")?;
        std::thread::sleep(chance.up_to(Duration::from_millis(100)));
        let cut = OpenOptions::new().write(true).open(&file).and_then(|file| file.set_len(left));
        cut.map_err(|error| format!("{part}: {error}"))?;
        let code = process.end_within(PATIENCE).map_err(|error| format!("{part}: {error}"))?;
        if code == DONE && is_whole_again(&directory, 2)? {
            continue;
        }
        if code != NO_FILE {
            return Err(format!("of its file {part} was left, and the process ended with {code}"));
        }
        if lines_of(&directory, 2).iter().any(|line| line.path == "chain_of_20/b9") {
            return Err(format!("of its file {part} was left, and its run came to its last node"));
        }
        // Another that opens it: neither a panic nor runs that are over in another way.
        let mut next = Process::start(&Orders { process: 3, ..now });
        let code = next.end_within(PATIENCE).map_err(|error| format!("{part}: {error}"))?;
        if code == DONE && is_whole_again(&directory, 3)? {
            continue;
        }
        if code != NO_FILE {
            return Err(format!("of its file {part} was left, and the next process ended with {code}"));
        }
        if !lines_of(&directory, 3).is_empty() {
            return Err(format!("of its file {part} was left, and the next process executed nodes"));
        }
    }
    Ok(0)
}

/// Whether nothing was lost. The last pages of the file are also those that the new run is recorded in: once they are in
/// the log, a checkpoint writes all that was cut off, and the process need not notice. No run that was over may have begun
/// again then.
fn is_whole_again(directory: &Path, process: u64) -> Result<bool, String> {
    let begun_again = lines_of(directory, process).into_iter().find(|line| line.run != run_id(RUNS_BEFORE));
    if let Some(line) = begun_again {
        return Err(format!("process {process} executed `{}` of `{}`, which was over", line.path, line.run));
    }
    let checked = rusqlite::Connection::open(directory.join("runs.db"))
        .and_then(|file| file.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)));
    Ok(checked.is_ok_and(|found| found == "ok"))
}

/// How many runs are over when the file is cut off: enough for some pages.
const RUNS_BEFORE: u64 = 12;

/// No process of these is killed, so that this counts no crashes.
pub(crate) fn a_process_whose_file_is_taken_away_stops(seed: u64, directory: &Path) -> Result<u64, String> {
    let mut chance = Chance::of(seed, "taken away");
    for (way, take_away) in WAYS {
        let directory = directory.join(way.replace(' ', "_"));
        fs::create_dir(&directory).map_err(|error| error.to_string())?;
        // Its file is looked at whenever its lease is renewed.
        let orders = Orders {
            pause: Duration::from_millis(200),
            deed: Deed::LosesItsFile,
            ..orders(&directory, 1, seed, 1, Duration::from_millis(300))
        };
        let mut process = Process::start(&orders);
        began(&directory, 1, "chain_of_20/a1")?;
        std::thread::sleep(chance.up_to(Duration::from_millis(100)));
        take_away(&directory.join("runs.db")).map_err(|error| format!("{way}: {error}"))?;
        let code = process.end_within(PATIENCE).map_err(|error| format!("{way}: {error}"))?;
        if code != NO_FILE {
            return Err(format!("its file was {way}, and the process ended with {code}"));
        }
        if lines_of(&directory, 1).iter().any(|line| line.path == "chain_of_20/b9") {
            return Err(format!("its file was {way}, and its run came to its last node"));
        }
    }
    Ok(0)
}
