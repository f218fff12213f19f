//! The thread that reads, so that no caller blocks on the disk.

use std::sync::{Arc, mpsc};

use rusqlite::Connection;
use tokio::sync::oneshot;

use super::file::OpenFile;
use super::log_index::LogIndex;
use super::settings::STACK;
use super::source::Source;
use super::trouble::Trouble;
use crate::store::StoreError;

type Work = Box<dyn FnOnce(&mut Source, &mut LogIndex) + Send>;

/// Sends work to the thread, which ends when this is dropped.
pub(super) struct Reader {
    file: Arc<OpenFile>,
    work: mpsc::Sender<Work>,
}

impl Reader {
    /// The receiver gets an error when the thread has closed its connection.
    pub(super) fn start(file: Arc<OpenFile>, mut source: Source) -> std::io::Result<(Reader, mpsc::Receiver<()>)> {
        let (work, queued) = mpsc::channel::<Work>();
        let (open, closed) = mpsc::channel();
        std::thread::Builder::new().name("graphweft-read".to_owned()).stack_size(STACK).spawn(move || {
            let mut log = LogIndex::default();
            for work in queued {
                work(&mut source, &mut log);
            }
            drop(source);
            drop(open);
        })?;
        Ok((Reader { file, work }, closed))
    }

    /// Reads what is not in the journal.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection, _log| work(connection)).await
    }

    /// Reads as of one moment, with the index of what is still in the log: other processes may write meanwhile.
    pub(super) async fn read_journal<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, &LogIndex) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(move |connection, log| {
            let moment = connection.unchecked_transaction()?;
            log.refresh(&moment)?;
            work(&moment, log)
        })
        .await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Fn(&Connection, &mut LogIndex) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (answer, result) = oneshot::channel();
        let file = Arc::clone(&self.file);
        let work = Box::new(move |source: &mut Source, log: &mut LogIndex| {
            let read = file.is_there().map_err(Trouble::from).and_then(|()| source.read(log, work));
            // The caller may be gone.
            drop(answer.send(read.map_err(|trouble| trouble.at(&file.path))));
        });
        self.work.send(work).map_err(|_| StoreError::Closed)?;
        result.await.map_err(|_| StoreError::Closed)?
    }
}
