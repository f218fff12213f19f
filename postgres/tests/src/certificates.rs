//! Certificates of a test's own, by the program `openssl`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::server::run;

/// An authority, and the certificate of a server on `localhost` that it has signed.
#[derive(Debug)]
pub struct Certificates {
    folder: tempfile::TempDir,
}

impl Certificates {
    /// Makes them. They are good for a day.
    ///
    /// # Panics
    /// If `openssl` is not there.
    #[must_use]
    pub fn new() -> Self {
        let certificates = Certificates { folder: tempfile::tempdir().expect("a directory") };
        let extensions = certificates.path("extensions");
        let text = "subjectAltName = DNS:localhost\nbasicConstraints = critical, CA:FALSE\n";
        std::fs::write(&extensions, text).expect("it can be written");
        // Authorities of one name are taken for the same.
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let authority = format!("/CN=authority {}", NEXT.fetch_add(1, Ordering::Relaxed));
        let new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        certificates.openssl(
            &["req", "-x509", "-days", "1", "-subj", &authority, "-keyout", "authority.key"],
            |command| {
                command.args(new_key).args(["-out", "authority.pem"]);
            },
        );
        certificates.openssl(
            &["req", "-subj", "/CN=localhost", "-keyout", "server.key", "-out", "server.csr"],
            |command| {
                command.args(new_key);
            },
        );
        certificates.openssl(
            &["x509", "-req", "-days", "1", "-in", "server.csr", "-extfile", "extensions"],
            |command| {
                command.args([
                    "-CA",
                    "authority.pem",
                    "-CAkey",
                    "authority.key",
                    "-CAcreateserial",
                    "-out",
                    "server.pem",
                ]);
            },
        );
        certificates
    }

    fn openssl(&self, arguments: &[&str], more: impl FnOnce(&mut Command)) {
        let mut command = Command::new("openssl");
        command.args(arguments).current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        more(&mut command);
        run(&mut command);
    }

    /// One of the files `authority.pem`, `server.pem` and `server.key`.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Certificates::new()
    }
}
