//! Refunds that a person approves: the workflow, and the engine for it that the service and the program beside it share.

pub mod earlier;
pub mod refunds;

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use graphweft::Retention;
use graphweft::prelude::*;
use graphweft_otel::Resumed;
use graphweft_postgres::PostgresStore;

use refunds::{Bank, refund};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the runs are.
#[derive(Clone, Debug)]
pub enum Database {
    /// A file, for processes of one machine.
    File(PathBuf),
    /// PostgreSQL at this address, for processes of any machines.
    Server(String),
}

impl Database {
    /// The one that `APPROVALS_DATABASE` names, for the service and the program beside it.
    #[must_use]
    pub fn of_environment() -> Self {
        let named = std::env::var_os("APPROVALS_DATABASE").unwrap_or_else(|| "approvals.db".into());
        match named.to_str() {
            Some(address) if address.starts_with("postgres://") || address.starts_with("postgresql://") => {
                Database::Server(address.to_owned())
            }
            _ => Database::File(named.into()),
        }
    }
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Database::File(path) => write!(f, "the file `{}`", path.display()),
            // Its address has a password.
            Database::Server(_) => f.write_str("PostgreSQL"),
        }
    }
}

/// An engine with everything that a run may need: both versions of the workflow, and the resources of its nodes.
///
/// # Errors
/// Those of the database.
pub async fn engine(database: &Database, bank: Bank) -> Result<Engine, Box<dyn Error>> {
    let builder = match database {
        Database::File(path) => Engine::builder().store(SqliteStore::open(path).await?),
        Database::Server(address) => Engine::builder().store(PostgresStore::connect(address).await?),
    };
    let engine = builder
        .resource(bank)
        .register::<refund>()
        .register_earlier::<earlier::refund>()
        .retention(Retention::completed(30 * DAY).failed(90 * DAY).cancelled(30 * DAY))
        .trace_context(Resumed::AsLink)
        .build()?;
    Ok(engine)
}
