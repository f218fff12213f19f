//! What every store does.

use graphweft_postgres::PostgresStore;
use graphweft_postgres_tests::{builder, fresh_schema};

async fn open(schema: String) -> (PostgresStore, String) {
    (builder(&schema).connect().await.expect("the server is there"), schema)
}

graphweft::store_conformance!(
    open(fresh_schema()),
    reopen: async |store, schema| {
        drop(store);
        open(schema).await
    },
);
