//! Runs that were begun under an earlier version.

use std::fmt;
use std::future::Future;
use std::panic::Location;

use serde_json::Value as Json;

use super::crash_store::{CrashStore, last_run};
use super::lab::{Lab, fail};
use super::lab_run::LabRun;
use super::outside::RUN;
use super::process::{Ended, Rests};
use crate::engine::{Check, Outcome};
use crate::node::Payload;
use crate::store::MemoryStore;
use crate::workflow::Workflow;

/// A run that was begun under an earlier version, and continued by the program of the lab: of
/// [`Lab::upgrade_at_every_commit`].
///
/// Which runs get the new node, and which end as before:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::Lab;
///
/// mod v1 {
///     use graphweft::prelude::*;
///     #[node]
///     pub async fn pack(order: u32) -> u32 { order }
///     workflow! { pub ship(u32) -> u32 { START => pack; } }
/// }
/// use v1::pack;
///
/// #[node]
/// async fn weigh(order: u32) -> u32 { 10 * order }
/// workflow! { pub ship(u32) -> u32 { START => pack => weigh; } }
///
/// # graphweft::block_on(async {
/// let lab = Lab::of::<ship>().repeatable::<(pack, weigh)>();
/// let upgrades = lab.upgrade_at_every_commit::<v1::ship>(7).await;
/// assert!(upgrades.iter().all(|upgrade| upgrade.version == 0 && *upgrade.run.output() == 70));
///
/// let both = lab.register_earlier::<v1::ship>().upgrade_at_every_commit::<v1::ship>(7).await;
/// assert!(both.iter().all(|upgrade| upgrade.version == 1 && *upgrade.run.output() == 7));
/// # });
/// ```
#[non_exhaustive]
pub struct Upgrade<W: Workflow> {
    /// How many commits the earlier program has made.
    pub commit: usize,
    /// What the last of them has recorded: ``node_completed `ship/check` ``.
    pub stored: String,
    /// Under which version it has continued, as in [`Check::versions`]: 0 is the newest. If it had started over by then, that is
    /// the version of the run that followed it last.
    pub version: usize,
    /// The whole run.
    pub run: LabRun<W>,
    /// What was done to each resource of [`Lab::effects_on`], in both programs.
    pub effects: Vec<String>,
}

