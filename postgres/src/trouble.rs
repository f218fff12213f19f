//! What can go wrong, and what the caller hears of it.

use std::error::Error;
use std::io;
use std::time::Duration;

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use graphweft::store::StoreError;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::tls::NoTlsError;

/// An error on the way to a [`StoreError`].
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Of the server, or of the connection.
    Database(tokio_postgres::Error),
    /// There is no connection.
    Pool(PoolError),
    /// A connection could not be made.
    Connect(tokio_postgres::Error),
    /// A connection was not made in this time.
    Silent(Duration),
    /// The server is none that the store can work with: why, and what to do.
    Unusable(String),
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
            Trouble::Pool(PoolError::Backend(error)) | Trouble::Connect(error) => is_refused(error),
            // The connection was made, and lost before it was used.
            Trouble::Pool(PoolError::PostCreateHook(HookError::Backend(error))) => is_lost(error),
            _ => false,
        }
    }

    /// The same, or the connection was lost while the server worked: it may have done what it was sent.
    pub(crate) fn is_unreachable_or_lost(&self) -> bool {
        self.is_unreachable() || matches!(self, Trouble::Database(error) if is_lost(error))
    }

    /// Whether the server may have done what it was sent: nothing says that it is undone.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Trouble::Database(error) if !is_undone_by(error))
    }

    /// For the caller. `server`: where the server is.
    pub(crate) fn for_caller(self, server: &str) -> StoreError {
        let server = format!("PostgreSQL at {server}");
        let message = match self {
            Trouble::Store(error) => return error,
            Trouble::Pool(PoolError::Closed) => return StoreError::Closed,
            Trouble::Pool(PoolError::Backend(error)) | Trouble::Connect(error) => {
                let message = format!("{}{}", chain(&error), advice(&error));
                return match is_refused(&error) {
                    true => StoreError::Unreachable { server, message },
                    false => StoreError::Unusable { server, message },
                };
            }
            Trouble::Silent(limit) => {
                let message = format!(
                    "it has said nothing for {} s; if there is a pooler before it, that may have no connection left, since each engine \
                     and each connection of a store takes one for itself",
                    limit.as_secs()
                );
                return StoreError::Unreachable { server, message };
            }
            Trouble::Unusable(message) => return StoreError::Unusable { server, message },
            Trouble::Pool(PoolError::Timeout(TimeoutType::Wait)) => {
                let message = "no connection to it became free in time; allow more of them with `.max_connections(..)`, or look for \
                               what keeps the server busy"
                    .to_owned();
                return StoreError::Unreachable { server, message };
            }
            Trouble::Pool(PoolError::Timeout(_)) => {
                let message = "no connection to it could be made in time".to_owned();
                return StoreError::Unreachable { server, message };
            }
            Trouble::Pool(PoolError::PostCreateHook(HookError::Backend(error))) => {
                let message = format!("a connection could not be set up: {}", chain(&error));
                return match is_lost(&error) {
                    true => StoreError::Unreachable { server, message },
                    false => StoreError::Unusable { server, message },
                };
            }
            Trouble::Pool(error) => format!("no connection to {server} could be made: {error}"),
            Trouble::Database(error) if is_lost(&error) => {
                let message =
                    format!("the connection was lost, and what was sent may have been done: {}", chain(&error));
                return StoreError::Unreachable { server, message };
            }
            Trouble::Database(error) if is_of_server_now(&error) => {
                return StoreError::Unavailable { server, message: chain(&error) };
            }
            Trouble::Database(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                let message = format!("{}; {RIGHTS}", chain(&error));
                return StoreError::Unusable { server, message };
            }
            Trouble::Database(error) if error.code() == Some(&SqlState::PROGRAM_LIMIT_EXCEEDED) => format!(
                "{server} refuses a text that is too long for an index ({}); take shorter ids of runs, keys, and names of logs and sessions: \
                 some 2,600 bytes together",
                chain(&error)
            ),
            Trouble::Database(error) => format!("{}: {}", server.trim_end_matches(','), chain(&error)),
        };
        StoreError::Other { message }
    }
}

/// What the user of a store has to be granted, also one that only looks at the runs.
pub(crate) const RIGHTS: &str = "the user has to own the schema of the store, or have all rights in it, also to look at the runs: `grant all on \
                                 schema graphweft to ..; grant all on all tables in schema graphweft to ..; grant all on all sequences in \
                                 schema graphweft to ..`, with the name of the schema";

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

/// What the certificate or the settings of TLS are to blame for, if it is such an error: in which another attempt ends the same.
fn of_tls(error: &tokio_postgres::Error) -> Option<&(dyn Error + 'static)> {
    let cause = error.source().filter(|_| error.to_string().starts_with("error performing TLS handshake"))?;
    // A connection that ended meanwhile is one that ends.
    let is_cut = cause
        .downcast_ref::<io::Error>()
        .is_some_and(|error| !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput));
    (!is_cut).then_some(cause)
}

/// What to do about an error by which no connection was made, if that is known.
fn advice(error: &tokio_postgres::Error) -> &'static str {
    match of_tls(error) {
        Some(cause) if cause.is::<NoTlsError>() => {
            "; the address asks for TLS, which takes a connector: `.connect_with(..)`"
        }
        Some(cause) if cause.to_string().contains("server does not support TLS") => {
            "; switch TLS on in the server (`ssl = on`), or write `sslmode=disable` in the address, which sends everything in clear"
        }
        Some(_) => {
            "; the connector has to trust the authority that has signed the server's certificate, and the certificate has to \
             be for the host in the address"
        }
        None => "",
    }
}

/// Whether it is an error by which a connection is not made.
fn is_refused(error: &tokio_postgres::Error) -> bool {
    use tokio_postgres::error::SqlState;
    let is_of_settings =
        ["authentication error", "invalid configuration"].iter().any(|kind| error.to_string().starts_with(kind));
    if is_of_settings || of_tls(error).is_some() {
        return false;
    }
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

/// Whether a commit, or a statement by itself, that ended with this error is undone: the server says so, and the connection is still there. What ends the connection may come
/// behind the commit, as when the wait for another server is broken off; so may a request to cancel, which is not served while it is under way.
pub(crate) fn is_undone_by(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|error| {
        error.parsed_severity() == Some(Severity::Error) && *error.code() != SqlState::QUERY_CANCELED
    })
}

/// Whether a statement was refused for what the server is at present, and not for what it says.
fn is_of_server_now(error: &tokio_postgres::Error) -> bool {
    /// No room on the disk, no memory, no connection: "insufficient resources".
    const RESOURCES: &str = "53";
    let Some(code) = error.code() else { return false };
    code.code().starts_with(RESOURCES)
        || [
            // By a limit of the time of statements, or by the administrator.
            &SqlState::QUERY_CANCELED,
            &SqlState::LOCK_NOT_AVAILABLE,
            &SqlState::T_R_DEADLOCK_DETECTED,
            &SqlState::T_R_SERIALIZATION_FAILURE,
            // It takes no writes, as one that another has taken the place of.
            &SqlState::READ_ONLY_SQL_TRANSACTION,
            &SqlState::IO_ERROR,
        ]
        .contains(&code)
}

/// Whether it is the error of a connection that was lost.
pub(crate) fn is_lost(error: &tokio_postgres::Error) -> bool {
    match error.as_db_error() {
        Some(error) => matches!(error.parsed_severity(), Some(Severity::Fatal | Severity::Panic)),
        None => error.is_closed() || error.source().is_some_and(|source| source.is::<io::Error>()),
    }
}
