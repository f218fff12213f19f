//! What statements are executed by: a connection of the store, a transaction on it, or a transaction of the program.

use deadpool_postgres::{ClientWrapper, Object, StatementCache, Transaction};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};

/// Executes statements.
#[derive(Clone, Copy)]
pub(crate) struct Statements<'c> {
    client: &'c Client,
    /// A transaction of the program has none.
    cache: Option<&'c StatementCache>,
}

impl<'c> From<&'c ClientWrapper> for Statements<'c> {
    fn from(client: &'c ClientWrapper) -> Self {
        Statements { client, cache: Some(&client.statement_cache) }
    }
}

impl<'c> From<&'c Object> for Statements<'c> {
    fn from(client: &'c Object) -> Self {
        Statements::from(&**client)
    }
}

impl<'c> From<&'c Transaction<'_>> for Statements<'c> {
    fn from(transaction: &'c Transaction<'_>) -> Self {
        Statements { client: transaction.client(), cache: Some(&transaction.statement_cache) }
    }
}

impl<'c> From<&'c tokio_postgres::Transaction<'_>> for Statements<'c> {
    fn from(transaction: &'c tokio_postgres::Transaction<'_>) -> Self {
        Statements { client: transaction.client(), cache: None }
    }
}

impl Statements<'_> {
    pub(crate) async fn prepare_cached(&self, text: &str) -> Result<Statement, Error> {
        match self.cache {
            Some(cache) => cache.prepare(self.client, text).await,
            None => self.client.prepare(text).await,
        }
    }

    pub(crate) async fn query(&self, statement: &Statement, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.client.query(statement, values).await
    }

    pub(crate) async fn query_opt(
        &self,
        statement: &Statement,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Option<Row>, Error> {
        self.client.query_opt(statement, values).await
    }

    pub(crate) async fn execute(&self, statement: &Statement, values: &[&(dyn ToSql + Sync)]) -> Result<u64, Error> {
        self.client.execute(statement, values).await
    }

    pub(crate) async fn batch_execute(&self, text: &str) -> Result<(), Error> {
        self.client.batch_execute(text).await
    }
}
