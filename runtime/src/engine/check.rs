//! Which unfinished runs this program could not resume, without resuming any.

use futures_util::StreamExt;

use super::inner::Engine;
use super::versions::Version;
use crate::halt::Halt;
use crate::run_error::RunError;
use crate::sorted::SortedMap;
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
    /// The registered versions of each workflow that has
    /// [several](crate::EngineBuilder::register_earlier), the newest and then the earlier ones as they were registered, with the runs that would continue under them.
    pub versions: Vec<CheckedVersion>,
}

/// A version of a workflow, and the unfinished runs that fit it.
///
/// ```
/// use graphweft::prelude::*;
///
/// mod v1 {
///     use graphweft::prelude::*;
///     #[node]
///     pub async fn pack(order: u32) -> u32 { order }
///     workflow! { pub ship(u32) -> u32 { START => pack; } }
/// }
/// #[node]
/// async fn weigh(order: u32) -> u32 { order }
/// workflow! { pub ship(u32) -> u32 { START => weigh => v1::pack; } }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().register::<ship>().register_earlier::<v1::ship>().build()?;
/// let check = engine.check().await?;
/// let [newest, earlier] = &check.versions[..] else { panic!("there are two") };
/// assert!(newest.is_newest && !earlier.is_newest);
/// assert!(earlier.version.ends_with("v1::ship"));
/// assert!(earlier.runs.is_empty()); // so only retries and forks need it
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedVersion {
    /// The name of the workflow, which all of its versions have.
    pub workflow: String,
    /// The path of the type, `shop::v1::checkout`, for people: it comes from [`std::any::type_name`].
    pub version: String,
    /// Whether new runs begin on it.
    pub is_newest: bool,
    /// The hash of its graph, by which runs are distinguished.
    pub graph: u64,
    /// The unfinished runs that would continue under it, the newest first. An earlier version that has none is
    /// needed only to retry or fork runs that have ended.
    pub runs: Vec<String>,
}

impl Engine {
    /// Checks which unfinished runs this program could not resume: before it takes the place of another version, which may
    /// still execute them. Nothing is resumed and nothing is changed. The values of each run are read, so it takes as long
    /// as reading all of their records.
    ///
    /// With several versions of a workflow, it says which run fits which of them.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn double(n: u32) -> u32 { 2 * n }
    /// # workflow! { doubled(u32) -> u32 { START => double; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().register::<doubled>().build()?;
    /// let check = engine.check().await?;
    /// assert!(check.refused.is_empty() && check.unregistered.is_empty());
    /// // An earlier version that no run needs can be removed from the program.
    /// for unneeded in check.versions.iter().filter(|version| !version.is_newest && version.runs.is_empty()) {
    ///     println!("no unfinished run needs `{}`", unneeded.version);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read. The error of a single run is in [`Check::refused`].
    ///
    /// # Cancel safety
    /// It may be dropped at any time.
    pub async fn check(&self) -> Result<Check, StoreError> {
        let mut check = Check { versions: self.several_versions(), ..Check::default() };
        let at = check.versions.iter().enumerate().map(|(at, version)| ((version.workflow.clone(), version.graph), at));
        let at: SortedMap<(String, u64), usize> = at.collect();
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
            let checked = futures_util::stream::iter(page).map(|header| async move {
                let fits = self.version_or_obstacle(&header).await;
                (header, fits)
            });
            let mut checked = checked.buffered(AT_ONCE);
            while let Some((header, fits)) = checked.next().await {
                let fits = fits?;
                if let Some(Err(Halt::NotRegistered { workflow })) = fits {
                    check.unregistered.push((header.id, workflow));
                    continue;
                }
                check.checked += 1;
                match fits {
                    Some(Err(halt)) => check.refused.push((header.id, halt.into())),
                    Some(Ok(version)) => {
                        if let Some(at) = at.get(&(header.workflow, version.graph())) {
                            check.versions[*at].runs.push(header.id);
                        }
                    }
                    None => {}
                }
            }
        }
    }

    /// The versions of each workflow that has several, without runs.
    fn several_versions(&self) -> Vec<CheckedVersion> {
        let several = self.0.workflows.iter().filter(|(_, versions)| !versions.earlier.is_empty());
        let versions =
            several.flat_map(|(name, versions)| versions.all().map(move |version| (name, versions, version)));
        let checked = versions.map(|(name, versions, version)| CheckedVersion {
            workflow: name.clone(),
            version: version.type_name.to_owned(),
            is_newest: versions.newest.graph() == version.graph(),
            graph: version.graph(),
            runs: Vec::new(),
        });
        checked.collect()
    }

    /// The version under which a run could continue, or why it could not; `None` if it has ended since it was listed.
    async fn version_or_obstacle(&self, header: &RunHeader) -> Result<Option<Result<&Version, Halt>>, StoreError> {
        match self.checked_under(header, self.0.workflows.get(&header.workflow)).await? {
            Ok(version) => Ok(Some(Ok(version))),
            Err(halt) => {
                let now = self.0.store.header(&header.id).await?;
                let is_over = now.is_none_or(|now| now.key != header.key || now.status.is_over());
                Ok((!is_over).then_some(Err(halt)))
            }
        }
    }
}
