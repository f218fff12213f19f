//! Servers of Restate, workers and a balancer on loopback, for tests. The programs of Restate are in `GRAPHWEFT_RESTATE_BIN`.

pub mod attempts;
pub mod balancer;
pub mod cluster;
pub mod dice;
pub mod here;
pub mod judge;
pub mod workers;
pub mod workflows;

/// Leaves the id of a process that a test has started, for the script that has started the test: it ends what is left if
/// the test is killed.
///
/// # Panics
/// If the file cannot be written to.
pub fn leave_id(process: &std::process::Child) {
    use std::io::Write;
    if let Some(file) = std::env::var_os("GRAPHWEFT_PROCESSES") {
        let mut file = std::fs::File::options().create(true).append(true).open(file).expect("a list of processes");
        writeln!(file, "{}", process.id()).expect("the list can be written to");
    }
}

/// A port of loopback that was free a moment ago.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("it has an address").port()
}
