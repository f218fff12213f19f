//! A PgBouncer of a test's own, before a server.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::server::{as_postgres, is_root, run};

/// A pooler on a socket in a directory of its own.
#[derive(Debug)]
pub struct Pooler {
    folder: tempfile::TempDir,
    process: Child,
}

impl Pooler {
    /// Starts one before the server whose address is in `GRAPHWEFT_POSTGRES`, in the mode `session`, `transaction` or `statement`, with at most
    /// so many connections to it.
    ///
    /// # Panics
    /// If PgBouncer is not there, or does not start.
    #[must_use]
    pub fn start(mode: &str, connections: u32) -> Self {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path();
        let server = crate::server();
        let host = server.split(' ').find_map(|setting| setting.strip_prefix("host=")).expect("it has a host");
        let settings = format!(
            "[databases]\n* = host={host}\n[pgbouncer]\nunix_socket_dir = {path}\nlisten_port = 6432\n\
             auth_type = trust\nauth_file = {path}/users\nlogfile = {path}/log\npool_mode = {mode}\n\
             default_pool_size = {connections}\nmax_client_conn = 200\n",
            path = path.display()
        );
        std::fs::write(path.join("settings"), settings).expect("it can be written");
        std::fs::write(path.join("users"), "\"graphweft\" \"\"\n").expect("it can be written");
        if is_root() {
            run(Command::new("chown").arg("-R").arg("postgres").arg(path));
        }
        run(Command::new("chmod").arg("711").arg(path));
        // Debian has it where only root finds it.
        let program =
            ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"].into_iter().find(|program| Path::new(program).exists());
        let mut command = as_postgres(Path::new(program.unwrap_or("pgbouncer")));
        let process =
            command.arg(path.join("settings")).spawn().expect("PgBouncer is there: apt-get install pgbouncer");
        let pooler = Pooler { folder, process };
        for _ in 0..200 {
            // It is there a moment before anything listens.
            if UnixStream::connect(pooler.folder.path().join(".s.PGSQL.6432")).is_ok() {
                return pooler;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let log = std::fs::read_to_string(pooler.folder.path().join("log")).unwrap_or_default();
        panic!("PgBouncer does not start: {log}");
    }

    /// Its address, in the form of `GRAPHWEFT_POSTGRES`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("host={} port=6432 user=graphweft dbname=postgres", self.folder.path().display())
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
