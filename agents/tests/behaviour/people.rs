//! Tools that ask a person: approval, and calls that were cut short.

use std::sync::atomic::{AtomicU32, Ordering};

use graphweft::prelude::*;
use graphweft::{AnswerError, Json, json};
use graphweft_agents::{Agent, Message, Models, Scripted, Tool};
use graphweft_tests::{Death, Journal, OnDisk, life};

use crate::scene::{call, results};

/// Pays money back.
#[node]
async fn refund(
    order: String,
    cents: u32,
    #[resource] journal: &Journal,
    #[resource] death: &Death,
) -> Result<String, String> {
    journal.note(format!("begins {order} {cents}"));
    death.come("paying").await;
    journal.note(format!("paid {order} {cents}"));
    Ok(format!("paid {cents}"))
}

fn clerk() -> Agent<String, String> {
    Agent::new("You refund.").tool(Tool::of::<refund>().approve_when(|(_, cents)| *cents > 5_000).at_most_once())
}

workflow! {
    desk(String) -> String {
        let clerk: Agent<String, String> = clerk();
        START => clerk;
    }
}

fn clerk_of(cents: u32) -> Scripted {
    let arguments = json!({ "order": "7", "cents": cents });
    Scripted::turns([call("refund", arguments), Message::assistant("Settled.")])
}

async fn engine(disk: &OnDisk, death: &Death, model: &Scripted) -> Engine {
    disk.engine(death).await.resource(Models::new(model.clone())).register::<desk>().build().unwrap()
}

/// A process that starts the run and ends while it waits for a person.
fn asks(disk: &OnDisk, model: &Scripted) -> (String, Json) {
    life(async {
        let engine = engine(disk, &Death::default(), model).await;
        let run = engine.start::<desk>("Go".into()).id("run").await.unwrap();
        let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        (questions[0].id.clone(), questions[0].payload.clone())
    })
}

/// The next process: answers the open question, and gives the result.
fn answers(disk: &OnDisk, model: &Scripted, question: &str, answer: Json) -> String {
    life(async {
        let engine = engine(disk, &Death::default(), model).await;
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        run.answer(question, answer).await.unwrap();
        run.result().await.unwrap().as_str().unwrap().to_owned()
    })
}

#[test]
fn a_call_that_is_edited_by_a_person_after_a_restart_is_made_as_edited() {
    let (disk, model) = (OnDisk::default(), clerk_of(9_900));
    let (question, payload) = asks(&disk, &model);
    assert_eq!(question, "desk/clerk/refund:1.0/approve");
    assert_eq!(payload, json!({ "order": "7", "cents": 9_900 }));
    assert!(disk.journal.lines().is_empty(), "it was called before it was approved");

    let misfit = life(async {
        let engine = engine(&disk, &Death::default(), &model).await;
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        run.answer("approve", json!({ "edit": ["7", "a lot"] })).await.unwrap_err().to_string()
    });
    assert!(misfit.contains("a lot"), "{misfit}");

    assert_eq!(answers(&disk, &model, "approve", json!({ "edit": ["7", 4_500] })), "Settled.");
    assert_eq!(disk.journal.lines(), ["begins 7 4500", "paid 7 4500"]);
    // The first reply was recorded, and no process has asked for it again.
    assert_eq!(model.requests().len(), 2);
    assert_eq!(results(&model.requests()[1]), ["paid 4500"]);
}

/// Asserts that each of these answers is refused and leaves the question open.
fn refuses(disk: &OnDisk, model: &Scripted, question: &str, answers: &[Json]) {
    life(async {
        let engine = engine(disk, &Death::default(), model).await;
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        for answer in answers {
            let refusal = run.answer(question, answer.clone()).await.expect_err(&answer.to_string());
            assert!(matches!(refusal, AnswerError::Invalid { .. }), "{answer}: {refusal}");
        }
        assert_eq!(run.questions().await.unwrap().len(), 1);
    });
}

