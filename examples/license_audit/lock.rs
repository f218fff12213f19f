//! What the lock file says.

use std::path::PathBuf;

use cargo_lock::{Lockfile, package::SourceKind};
use graphweft::prelude::*;

use crate::manifest::{Built, Members};
use crate::model::{Dependency, LeftOut, Package, Request, Source, Unclear};

/// The lock file cannot be audited. Everything else is a finding; this ends the run.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum LockError {
    #[error("cannot read the lock file {}: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    #[error("{} is not a Cargo.lock that can be understood: {reason}", path.display())]
    Broken { path: PathBuf, reason: String },
}

/// The packages that a lock file names.
#[node(blocking)]
pub(crate) fn read_lock(request: Request) -> Result<Vec<Dependency>, LockError> {
    let path = &request.lock_file;
    let text = std::fs::read_to_string(path)
        .map_err(|error| LockError::Unreadable { path: path.clone(), reason: error.to_string() })?;
    parse(&text).map_err(|reason| LockError::Broken { path: path.clone(), reason })
}

fn parse(text: &str) -> Result<Vec<Dependency>, String> {
    let lock: Lockfile = text.parse().map_err(|error: cargo_lock::Error| on_one_line(&error.to_string()))?;
    // An empty file is valid TOML, but cargo never writes a lock file without the package that it locks for.
    if lock.packages.is_empty() {
        return Err("it names no package".to_owned());
    }
    let dependencies = lock.packages.into_iter().map(|package| Dependency {
        name: package.name.to_string(),
        version: package.version.to_string(),
        source: package.source.map_or(Source::Path, |source| match source.kind() {
            SourceKind::Git(_) => Source::Git { commit: source.precise().unwrap_or_default().to_owned() },
            SourceKind::Path => Source::Path,
            _ => Source::Registry,
        }),
    });
    Ok(dependencies.collect())
}

/// TOML errors draw the line that they are about. Here one line has to do.
fn on_one_line(message: &str) -> String {
    let message = message.strip_prefix("parse error: ").unwrap_or(message);
    let telling = message.lines().map(str::trim).filter(|line| {
        let is_drawing = line.starts_with('|') || line.contains(" | ") || line.starts_with('^');
        !line.is_empty() && !is_drawing
    });
    telling.collect::<Vec<_>>().join(": ")
}

/// How many packages of the lock file are not audited.
#[node]
pub(crate) async fn leave_out(dependencies: Vec<Dependency>, members: Members) -> LeftOut {
    let packages = dependencies.iter().filter(|package| !members.built.has(package)).count();
    let why_none = match members.built {
        Built::Unknown(why) => Some(why),
        Built::Known(_) | Built::Any => None,
    };
    LeftOut { packages, why_none }
}

/// Says for each package that is audited where its manifest is to be looked for.
#[node]
pub(crate) async fn pair_up(dependencies: Vec<Dependency>, members: Members) -> Vec<Package> {
    let place = |dependency: Dependency| match &dependency.source {
        Source::Registry => Package::Registry(dependency),
        Source::Git { commit } => Package::Git { commit: commit.clone(), dependency },
        Source::Path => match members.find(&dependency.name, &dependency.version) {
            Some(member) => Package::Member(member.clone()),
            None => Package::Nowhere(Unclear::missing(dependency, members.why_not())),
        },
    };
    dependencies.into_iter().filter(|package| members.built.has(package)).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Manifest;

    #[test]
    fn a_lock_file_says_where_each_package_comes_from() {
        let dependencies = parse(include_str!("../tests/fixtures/small/Cargo.lock")).unwrap();
        let sources: Vec<(&str, &Source)> =
            dependencies.iter().map(|dependency| (dependency.name.as_str(), &dependency.source)).collect();
        let git = Source::Git { commit: "7ac3bd1e9a6ab98eb4a3b0d9ae4ad4e4d1ba2a40".to_owned() };
        assert_eq!(
            sources,
            [
                ("fnv", &Source::Registry),
                ("from-git", &git),
                ("itoa", &Source::Registry),
                ("option-ext", &Source::Registry),
                ("ring", &Source::Registry),
                ("small", &Source::Path),
            ]
        );
    }

    #[test]
    fn what_is_no_lock_file_is_refused_on_one_line() {
        for text in ["", "version = 3", "[[package]]\nname = 1", "no toml at all", "[[package]]\nname = \"a\""] {
            let reason = parse(text).unwrap_err();
            assert!(!reason.is_empty() && !reason.contains('\n'), "{text:?} gives {reason:?}");
        }
    }

    #[tokio::test]
    async fn only_a_path_dependency_of_the_same_version_is_a_member() {
        let member = Manifest { name: "a".to_owned(), version: "1.0.0".to_owned(), path: "a/Cargo.toml".into() };
        let of = |version: &str, source| Dependency { name: "a".to_owned(), version: version.to_owned(), source };
        let dependencies = vec![of("1.0.0", Source::Path), of("1.0.0", Source::Registry), of("2.0.0", Source::Path)];

        let packages = pair_up(dependencies, Members { manifests: vec![member], ..Members::default() }).await;

        assert!(matches!(packages.as_slice(), [Package::Member(_), Package::Registry(_), Package::Nowhere(_)]));
    }
}
