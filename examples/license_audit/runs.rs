//! The runs in the database: starting one, finding one, going on with one.

use std::path::Path;

use graphweft::store::{RunStatus, SqliteStore};
use graphweft::{Engine, Event, EventKind, Run, RunFilter, RunInfo, StartError};

use crate::flow::audit;
use crate::locate::CargoHome;
use crate::model::Request;
use crate::report::Report;
use crate::stop::Stop;

/// The runs of one database.
pub(crate) struct Runs {
    engine: Engine,
}

/// Whether a database that is not there yet is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum IfMissing {
    Make,
    Refuse,
}

impl Runs {
    pub(crate) async fn open(database: &Path, if_missing: IfMissing) -> Result<Self, Stop> {
        if if_missing == IfMissing::Refuse && !database.exists() {
            return Err(Stop::Input(format!("there is no database `{}`; see --database", database.display())));
        }
        let store = SqliteStore::open(database).await.map_err(Stop::input)?;
        let builder = Engine::builder().store(store).resource(CargoHome::of_this_user()).register::<audit>();
        Ok(Runs { engine: builder.build().map_err(Stop::audit)? })
    }

    /// For the page.
    pub(crate) fn engine(&self) -> Engine {
        self.engine.clone()
    }

    /// Leaves whatever is under way to the next process.
    pub(crate) async fn shutdown(&self) {
        self.engine.shutdown().await;
    }

    /// A new run, under the next number.
    pub(crate) async fn start(&self, request: Request) -> Result<Run<Report>, Stop> {
        let newest = self.engine.list_runs(RunFilter::default().limit(1)).await.map_err(Stop::audit)?;
        let mut number = newest.first().and_then(|run| run.id.parse::<u64>().ok()).unwrap_or_default();
        loop {
            number += 1;
            match self.engine.start::<audit>(request.clone()).id(number.to_string()).await {
                // Another process has taken the number in this moment.
                Err(StartError::OtherInput { .. }) => {}
                started => return started.map_err(Stop::audit),
            }
        }
    }

    /// Resumes a run whose process died, that failed or that waits. One that is completed, or that another process
    /// executes, is only returned.
    pub(crate) async fn resume(&self, run: Option<String>) -> Result<Run<Report>, Stop> {
        let info = self.find(run).await?;
        if matches!(info.status, RunStatus::Failed | RunStatus::Cancelled) {
            self.engine.retry(&info.id).await.map_err(Stop::audit)?;
        }
        self.take_up(&info.id).await
    }

    /// Resumes a run in this process, unless another live process executes it.
    ///
    /// `engine.recover()` would take up every unfinished run of the database; this is about one.
    pub(crate) async fn take_up(&self, id: &str) -> Result<Run<Report>, Stop> {
        // The same id with the same input is the same run.
        let request = self.request(id).await?;
        self.engine.start::<audit>(request).id(id).await.map_err(Stop::audit)
    }

    /// A run by its id, or the newest that has no report.
    pub(crate) async fn find(&self, run: Option<String>) -> Result<RunInfo, Stop> {
        let unfinished =
            [RunStatus::Running, RunStatus::Waiting, RunStatus::Sleeping, RunStatus::Failed, RunStatus::Cancelled];
        match run {
            Some(id) => {
                let found = self.list().await?.into_iter().find(|run| run.id == id);
                found.ok_or_else(|| Stop::Input(format!("there is no run `{id}`; --list shows all runs")))
            }
            None => {
                let filter = unfinished.into_iter().fold(RunFilter::default().limit(1), RunFilter::status);
                let found = self.engine.list_runs(filter).await.map_err(Stop::audit)?;
                let nothing = || Stop::Input("every run is completed; --list shows them".to_owned());
                found.into_iter().next().ok_or_else(nothing)
            }
        }
    }

    /// All runs, the newest first.
    pub(crate) async fn list(&self) -> Result<Vec<RunInfo>, Stop> {
        self.engine.list_runs(RunFilter::default().limit(usize::MAX)).await.map_err(Stop::audit)
    }

    /// What a run was asked for.
    pub(crate) async fn request(&self, id: &str) -> Result<Request, Stop> {
        let unreadable = |why: &str| Stop::Audit(format!("the beginning of run `{id}` cannot be read{why}"));
        let run = self.engine.get_run(id).await.map_err(Stop::audit)?.ok_or_else(|| unreadable(""))?;
        let first = run.events().next().await.ok_or_else(|| unreadable(""))?;
        let EventKind::RunStarted { input, .. } = first.kind else { return Err(unreadable("")) };
        serde_json::from_value(input).map_err(|error| unreadable(&format!(": {error}")))
    }

    /// What has happened in a run.
    pub(crate) async fn history(&self, id: &str) -> Result<Vec<Event>, Stop> {
        Ok(self.engine.history(id).await.map_err(Stop::audit)?.unwrap_or_default())
    }

    /// The open questions of a run.
    pub(crate) async fn questions(&self, info: &RunInfo) -> Result<Vec<graphweft::Question>, Stop> {
        match self.engine.get_run(&info.id).await.map_err(Stop::audit)? {
            Some(run) => run.questions().await.map_err(Stop::audit),
            None => Ok(Vec::new()),
        }
    }
}
