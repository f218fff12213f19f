//! The records of all runs.

use deadpool_postgres::Object;
use graphweft::store::{FeedPage, FeedPlace, FeedQuery, FeedRecord, NewRun, RunHeader, RunKey};
use serde_json::Value;
use tokio_postgres::Row;

use crate::batch::{self, JournalRow};
use crate::conditions::Conditions;
use crate::numbers::{from_integer, from_millis, to_integer};
use crate::row;
use crate::trouble::Trouble;

/// How often the horizon is looked for, if transactions end while it is.
const TRIES: u32 = 20;

/// How many rows are read at once, if the query does not say.
const PAGE: usize = 256;

/// The last place before a horizon.
const END: &str = "select greatest((select max(place) from journal where place < $1), least(deleted_place, $1 - 1)) as last from meta";

/// All rows before it that there will ever be, are there for the next statement.
async fn horizon(client: &Object) -> Result<i64, Trouble> {
    let select = client.prepare_cached("select place, is_sure from horizon()").await?;
    let mut tries = 0;
    loop {
        let row = client.query_one(&select, &[]).await?;
        tries += 1;
        // A transaction that has ended meanwhile is not under way the next time.
        if row.try_get(1)? || tries == TRIES {
            return Ok(row.try_get(0)?);
        }
    }
}

pub(crate) async fn page(client: &Object, query: &FeedQuery) -> Result<FeedPage, Trouble> {
    let mut conditions = Conditions::default();
    conditions.add("j.place < $", horizon(client).await?);
    let position = to_integer(query.after.position);
    conditions.add("j.place >= $", position);
    if !query.workflows.is_empty() {
        conditions.add("r.workflow = any($)", query.workflows.clone());
    }
    conditions.add_tags(row::tags(&query.tags));
    let limit = if query.limit == 0 { PAGE } else { query.limit };
    let rows = conditions.limit(limit);
    // The end is that of the same moment. A subquery has no two columns of one name.
    let select = format!(
        "with place_of_end as ({END})
         select last, found.* from place_of_end left join lateral (
             select {}, {}, r.id as run_id, r.workflow as run_workflow from journal j join runs r on r.key = j.run
             where {} order by j.place {rows}
         ) as found on true order by found.place",
        batch::COLUMNS,
        row::COLUMNS.replace("r.records", "r.records as all_records"),
        conditions.wanted()
    );
    let select = client.prepare_cached(&select).await?;
    let found = client.query(&select, &conditions.values()).await?;
    let mut page = FeedPage::default();
    page.place = query.after;
    let end = match found.first() {
        Some(row) => behind(row.try_get(0)?),
        None => query.after,
    };
    let is_whole = found.len() < limit;
    for row in found {
        if row.try_get::<_, Option<i64>>(1)?.is_none() {
            break;
        }
        let rows = JournalRow::read(&row, 1)?;
        let (header, unreadable) = match row::header(&row, 8) {
            Ok(header) => (header, None),
            // One run does not stop the feed of all.
            Err(Trouble::Store(error)) => (named(&row, &rows)?, Some(error)),
            Err(trouble) => return Err(trouble),
        };
        let position = from_integer(rows.place);
        let before = if position == query.after.position { query.after.record } else { 0 };
        let place = |number: u32| FeedPlace::behind(position, number, rows.count());
        match unreadable.map_or_else(|| rows.stored(&header.id), Err) {
            Ok(stored) => {
                for (number, stored) in (0u32..).zip(stored).skip(before as usize) {
                    if page.records.len() == limit {
                        return Ok(page);
                    }
                    page.place = place(number);
                    page.records.push(FeedRecord::new(page.place, &header, Ok(stored)));
                }
            }
            Err(error) => {
                if page.records.len() == limit {
                    return Ok(page);
                }
                page.place = behind(rows.place);
                page.records.push(FeedRecord::new(page.place, &header, Err(error)));
            }
        }
    }
    if is_whole {
        page.place = page.place.max(end);
    }
    Ok(page)
}

/// A header of what the columns behind the header say.
fn named(row: &Row, rows: &JournalRow) -> Result<RunHeader, Trouble> {
    let (id, workflow): (&str, &str) = (row.try_get(12)?, row.try_get(13)?);
    let run = NewRun::new(id, workflow, (0, Value::Null).into(), from_millis(0));
    Ok(run.header(RunKey::new(from_integer(rows.run))))
}

pub(crate) async fn end(client: &Object) -> Result<FeedPlace, Trouble> {
    let horizon = horizon(client).await?;
    let select = client.prepare_cached(END).await?;
    Ok(behind(client.query_one(&select, &[&horizon]).await?.try_get(0)?))
}

/// Behind the whole row at a place; the beginning behind -1.
fn behind(place: i64) -> FeedPlace {
    FeedPlace { position: u64::try_from(place + 1).unwrap_or(0), record: 0 }
}
