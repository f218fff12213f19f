//! A run that is crashed at each of its commits.

use std::collections::BTreeSet;
use std::future::Future;
use std::panic::Location;

use serde_json::Value as Json;

use super::compare::{Crashed, Ran, compare};
use super::crash_store::{CrashStore, records_of};
use super::lab::{Lab, fail};
use super::outside::RUN;
use super::parts::Effects;
use super::process::{Ended, Rests};
use super::world::World;
use crate::node::Payload;
use crate::store::MemoryStore;
use crate::workflow::Workflow;

/// What [`Lab::crash_at_every_commit`] has done.
///
/// A payment that may be made once only: a test that there is a crash which interrupts it, and that nothing else is lost.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::testing::Lab;
///
/// #[node]
/// async fn price(item: String) -> usize { 10 * item.len() }
/// #[node(at_most_once)]
/// async fn charge(cents: usize) -> String { panic!("{cents} cents are not charged in a test") }
///
/// workflow! { pub shop(String) -> String { START => price => charge; } }
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// // In a `#[tokio::test(start_paused = true)]`:
/// let lab = Lab::of::<shop>().repeatable::<price>().mock::<charge>("paid".to_owned());
/// let crashes = lab.crash_at_every_commit("lamp".into()).await;
/// assert_eq!(crashes.interrupted, ["shop/charge"]);
/// assert!(crashes.count > 1);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Crashes {
    /// How many runs were crashed: one for each commit but the first, with which the run is stored.
    pub count: usize,
    /// The `at_most_once` nodes, children and steps that a crash has interrupted, by their paths, each once.
    pub interrupted: Vec<String>,
}

