//! Refunds that a person approves: the workflow, and the engine for it that the service and the program beside it share.

pub mod earlier;
pub mod refunds;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use graphweft::Retention;
use graphweft::prelude::*;
use graphweft_otel::Resumed;

use refunds::{Bank, refund};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The file with the runs, for the service and the program beside it.
#[must_use]
pub fn database() -> PathBuf {
    std::env::var_os("APPROVALS_DATABASE").map_or_else(|| "approvals.db".into(), PathBuf::from)
}

/// An engine with everything that a run may need: both versions of the workflow, and the resources of its nodes.
///
/// # Errors
/// Those of the file.
pub async fn engine(database: &Path, bank: Bank) -> Result<Engine, Box<dyn Error>> {
    let engine = Engine::builder()
        .store(SqliteStore::open(database).await?)
        .resource(bank)
        .register::<refund>()
        .register_earlier::<earlier::refund>()
        .retention(Retention::completed(30 * DAY).failed(90 * DAY).cancelled(30 * DAY))
        .trace_context(Resumed::AsLink)
        .build()?;
    Ok(engine)
}
