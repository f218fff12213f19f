//! A simulator: the engine, the driver and the stores as they are, on one thread under a clock of their own, with all
//! randomness drawn from one seed.
//!
//! A [`Scenario`](scenario::Scenario) has the graph, the routes of its nodes, their times, failures and questions, and
//! the moments when the store fails and the process dies. One scenario gives one run, to the byte of its log, so that
//! every error can be reproduced. While it runs, a [ledger](ledger) that survives every crash checks the actions of the
//! nodes against the guarantees. When it is over, the records are checked against the [oracle](oracle), a plain
//! interpreter of the meaning of graphs (as `analysis` of `graphweft-graph` gives it) that plays the same routes.
//!
//! - `GRAPHWEFT_SEED=7 GRAPHWEFT_RUNS=1 cargo test -p graphweft --lib sim::tests::random` repeats one seed;
//! - `GRAPHWEFT_RUNS=100000` searches longer, and `GRAPHWEFT_CRASHES=10000` lets so many processes die;
//! - `GRAPHWEFT_SCENARIO='{..}' cargo test -p graphweft --lib sim::tests::one` plays a scenario that was printed, and
//!   `GRAPHWEFT_LOG=1` shows the records of what breaks.

mod again;
mod asked;
mod at_once;
mod behaviour;
mod bodies;
mod by_hand;
mod check;
mod crashes;
mod disk;
mod draw;
mod folds;
mod follow;
mod forks;
mod jobs;
mod layers;
mod leases;
mod ledger;
mod life;
mod load;
mod oracle;
mod originals;
mod play;
mod process;
mod processes;
mod progress;
mod records;
mod regressions;
mod replays;
mod requests;
mod scenario;
mod senders;
mod shrink;
mod sight;
mod signals;
mod sites;
mod small;
mod snapshots;
mod story;
mod tests;
mod tracks;
mod voids;
mod wiring;
mod workflows;
