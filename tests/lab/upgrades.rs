//! Runs that were begun under an earlier version.

use std::sync::{Arc, Mutex};

use graphweft::Workflow;
use graphweft::prelude::*;
use graphweft::testing::{Lab, fails};

use crate::{has_line, message, message_of};

mod v1 {
    use graphweft::prelude::*;

    #[node]
    pub(super) async fn check(order: u32) -> u32 {
        order
    }

    #[node]
    pub(super) async fn approve(order: u32, ctx: &Context) -> u32 {
        ctx.ask::<bool>("fine", "Is it fine?").await;
        order
    }

    #[node(retry(max_attempts = 2))]
    pub(super) async fn charge(order: u32) -> String {
        panic!("{order} is not charged in a test")
    }

    workflow! { pub(super) ship(u32) -> String { START => check => approve => charge; } }
}
use v1::{approve, charge, check};

#[node]
async fn weigh(order: u32) -> u32 {
    order
}

#[node]
async fn label(paid: String) -> String {
    format!("{paid} and labelled")
}

/// A run that has used `approve` does not fit it.
mod inserted {
    use super::*;
    workflow! { pub(super) ship(u32) -> String { START => check => weigh => approve => charge; } }
}

/// Every run fits it.
mod longer {
    use super::*;
    #[node(renamed_from = "check")]
    pub(super) async fn validate(order: u32) -> u32 {
        order
    }
    workflow! { pub(super) ship(u32) -> String { START => validate => approve => charge => label; } }
}