impl<W: Workflow> Lab<W> {
    /// Crashes the workflow at every commit, and asserts that its results and effects do not show it.
    ///
    /// The workflow runs once without a crash. Then it runs once for each commit that its store makes: that commit and everything
    /// after it is lost, the engine is stopped, and a new engine resumes the run by what is stored. What is expected of each run:
    ///
    /// - It ends as the one without a crash: with the same output, with the same failure, or with the same open questions.
    /// - A node that completes in both has the same output, and takes the same arm.
    /// - A node that completes in both has called the same children and steps, and none in addition, such as one that gets another key in
    ///   each run. They are counted by their names, since a key may be that of an attempt whose commit was lost.
    /// - A mock is called at most as often as the guarantees say: as in the run without a crash, and once more for each attempt that
    ///   was under way at the crash. A completed attempt is not called again.
    /// - Effects on resources ([`effects_on`](Self::effects_on)) are the same.
    ///
    /// An interrupted attempt of an `at_most_once` node is not called again. Its run goes the way of a failed node, which is expected:
    /// [`Crashes::interrupted`] has the nodes to which that has happened, and only the calls are compared.
    ///
    /// All nodes have to be mocked or [`repeatable`](Self::repeatable), so that no test repeats a real effect by accident: also those
    /// that are `at_most_once`, since that holds within a run, and each crash is another one. So do the nodes of registered workflows,
    /// which a node may start. A child with a name of its own is stated by [`repeatable_child`](Self::repeatable_child). Nodes that read a clock, a counter or anything else that is not their input have to be mocked: they
    /// return something else in every run. So does a node that calls children at the same time, and stops at the first result: which of
    /// them it has called depends on their timing. Answers and signals of the lab are given again if they were lost.
    ///
    /// ```
    /// use graphweft::prelude::*;
    /// use graphweft::testing::Lab;
    ///
    /// #[node]
    /// async fn reserve(item: String) -> String { item }
    /// #[node(at_most_once)]
    /// async fn charge(item: String) -> String { format!("paid {item}") }
    ///
    /// workflow! { pub order(String) -> String { START => reserve => charge; } }
    ///
    /// # graphweft::block_on(async {
    /// let lab = Lab::of::<order>().repeatable::<reserve>().mock::<charge>("paid".to_owned());
    /// let crashes = lab.crash_at_every_commit("a lamp".into()).await;
    /// assert_eq!(crashes.interrupted, ["order/charge"]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a run does not do what is expected of it: the message names the commit, the node and the difference. If a node may not be
    /// repeated. As [`run`](Self::run) does.
    #[track_caller]
    pub fn crash_at_every_commit(&self, input: W::Input) -> impl Future<Output = Crashes> + Send + '_ {
        let here = Location::caller();
        let input = input.to_record().map_err(|error| format!("the input cannot be recorded: {error}"));
        async move {
            let crashed = match input {
                Ok(input) => self.crash(&input).await,
                Err(problem) => Err(problem),
            };
            crashed.unwrap_or_else(|problem| fail::<W>(here, &problem))
        }
    }

    async fn crash(&self, input: &Json) -> Result<Crashes, String> {
        self.check_repeatable(W::definition())?;
        self.check_effects()?;
        let (undisturbed, commits) = self.ran(input).await?;
        self.check_called(W::definition(), &undisturbed.events)?;
        let (mut interrupted, mut count) = (BTreeSet::new(), 0);
        for commit in 2.. {
            let Some(crash) = self.crashed_at(input, commit).await? else {
                // Of nodes at the same time, one run may make fewer commits than another.
                if commit <= commits {
                    continue;
                }
                return Ok(Crashes { count, interrupted: interrupted.into_iter().collect() });
            };
            count += 1;
            let compared = compare(&self.places(), &undisturbed, &crash).and_then(|cut_short| {
                if cut_short.is_empty() {
                    self.compare_effects(&undisturbed, &crash)?;
                }
                Ok(cut_short)
            });
            match compared {
                Ok(cut_short) => interrupted.extend(cut_short),
                Err(problem) => {
                    let (again, _) = self.ran(input).await?;
                    return Err(format!("{problem}{}", note_on(&undisturbed, &again)));
                }
            }
        }
        Err("it has more commits than can be counted".to_owned())
    }

    /// A run without a crash, and how many commits it has made.
    async fn ran(&self, input: &Json) -> Result<(Ran, usize), String> {
        let world = self.world();
        let (rests, commits) = self.undisturbed::<W>(self.program(&world), &world, input).await?;
        Ok((self.as_ran(rests, &world), commits))
    }

    fn as_ran(&self, rests: Rests, world: &World) -> Ran {
        // That there is such a resource was checked.
        let effects = self.effects.iter().map(|effects| (effects.of)(world).unwrap_or_default()).collect();
        Ran { workflow: W::NAME, outcome: rests.outcome, events: rests.events, calls: world.calls(), effects }
    }

    /// A run that was crashed at a commit and resumed; `None` if it has no commit of this number.
    async fn crashed_at(&self, input: &Json, commit: usize) -> Result<Option<Crashed>, String> {
        let (world, disk) = (self.world(), MemoryStore::new());
        let first = CrashStore::losing(disk.clone(), commit);
        let at = |problem: String| format!("crash at commit {commit}: {problem}");
        if let Ended::Rests(_) = self.process::<W>(self.program(&world), &world, &first, input).await.map_err(at)? {
            return Ok(None);
        }
        let stored = records_of(&disk, RUN).await.map_err(|error| at(error.to_string()))?;
        let (last, lost) = first.crash_site();
        world.next_process();
        let resumed = self.process::<W>(self.program(&world), &world, &CrashStore::new(disk), input).await;
        let resumed = resumed.map_err(|problem| at(format!("{problem}\n  stored: {last}\n  lost:   {lost}")))?;
        let Ended::Rests(rests) = resumed else {
            return Err(at("the second process has crashed; this is a mistake in graphweft".to_owned()));
        };
        let ran = self.as_ran(rests, &world);
        Ok(Some(Crashed { commit, last, lost, stored, ran }))
    }

    fn compare_effects(&self, undisturbed: &Ran, crash: &Crashed) -> Result<(), String> {
        let effects = self.effects.iter().zip(&undisturbed.effects).zip(&crash.ran.effects);
        for ((effects, before), after) in effects {
            if before != after {
                let type_name = effects.type_name;
                return Err(crash.report(&format!(
                    "the effects on `{type_name}` are not those of a run without a crash{}\n  undisturbed: {before}\n  crashed:     \
                     {after}\n  help: the attempt that was under way runs again; let each effect be a node, a child or a \
                     `ctx.step(..)` of its own, give it `ctx.idempotency_key()`, or make it `at_most_once`",
                    crash.suspects()
                )));
            }
        }
        Ok(())
    }

    /// The resource may have been replaced since.
    pub(super) fn check_effects(&self) -> Result<(), String> {
        let is_there = |effects: &&Effects| {
            self.resources.iter().any(|resource| resource.type_id == effects.type_id && resource.is_of_run)
        };
        match self.effects.iter().find(|effects| !is_there(effects)) {
            None => Ok(()),
            Some(Effects { type_name, .. }) => Err(format!(
                "the effects on `{type_name}` cannot be compared: the lab gives another resource of that type since; give the \
                 one of `.resource_with(|| ..)` last"
            )),
        }
    }
}

/// What a second run without a crash says about a problem.
fn note_on(undisturbed: &Ran, again: &Ran) -> String {
    if let Some(path) = undisturbed.differs_from(again) {
        return format!(
            "\n  note: `{path}` differs in a second run without a crash as well: it depends on more than its input"
        );
    }
    if let Some(path) = undisturbed.lacks_in(again) {
        return format!(
            "\n  note: `{path}` is missing in a second run without a crash as well: a global remembers the first one"
        );
    }
    if let Some(path) = undisturbed.is_keyed_anew_in(again) {
        return format!(
            "\n  note: `{path}` is not executed in a second run without a crash: its name or key depends on more than the input"
        );
    }
    if undisturbed.effects != again.effects {
        return "\n  note: a second run without a crash has other effects as well: a global remembers the first one"
            .to_owned();
    }
    String::new()
}
