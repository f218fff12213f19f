//! A database that is taken away from a living process: the process stops, and says why. It does not complete runs in a
//! file without a name.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use crate::chance::Chance;
use crate::owners::{began, lines_of, orders};
use crate::process::{Deed, NO_FILE, Orders, Process};

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
