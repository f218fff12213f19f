//! The row of a run.

use graphweft::store::{NewRun, Owner, RunHeader, RunKey, RunStatus, Tags};
use serde_json::json;
use tokio_postgres::Row;

use crate::checked;
use crate::numbers::{from_integer, text, to_integer, to_millis};
use crate::trouble::Trouble;

/// The columns that [`header`] reads.
pub(crate) const COLUMNS: &str = "r.key, r.owner, r.records, r.header";

/// How many they are.
pub(crate) const COUNT: usize = 4;

/// The header of a run, from columns from this one on.
///
/// The JSON of a header is as it was when something in it changed last: the number of records changes more often, and the owner
/// changes when that leaves.
pub(crate) fn header(row: &Row, from: usize) -> Result<RunHeader, Trouble> {
    let key: i64 = row.try_get(from)?;
    let owner: Option<i64> = row.try_get(from + 1)?;
    let records: i64 = row.try_get(from + 2)?;
    let written: &str = row.try_get(from + 3)?;
    let mut header: RunHeader = checked::from_text(written, || format!("the header of run number {key}"))?;
    header.key = RunKey::new(from_integer(key));
    header.owner = owner.map(|owner| Owner::new(from_integer(owner)));
    header.records = from_integer(records);
    Ok(header)
}

/// What the columns of a header say, besides its JSON.
pub(crate) struct Columns {
    pub(crate) id: String,
    pub(crate) workflow: String,
    pub(crate) status: String,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) owner: Option<i64>,
    pub(crate) ready: Option<i64>,
    pub(crate) graph: i64,
    pub(crate) forked_from: Option<String>,
    pub(crate) started_by: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) records: i64,
    pub(crate) header: String,
}

impl Columns {
    pub(crate) fn of(header: &RunHeader) -> Result<Self, Trouble> {
        Ok(Columns {
            id: text("the id of a run", &header.id)?.to_owned(),
            workflow: text("the name of a workflow", &header.workflow)?.to_owned(),
            status: status(header.status)?,
            created: to_millis(header.created),
            updated: to_millis(header.updated),
            owner: header.owner.map(|owner| to_integer(owner.get())),
            ready: match header.status {
                RunStatus::Running => Some(0),
                // 0 is that of a run that runs.
                _ => header.wake_at.map(|wake_at| to_millis(wake_at).max(1)),
            },
            graph: header.graph.cast_signed(),
            forked_from: header.forked_from.as_ref().map(|(run, _)| run.clone()),
            started_by: header.started_by.as_ref().map(|by| by.run.clone()),
            tags: tags(&header.tags),
            records: to_integer(header.records),
            header: checked::to_text(header)?,
        })
    }

    /// Those of a new run, which has no number yet.
    pub(crate) fn of_new(run: &NewRun) -> Result<Self, Trouble> {
        Columns::of(&run.header(RunKey::new(0)))
    }
}

/// A status as it is in its column.
pub(crate) fn status(status: RunStatus) -> Result<String, Trouble> {
    match serde_json::to_value(status)? {
        serde_json::Value::String(status) => Ok(status),
        other => Err(Trouble::damaged(format!("a status is written as {other}"))),
    }
}

/// Tags as they are in their column: as JSON, in which every text of the user's is one of PostgreSQL.
pub(crate) fn tags(tags: &Tags) -> Vec<String> {
    tags.iter().map(|(tag, value)| json!([tag, value]).to_string()).collect()
}
