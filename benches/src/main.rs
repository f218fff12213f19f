//! Measures everything, prints the table and writes it down.
//!
//! `cargo run --release -- --help` says how.

mod arguments;
mod page;

use std::path::Path;
use std::time::Duration;

use graphweft_benches::measure::Effort;
use graphweft_benches::peers::Peers;
use graphweft_benches::report::{self, Row};
use graphweft_benches::scale::{self, Scale};
use graphweft_benches::{compile, durable, in_memory, resume};

use arguments::{Arguments, Part, Wanted};

fn main() {
    let arguments = match Arguments::read(std::env::args().skip(1)) {
        Ok(Wanted::Table(arguments)) => arguments,
        Ok(Wanted::Child { name, count, directory }) => return println!("{}", scale::child(&name, count, &directory)),
        Err(help) => {
            eprintln!("{help}");
            std::process::exit(2);
        }
    };
    let machine = page::machine();
    let rows = rows(&arguments);
    let table = report::markdown(&machine, &rows);
    println!("{table}");
    write(&arguments.json, &format!("{:#}\n", report::json(&machine, &rows)));
    if let Some(page) = &arguments.page {
        page::put(page, &arguments.table, &table);
    }
}

fn rows(arguments: &Arguments) -> Vec<Row> {
    let files = tempfile::tempdir_in(&arguments.directory).expect("a directory for files");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let effort = |rounds: usize, milliseconds| {
        let (rounds, milliseconds) = if arguments.is_quick { (3, milliseconds / 4) } else { (rounds, milliseconds) };
        Effort { rounds, turn: Duration::from_millis(milliseconds) }
    };
    let scale = if arguments.is_quick { Scale::QUICK } else { Scale::WHOLE };
    let peers = if arguments.has_peers { Peers::start(files.path()) } else { Peers::default() };
    let mut rows = Vec::new();
    for part in &arguments.parts {
        eprintln!("measuring: {}", part.name());
        rows.extend(match part {
            Part::InMemory => in_memory::rows(&runtime, &peers, effort(21, 20)),
            Part::Durable => durable::rows(&runtime, &peers, files.path(), effort(15, 100)),
            Part::Resume => resume::rows(&runtime, files.path(), effort(11, 0)),
            Part::Scale => scale::rows(files.path(), scale),
            Part::Compile => compile::rows(&compiled(), effort(11, 0)),
        });
    }
    rows
}

/// Where the packages are compiled whose compiling is measured: what they depend on is kept for the next time.
fn compiled() -> std::path::PathBuf {
    let program = std::env::current_exe().expect("this program is a file");
    program.parent().expect("a file is in a directory").join("compile-bench")
}

fn write(path: &Path, text: &str) {
    if let Err(error) = std::fs::write(path, text) {
        eprintln!("{} cannot be written: {error}", path.display());
        std::process::exit(1);
    }
}
