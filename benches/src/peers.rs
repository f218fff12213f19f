//! Other libraries, in a process of their own that takes its turns with this one: they need versions of SQLite's binding
//! that cannot be in a program with ours.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use crate::measure::{Contender, Role};

/// The process of the other libraries; or nobody, where they are not wanted.
#[derive(Clone, Default)]
pub struct Peers(Option<Rc<RefCell<Process>>>);

struct Process {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Peers {
    /// Builds their program and starts it. Its files are made in `directory`.
    pub fn start(directory: &Path) -> Self {
        let package = concat!(env!("CARGO_MANIFEST_DIR"), "/peers");
        let own = std::env::current_exe().expect("this program is a file");
        let target = own.parent().expect("a file is in a directory").join("peers");
        let built = Command::new(env!("CARGO"))
            .args(["build", "--release", "--locked", "--manifest-path"])
            .arg(format!("{package}/Cargo.toml"))
            .arg("--target-dir")
            .arg(&target)
            .status();
        assert!(built.is_ok_and(|status| status.success()), "the other libraries cannot be built");
        let program = target.join("release").join("graphweft-benches-peers");
        let started = Command::new(program).arg(directory).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = started.expect("it was built");
        let to = child.stdin.take().expect("it is piped");
        let from = BufReader::new(child.stdout.take().expect("it is piped"));
        Peers(Some(Rc::new(RefCell::new(Process { child, to, from }))))
    }

    /// Those that do some work, each of them in so many units.
    pub fn at(&self, work: &'static str, units: u64) -> Vec<Contender<'static>> {
        let Some(process) = &self.0 else { return Vec::new() };
        let names = process.borrow_mut().ask(&format!("list {work}"));
        let contender = |name: &str| {
            let (process, name) = (Rc::clone(process), name.to_owned());
            Contender::new(&name.clone(), Role::Peer, units, move |times| {
                let took = process.borrow_mut().ask(&format!("run {work} {name} {times}"));
                Duration::from_nanos(took.parse().expect("a number"))
            })
        };
        names.split_whitespace().map(contender).collect()
    }
}

impl Process {
    fn ask(&mut self, question: &str) -> String {
        writeln!(self.to, "{question}").expect("it listens");
        let mut answer = String::new();
        self.from.read_line(&mut answer).expect("it answers");
        assert!(!answer.is_empty(), "the program of the other libraries has ended at `{question}`");
        answer.trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing that it could still do is wanted.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
