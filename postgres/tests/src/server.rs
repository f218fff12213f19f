//! A server of PostgreSQL of a test's own, which it may stop and start.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server on a socket in a directory of its own.
#[derive(Debug)]
pub struct Server {
    bin: PathBuf,
    folder: tempfile::TempDir,
    /// Settings besides.
    settings: Vec<String>,
    process: Option<Child>,
}

impl Server {
    /// Makes a database and starts a server.
    ///
    /// # Panics
    /// If PostgreSQL is not there, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let mut server = Server::new();
        server.begin();
        server
    }

    /// The same with TLS, on a port of this machine; it shows this certificate, whose key it has. Returns its address too.
    ///
    /// # Panics
    /// If PostgreSQL is not there, or does not start.
    #[must_use]
    pub fn with_tls(certificate: &Path, key: &Path) -> (Self, String) {
        let mut server = Server::new();
        let own = ["certificate", "key"].map(|name| server.path().join(name));
        for (from, to) in [certificate, key].iter().zip(&own) {
            std::fs::copy(from, to).expect("it can be copied");
            run(Command::new("chmod").arg("600").arg(to));
            if is_root() {
                run(Command::new("chown").arg("postgres").arg(to));
            }
        }
        let [certificate, key] = own.map(|file| file.display().to_string());
        server.settings =
            vec!["ssl=on".to_owned(), format!("ssl_cert_file={certificate}"), format!("ssl_key_file={key}")];
        let address = server.listen();
        (server, address)
    }

    /// The same on a port of this machine, without TLS. Returns its address too.
    ///
    /// # Panics
    /// If PostgreSQL is not there, or does not start.
    #[must_use]
    pub fn on_port() -> (Self, String) {
        let mut server = Server::new();
        let address = server.listen();
        (server, address)
    }

    fn listen(&mut self) -> String {
        let port = free_port();
        self.settings.extend(["listen_addresses=127.0.0.1".to_owned(), format!("port={port}")]);
        self.begin();
        format!("host=localhost hostaddr=127.0.0.1 port={port} user=graphweft dbname=postgres")
    }

    fn new() -> Self {
        let bin = PathBuf::from(std::env::var_os("GRAPHWEFT_POSTGRES_BIN").expect("`with_server.sh` sets it"));
        let folder = tempfile::tempdir().expect("a directory");
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        run(Command::new("chmod").arg("711").arg(folder.path()));
        let server = Server { bin, folder, settings: Vec::new(), process: None };
        let data = server.data();
        run(server.command("initdb").arg("--pgdata").arg(data).args([
            "--username=graphweft",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ]));
        server
    }

    fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> String {
        format!("host={} user=graphweft dbname=postgres", self.path().display())
    }

    /// A program of PostgreSQL, as a user that may run it.
    fn command(&self, program: &str) -> Command {
        as_postgres(&self.bin.join(program))
    }

    fn begin(&mut self) {
        let sockets = format!("unix_socket_directories={}", self.path().display());
        let data = self.data();
        let mut command = self.command("postgres");
        command.arg("-D").arg(data).args(["-c", "listen_addresses=", "-c", &sockets, "-c", "fsync=off"]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        self.process = Some(command.spawn().expect("the server starts"));
        let port = self.settings.iter().find_map(|setting| setting.strip_prefix("port=")).unwrap_or("5432").to_owned();
        for _ in 0..600 {
            let is_ready = self.command("pg_isready").args(["--port", &port, "--host"]).arg(self.path()).status();
            if is_ready.is_ok_and(|status| status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server is not ready");
    }

    /// Has the server end as in a crash, without writing anything down, and starts it again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn crash(&mut self) {
        self.crash_for(Duration::ZERO);
    }

    /// The same, and it is away for so long before it starts again.
    ///
    /// # Panics
    /// If it does not start.
    pub fn crash_for(&mut self, away: Duration) {
        self.stop("QUIT");
        std::thread::sleep(away);
        self.begin();
    }

    /// A server whose sessions only read, as those of a replica.
    ///
    /// # Panics
    /// If PostgreSQL is not there, or does not start.
    #[must_use]
    pub fn read_only() -> Self {
        let mut server = Server::new();
        server.settings = vec!["default_transaction_read_only=on".to_owned()];
        server.begin();
        server
    }

    /// The folder of its socket, which an address names as its host.
    #[must_use]
    pub fn host(&self) -> String {
        self.path().display().to_string()
    }

    fn stop(&mut self, signal: &str) {
        if let Some(mut process) = self.process.take() {
            run(Command::new("kill").arg(format!("-{signal}")).arg(process.id().to_string()));
            process.wait().expect("it ends");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop("INT");
    }
}

/// A program that does not run as root.
pub(crate) fn as_postgres(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "postgres", "--regid", "postgres", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    command
}

/// A port of this machine that nothing listens to now.
fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").port()
}

pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("`id` is there");
    id.stdout.trim_ascii() == b"0"
}

pub(crate) fn run(command: &mut Command) {
    let status = command.status().expect("the program is there");
    assert!(status.success(), "{command:?}");
}
