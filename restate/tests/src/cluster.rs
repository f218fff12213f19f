//! Servers of Restate.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use graphweft_restate::{Admin, Client};

use crate::{free_port, leave_id};

/// How a cluster is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// How many servers there are.
    pub servers: usize,
    /// After how many seconds without a sign a server gives a connection to a worker up; `None`: as it is by default.
    pub keep_alive: Option<u64>,
    /// How many invocations it has under way at once, in its one partition then; `None`: as it is by default, in several.
    pub at_once: Option<u32>,
}

/// Servers on loopback, in a directory of their own. They are killed, each by its own id, when this is dropped.
#[derive(Debug)]
pub struct Cluster {
    bin: PathBuf,
    folder: tempfile::TempDir,
    servers: Vec<Server>,
}

#[derive(Debug)]
struct Server {
    ingress: u16,
    admin: u16,
    process: Option<Child>,
}

impl Cluster {
    /// Starts servers, and waits until they are ready.
    ///
    /// # Panics
    /// If they do not start.
    pub async fn start(shape: Shape) -> Self {
        let bin = PathBuf::from(std::env::var_os("GRAPHWEFT_RESTATE_BIN").expect("`with_server.sh` sets it"));
        let folder = tempfile::tempdir().expect("a directory");
        let nodes: Vec<u16> = (0..shape.servers).map(|_| free_port()).collect();
        let mut cluster = Cluster { bin, folder, servers: Vec::new() };
        for (at, node) in nodes.iter().enumerate() {
            let server = Server { ingress: free_port(), admin: free_port(), process: None };
            let config = config(at, *node, &server, &nodes, shape);
            std::fs::write(cluster.path(&format!("{at}.toml")), config).expect("the directory can be written to");
            cluster.servers.push(server);
            cluster.run(at);
        }
        if shape.servers > 1 {
            let provision = || {
                let address = format!("http://127.0.0.1:{}", nodes[0]);
                let mut command = Command::new(cluster.bin.join("restatectl"));
                command.args(["--address", &address, "provision", "--yes", "--replication", "2"]);
                let output = command.output().expect("restatectl is there");
                let said = [output.stdout, output.stderr].concat();
                output.status.success() && !String::from_utf8_lossy(&said).to_lowercase().contains("error")
            };
            until("the cluster is provisioned", || async { provision() }).await;
        }
        for server in &cluster.servers {
            until("a server is ready", || is_healthy(server.admin)).await;
        }
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The directory of the cluster, for what belongs to it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn run(&mut self, at: usize) {
        let log = File::options().create(true).append(true).open(self.path(&format!("{at}.log"))).expect("a log");
        let mut command = Command::new(self.bin.join("restate-server"));
        command.arg("--no-logo").arg("--config-file").arg(self.path(&format!("{at}.toml")));
        command.arg("--base-dir").arg(self.path(&format!("data-{at}")));
        command.env("RESTATE_DISABLE_TELEMETRY", "true").env("RUST_LOG", "warn").env("DO_NOT_TRACK", "1");
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
        let process = command.spawn().expect("the server starts");
        leave_id(&process);
        self.servers[at].process = Some(process);
    }

    /// Kills a server with SIGKILL and starts it again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn crash(&mut self, at: usize) {
        self.end(at);
        self.run(at);
    }

    fn end(&mut self, at: usize) {
        if let Some(mut process) = self.servers[at].process.take() {
            process.kill().expect("it is ours");
            process.wait().expect("it ends");
        }
    }

