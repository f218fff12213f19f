//! From a licence to a finding: one node for each of the ways that a package can go.

use std::path::{Path, PathBuf};

use graphweft::prelude::*;

use crate::licence::{demand_of, permissive_choice};
use crate::manifest::BadManifest;
use crate::model::{Declared, Demand, Dependency, Doubt, Finding, Judgement, Kind, Licence, Manifest, Terms, Unclear};

/// Judges what a package declares.
#[node]
pub(crate) async fn classify(declared: Declared) -> Licence {
    let Declared { manifest, expression } = declared;
    let unclear = |expression, why| Licence::Unknown(Unclear::beside(&manifest, expression, why));
    let Some(expression) = expression else {
        return unclear(None, "its manifest names no licence".to_owned());
    };
    match demand_of(&expression) {
        Ok(demand @ Demand::Notice) => Licence::Permissive(Terms { manifest, expression, demand }),
        Ok(demand) => Licence::Copyleft(Terms { manifest, expression, demand }),
        Err(why) => unclear(Some(expression), why),
    }
}

/// Nothing to do but to keep the notice, and to choose where there is a choice.
#[node]
pub(crate) async fn credit(terms: Terms) -> Judgement {
    let note = permissive_choice(&terms.expression).map(|choice| format!("choose {choice}")).unwrap_or_default();
    terms.finding(Kind::Permissive, note)
}

/// What a copyleft licence obliges to.
#[node]
pub(crate) async fn oblige(terms: Terms) -> Judgement {
    let note = match terms.demand {
        Demand::Notice => "keep its notice",
        Demand::OwnFiles => "publish changes to its own files",
        Demand::Library => "publish changes to it, and let users replace it",
        Demand::Program => "publish the whole program's source under this licence",
        Demand::Network => "publish the whole program's source, even if it only runs as a service",
    };
    terms.finding(Kind::Copyleft, note.to_owned())
}

/// Why nothing is known of a package, and what a person should read to know it.
#[node(blocking)]
pub(crate) fn explain(unclear: Unclear) -> Judgement {
    let texts = unclear.directory.as_deref().map(licence_texts).unwrap_or_default();
    let Unclear { name: package, version, expression: licence, why, .. } = unclear;
    Judgement::Clear(Finding { package, version, licence, kind: Kind::Unknown, note: advice(&why, &texts) })
}

/// Why a licence cannot be judged, and what a person should read to do it.
#[node(blocking)]
pub(crate) fn doubt(unclear: Unclear) -> Judgement {
    let Unclear { name: package, version, expression: licence, why, directory } = unclear;
    let texts = directory.as_deref().map(licence_texts).unwrap_or_default();
    Judgement::Open(Doubt { package, version, licence, why, texts })
}

/// A reason, and the names of the files to read.
pub(crate) fn advice(why: &str, texts: &[PathBuf]) -> String {
    let names: Vec<_> = texts.iter().filter_map(|text| text.file_name()).map(|name| name.to_string_lossy()).collect();
    if names.is_empty() { why.to_owned() } else { format!("{why}; read {}", names.join(", ")) }
}

/// The files in a package that look like a licence, in alphabetical order.
fn licence_texts(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let texts = entries.flatten().filter(|entry| is_licence_text(&entry.file_name().to_string_lossy()));
    let mut texts: Vec<PathBuf> = texts.map(|entry| entry.path()).collect();
    texts.sort();
    texts
}

fn is_licence_text(file: &str) -> bool {
    let file = file.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "UNLICENSE"].iter().any(|name| file.starts_with(name))
}

impl Terms {
    fn finding(self, kind: Kind, note: String) -> Judgement {
        let Manifest { name: package, version, .. } = self.manifest;
        Judgement::Clear(Finding { package, version, licence: Some(self.expression), kind, note })
    }
}

impl Unclear {
    /// A package whose manifest was not found.
    pub(crate) fn missing(dependency: Dependency, why: &str) -> Self {
        let Dependency { name, version, .. } = dependency;
        Unclear { name, version, expression: None, why: why.to_owned(), directory: None }
    }

    fn beside(manifest: &Manifest, expression: Option<String>, why: String) -> Self {
        Unclear {
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            expression,
            why,
            directory: manifest.path.parent().map(Path::to_owned),
        }
    }
}

impl From<BadManifest> for Unclear {
    fn from(bad: BadManifest) -> Self {
        Unclear::beside(&bad.manifest, None, bad.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licence_texts_are_known_by_their_names() {
        for name in ["LICENSE", "LICENSE-MIT", "licence.txt", "COPYING", "UNLICENSE"] {
            assert!(is_licence_text(name), "{name}");
        }
        assert!(!is_licence_text("README.md"));
    }
}
