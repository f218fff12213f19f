//! What can go wrong, and what the caller hears of it.

use std::error::Error;

use deadpool_postgres::PoolError;
use graphweft::store::StoreError;

/// An error on the way to a [`StoreError`].
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Of the server, or of the connection.
    Database(tokio_postgres::Error),
    /// There is no connection.
    Pool(PoolError),
    /// One for the caller, as it is.
    Store(StoreError),
}

impl Trouble {
    /// What was found is not what was written.
    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        let message = message.into();
        Trouble::Store(StoreError::Other {
            message: format!("the database is damaged: {message}; restore it from a backup"),
        })
    }

    /// Whether the server has done nothing, since it could not be reached or does not take connections at present.
    pub(crate) fn is_unreachable(&self) -> bool {
        match self {
            Trouble::Pool(PoolError::Backend(error)) => is_refused(error),
            _ => false,
        }
    }

    /// For the caller. `server`: where the server is.
    pub(crate) fn for_caller(self, server: &str) -> StoreError {
        let message = match self {
            Trouble::Store(error) => return error,
            Trouble::Pool(PoolError::Closed) => return StoreError::Closed,
            Trouble::Pool(PoolError::Backend(error)) => {
                format!("PostgreSQL at {server} cannot be reached: {}", chain(&error))
            }
            Trouble::Pool(PoolError::Timeout(_)) => format!(
                "no connection to PostgreSQL at {server} became free in time; allow more of them with \
                 `.max_connections(..)`, or look for what keeps the server busy"
            ),
            Trouble::Pool(error) => format!("no connection to PostgreSQL at {server} could be made: {error}"),
            Trouble::Database(error) => format!("PostgreSQL at {server}: {}", chain(&error)),
        };
        StoreError::Other { message }
    }
}

/// An error with what has caused it.
pub(crate) fn chain(error: &tokio_postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        let detail = error.detail().map(|detail| format!(" ({detail})")).unwrap_or_default();
        return format!("{}: {}{detail} [{}]", error.severity(), error.message(), error.code().code());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

/// Whether it is an error by which a connection is not made.
fn is_refused(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::SqlState;
    error.as_db_error().is_none_or(|error| {
        [
            &SqlState::CANNOT_CONNECT_NOW,
            &SqlState::ADMIN_SHUTDOWN,
            &SqlState::CRASH_SHUTDOWN,
            &SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(&error.code())
    })
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        Trouble::Database(error)
    }
}

impl From<PoolError> for Trouble {
    fn from(error: PoolError) -> Self {
        Trouble::Pool(error)
    }
}

impl From<serde_json::Error> for Trouble {
    fn from(error: serde_json::Error) -> Self {
        Trouble::Store(StoreError::Other { message: format!("what is to be stored is not JSON: {error}") })
    }
}
