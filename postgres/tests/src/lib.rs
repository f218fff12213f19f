//! A schema of its own for each test, in the server whose address is in `GRAPHWEFT_POSTGRES`.

pub mod certificates;
pub mod pooler;
pub mod server;
pub mod workflows;

use std::sync::atomic::{AtomicU32, Ordering};

use graphweft_postgres::tokio_postgres::NoTls;
use graphweft_postgres::{PostgresStore, PostgresStoreBuilder};

/// The address of the server.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn server() -> String {
    std::env::var("GRAPHWEFT_POSTGRES").expect("`postgres/tests/with_server.sh` starts a server and sets its address")
}

/// The name of a schema that nothing else has.
#[must_use]
pub fn fresh_schema() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A store in a schema of its own, which two connections are enough for.
pub fn builder(schema: &str) -> PostgresStoreBuilder {
    PostgresStore::builder(&server()).schema(schema).max_connections(4)
}

/// An empty store.
///
/// # Panics
/// If the server cannot be reached.
pub async fn store() -> PostgresStore {
    builder(&fresh_schema()).connect().await.expect("the server is there")
}

/// A connection beside the store.
///
/// # Panics
/// If the server cannot be reached.
pub async fn client(schema: &str) -> graphweft_postgres::tokio_postgres::Client {
    client_of(&server(), schema).await
}

/// Has nothing notify in this schema any more: as if each notification were lost.
///
/// # Panics
/// If the server cannot be reached.
pub async fn without_notifications(schema: &str) {
    let says_nothing = "create or replace function tell() returns void language sql volatile as 'select';
        create or replace function tell_pools(what text) returns void language sql volatile as 'select'";
    client(schema).await.batch_execute(says_nothing).await.expect("the functions are there");
}

/// A connection to another server than that of the tests.
///
/// # Panics
/// If the server cannot be reached.
pub async fn client_of(server: &str, schema: &str) -> graphweft_postgres::tokio_postgres::Client {
    let (client, connection) =
        graphweft_postgres::tokio_postgres::connect(server, NoTls).await.expect("the server is there");
    tokio::spawn(connection);
    client.batch_execute(&format!("set search_path to {schema}")).await.expect("the schema has this name");
    client
}
