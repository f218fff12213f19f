//! Worker processes behind a balancer.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use tokio::task::JoinHandle;

use crate::balancer::balance;
use crate::{free_port, leave_id};

/// What a process does.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// Drives runs.
    Runs,
    /// Executes nodes of the pool `far`, so many at once.
    Pool(u32),
}

/// Processes of one program, which are killed, each by its own id, when this is dropped.
#[derive(Debug)]
pub struct Workers {
    program: PathBuf,
    role: Role,
    ledger: PathBuf,
    ports: Vec<u16>,
    alive: Vec<Child>,
    balancer: (u16, JoinHandle<std::io::Result<()>>),
}

impl Workers {
    /// Starts so many processes that drive runs.
    ///
    /// # Panics
    /// If they do not start.
    pub async fn start(program: &str, ledger: &Path, count: usize) -> Self {
        Workers::start_as(Role::Runs, program, ledger, count).await
    }

    /// Starts so many processes.
    ///
    /// # Panics
    /// If they do not start.
    pub async fn start_as(role: Role, program: &str, ledger: &Path, count: usize) -> Self {
        let ports: Vec<u16> = (0..count).map(|_| free_port()).collect();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let port = listener.local_addr().expect("it has an address").port();
        let balancer = (port, tokio::spawn(balance(listener, ports.clone())));
        let (program, ledger) = (PathBuf::from(program), ledger.to_owned());
        let mut workers = Workers { program, role, ledger, ports, alive: Vec::new(), balancer };
        workers.alive = (0..count).map(|at| workers.spawn(at)).collect();
        workers
    }

    fn spawn(&self, at: usize) -> Child {
        let mut command = Command::new(&self.program);
        command.arg(self.ports[at].to_string()).env("GRAPHWEFT_LEDGER", &self.ledger);
        if let Role::Pool(at_once) = self.role {
            command.arg(at_once.to_string());
        }
        let process = command.spawn().expect("the worker starts");
        leave_id(&process);
        process
    }

    /// The address of the balancer.
    #[must_use]
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.balancer.0)
    }

    /// What all nodes have left behind.
    #[must_use]
    pub fn ledger(&self) -> &Path {
        &self.ledger
    }

    /// How many there are.
    #[must_use]
    pub fn size(&self) -> usize {
        self.ports.len()
    }

    /// Kills a worker with SIGKILL and starts another one.
    ///
    /// # Panics
    /// If it does not start.
    pub fn crash(&mut self, at: usize) {
        end(&mut self.alive[at]);
        self.alive[at] = self.spawn(at);
    }

    /// Sends a signal to a worker.
    ///
    /// # Panics
    /// If there is no `kill`.
    pub fn signal(&self, at: usize, signal: &str) {
        let id = self.alive[at].id().to_string();
        Command::new("kill").args([format!("-{signal}"), id]).status().expect("`kill` is there");
    }
}

fn end(worker: &mut Child) {
    // It may be dead already.
    drop(worker.kill());
    worker.wait().expect("it ends");
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.balancer.1.abort();
        self.alive.iter_mut().for_each(end);
    }
}