impl<W: Workflow> Lab<W> {
    /// Begins a run under an earlier version of the workflow, stops it at every commit, and continues it in the program of the lab, as
    /// a deployment does with runs that are under way. Returns how each went, for a test of what has to be so: its output, or that
    /// a mock was called once.
    ///
    /// The program before has the earlier version and what else is registered; it gets the mocks, resources, answers and signals of the lab.
    /// What it had under way is lost, and starts again. The program of the lab has the workflow, with the
    /// [earlier versions](Self::register_earlier) that the lab is given. A run that waits for what the lab does not send is continued there as well.
    ///
    /// Nodes that are not mocked have to be [`repeatable`](Self::repeatable), in both versions, as for
    /// [`crash_at_every_commit`](Self::crash_at_every_commit).
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// mod v1 {
    ///     use graphweft::prelude::*;
    ///
    ///     #[node]
    ///     pub async fn check(order: u32) -> u32 { order }
    ///     #[node]
    ///     pub async fn charge(order: u32) -> String { panic!("{order} is not charged in a test") }
    ///     workflow! { pub ship(u32) -> String { START => check => charge; } }
    /// }
    /// use v1::{charge, check};
    ///
    /// #[node]
    /// async fn weigh(order: u32) -> u32 { order }
    /// workflow! { pub ship(u32) -> String { START => check => weigh => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<ship>()
    ///     .register_earlier::<v1::ship>() // without it, a run that has come to `charge` is refused
    ///     .mock::<charge>("paid".to_owned())
    ///     .repeatable::<(check, weigh)>();
    /// for upgrade in lab.upgrade_at_every_commit::<v1::ship>(7).await {
    ///     assert_eq!(upgrade.run.output(), "paid");
    ///     assert!(upgrade.run.called::<charge>().count() <= 2, "{upgrade:?}"); // twice if it was under way
    /// }
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the program of the lab refuses a run: the message names the commit, and the node that has changed. If a node may not be repeated.
    /// As [`run`](Self::run) does.
    #[track_caller]
    pub fn upgrade_at_every_commit<V: Workflow>(
        &self,
        input: V::Input,
    ) -> impl Future<Output = Vec<Upgrade<W>>> + Send + '_ {
        let here = Location::caller();
        let input = input.to_record().map_err(|error| format!("the input cannot be recorded: {error}"));
        async move {
            let upgraded = match input {
                Ok(input) => self.upgrade::<V>(&input).await,
                Err(problem) => Err(problem),
            };
            upgraded.unwrap_or_else(|problem| fail::<W>(here, &problem))
        }
    }

    async fn upgrade<V: Workflow>(&self, input: &Json) -> Result<Vec<Upgrade<W>>, String> {
        self.check_repeatable(W::definition())?;
        self.check_repeatable(V::definition())?;
        self.check_effects()?;
        let world = self.world();
        let (rests, commits) = self.undisturbed::<V>(self.program_before::<V>(&world), &world, input).await?;
        self.check_called(V::definition(), &rests.events)?;
        let mut upgrades = Vec::new();
        for commit in 1..=commits {
            // Of nodes at the same time, one run may make fewer commits than another.
            upgrades.extend(self.upgrade_at::<V>(input, commit).await?);
        }
        Ok(upgrades)
    }

    /// A run whose program was stopped after so many commits; `None` if it had ended by then.
    async fn upgrade_at<V: Workflow>(&self, input: &Json, commit: usize) -> Result<Option<Upgrade<W>>, String> {
        let (world, disk) = (self.world(), MemoryStore::new());
        let first = CrashStore::losing(disk.clone(), commit + 1);
        let at = |problem: String| format!("upgrade after commit {commit}: {problem}");
        let before = self.process::<V>(self.program_before::<V>(&world), &world, &first, input).await.map_err(at)?;
        let (stored, _) = first.crash_site();
        match before {
            Ended::Rests(Rests { outcome: Outcome::Waiting(_) | Outcome::AwaitingSignals(_), .. }) | Ended::Crashed => {
            }
            Ended::Rests(_) => return Ok(None),
        }
        world.next_process();
        let store = CrashStore::new(disk);
        let at = |problem: String| at(format!("{problem}\n  stored: {stored}"));
        let check = self.checked(&world, &store).await.map_err(at)?;
        let last = last_run(store.inner()).await.map_err(|error| at(error.to_string()))?;
        let version = version_of(&check, last.as_ref().map_or(RUN, |last| &last.id)).map_err(at)?;
        match self.process::<V>(self.program(&world), &world, &store, input).await.map_err(at)? {
            Ended::Rests(rests) => {
                let effects = self.effects.iter().map(|effects| (effects.of)(&world).unwrap_or_default()).collect();
                let run = LabRun::new(V::NAME, rests, world.calls(), self.mocked());
                Ok(Some(Upgrade { commit, stored, version, run, effects }))
            }
            Ended::Crashed => Err(at("the second process has crashed; this is a mistake in graphweft".to_owned())),
        }
    }
}

/// The place of the version under which a run continues.
///
/// # Errors
/// Why none fits.
fn version_of(check: &Check, run: &str) -> Result<usize, String> {
    if let Some((_, error)) = check.refused.iter().find(|(refused, _)| refused == run) {
        return Err(format!(
            "{error}\n  help: keep what the run has used as it was, or register the earlier version by `.register_earlier::<..>()`"
        ));
    }
    if let Some((_, workflow)) = check.unregistered.iter().find(|(unregistered, _)| unregistered == run) {
        return Err(format!("the program has no workflow `{workflow}`\n  help: register it by `.register::<..>()`"));
    }
    Ok(check.versions.iter().position(|version| version.runs.iter().any(|fits| fits == run)).unwrap_or(0))
}

impl<W: Workflow> fmt::Debug for Upgrade<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade")
            .field("commit", &self.commit)
            .field("stored", &self.stored)
            .field("version", &self.version)
            .field("run", &self.run)
            .field("effects", &self.effects)
            .finish()
    }
}
