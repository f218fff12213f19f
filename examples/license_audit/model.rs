//! What travels through the audit.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use graphweft::prelude::*;

/// What the audit is asked for.
#[value]
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) lock_file: PathBuf,
    /// When to give up; `None`: never.
    pub(crate) time_limit: Option<Duration>,
    /// Also the packages that are not built on this machine.
    pub(crate) all_platforms: bool,
}

impl Request {
    /// The directory of the lock file: a workspace, usually, and then its members lie below.
    pub(crate) fn directory(&self) -> &Path {
        match self.lock_file.parent() {
            Some(directory) if directory != Path::new("") => directory,
            _ => Path::new("."),
        }
    }
}

/// A package as a lock file names it.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: Source,
}

/// The packages of a lock file that are not audited, since they are not built on this machine.
#[value]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) packages: usize,
    /// Why none could be left out.
    pub(crate) why_none: Option<String>,
}

/// Where a package comes from.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    Registry,
    Git { commit: String },
    Path,
}

/// A manifest on this machine, and the package that it is expected to be of.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) path: PathBuf,
}

/// A package of the lock file, by the place that its manifest is looked for.
#[value]
#[derive(Debug, Route)]
pub(crate) enum Package {
    /// It is one of the workspace's own.
    Member(Manifest),
    Registry(Dependency),
    Git {
        dependency: Dependency,
        commit: String,
    },
    /// There is no place to look.
    Nowhere(Unclear),
}

/// What looking for a package came to.
#[value]
#[derive(Debug, PartialEq, Route)]
pub(crate) enum Search {
    Found(Manifest),
    Missing(Unclear),
}

/// What a manifest says about its licence.
#[value]
pub(crate) struct Declared {
    pub(crate) manifest: Manifest,
    pub(crate) expression: Option<String>,
}

/// A licence that was understood.
#[value]
pub(crate) struct Terms {
    pub(crate) manifest: Manifest,
    pub(crate) expression: String,
    pub(crate) demand: Demand,
}

/// How much a licence demands of those who distribute the program, from little to much.
#[value]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Demand {
    Notice,
    OwnFiles,
    Library,
    Program,
    Network,
}

/// A licence that has to be looked at by a person, and why.
#[value]
#[derive(Debug, PartialEq)]
pub(crate) struct Unclear {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) expression: Option<String>,
    pub(crate) why: String,
    /// Where its licence text may lie.
    pub(crate) directory: Option<PathBuf>,
}

/// The route that a package takes by its licence.
#[value]
#[derive(Route)]
pub(crate) enum Licence {
    Permissive(Terms),
    Copyleft(Terms),
    Unknown(Unclear),
}

/// What one package comes to: a finding, or a case for a person.
#[value]
#[derive(Debug, PartialEq)]
pub(crate) enum Judgement {
    Clear(Finding),
    Open(Doubt),
}

/// A package whose licence no program can judge.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doubt {
    pub(crate) package: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    pub(crate) why: String,
    /// What a person should read to know it.
    pub(crate) texts: Vec<PathBuf>,
}

/// What is settled at once, and what takes one question each.
#[value]
#[derive(Clone, Debug, PartialEq, Route)]
pub(crate) enum Case {
    Clear(Vec<Finding>),
    Open(Undecided),
}

/// A licence that a person has to decide about, with all packages that have it. Goes along with the question.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Undecided {
    /// By which it is answered: the licence as the packages spell it, or `package@version` where one names none.
    pub(crate) id: String,
    /// Why no program can judge it.
    pub(crate) why: String,
    pub(crate) packages: Vec<Doubt>,
}

/// The kinds of licence, from the least to the most that there is to do about it.
// With its path: `ValueEnum` has a helper attribute `value` of its own.
#[graphweft::value]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Permissive,
    /// A person has allowed it.
    Allowed,
    Copyleft,
    /// Its manifest is not here, or cannot be read.
    Unknown,
    /// It cannot be classified, and no answer decided it.
    Undecided,
    /// A person has forbidden it.
    Denied,
}

impl Kind {
    pub(crate) const ALL: [Kind; 6] =
        [Kind::Permissive, Kind::Allowed, Kind::Copyleft, Kind::Unknown, Kind::Undecided, Kind::Denied];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Kind::Permissive => "permissive",
            Kind::Allowed => "allowed",
            Kind::Copyleft => "copyleft",
            Kind::Unknown => "unknown",
            Kind::Undecided => "undecided",
            Kind::Denied => "denied",
        })
    }
}

/// What was found out about one package.
#[value]
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    pub(crate) package: String,
    pub(crate) version: String,
    /// As the manifest spells it.
    pub(crate) licence: Option<String>,
    pub(crate) kind: Kind,
    /// What to do about it; empty where there is nothing to say.
    pub(crate) note: String,
}
