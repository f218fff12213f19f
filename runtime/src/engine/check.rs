//! Which unfinished runs this program could not resume, without resuming any.

use futures::StreamExt;

use super::inner::Engine;
use crate::run_error::RunError;
use crate::store::{RunHeader, RunKey, RunQuery, RunStatus, StoreError};

/// How many runs are read at once.
const AT_ONCE: usize = 32;

/// How many runs are listed at once.
const PAGE: usize = 1024;

/// The result of [`Engine::check`].
///
/// In a job of CI before a deploy, over a copy of the store:
///
/// ```
/// use graphweft::prelude::*;
///
/// # #[node] async fn review(ctx: &Context) -> bool { ctx.ask("approve", "Ship it?").await }
/// # workflow! { pub publish(()) -> bool { START => review; } }
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("runs.db");
/// # graphweft::block_on(async {
/// # let before = Engine::builder().store(SqliteStore::open(&path).await?).register::<publish>().build()?;
/// # before.start::<publish>(()).id("poem").await?.outcome().await?;
/// # before.shutdown().await;
/// // A version of the program without the workflow `publish`, of which a run waits:
/// let engine = Engine::builder().store(SqliteStore::open(&path).await?).build()?;
/// let check = engine.check().await?;
/// for (run, why) in &check.refused {
///     eprintln!("{run} would stop: {why}");
/// }
/// assert!(check.refused.is_empty());
/// assert_eq!(check.unregistered, [("poem".to_owned(), "publish".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Check {
    /// How many unfinished runs of registered workflows there are.
    pub checked: u64,
    /// Those that this program could not resume, the newest first, and why.
    pub refused: Vec<(String, RunError)>,
    /// Unfinished runs of workflows that are not registered, with the name of the workflow.
    pub unregistered: Vec<(String, String)>,
}

impl Engine {
    /// Checks which unfinished runs this program could not resume: before it takes the place of another version, which may
    /// still execute them. Nothing is resumed and nothing is changed. The values of each run are read, so it takes as long
    /// as reading all of their records.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// let check = engine.check().await?;
    /// assert!(check.refused.is_empty() && check.unregistered.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read. The error of a single run is in [`Check::refused`].
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
    pub async fn check(&self) -> Result<Check, StoreError> {
        let mut check = Check::default();
        let mut before: Option<RunKey> = None;
        loop {
            let query = RunQuery {
                status: vec![RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping],
                before,
                limit: PAGE,
                ..RunQuery::default()
            };
            let page = self.0.store.list(query).await?;
            let Some(last) = page.last() else { return Ok(check) };
            before = Some(last.key);
            let checked = futures::stream::iter(page).map(|header| async move {
                let refused = self.refuses(&header).await;
                (header, refused)
            });
            let mut checked = checked.buffered(AT_ONCE);
            while let Some((header, refused)) = checked.next().await {
                match refused? {
                    Some(RunError::NotRegistered { workflow }) => check.unregistered.push((header.id, workflow)),
                    refused => {
                        check.checked += 1;
                        check.refused.extend(refused.map(|error| (header.id, error)));
                    }
                }
            }
        }
    }

    async fn refuses(&self, header: &RunHeader) -> Result<Option<RunError>, StoreError> {
        let Some(halt) = self.obstacle_under(header, self.0.workflows.get(&header.workflow)).await? else {
            return Ok(None);
        };
        // It may have ended since it was listed.
        let now = self.0.store.header(&header.id).await?;
        let is_over = now.is_none_or(|now| now.key != header.key || now.status.is_over());
        Ok((!is_over).then(|| halt.into()))
    }
}
