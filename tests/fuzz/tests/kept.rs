//! Every input that was kept, the seeds and what was found with them, through the target that it belongs to.

use std::path::{Path, PathBuf};

use graphweft_fuzz_bodies::TARGETS;

/// The inputs of a target, by name so that the order is the same everywhere.
fn kept(kind: &str, target: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(kind).join(target);
    let files = folder.read_dir().into_iter().flatten().map(|file| file.expect("a folder that can be read").path());
    let mut files: Vec<PathBuf> = files.collect();
    files.sort();
    files
}

fn play(kind: &str) -> usize {
    let mut played = 0;
    for (target, check) in TARGETS {
        for file in kept(kind, target) {
            println!("{target} {}", file.display());
            check(&std::fs::read(&file).expect("a file that can be read"));
            played += 1;
        }
    }
    played
}

#[test]
fn every_seed_holds() {
    assert!(play("corpus") > 40, "the seeds are gone");
}

#[test]
fn what_was_found_once_is_not_found_again() {
    play("regressions");
}

/// Makes the seeds anew that are records of real runs: `cargo test -p graphweft-fuzz-bodies -- --ignored`.
#[test]
#[ignore = "writes into the corpus"]
fn write_seeds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, text) in graphweft_fuzz_bodies::real_runs() {
        std::fs::write(folder.join("resume").join(name), text).expect("a folder that can be written");
    }
    for (name, text) in graphweft_fuzz_bodies::real_graphs() {
        std::fs::write(folder.join("graphs").join(name), text).expect("a folder that can be written");
    }
}