#[test]
fn an_answer_that_is_no_clear_decision_is_refused_and_the_question_stays_open() {
    let (disk, model) = (OnDisk::default(), clerk_of(9_900));
    asks(&disk, &model);
    let answers = [
        json!({ "approve": null }),
        json!({ "approve": true }),
        json!({ "approve": null, "reject": "no" }),
        json!({ "reject": "no", "edit": ["7", 1] }),
        json!({ "yes": null }),
        json!({}),
        json!(["approve"]),
        json!("Approve"),
        json!("edit"),
        json!(true),
        json!(null),
    ];
    refuses(&disk, &model, "approve", &answers);
    assert!(disk.journal.lines().is_empty(), "it was called");
}

#[test]
fn a_call_is_not_made_again_without_a_clear_decision() {
    let (disk, model) = (OnDisk::default(), clerk_of(100));
    dies_while_paying(&disk, &model);
    let answers =
        [json!({ "retry": null }), json!({ "retry": {} }), json!("done"), json!({ "fail": "no", "done": "paid" })];
    refuses(&disk, &model, "went_through", &answers);
    assert_eq!(disk.journal.lines(), ["begins 7 100"]);
}

#[test]
fn a_rejection_goes_to_the_model_with_its_reason() {
    let (disk, model) = (OnDisk::default(), clerk_of(9_900));
    asks(&disk, &model);
    assert_eq!(answers(&disk, &model, "approve", json!({ "reject": "too much" })), "Settled.");
    assert!(disk.journal.lines().is_empty(), "it was called");
    assert_eq!(results(&model.requests()[1]), ["error: a person rejected the call: too much"]);
}

#[test]
fn a_call_below_the_limit_is_made_without_a_question() {
    let (disk, model) = (OnDisk::default(), clerk_of(100));
    let result = life(async {
        let engine = engine(&disk, &Death::default(), &model).await;
        engine.start::<desk>("Go".into()).await.unwrap().result().await.unwrap()
    });
    assert_eq!(result, "Settled.");
    assert_eq!(disk.journal.lines(), ["begins 7 100", "paid 7 100"]);
}

/// Pays by itself, at most once.
#[node(at_most_once)]
async fn transfer(cents: u32, #[resource] journal: &Journal, #[resource] death: &Death) -> u32 {
    journal.note("begins");
    death.come("transferring").await;
    cents
}

fn cashier() -> Agent<String, String> {
    Agent::new("You pay.").tool(Tool::of::<transfer>().repeatable())
}

workflow! {
    till(String) -> String {
        let cashier: Agent<String, String> = cashier();
        START => cashier;
    }
}

#[test]
fn a_node_that_may_run_at_most_once_stays_so_as_a_tool() {
    let disk = OnDisk::default();
    let model = Scripted::turns([call("transfer", json!({ "cents": 5 })), Message::assistant("Paid.")]);
    life(async {
        let death = Death::at("transferring");
        let builder = disk.engine(&death).await.resource(Models::new(model.clone()));
        let engine = builder.register::<till>().build().unwrap();
        let _run = engine.start::<till>("Go".into()).id("run").await.unwrap();
        death.came().await;
    });
    let questions = life(async {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(model.clone()));
        let engine = builder.register::<till>().build().unwrap();
        engine.recover().await.unwrap();
        let run = engine.get_run("run").await.unwrap().unwrap();
        let Outcome::Waiting(questions) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        questions
    });
    assert_eq!(questions[0].id, "till/cashier/transfer:1.0/went_through");
    assert!(
        questions[0].prompt.starts_with("A call of `transfer` was cut short (interrupted in the middle of"),
        "{:?}",
        questions[0]
    );
    assert_eq!(disk.journal.lines(), ["begins"]);
}

