//! Where the small examples are.

use std::path::PathBuf;

/// Examples lie beside the directory of the tests: `target/debug/examples/order`, `target/debug/deps/small_examples-..`.
pub(crate) fn built(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(|deps| deps.parent()).unwrap();
    profile.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX))
}
