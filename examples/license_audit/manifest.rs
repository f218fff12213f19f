//! What manifests say, as `cargo metadata` reads them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use cargo_metadata::{Metadata, MetadataCommand};
use graphweft::prelude::*;

use crate::model::{Declared, Dependency, Manifest, Request};

/// Reading one manifest is a matter of milliseconds: a `cargo` that says nothing for this long has hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A manifest that `cargo` does not read, or that is not of the package it was taken for.
#[value]
pub(crate) struct BadManifest {
    pub(crate) manifest: Manifest,
    pub(crate) why: String,
}

/// The packages of the workspace that a lock file belongs to.
#[value]
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) manifests: Vec<Manifest>,
    /// Why they are not known.
    pub(crate) problem: Option<String>,
    /// Which packages are audited.
    pub(crate) built: Built,
}

/// The packages that are built on this machine: for its platform, and with the features that are on by default.
#[value]
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Built {
    /// Names and versions.
    Known(BTreeSet<(String, String)>),
    /// Why they are not known.
    Unknown(String),
    /// It was not asked for.
    #[default]
    Any,
}

impl Built {
    pub(crate) fn has(&self, package: &Dependency) -> bool {
        match self {
            Built::Known(built) => built.contains(&(package.name.clone(), package.version.clone())),
            Built::Unknown(_) | Built::Any => true,
        }
    }
}

impl Members {
    pub(crate) fn find(&self, name: &str, version: &str) -> Option<&Manifest> {
        self.manifests.iter().find(|member| member.name == name && member.version == version)
    }

    /// Why a package is not among them.
    pub(crate) fn why_not(&self) -> &str {
        self.problem.as_deref().unwrap_or("a path dependency, and no member of the workspace beside the lock file")
    }
}

/// The members of the workspace whose manifest lies beside the lock file. None where there is no manifest.
#[node]
pub(crate) async fn list_members(request: Request) -> Members {
    let manifest = request.directory().join("Cargo.toml");
    if !tokio::fs::try_exists(&manifest).await.unwrap_or(false) {
        return Members::default();
    }
    let metadata = match metadata(&manifest).await {
        Ok(metadata) => metadata,
        Err(why) => return Members { problem: Some(why), ..Members::default() },
    };
    let built = match request.all_platforms {
        true => Built::Any,
        false => built(&manifest).await.map_or_else(Built::Unknown, Built::Known),
    };
    let manifests = metadata.packages.into_iter().map(|package| Manifest {
        name: package.name.to_string(),
        version: package.version.to_string(),
        path: package.manifest_path.into(),
    });
    Members { manifests: manifests.collect(), problem: None, built }
}

/// The licence that a package declares.
#[node]
pub(crate) async fn read_manifest(manifest: Manifest) -> Result<Declared, BadManifest> {
    let metadata = match metadata(&manifest.path).await {
        Ok(metadata) => metadata,
        Err(why) => return Err(BadManifest { manifest, why }),
    };
    // A checkout and a workspace hold several packages.
    let package = metadata
        .packages
        .into_iter()
        .find(|package| *package.name == manifest.name && package.version.to_string() == manifest.version);
    match package {
        Some(package) => {
            let manifest = Manifest { path: package.manifest_path.into(), ..manifest };
            Ok(Declared { manifest, expression: package.license })
        }
        None => {
            let why = format!("{} is not the manifest of this version", manifest.path.display());
            Err(BadManifest { manifest, why })
        }
    }
}

/// `cargo metadata` for one manifest. `--no-deps`, since its dependencies have lines of their own in the lock file. Not
/// `--locked`: without dependencies cargo neither reads nor writes a lock file.
async fn metadata(manifest: &Path) -> Result<Metadata, String> {
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).no_deps().other_options(["--offline".to_owned()]);
    let json = output(command.cargo_command()).await?;
    parsed(json)
}

fn parsed(json: String) -> Result<Metadata, String> {
    MetadataCommand::parse(json).map_err(|error| format!("`cargo metadata` was not understood: {error}"))
}

/// The packages of a workspace that are built on this machine. Cargo reads their manifests for that, and downloads those
/// that no build has needed yet.
async fn built(manifest: &Path) -> Result<BTreeSet<(String, String)>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut version = std::process::Command::new(cargo);
    version.arg("-vV");
    let version = output(version).await?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("`cargo -vV` does not name the platform of this machine")?;
    let metadata = async |offline: &[&str]| {
        let mut command = MetadataCommand::new();
        let options = [&["--locked", "--filter-platform", host], offline].concat();
        command.manifest_path(manifest).other_options(options.into_iter().map(str::to_owned).collect::<Vec<_>>());
        output(command.cargo_command()).await
    };
    let json = match metadata(&["--offline"]).await {
        Ok(json) => json,
        // Its advice is for those who call cargo themselves.
        Err(_) => metadata(&[]).await.map_err(|why| why.split("; help: ").next().unwrap_or_default().to_owned())?,
    };
    let metadata = parsed(json)?;
    let resolved: BTreeSet<_> =
        metadata.resolve.iter().flat_map(|resolve| &resolve.nodes).map(|node| &node.id).collect();
    let built = metadata.packages.iter().filter(|package| resolved.contains(&package.id));
    Ok(built.map(|package| (package.name.to_string(), package.version.to_string())).collect())
}

/// What a command prints.
async fn output(command: std::process::Command) -> Result<String, String> {
    let shown = command.get_args().next().map_or_else(String::new, |first| format!("cargo {}", first.display()));
    let mut process = tokio::process::Command::from(command);
    process.stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, process.output())
        .await
        .map_err(|_| format!("`{shown}` has given no answer in {} seconds", PATIENCE.as_secs()))?
        .map_err(|error| format!("`{shown}` could not be run: {error}"))?;
    if !output.status.success() {
        return Err(said(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What cargo complains about, on one line and without its `error:`.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && *line != "Caused by:");
    let message = lines.collect::<Vec<_>>().join("; ");
    match message.split_once("error: ") {
        Some((_, error)) => error.to_owned(),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cargo_says_is_put_on_one_line() {
        let stderr = b"error: failed to parse manifest at `/x/Cargo.toml`\n\nCaused by:\n  no targets specified\n";
        assert_eq!(said(stderr), "failed to parse manifest at `/x/Cargo.toml`; no targets specified");
    }
}