fn lab<W: Workflow>() -> Lab<W> {
    let lab = Lab::of::<W>().mock::<charge>(fails(1).then("paid".to_owned()));
    lab.repeatable::<(check, approve, weigh, label, longer::validate)>()
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_registered_version_continue_under_it() {
    let lab = lab::<inserted::ship>().register_earlier::<v1::ship>().answer("fine", true);
    let upgrades = lab.upgrade_at_every_commit::<v1::ship>(7).await;
    assert!(upgrades.len() > 5, "{upgrades:?}");
    for upgrade in upgrades {
        assert_eq!((upgrade.version, upgrade.run.output().as_str()), (1, "paid"), "{upgrade:?}");
        assert!((2..=3).contains(&upgrade.run.called::<charge>().count()), "{upgrade:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_no_version_fits_is_found_with_its_commit_and_its_node() {
    let lab = lab::<inserted::ship>().answer("fine", true);
    let text = message_of(lab.upgrade_at_every_commit::<v1::ship>(7)).await;
    has_line(
        &text,
        &["tests/lab/upgrades.rs:", "`ship`: upgrade after commit", "node `ship/approve`: its ways in changed"],
    );
    has_line(&text, &["stored: ", "`ship/approve`"]);
    has_line(&text, &["help: ", ".register_earlier::<..>()"]);
}

#[tokio::test(start_paused = true)]
async fn runs_that_fit_the_newest_version_continue_under_it() {
    let lab = lab::<longer::ship>().answer("fine", true);
    for upgrade in lab.upgrade_at_every_commit::<v1::ship>(7).await {
        assert_eq!((upgrade.version, upgrade.run.output().as_str()), (0, "paid and labelled"), "{upgrade:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_an_attempt_has_used_up_is_used_up_after_an_upgrade() {
    let upgrades = lab::<longer::ship>().answer("fine", true).upgrade_at_every_commit::<v1::ship>(7).await;
    let after_a_failure = upgrades.iter().find(|upgrade| upgrade.stored.starts_with("node_failed `ship/charge`"));
    let after_a_failure = after_a_failure.unwrap_or_else(|| panic!("{upgrades:?}"));
    after_a_failure.run.took(["check", "approve", "charge#2", "label"]);
    assert_eq!(after_a_failure.run.called::<charge>().count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_for_a_person_waits_after_an_upgrade() {
    let upgrades = lab::<longer::ship>().upgrade_at_every_commit::<v1::ship>(7).await;
    assert!(
        upgrades.iter().any(|upgrade| upgrade.stored.contains("question_asked `ship/approve/fine`")),
        "{upgrades:?}"
    );
    for upgrade in &upgrades {
        let Outcome::Waiting(questions) = upgrade.run.outcome() else { panic!("{upgrade:?}") };
        assert_eq!(questions[0].id, "ship/approve/fine");
    }
}

#[derive(Clone, Default)]
struct Bank(Arc<Mutex<Vec<u32>>>);

impl Bank {
    fn paid(&self) -> Vec<u32> {
        self.0.lock().unwrap().clone()
    }
}

/// The same graph, and another name of the step: no check of the graph sees it.
macro_rules! pays_by {
    ($version:ident, $step:literal) => {
        mod $version {
            use super::*;
            #[node(retry(max_attempts = 2))]
            pub(super) async fn pay(
                cents: u32,
                ctx: &Context,
                #[resource] bank: &Bank,
            ) -> Result<u32, ChildError<String>> {
                ctx.step($step, || async {
                    bank.0.lock().unwrap().push(cents);
                    Ok::<(), String>(())
                })
                .await?;
                ctx.ask::<bool>("fine", "Is it fine?").await;
                Ok(cents)
            }
            workflow! { pub(super) refund(u32) -> u32 { START => pay; } }
        }
    };
}
pays_by!(step, "transfer");
pays_by!(renamed_step, "pay");

#[tokio::test(start_paused = true)]
async fn a_step_that_was_renamed_is_found_by_its_effects() {
    let lab = Lab::of::<renamed_step::refund>().repeatable::<(step::pay, renamed_step::pay)>().answer("fine", true);
    let lab = lab.resource_with(Bank::default).effects_on::<Bank, _>(|bank| bank.paid().len());
    let upgrades = lab.upgrade_at_every_commit::<step::refund>(40).await;
    let twice: Vec<&str> =
        upgrades.iter().filter(|upgrade| upgrade.effects == ["2"]).map(|upgrade| upgrade.stored.as_str()).collect();
    assert!(twice.contains(&"question_asked `refund/pay/fine`"), "{upgrades:?}");
}

mod numbers {
    use graphweft::prelude::*;
    #[node]
    pub(super) async fn check(order: u32) -> u32 {
        order
    }
    workflow! { pub(super) ship(u32) -> u32 { START => check; } }
}

#[tokio::test(start_paused = true)]
async fn the_output_of_an_earlier_version_may_be_another_one() {
    let lab = lab::<inserted::ship>().register_earlier::<numbers::ship>().repeatable::<numbers::check>();
    let upgrades = lab.upgrade_at_every_commit::<numbers::ship>(7).await;
    upgrades[0].run.took(["check"]);
    has_line(&message(|| drop(upgrades[0].run.output().clone())), &["cannot be read as that of `ship`"]);
}

mod renamed {
    use super::*;
    workflow! { pub(super) ship_2(u32) -> String { START => check => weigh => approve => charge; } }
}

#[tokio::test(start_paused = true)]
async fn runs_of_a_workflow_with_another_name_need_it() {
    let lab = lab::<renamed::ship_2>().answer("fine", true);
    let text = message_of(lab.upgrade_at_every_commit::<v1::ship>(7)).await;
    has_line(&text, &["`ship_2`: upgrade after commit 1: the program has no workflow `ship`"]);
    for upgrade in lab.register::<v1::ship>().upgrade_at_every_commit::<v1::ship>(7).await {
        assert_eq!(upgrade.run.output(), "paid");
        assert_eq!(upgrade.run.journal()[0].path, "ship");
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_of_both_versions_have_to_be_repeatable() {
    let lab =
        Lab::of::<longer::ship>().repeatable::<(longer::validate, approve, label)>().mock::<charge>(String::new());
    let text = message_of(lab.upgrade_at_every_commit::<v1::ship>(7)).await;
    has_line(&text, &["a crash would repeat nodes that are not mocked: `check`"]);
}

/// Starts over once, under either version.
mod counts {
    use graphweft::prelude::*;

    #[node]
    pub(super) async fn count(n: u32, ctx: &Context) -> u32 {
        if n < 1 {
            ctx.start_over::<counted>(n + 1).await
        }
        n
    }

    workflow! { pub(super) counted(u32) -> u32 { START => count; } }
}

mod counts_and_weighs {
    use super::*;

    #[node]
    pub(super) async fn count(n: u32, ctx: &Context) -> u32 {
        if n < 1 {
            ctx.start_over::<counted>(n + 1).await
        }
        100 * n
    }

    workflow! { pub(super) counted(u32) -> u32 { START => weigh => count; } }
}

#[tokio::test(start_paused = true)]
async fn the_version_of_a_run_that_had_started_over_is_that_of_the_last_one() {
    let lab = Lab::of::<counts_and_weighs::counted>().register_earlier::<counts::counted>();
    let lab = lab.repeatable::<(counts::count, counts_and_weighs::count, weigh)>();
    let upgrades = lab.upgrade_at_every_commit::<counts::counted>(0).await;
    let has_started_over: Vec<_> = upgrades.iter().filter(|upgrade| *upgrade.run.output() == 1).collect();
    assert_eq!(has_started_over.len(), 2);
    assert!(has_started_over.iter().all(|upgrade| upgrade.version == 1), "{upgrades:#?}");
}