    /// How many servers there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.servers.len()
    }

    /// For starting and finding runs.
    #[must_use]
    pub fn client(&self) -> Client {
        let addresses: Vec<_> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.ingress)).collect();
        Client::connect(&addresses)
    }

    /// For registering workers.
    #[must_use]
    pub fn admin(&self) -> Admin {
        let addresses: Vec<_> = self.servers.iter().map(|server| format!("127.0.0.1:{}", server.admin)).collect();
        Admin::connect(&addresses)
    }

    /// The address of the administration of the first server.
    #[must_use]
    pub fn admin_address(&self) -> String {
        format!("127.0.0.1:{}", self.servers[0].admin)
    }

    /// The address of the ingress of the first server.
    #[must_use]
    pub fn ingress_address(&self) -> String {
        format!("127.0.0.1:{}", self.servers[0].ingress)
    }

    /// What a server at a port of loopback says to a request.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn get_at(&self, port: u16, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n");
        http(port, &request).await.expect("the server answers")
    }

    /// What the first server says to a query in SQL, as JSON.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn query(&self, sql: &str) -> String {
        self.ask_admin("/query", &format!("{{\"query\":\"{sql}\"}}")).await
    }

    /// What the administration of the first server says to a request with JSON.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn ask_admin(&self, path: &str, body: &str) -> String {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\naccept: application/json\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        http(self.servers[0].admin, &request).await.expect("the server answers")
    }

    /// What the ingress of the first server says to a request with JSON.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn post(&self, path: &str, body: &str) -> String {
        self.send(path, body, "").await
    }

    /// The same with a key: a request with the same one is done once.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn post_once(&self, path: &str, body: &str, key: &str) -> String {
        self.send(path, body, &format!("idempotency-key: {key}\r\n")).await
    }

    async fn send(&self, path: &str, body: &str, header: &str) -> String {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             {header}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        http(self.servers[0].ingress, &request).await.expect("the server answers")
    }

    /// Ends the invocation that drives a run as the command line of Restate does: `cancel` or `kill`.
    ///
    /// # Panics
    /// If there is none.
    pub async fn end_invocation(&self, run: &str, how: &str) {
        self.end_invocations(&format!("target_service_key = '{run}' and target_handler_name = 'run'"), how).await;
    }

    /// The same with all invocations of which a condition in SQL holds; `purge` has the server forget those that have ended.
    ///
    /// # Panics
    /// If there is none.
    pub async fn end_invocations(&self, condition: &str, how: &str) {
        let found = self.query(&format!("select id from sys_invocation where {condition}")).await;
        let mut ids = found.split('"').filter(|word| word.starts_with("inv_")).peekable();
        assert!(ids.peek().is_some(), "no invocation: {condition}");
        for id in ids {
            let request = format!(
                "PATCH /invocations/{id}/{how} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
            );
            let ended = http(self.servers[0].admin, &request).await.expect("the server answers");
            assert!(ended.starts_with("HTTP/1.1 2"), "{ended}");
        }
    }

    /// What the servers have logged, for a test that fails.
    #[must_use]
    pub fn logs(&self) -> String {
        let logs =
            (0..self.size()).map(|at| std::fs::read_to_string(self.path(&format!("{at}.log"))).unwrap_or_default());
        logs.collect()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for at in 0..self.size() {
            self.end(at);
        }
    }
}

fn config(at: usize, node: u16, server: &Server, nodes: &[u16], shape: Shape) -> String {
    let Server { ingress, admin, .. } = server;
    let mut config = format!(
        "cluster-name = \"graphweft\"\nnode-name = \"n{at}\"\nlisten-mode = \"tcp\"\ndisable-telemetry = true\n\
         bind-ip = \"127.0.0.1\"\nbind-port = {node}\nadvertised-host = \"127.0.0.1\"\ndefault-num-partitions = {}\n",
        if shape.at_once.is_some() { 1 } else { 4 }
    );
    if nodes.len() > 1 {
        let addresses: Vec<_> = nodes.iter().map(|node| format!("\"http://127.0.0.1:{node}\"")).collect();
        config.push_str("auto-provision = false\ndefault-replication = 2\n");
        config.push_str(&format!("[metadata-client]\ntype = \"replicated\"\naddresses = [{}]\n", addresses.join(", ")));
        config.push_str("[bifrost]\ndefault-provider = \"replicated\"\n");
    }
    config
        .push_str(&format!("[admin]\ndisable-web-ui = true\nbind-port = {admin}\n[ingress]\nbind-port = {ingress}\n"));
    config.push_str("[worker.invoker]\n");
    if let Some(seconds) = shape.keep_alive {
        config.push_str(&format!(
            "http2-keep-alive-interval = \"{seconds}s\"\nhttp2-keep-alive-timeout = \"{seconds}s\"\n"
        ));
    }
    if let Some(at_once) = shape.at_once {
        config.push_str(&format!("concurrent-invocations-limit = {at_once}\n"));
    }
    config
}

async fn is_healthy(admin: u16) -> bool {
    let request = "GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    http(admin, request).await.is_ok_and(|response| response.starts_with("HTTP/1.1 200"))
}

async fn http(port: u16, request: &str) -> std::io::Result<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
    let mut response = String::new();
    stream.write_all(request.as_bytes()).await?;
    stream.read_to_string(&mut response).await?;
    Ok(response)
}

/// Waits until something is the case.
///
/// # Panics
/// If that takes a minute.
pub async fn until<F: Future<Output = bool>>(what: &str, mut is: impl FnMut() -> F) {
    let begun = Instant::now();
    while !is().await {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
