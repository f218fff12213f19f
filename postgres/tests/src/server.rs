//! A server of PostgreSQL of a test's own, which it may stop and start.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server on a socket in a directory of its own.
#[derive(Debug)]
pub struct Server {
    bin: PathBuf,
    folder: tempfile::TempDir,
    process: Option<Child>,
}

impl Server {
    /// Makes a database and starts a server.
    ///
    /// # Panics
    /// If PostgreSQL is not there, or does not start.
    #[must_use]
    pub fn start() -> Self {
        let bin = PathBuf::from(std::env::var_os("GRAPHWEFT_POSTGRES_BIN").expect("`with_server.sh` sets it"));
        let folder = tempfile::tempdir().expect("a directory");
        if is_root() {
            run(Command::new("chown").arg("postgres").arg(folder.path()));
        }
        run(Command::new("chmod").arg("711").arg(folder.path()));
        let mut server = Server { bin, folder, process: None };
        let data = server.data();
        run(server.command("initdb").arg("--pgdata").arg(data).args([
            "--username=graphweft",
            "--auth=trust",
            "--no-sync",
            "--no-locale",
            "--encoding=UTF8",
        ]));
        server.begin();
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
        let program = self.bin.join(program);
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

    fn begin(&mut self) {
        let sockets = format!("unix_socket_directories={}", self.path().display());
        let data = self.data();
        let mut command = self.command("postgres");
        command.arg("-D").arg(data).args(["-c", "listen_addresses=", "-c", &sockets, "-c", "fsync=off"]);
        self.process = Some(command.spawn().expect("the server starts"));
        for _ in 0..600 {
            let is_ready = self.command("pg_isready").arg("--host").arg(self.path()).status();
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
        self.stop("QUIT");
        self.begin();
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

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("`id` is there");
    id.stdout.trim_ascii() == b"0"
}

fn run(command: &mut Command) {
    let status = command.status().expect("the program is there");
    assert!(status.success(), "{command:?}");
}