/// A process that is lost while the tool is under way.
fn dies_while_paying(disk: &OnDisk, model: &Scripted) {
    life(async {
        let death = Death::at("paying");
        let engine = engine(disk, &death, model).await;
        let _run = engine.start::<desk>("Go".into()).id("run").await.unwrap();
        death.came().await;
    });
}

#[test]
fn an_interrupted_call_is_not_repeated_and_a_person_says_that_it_went_through() {
    let (disk, model) = (OnDisk::default(), clerk_of(100));
    dies_while_paying(&disk, &model);
    assert_eq!(answers(&disk, &model, "went_through", json!({ "done": "paid by hand" })), "Settled.");
    assert_eq!(disk.journal.lines(), ["begins 7 100"]);
    assert_eq!(results(&model.requests()[1]), ["paid by hand"]);
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn an_interrupted_call_is_made_again_if_a_person_says_so() {
    let (disk, model) = (OnDisk::default(), clerk_of(100));
    dies_while_paying(&disk, &model);
    assert_eq!(answers(&disk, &model, "went_through", json!("retry")), "Settled.");
    assert_eq!(disk.journal.lines(), ["begins 7 100", "begins 7 100", "paid 7 100"]);
    assert_eq!(results(&model.requests()[1]), ["paid 100"]);
}

#[test]
fn an_interrupted_call_is_given_up_if_a_person_says_so() {
    let (disk, model) = (OnDisk::default(), clerk_of(100));
    dies_while_paying(&disk, &model);
    assert_eq!(answers(&disk, &model, "went_through", json!({ "fail": "closed" })), "Settled.");
    assert_eq!(disk.journal.lines(), ["begins 7 100"]);
    assert_eq!(results(&model.requests()[1]), ["error: the call was cut short, and a person gave it up: closed"]);
}

#[test]
fn a_run_that_waits_is_resumed_under_a_better_prompt_and_another_model_text() {
    let disk = OnDisk::default();
    asks(&disk, &clerk_of(9_900));
    // It would call another tool in its first turn, but that turn is recorded.
    let other = Scripted::turns([call("dig", json!({})), Message::assistant("Under new rules.")]);
    assert_eq!(answers(&disk, &other, "approve", json!("approve")), "Under new rules.");
    assert_eq!(other.requests().len(), 1);
    assert_eq!(results(&other.requests()[0]), ["paid 9900"]);
}

/// How much may be paid back without a question, in this version of the program.
static LIMIT: AtomicU32 = AtomicU32::new(5_000);

fn limited() -> Agent<String, String> {
    let needs_approval = |(_, cents): &(String, u32)| *cents > LIMIT.load(Ordering::Relaxed);
    Agent::new("You refund.").tool(Tool::of::<refund>().approve_when(needs_approval))
}

workflow! {
    new_rules(String) -> String {
        let limited: Agent<String, String> = limited();
        START => limited;
    }
}

#[test]
fn an_answer_counts_also_if_the_next_version_of_the_program_would_not_have_asked() {
    let (disk, model) = (OnDisk::default(), clerk_of(9_900));
    life(async {
        let death = Death::at("paying");
        let builder = disk.engine(&death).await.resource(Models::new(model.clone()));
        let engine = builder.register::<new_rules>().build().unwrap();
        let run = engine.start::<new_rules>("Go".into()).id("run").await.unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("a person is asked") };
        run.answer("approve", json!({ "edit": ["7", 4_500] })).await.unwrap();
        death.came().await;
    });
    LIMIT.store(20_000, Ordering::Relaxed);
    let result = life(async {
        let builder = disk.engine(&Death::default()).await.resource(Models::new(model.clone()));
        let engine = builder.register::<new_rules>().build().unwrap();
        engine.recover().await.unwrap();
        engine.get_run("run").await.unwrap().unwrap().result().await.unwrap()
    });
    assert_eq!(result, json!("Settled."));
    assert_eq!(disk.journal.lines(), ["begins 7 4500", "begins 7 4500", "paid 7 4500"]);
}
