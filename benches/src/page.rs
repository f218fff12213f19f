//! The page that the table goes to.

use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- table -->";
const END: &str = "<!-- end of table -->";

/// What it was measured on.
pub(crate) fn machine() -> String {
    let version = Command::new("rustc").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = std::env::consts::OS;
    let processor = std::env::consts::ARCH;
    format!("{cores} cores, {system}, {processor}, {}.", version.unwrap_or_else(|_| "rustc unknown".to_owned()))
}

/// Puts the table between the marks of a page.
pub(crate) fn put(path: &Path, table: &str) {
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let Some((before, after)) = parts else {
        eprintln!("{} has no `{BEGIN}` and `{END}`", path.display());
        std::process::exit(1);
    };
    let page = format!("{before}{BEGIN}\n{table}{END}{after}");
    if let Err(error) = std::fs::write(path, page) {
        eprintln!("{} cannot be written: {error}", path.display());
        std::process::exit(1);
    }
}
