//! Names in texts and paths.

/// Names as a list in an error text.
pub(crate) fn listed<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The name of the node at a path, without its key, its turn and its item.
pub(crate) fn node_name(path: &str) -> &str {
    let last = path.rsplit('/').next().unwrap_or_default();
    last.split([':', '#', '[']).next().unwrap_or_default()
}
