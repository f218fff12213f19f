//! Where on this machine cargo keeps what it has downloaded.

use std::path::{Path, PathBuf};

use graphweft::prelude::*;

use crate::model::{Dependency, Manifest, Search, Unclear};

/// Cargo's own directory, `~/.cargo`: what the engine is given at start-up.
#[derive(Debug)]
pub(crate) struct CargoHome(pub(crate) PathBuf);

impl CargoHome {
    /// `$CARGO_HOME`, or `.cargo` in the home directory, as cargo itself has it.
    pub(crate) fn of_this_user() -> Self {
        let configured = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        CargoHome(configured.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap_or_default())
    }
}

/// Among the unpacked packages of all registries: `registry/src/<registry>/<name>-<version>`.
#[node]
pub(crate) async fn in_registry(dependency: Dependency, #[resource] cargo: &CargoHome) -> Search {
    let directory = format!("{}-{}", dependency.name, dependency.version);
    let registries = entries(&cargo.0.join("registry/src")).await.into_iter();
    let candidates = registries.map(|registry| registry.join(&directory));
    first_manifest(dependency, candidates, "not on this machine; `cargo fetch` would download it").await
}

/// Among what cargo has checked out of git: `git/checkouts/<repository>-<hash>/<start of the commit>`. Where that is a
/// workspace, `cargo metadata` finds the member.
#[node]
pub(crate) async fn in_checkouts(dependency: Dependency, commit: String, #[resource] cargo: &CargoHome) -> Search {
    let mut candidates = Vec::new();
    for repository in entries(&cargo.0.join("git/checkouts")).await {
        candidates.extend(entries(&repository).await.into_iter().filter(|checkout| is_start_of(checkout, &commit)));
    }
    let why = "not among cargo's git checkouts on this machine; `cargo fetch` would download it";
    first_manifest(dependency, candidates, why).await
}

fn is_start_of(checkout: &Path, commit: &str) -> bool {
    checkout.file_name().and_then(|name| name.to_str()).is_some_and(|short| commit.starts_with(short))
}

/// The manifest in the first directory that has one.
async fn first_manifest(
    dependency: Dependency,
    directories: impl IntoIterator<Item = PathBuf>,
    why_not: &str,
) -> Search {
    for directory in directories {
        let path = directory.join("Cargo.toml");
        if tokio::fs::try_exists(&path).await.unwrap_or(false) {
            let Dependency { name, version, .. } = dependency;
            return Search::Found(Manifest { name, version, path });
        }
    }
    Search::Missing(Unclear::missing(dependency, why_not))
}

/// What lies in a directory, in a fixed order; nothing where there is no such directory.
async fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Ok(mut listing) = tokio::fs::read_dir(directory).await {
        while let Ok(Some(entry)) = listing.next_entry().await {
            found.push(entry.path());
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_named_by_the_start_of_its_commit() {
        assert!(is_start_of(Path::new("git/checkouts/repo-1f/7ac3bd1"), "7ac3bd1e9a6ab98eb4a3"));
        assert!(!is_start_of(Path::new("git/checkouts/repo-1f/7ac3bd2"), "7ac3bd1e9a6ab98eb4a3"));
    }
}
