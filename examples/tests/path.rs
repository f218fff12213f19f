//! The examples are a path through the guide: each names its page, the page names it, and `README.md` lists it.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Each example: how the pages name it, and its first file.
fn examples() -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    for directory in ["examples", "agents/examples"] {
        for entry in fs::read_dir(root().join(directory)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("{directory}/{}", path.file_name().unwrap().to_str().unwrap());
            if path.extension().is_some_and(|extension| extension == "rs") {
                found.push((name, path));
            } else if let Some(main) =
                ["main.rs", "src/main.rs"].map(|main| path.join(main)).into_iter().find(|main| main.is_file())
            {
                found.push((name, main));
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn each_example_names_its_page_and_the_page_names_the_example() {
    for (name, file) in examples() {
        let source = read(&file);
        let head: Vec<&str> = source.lines().take_while(|line| line.starts_with("//!")).collect();
        let head = head.join("\n");
        let page = head.split('`').find(|word| word.starts_with("docs/guide/"));
        let page = page.unwrap_or_else(|| panic!("{name} names no page of docs/guide in its first lines"));
        assert!(read(&root().join(page)).contains(&format!("../{name}")), "{page} does not name {name}");
    }
}

#[test]
fn the_list_has_each_example_once() {
    let list = read(&root().join("examples/README.md"));
    for (name, _) in examples() {
        let link = name.strip_prefix("examples/").map_or_else(|| format!("../{name}"), str::to_owned);
        assert_eq!(list.matches(&format!("]({link})")).count(), 1, "{name}");
    }
}
