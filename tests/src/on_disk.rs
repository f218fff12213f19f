//! Several processes, one after another, on one file of a [`SqliteStore`].

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use graphweft::store::SqliteStore;
use graphweft::{Engine, EngineBuilder, Event, Json, RunError, Workflow};
use tempfile::TempDir;

use crate::{Death, Journal, life};

/// A file with runs, and what their nodes did.
#[derive(Debug)]
pub struct OnDisk {
    directory: TempDir,
    /// What nodes did, in all processes.
    pub journal: Journal,
}

impl Default for OnDisk {
    fn default() -> Self {
        OnDisk { directory: TempDir::new().expect("a directory"), journal: Journal::default() }
    }
}

impl OnDisk {
    fn path(&self) -> PathBuf {
        self.directory.path().join("runs.db")
    }

    /// An engine of one process, with [`Journal`] and [`Death`] among its resources.
    ///
    /// # Panics
    /// If the file cannot be opened.
    pub async fn engine(&self, death: &Death) -> EngineBuilder {
        let store = SqliteStore::open(self.path()).await.expect("a file");
        Engine::builder().store(store).resource(self.journal.clone()).resource(death.clone())
    }

    /// A process that starts the run `run` and is lost when a node comes to the place.
    ///
    /// # Panics
    /// If the run does not start, or no node comes there.
    pub fn dies_at<W: Workflow>(&self, input: W::Input, place: &'static str) {
        life(async {
            let death = Death::at(place);
            let engine = self.engine(&death).await.register::<W>().build().expect("an engine");
            let _run = engine.start::<W>(input).id("run").await.expect("a run");
            death.came().await;
        });
    }

    /// A process that starts the run `run` and stays to its end.
    ///
    /// # Panics
    /// If the run does not start.
    pub fn runs<W: Workflow>(&self, input: W::Input) -> (Result<W::Output, RunError>, Vec<Event>) {
        life(async {
            let engine = self.engine(&Death::default()).await.register::<W>().build().expect("an engine");
            let run = engine.start::<W>(input).id("run").await.expect("a run");
            let result = run.result().await;
            (result, engine.history("run").await.expect("a file that can be read").expect("its records"))
        })
    }

    /// The next process: resumes the run to its end.
    ///
    /// # Panics
    /// If the run does not end.
    pub fn resumes<W: Workflow>(&self) -> (Result<Json, RunError>, Vec<Event>) {
        self.process::<W, _, _>(|engine| async move {
            engine.recover().await.expect("a file that can be read");
            let run = engine.get_run("run").await.expect("a file that can be read").expect("the run");
            let result = tokio::time::timeout(Duration::from_secs(20), run.result()).await.expect("the run ends");
            (result, engine.history("run").await.expect("a file that can be read").expect("its records"))
        })
    }

    /// A process with the workflow registered.
    ///
    /// # Panics
    /// If the file cannot be opened.
    pub fn process<W: Workflow, T, F: Future<Output = T>>(&self, work: impl FnOnce(Engine) -> F) -> T {
        life(async {
            let engine = self.engine(&Death::default()).await.register::<W>().build().expect("an engine");
            work(engine).await
        })
    }
}
