//! The workflow in a lab: without a server, a file or a bank.

use approvals::earlier;
use approvals::refunds::{Bank, Refund, Refusal, SETTLED, Settled, check, decide, pay, refund, refuse, settle};
use graphweft::testing::{Lab, fails_with};

fn of(order: &str, cents: u32) -> Refund {
    Refund { tenant: "acme".into(), order: order.into(), cents }
}

/// Everybody says yes but to the order "odd", and the bank calls back.
fn lab() -> Lab<refund> {
    Lab::of::<refund>()
        .answer_with("approve", |question| (question.payload["order"] != "odd").into())
        .signal(SETTLED, Settled { reference: "TX-9".into() })
        .resource_with(Bank::default)
}

#[tokio::test(start_paused = true)]
async fn a_busy_bank_is_asked_again() {
    let busy_twice = fails_with(2, || Refusal::BankIsBusy).then("paid".to_owned());
    let run = lab().mock::<pay>(busy_twice).run(of("A-1", 25_000)).await;
    assert_eq!(run.output(), "paid, settled as TX-9");
    run.took(["check", "decide", "pay#3", "settle"]);
}

#[tokio::test(start_paused = true)]
async fn whatever_commit_is_lost_the_bank_pays_once() {
    let lab = lab().repeatable::<(check, decide, pay, settle, refuse)>();
    lab.effects_on::<Bank, _>(Bank::paid).crash_at_every_commit(of("A-1", 25_000)).await;
}

#[tokio::test(start_paused = true)]
async fn each_way_is_taken() {
    let closed = lab().mock_fn::<pay>(|refund| match &*refund.order {
        "late" => Err(Refusal::BankIsBusy),
        order => Ok(format!("{order} is paid back")),
    });
    closed.covers_every_arm([of("A-1", 25_000), of("none", 0), of("odd", 25_000), of("late", 25)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_refund_of_the_version_before_is_paid_once_wherever_the_upgrade_finds_it() {
    let lab = lab().register_earlier::<earlier::refund>().repeatable::<(check, decide, pay, settle, refuse)>();
    let lab = lab.effects_on::<Bank, _>(Bank::paid);
    for upgrade in lab.upgrade_at_every_commit::<earlier::refund>(of("A-1", 25_000)).await {
        assert_eq!(upgrade.run.output(), "paid back 25000 cents for A-1, as lab:refund/pay, settled as TX-9");
        assert_eq!(upgrade.effects, ["{\n    \"lab:refund/pay\": 25000,\n}"]);
    }
}
