//! Workers of the process of a test.

use graphweft::Workflow;
use graphweft_restate::{Admin, Client, RunHandle, WorkerBuilder};

use crate::cluster::{Cluster, Shape, until};

/// One server.
pub const ONE: Shape = Shape { servers: 1, keep_alive: None, at_once: None };

/// A worker of this process, until it is dropped.
#[derive(Debug)]
pub struct Here(u16, tokio::task::JoinHandle<()>);

impl Here {
    /// Serves at a free port.
    ///
    /// # Panics
    /// If the worker cannot be made.
    pub async fn serve(worker: WorkerBuilder) -> Self {
        Here::serve_at(worker, 0).await
    }

    /// Serves at a port.
    ///
    /// # Panics
    /// If the worker cannot be made, or the port is taken.
    pub async fn serve_at(worker: WorkerBuilder, port: u16) -> Self {
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.expect("the port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let worker = worker.build().expect("the worker can be made");
        Here(port, tokio::spawn(async move { worker.serve(listener).await.expect("it takes connections") }))
    }

    /// Where it is.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0
    }

    /// Tells the servers of it.
    ///
    /// # Panics
    /// If they do not take it.
    pub async fn register(&self, admin: &Admin) {
        admin.register(&format!("http://127.0.0.1:{}", self.0)).await.expect("the server takes it");
    }

    /// Stops it, and says at which port it was.
    pub async fn stop(mut self) -> u16 {
        self.1.abort();
        drop((&mut self.1).await);
        self.0
    }
}

impl Drop for Here {
    fn drop(&mut self) {
        self.1.abort();
    }
}

/// A server with a worker of this process.
///
/// # Panics
/// As [`Here::serve`] and [`Here::register`].
pub async fn with(worker: WorkerBuilder) -> (Cluster, Here, Client) {
    with_shape(ONE, worker).await
}

/// Servers with a worker of this process.
///
/// # Panics
/// As [`Here::serve`] and [`Here::register`].
pub async fn with_shape(shape: Shape, worker: WorkerBuilder) -> (Cluster, Here, Client) {
    let cluster = Cluster::start(shape).await;
    let here = Here::serve(worker).await;
    here.register(&cluster.admin()).await;
    let client = cluster.client();
    (cluster, here, client)
}

/// Waits until the invocation of a run is as Restate says, such as `suspended`.
///
/// # Panics
/// If that takes a minute.
pub async fn until_invocation_is<W: Workflow>(cluster: &Cluster, run: &RunHandle<W>, status: &str) {
    let sql = format!(
        "select status from sys_invocation where target_service_key = '{}' and target_handler_name in ('run', 'fork')",
        run.id()
    );
    let wanted = format!("\"status\":\"{status}\"");
    until(status, || async { cluster.query(&sql).await.contains(&wanted) }).await;
}
