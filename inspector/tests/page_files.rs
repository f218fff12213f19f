//! All files of the built page are in the program.

use std::path::{Path, PathBuf};

fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

/// `GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test page_files` writes the list.
#[test]
fn all_files_of_the_built_page_are_in_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dist = root.join("page/dist");
    let mut files = Vec::new();
    below(&dist, &mut files);
    let mut names: Vec<String> =
        files.iter().map(|file| file.strip_prefix(&dist).unwrap().to_str().unwrap().replace('\\', "/")).collect();
    names.sort();
    let list = root.join("src/page/files.rs");
    if std::env::var_os("GRAPHWEFT_WRITE").is_some() {
        let written = std::fs::read_to_string(&list).unwrap();
        let (head, _) = written.split_once(" = &[").unwrap();
        let entry = |name: &String| format!("    (\"{name}\", include_bytes!(\"../../page/dist/{name}\")),\n");
        let entries: String = names.iter().map(entry).collect();
        let entries = if entries.is_empty() { entries } else { format!("\n{entries}") };
        std::fs::write(&list, format!("{head} = &[{entries}];\n")).unwrap();
        return;
    }
    let embedded: Vec<&str> = graphweft_inspector::page::FILES.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        embedded, names,
        "write the list: GRAPHWEFT_WRITE=1 cargo test -p graphweft-inspector --test page_files"
    );
}
