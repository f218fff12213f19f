//! How many instructions are allowed: the most that it took on any machine when this was written, and 4 %. Two machines
//! differ by 5 % where much is allocated and freed at once (a group), and by less elsewhere. Two
//! checkouts do not, with the profile `instructions`: it builds each crate in one piece. Lower them when something got
//! faster; where one is raised, the commit says what the instructions buy.

use gungraun::{Callgrind, EntryPoint, EventKind, LibraryBenchmarkConfig};

/// A chain of 100 nodes.
pub(crate) const CHAIN: u64 = 56_400;
/// `[..]` over 100 items, and a join.
pub(crate) const EACH: u64 = 182_500;
/// 100 branches, and a join.
pub(crate) const FAN_OUT: u64 = 255_500;
/// A loop of 1,000 turns.
pub(crate) const ROUNDS: u64 = 621_000;
/// A run in an engine, of a chain of 100 nodes, with all of its records kept in memory.
pub(crate) const IN_ENGINE: u64 = 140_300;
/// A run of 3 nodes in an engine, in the task of its caller, with all of its records kept in memory.
pub(crate) const TO_END: u64 = 46_700;
/// A run of 1,000 nodes that are recorded in a file; SQLite's share is in it. With room for what it takes where a read transaction is
/// begun for each append: under valgrind, on a machine with other work, they may come too slowly for one that is kept.
pub(crate) const DURABLE: u64 = 27_000_000;
/// Reading the batches of 10,000 recorded nodes from a file; SQLite's share is in it.
pub(crate) const READ: u64 = 16_400_000;
/// Making records of them.
pub(crate) const DECODE: u64 = 48_900_000;
/// Going on after 10,000 recorded nodes, without the reading.
pub(crate) const REPLAY: u64 = 81_000_000;
/// Going on with a node that has 10,000 recorded steps, without the reading.
pub(crate) const STEPS_GIVEN_BACK: u64 = 167_000_000;

/// Fails where it takes more.
pub(crate) fn at_most(instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    with(callgrind)
}

/// The same of what happens within a function, in whatever thread.
pub(crate) fn at_most_within(function: &str, instructions: u64) -> LibraryBenchmarkConfig {
    let mut callgrind = Callgrind::default();
    callgrind.entry_point(EntryPoint::Custom(function.to_owned()));
    callgrind.hard_limits([(EventKind::Ir, instructions)]);
    with(callgrind)
}

fn with(callgrind: Callgrind) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(callgrind);
    config
}
