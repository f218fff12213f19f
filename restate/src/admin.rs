//! What is asked of the administration of Restate: which workers there are, and which runs.

use bytes::Bytes;
use graphweft::Json;
use graphweft::RunStatus;
use graphweft::store::RunHeader;
use serde_json::json;

use crate::error::ClientError;
use crate::http_client::{DoneBy, Request, Servers};
use crate::manifest::service;
use crate::object::HEADER;

/// The administration of Restate's servers, which registers workers and finds runs. Cheap to clone.
///
/// ```no_run
/// use graphweft_restate::Admin;
///
/// # graphweft::block_on(async {
/// let admin = Admin::connect(&["10.0.0.1:9070", "10.0.0.2:9070"]);
/// admin.register("http://workers.internal:9080").await?;
/// # Ok::<(), graphweft_restate::ClientError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Admin(Servers);

/// Which runs to list; the default is all of a workflow.
///
/// ```
/// use graphweft::RunStatus;
/// use graphweft_restate::ListRuns;
///
/// let failed = ListRuns::of("pay").status(RunStatus::Failed).limit(20);
/// # let _ = failed;
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is listed before `Admin::list` has it"]
pub struct ListRuns {
    workflow: String,
    status: Option<RunStatus>,
    id_prefix: String,
    limit: usize,
}

impl ListRuns {
    /// Runs of the workflow with this name, at most 100.
    pub fn of(workflow: impl Into<String>) -> Self {
        ListRuns { workflow: workflow.into(), status: None, id_prefix: String::new(), limit: 100 }
    }

    /// Only those with this status.
    pub fn status(self, status: RunStatus) -> Self {
        ListRuns { status: Some(status), ..self }
    }

    /// Only those whose ids begin with this.
    pub fn id_prefix(self, prefix: impl Into<String>) -> Self {
        ListRuns { id_prefix: prefix.into(), ..self }
    }

    /// At most this many. The default is 100.
    pub fn limit(self, runs: usize) -> Self {
        ListRuns { limit: runs, ..self }
    }

    /// The query, in the SQL of Restate.
    fn sql(&self) -> String {
        let mut sql = format!(
            "select value_utf8 from state where service_name = '{}' and key = '{HEADER}'",
            quoted(&service(&self.workflow))
        );
        if !self.id_prefix.is_empty() {
            sql.push_str(&format!(" and starts_with(service_key, '{}')", quoted(&self.id_prefix)));
        }
        if let Some(Json::String(status)) = self.status.map(|status| json!(status)) {
            sql.push_str(&format!(" and position('\"status\":\"{status}\"' in value_utf8) > 0"));
        }
        // The server reads a limit as an `i64`, and refuses one that is larger.
        sql.push_str(&format!(" order by service_key limit {}", i64::try_from(self.limit).unwrap_or(i64::MAX)));
        sql
    }
}

/// A text as it is written between quotes in SQL.
pub(crate) fn quoted(text: &str) -> String {
    text.replace('\'', "''")
}

impl Admin {
    /// With the addresses of the administration of servers: `host:port`, or `https://host:port` with the feature `tls`. Connects with the
    /// first request.
    pub fn connect<A: AsRef<str>>(admin: &[A]) -> Admin {
        Admin(Servers::at(admin))
    }

    /// Tells Restate of workers at this address, that of a balancer if there are several, and which workflows they have. Call it for a new address, and
    /// when a new program is behind an old one: with the same address, runs that wait go on under the new program,
    /// by what graphweft knows of [changed graphs](graphweft::Engine::check). With another address, runs that have begun wait for workers at
    /// the old one: the README says under "When workers move" how to have them continue.
    ///
    /// # Errors
    /// If no server answers, or the server does not reach a worker at the address for some twenty seconds.
    pub async fn register(&self, workers: &str) -> Result<(), ClientError> {
        let body = json!({ "uri": workers, "force": true });
        self.post("/deployments", &body).await.map(drop)
    }

    /// Runs, in the order of their ids. The number of records in a header is that when its status changed last.
    ///
    /// # Errors
    /// If no server answers.
    pub async fn list(&self, runs: ListRuns) -> Result<Vec<RunHeader>, ClientError> {
        let rows = self.query(&runs.sql()).await?;
        let header = |row: &Json| serde_json::from_str::<RunHeader>(row["value_utf8"].as_str().unwrap_or_default());
        rows.iter().map(|row| header(row).map_err(|error| ClientError::of_json("a run", &error))).collect()
    }

    /// The rows that a query in the SQL of Restate gives.
    pub(crate) async fn query(&self, sql: &str) -> Result<Vec<Json>, ClientError> {
        let mut found = self.post("/query", &json!({ "query": sql })).await?;
        Ok(found["rows"].as_array_mut().map(std::mem::take).unwrap_or_default())
    }

    async fn post(&self, path: &str, body: &Json) -> Result<Json, ClientError> {
        let body = Some(Bytes::from(body.to_string()));
        self.0.post(Request { path, body, idempotency_key: None, done_by: DoneBy::Server }).await
    }
}

#[cfg(test)]
mod tests {
    use graphweft::RunStatus;

    use super::ListRuns;

    #[test]
    fn a_quote_in_a_name_ends_no_text_of_the_query() {
        let sql = ListRuns::of("o'pay").id_prefix("it's").status(RunStatus::Failed).limit(3).sql();
        assert!(sql.contains("'graphweft.o''pay'") && sql.contains("'it''s'"), "{sql}");
        assert!(sql.contains(r#"'"status":"failed"'"#) && sql.ends_with("limit 3"), "{sql}");
    }
}
