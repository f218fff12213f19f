//! A page on the runs of the database, served beside what the program does.

use std::io;

use graphweft::Engine;
use graphweft_inspector::Inspector;
use tokio::task::JoinHandle;

use crate::stop::Stop;

/// The page. It is served until Ctrl-C.
pub(crate) struct Ui {
    url: String,
    served: JoinHandle<io::Result<()>>,
}

impl Ui {
    /// Serves it on this machine only, and says where. On port 0 the system chooses one.
    pub(crate) async fn open(engine: Engine, port: u16) -> Result<Self, Stop> {
        let refused = |error| Stop::Input(format!("the page cannot be served at port {port}: {error}"));
        let serving = Inspector::new(engine).bind(port).await.map_err(refused)?;
        let url = serving.url();
        eprintln!("the runs are at {url}");
        // From here on a Ctrl-C is noticed whatever the program does then.
        let served = tokio::spawn(serving.until(async { _ = tokio::signal::ctrl_c().await }));
        Ok(Ui { url, served })
    }

    /// Where open questions are answered.
    pub(crate) fn inbox(&self) -> String {
        format!("{}#/inbox", self.url)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Waits until there is no page any more: after Ctrl-C, or if connections cannot be accepted.
    pub(crate) async fn ended(self) -> Result<(), Stop> {
        self.served.await.map_err(Stop::audit)?.map_err(Stop::audit)
    }
}
