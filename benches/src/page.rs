//! The page that the table goes to.

use std::path::Path;
use std::process::Command;

/// What it was measured on.
pub(crate) fn machine() -> String {
    let version = Command::new("rustc").arg("--version").output();
    let version = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let system = std::env::consts::OS;
    let processor = std::env::consts::ARCH;
    format!("{cores} cores, {system}, {processor}, {}.", version.unwrap_or_else(|_| "rustc unknown".to_owned()))
}

/// Puts a table between its marks on a page.
pub(crate) fn put(path: &Path, name: &str, table: &str) {
    let (begin, end) = (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"));
    let page = std::fs::read_to_string(path).unwrap_or_default();
    let parts = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let Some((before, after)) = parts else {
        eprintln!("{} has no `{begin}` and `{end}`", path.display());
        std::process::exit(1);
    };
    let page = format!("{before}{begin}\n{table}{end}{after}");
    if let Err(error) = std::fs::write(path, page) {
        eprintln!("{} cannot be written: {error}", path.display());
        std::process::exit(1);
    }
}
