//! Real crashes: processes that execute runs are killed with `kill -9` at random moments, and what then is on record is
//! held against a ledger, outside of the database, of what each node did.
//!
//! What is random comes from a seed, which is printed. `GRAPHWEFT_CRASHES` says how many crashes there are to be at least,
//! `GRAPHWEFT_SEED` where chance begins, and words on the command line choose scenarios:
//!
//! ```text
//! GRAPHWEFT_CRASHES=500 GRAPHWEFT_SEED=7 cargo test -p graphweft-tests --test crash -- chain_of_60 questions
//! ```

#[cfg(unix)]
mod chance;
#[cfg(unix)]
mod flows;
#[cfg(unix)]
mod judge;
#[cfg(unix)]
mod kills;
#[cfg(unix)]
mod ledger;
#[cfg(unix)]
mod linked;
#[cfg(unix)]
mod owners;
#[cfg(unix)]
mod people;
#[cfg(unix)]
mod pieces;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod room;
#[cfg(unix)]
mod taken;

#[cfg(not(unix))]
fn main() {
    println!("processes are killed on Unix only");
}

#[cfg(unix)]
fn main() -> std::process::ExitCode {
    process::obey();
    crashes::main()
}

#[cfg(unix)]
mod crashes {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::ExitCode;
    use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

    use graphweft::json;

    use crate::chance::Chance;
    use crate::flows::{SCENARIOS, careful_gives, questions_give};
    use crate::kills::{self, Mode};
    use crate::owners::{self, By, Shared};
    use crate::room;
    use crate::taken;

    /// As many as take about a minute where nothing is said.
    const CRASHES: u64 = 80;

    struct Plan {
        crashes: u64,
        seed: u64,
        wanted: Vec<String>,
    }

    type OfOwners = (&'static str, fn(u64, &Path) -> Result<u64, String>);

    const OWNERS: &[OfOwners] = &[
        ("shared_chains", |seed, directory| owners::share(&CHAINS, seed, directory)),
        ("shared_questions", |seed, directory| owners::share(&QUESTIONS, seed, directory)),
        ("answered_by_both", |seed, directory| owners::share(&ANSWERED_BY_BOTH, seed, directory)),
        ("through_a_link", |seed, directory| owners::share(&THROUGH_A_LINK, seed, directory)),
        ("cancelled_and_dead", owners::a_run_that_is_cancelled_stays_so_if_its_process_dies_at_once),
        ("file_taken_away", taken::a_process_whose_file_is_taken_away_stops),
        ("file_cut_off", taken::a_process_whose_file_is_cut_off_stops),
        ("fenced", owners::a_process_that_outlives_its_lease_is_fenced),
        ("no_room", room::a_run_outlives_a_full_disk),
        ("death_and_pause", owners::a_death_is_known_at_once_and_a_pause_is_no_death),
    ];

    const CHAINS: Shared = Shared {
        workflow: "chain_of_20",
        runs: 8,
        output: |_| json!(21),
        pause: Duration::from_millis(20),
        kills: 8,
        between_kills: Duration::from_millis(250),
        ..SHARED
    };

    const QUESTIONS: Shared = Shared {
        workflow: "questions",
        runs: 3,
        output: |_| questions_give(),
        pause: Duration::from_millis(5),
        kills: 8,
        between_kills: Duration::from_millis(600),
        ..SHARED
    };

    const ANSWERED_BY_BOTH: Shared = Shared {
        pause: Duration::from_millis(15),
        between_kills: Duration::from_millis(120),
        answers: By::Processes,
        ..QUESTIONS
    };

    const THROUGH_A_LINK: Shared = Shared {
        workflow: "careful",
        runs: 6,
        output: careful_gives,
        pause: Duration::from_millis(40),
        kills: 6,
        between_kills: Duration::from_millis(150),
        through_link: true,
        ..SHARED
    };

    const SHARED: Shared = Shared {
        workflow: "chain_of_20",
        runs: 1,
        output: |_| json!(21),
        pause: Duration::ZERO,
        kills: 0,
        between_kills: Duration::ZERO,
        answers: By::People,
        through_link: false,
    };

    pub(crate) fn main() -> ExitCode {
        let plan = Plan::read();
        let begun = Instant::now();
        println!("crashes: at least {}, seed {}", plan.crashes, plan.seed);
        match plan.carry_out() {
            Ok(crashes) => {
                println!("{crashes} crashes in {:.1} s", begun.elapsed().as_secs_f64());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        }
    }

    impl Plan {
        fn read() -> Plan {
            let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("it is a number"));
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Plan {
                crashes: number("GRAPHWEFT_CRASHES").unwrap_or(CRASHES),
                seed: number("GRAPHWEFT_SEED").unwrap_or(now.as_secs() % 1_000_000),
                wanted: std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect(),
            }
        }

        fn wants(&self, name: &str) -> bool {
            self.wanted.is_empty() || self.wanted.iter().any(|wanted| name.contains(wanted.as_str()))
        }

        fn carry_out(&self) -> Result<u64, String> {
            let scenarios: Vec<_> = SCENARIOS.iter().filter(|scenario| self.wants(scenario.name)).collect();
            let owners: Vec<_> = OWNERS.iter().filter(|(name, _)| self.wants(name)).collect();
            let mut undisturbed = BTreeMap::new();
            for scenario in &scenarios {
                let went = self.in_a_directory(scenario.name, 0, |seed, directory| {
                    kills::run(scenario, seed, Mode::Watch, directory)
                })?;
                undisturbed.insert(scenario.name, went.last);
            }
            let mut crashes = 0;
            let mut in_vain = 0;
            for round in 1.. {
                let before = crashes;
                for (name, test) in &owners {
                    crashes += self.in_a_directory(name, round, test)?;
                }
                for scenario in &scenarios {
                    let whole = undisturbed.get(scenario.name).copied().unwrap_or(Duration::from_millis(100));
                    let went = self.in_a_directory(scenario.name, round, |seed, directory| {
                        kills::run(scenario, seed, Mode::Kill(whole), directory)
                    })?;
                    crashes += went.kills;
                }
                println!("round {round}: {} crashes", crashes - before);
                in_vain = if crashes == before { in_vain + 1 } else { 0 };
                if crashes >= self.crashes || in_vain == 5 {
                    break;
                }
            }
            Ok(crashes)
        }

        /// Runs a part with files of its own, which stay where it fails.
        fn in_a_directory<T>(
            &self,
            name: &str,
            round: u64,
            part: impl FnOnce(u64, &Path) -> Result<T, String>,
        ) -> Result<T, String> {
            let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
            let seed = Chance::of(self.seed, (name, round)).next();
            part(seed, directory.path()).map_err(|error| {
                let kept = directory.keep();
                format!(
                    "{name}, round {round}: {error}\nthe files are in {}\nagain: GRAPHWEFT_CRASHES={} GRAPHWEFT_SEED={} \
                     cargo test -p graphweft-tests --test crash -- {name}",
                    kept.display(),
                    self.crashes,
                    self.seed,
                )
            })
        }
    }
}
