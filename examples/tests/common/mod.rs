//! The program in a directory of its own, where its database is. Cargo's home is a fixture, so that it does not matter what
//! this machine has downloaded.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(path)
}

pub(crate) struct Desk {
    pub(crate) directory: TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        Desk { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A file for one test to break.
    pub(crate) fn written(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_license_audit"));
        command.args(arguments).current_dir(self.directory.path()).env("CARGO_HOME", fixture("cargo_home"));
        command.env("CARGO_NET_OFFLINE", "true");
        command
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Nothing on stdout, one line on stderr that holds this, and this exit code.
pub(crate) fn assert_stopped(output: &Output, code: i32, telling: &str) {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(text(&output.stdout), "");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains(telling), "{stderr}");
}
