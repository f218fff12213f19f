//! The open questions of all runs.

use std::collections::HashMap;

use deadpool_postgres::Object;
use graphweft::store::{AskedQuestion, OpenQuestion, QuestionChange, QuestionQuery, RunHeader};
use tokio_postgres::Row;

use crate::checked;
use crate::conditions::Conditions;
use crate::numbers::{from_millis, of_run, text, to_millis};
use crate::row;
use crate::statements::Statements;
use crate::trouble::Trouble;

/// Changes those of a run with this header.
pub(crate) async fn change(step: Statements<'_>, run: &RunHeader, change: &QuestionChange) -> Result<(), Trouble> {
    let key = of_run(run.key);
    if run.status.is_over() {
        let delete = step.prepare_cached("delete from questions where run = $1").await?;
        step.execute(&delete, &[&key]).await?;
        return Ok(());
    }
    if change.is_all {
        let stay: Vec<&str> = change.open.iter().map(|open| &*open.question.id).collect();
        let delete = step.prepare_cached("delete from questions where run = $1 and question <> all($2)").await?;
        step.execute(&delete, &[&key, &stay]).await?;
    }
    if !change.closed.is_empty() {
        let delete = step.prepare_cached("delete from questions where run = $1 and question = any($2)").await?;
        step.execute(&delete, &[&key, &change.closed]).await?;
    }
    // One that is asked again later in the list counts.
    let open: HashMap<&str, &OpenQuestion> = change.open.iter().map(|open| (&*open.question.id, open)).collect();
    if open.is_empty() {
        return Ok(());
    }
    let (mut ids, mut names, mut asked, mut bodies) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (id, open) in open {
        ids.push(text("the id of a question", id)?);
        names.push(open.name());
        asked.push(to_millis(open.asked));
        bodies.push(checked::to_text(&open.question)?);
    }
    let insert = step
        .prepare_cached(
            "insert into questions (run, question, name, asked, body)
             select $1, question, name, asked, body
             from unnest($2::text[], $3::text[], $4::bigint[], $5::text[]) as new (question, name, asked, body)
             on conflict (run, question) do update set name = excluded.name, body = excluded.body",
        )
        .await?;
    step.execute(&insert, &[&key, &ids, &names, &asked, &bodies]).await?;
    Ok(())
}

/// A question, of its body and the time when it was asked, in columns from this one on.
pub(crate) fn read(row: &Row, from: usize) -> Result<OpenQuestion, Trouble> {
    let question = checked::from_text(row.try_get(from)?, || "an open question".to_owned())?;
    Ok(OpenQuestion::new(question, from_millis(row.try_get(from + 1)?)))
}

pub(crate) async fn list(client: &Object, query: &QuestionQuery) -> Result<Vec<AskedQuestion>, Trouble> {
    let mut conditions = Conditions::of_questions(query);
    let limit = conditions.limit(query.limit);
    let select = format!(
        "select {}, q.body, q.asked from questions q join runs r on r.key = q.run where {} \
         order by q.asked, q.run, q.question {limit}",
        row::COLUMNS,
        conditions.wanted()
    );
    let select = client.prepare_cached(&select).await?;
    let rows = client.query(&select, &conditions.values()).await?;
    rows.iter().map(|found| Ok(AskedQuestion::new(&row::header(found, 0)?, read(found, 4)?))).collect()
}
