//! Results of tools that a model has got: they are final over retries, and over versions of the program.

use std::cell::Cell;

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft::{AnswerError, Json, json};
use graphweft_agents::{Agent, Budget, Message, Models, Scripted, Tool};

use crate::scene::{call, results};

thread_local! {
    /// How often a tool has paid, or has tried to.
    static PAID: Cell<u32> = const { Cell::new(0) };
}

fn pays() -> u32 {
    PAID.set(PAID.get() + 1);
    PAID.get()
}

/// Pays by wire, which works the second time.
#[node]
async fn wire(cents: u32) -> Result<String, String> {
    if pays() > 1 { Ok(format!("{cents} cents")) } else { Err("the bank is closed".to_owned()) }
}

/// Looks whether the bank is open.
#[node]
async fn look() -> String {
    "closed".to_owned()
}

/// Waits for a person.
#[node]
async fn hold(ctx: &Context) -> String {
    ctx.ask("hold", "How long?").await
}

workflow! {
    payment(String) -> String {
        let clerk: Agent<String, String> = Agent::new("You pay.").tool(Tool::of::<wire>()).tool(Tool::of::<look>());
        START => clerk;
    }
}

workflow! {
    payment_once(String) -> String {
        let clerk: Agent<String, String> =
            Agent::new("You pay.").tool(Tool::of::<wire>().at_most_once()).tool(Tool::of::<look>());
        START => clerk;
    }
}

/// Fails at its first attempt, behind the agent.
#[node(retry(max_attempts = 2, initial_delay = "1ms"))]
async fn clerk_in_a_node(text: String, ctx: &Context) -> Result<String, String> {
    let clerk: Agent<String, String> = Agent::new("You pay.").tool(Tool::of::<wire>()).tool(Tool::of::<look>());
    let said = clerk.run(text, ctx).await.map_err(|error| error.to_string())?;
    if ctx.attempt() == 1 { Err("once more".to_owned()) } else { Ok(said) }
}

workflow! {
    payment_in_a_node(String) -> String { START => clerk_in_a_node; }
}

fn refused_once() -> Scripted {
    PAID.set(0);
    let look = call("look", json!({}));
    Scripted::turns([call("wire", json!({ "cents": 100 })), look, Message::assistant("It did not work.")])
}

/// A run with a budget of so many calls of its model, which is retried with a larger one. How often the tool was called, and its results.
async fn retried<W: graphweft::Workflow<Input = String, Output = String>>(calls: u64) -> (u32, Vec<String>) {
    let (store, model) = (MemoryStore::new(), refused_once());
    let engine = |calls| {
        let models = Models::new(model.clone()).run_budget(Budget::new().calls(calls));
        Engine::builder().store(store.clone()).resource(models).register::<W>().build().unwrap()
    };
    let first = engine(calls);
    let run = first.start::<W>("Pay.".into()).id("run").await.unwrap();
    run.result().await.unwrap_err();
    first.shutdown().await;
    let second = engine(3);
    let run = second.retry("run").await.unwrap();
    assert_eq!(run.result().await.unwrap(), json!("It did not work."));
    (PAID.get(), results(&model.requests()[2]))
}

#[tokio::test]
async fn a_tool_whose_error_the_model_has_got_is_not_called_again_by_a_retry_of_the_run() {
    let refused = (1, vec!["error: the bank is closed".to_owned(), "closed".to_owned()]);
    assert_eq!(retried::<payment>(2).await, refused);
    assert_eq!(retried::<payment_once>(2).await, refused);
}

#[tokio::test]
async fn one_whose_error_no_model_has_acted_on_is_called_again() {
    let paid = (2, vec!["100 cents".to_owned(), "closed".to_owned()]);
    assert_eq!(retried::<payment>(1).await, paid);
    assert_eq!(retried::<payment_once>(1).await, paid);
}

#[tokio::test(start_paused = true)]
async fn nor_by_a_later_attempt_of_the_node_of_the_agent() {
    let model = refused_once();
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<payment_in_a_node>("Pay.".into()).await.unwrap();
    assert_eq!((run.result().await.unwrap(), PAID.get()), ("It did not work.".to_owned(), 1));
}

/// A version of the program: the agent `clerk` of the workflow `desk`, with these tools.
macro_rules! versions {
    ($($version:ident($($tool:expr),*);)*) => {$(
        mod $version {
            use super::*;
            workflow! {
                pub(super) desk(String) -> String {
                    let clerk: Agent<String, String> = Agent::new("You pay.").tool(Tool::of::<hold>())$(.tool($tool))*;
                    START => clerk;
                }
            }
        }
    )*};
}

/// Pays.
#[node]
async fn refund(order: String, cents: u32) -> String {
    pays();
    format!("{cents} cents for {order}")
}

/// A later version of it.
mod later {
    use super::*;

    /// Pays.
    #[node]
    pub(super) async fn refund(order: String, cents: u32, reason: String) -> String {
        pays();
        format!("{cents} cents for {order}: {reason}")
    }
}

/// One with its parameters in another order.
mod swapped {
    use super::*;

    /// Pays.
    #[node]
    pub(super) async fn refund(cents: u32, order: String) -> String {
        pays();
        format!("{cents} cents for {order}")
    }
}

/// One whose parameters are the fields of a struct.
mod of_struct {
    use super::*;

    #[value]
    pub(super) struct Refund {
        order: String,
        cents: u32,
    }

    /// Pays.
    #[node]
    pub(super) async fn refund(refund: Refund) -> String {
        pays();
        format!("{} cents for {}", refund.cents, refund.order)
    }
}

/// One that had another parameter, which could be omitted.
mod with_note {
    use super::*;

    /// Pays.
    #[node]
    pub(super) async fn refund(order: String, cents: u32, _note: Option<String>) -> String {
        pays();
        format!("{cents} cents for {order}")
    }
}

/// Asks how long before it pays.
mod asking {
    use super::*;

    /// Pays.
    #[node]
    pub(super) async fn refund(order: String, cents: u32, ctx: &Context) -> String {
        ctx.ask::<String>("how", "How is it to be paid?").await;
        format!("{cents} cents for {order}")
    }
}

versions! {
    plain(Tool::of::<refund>());
    with_reason(Tool::of::<later::refund>());
    gone();
    approved(Tool::of::<refund>().approve());
    once(Tool::of::<refund>().at_most_once());
    in_another_order(Tool::of::<swapped::refund>());
    in_another_order_approved(Tool::of::<swapped::refund>().approve());
    in_another_order_once(Tool::of::<swapped::refund>().approve().at_most_once());
    by_struct(Tool::of::<of_struct::refund>());
    by_struct_approved(Tool::of::<of_struct::refund>().approve());
    noted(Tool::of::<with_note::refund>());
    cut_short(Tool::of::<asking::refund>());
    cut_short_approved(Tool::of::<asking::refund>().approve());
    cut_short_once(Tool::of::<asking::refund>().at_most_once());
    approved_once(Tool::of::<refund>().approve().at_most_once());
}

/// A desk whose model refunds a lamp, and holds the line.
struct Desk {
    store: MemoryStore,
    model: Scripted,
}

impl Desk {
    fn that_ends_with(reply: &str) -> Self {
        PAID.set(0);
        let calls = Scripted::calls([("refund", json!({ "order": "a lamp", "cents": 40 })), ("hold", json!({}))]);
        Desk { store: MemoryStore::new(), model: Scripted::turns([calls, Message::assistant(reply)]) }
    }

    /// With a version of the program.
    fn engine<W: graphweft::Workflow<Input = String, Output = String>>(&self) -> Engine {
        let builder = Engine::builder().store(self.store.clone()).resource(Models::new(self.model.clone()));
        builder.register::<W>().build().unwrap()
    }

    /// A run that waits, in a version of the program.
    async fn waiting<W: graphweft::Workflow<Input = String, Output = String>>(&self) -> (Engine, Run<String>) {
        let engine = self.engine::<W>();
        let run = engine.start::<W>("My lamp is broken.".into()).id("run").await.unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it waits") };
        (engine, run)
    }
}

/// A refund is paid by one version of the program, and the run ends in another one.
async fn is_paid_once<Before, Now>()
where
    Before: graphweft::Workflow<Input = String, Output = String>,
    Now: graphweft::Workflow<Input = String, Output = String>,
{
    let desk = Desk::that_ends_with("It is paid.");
    let (before, _) = desk.waiting::<Before>().await;
    assert_eq!(PAID.get(), 1);
    before.shutdown().await;
    let now = desk.engine::<Now>();
    now.recover().await.unwrap();
    now.answer("run", "hold", json!("a day")).await.unwrap();
    let run = now.get_run("run").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), json!("It is paid."));
    assert_eq!(PAID.get(), 1);
    assert_eq!(results(&desk.model.requests()[1]), ["40 cents for a lamp", "a day"]);
}

#[tokio::test]
async fn a_completed_call_has_its_result_in_another_version_of_the_program() {
    is_paid_once::<plain::desk, with_reason::desk>().await;
    is_paid_once::<plain::desk, gone::desk>().await;
    is_paid_once::<plain::desk, approved::desk>().await;
    is_paid_once::<plain::desk, once::desk>().await;
    is_paid_once::<once::desk, plain::desk>().await;
    is_paid_once::<once::desk, with_reason::desk>().await;
    is_paid_once::<once::desk, gone::desk>().await;
    is_paid_once::<once::desk, approved::desk>().await;
}

#[tokio::test]
async fn so_it_has_in_a_version_that_encodes_the_same_arguments_differently() {
    is_paid_once::<plain::desk, in_another_order::desk>().await;
    is_paid_once::<plain::desk, by_struct::desk>().await;
    is_paid_once::<by_struct::desk, plain::desk>().await;
    is_paid_once::<noted::desk, plain::desk>().await;
    is_paid_once::<once::desk, in_another_order_once::desk>().await;
    is_paid_once::<plain::desk, in_another_order_approved::desk>().await;
    is_paid_once::<once::desk, by_struct::desk>().await;
}

/// A call is under way in one version of the program, in which these questions are answered, and the run ends in another one, in
/// which the others are answered.
async fn resumed<Before, Now>(before: &[(&str, Json)], now: &[(&str, Json)]) -> (Result<Json, String>, Vec<String>)
where
    Before: graphweft::Workflow<Input = String, Output = String>,
    Now: graphweft::Workflow<Input = String, Output = String>,
{
    let desk = Desk::that_ends_with("It is paid.");
    let (first, run) = desk.waiting::<Before>().await;
    for (question, answer) in before {
        first.answer("run", question, answer.clone()).await.unwrap();
        let Outcome::Waiting(_) = run.outcome().await.unwrap() else { panic!("it waits") };
    }
    first.shutdown().await;
    let second = desk.engine::<Now>();
    second.recover().await.unwrap();
    let run = second.get_run("run").await.unwrap().unwrap();
    for (question, answer) in now {
        second.answer("run", question, answer.clone()).await.unwrap();
    }
    // It wakes the run, which waits for an answer in the records of the first version, if the other call has not failed the agent.
    match second.answer("run", "hold", json!("a day")).await {
        Ok(_) | Err(AnswerError::Withdrawn { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let ended = run.result().await.map_err(|error| error.to_string());
    (ended, desk.model.requests().get(1).map(results).unwrap_or_default())
}

#[tokio::test]
async fn a_call_that_was_cut_short_is_made_again_in_the_encoding_of_the_other_version() {
    let paid = (Ok(json!("It is paid.")), vec!["40 cents for a lamp".to_owned(), "a day".to_owned()]);
    assert_eq!(resumed::<cut_short::desk, in_another_order::desk>(&[], &[]).await, paid);
    let approve = || ("approve", json!("approve"));
    assert_eq!(resumed::<cut_short_approved::desk, by_struct_approved::desk>(&[approve()], &[]).await, paid);
    assert_eq!(PAID.get(), 1);
}

#[tokio::test]
async fn a_question_that_is_open_is_asked_about_the_call_in_the_encoding_of_the_other_version() {
    let paid = (Ok(json!("It is paid.")), vec!["40 cents for a lamp".to_owned(), "a day".to_owned()]);
    let approve = || ("approve", json!("approve"));
    assert_eq!(resumed::<approved::desk, in_another_order_approved::desk>(&[], &[approve()]).await, paid);
    assert_eq!(resumed::<approved::desk, by_struct_approved::desk>(&[], &[approve()]).await, paid);
    assert_eq!(PAID.get(), 1);
}

#[tokio::test]
async fn what_a_person_has_edited_is_not_read_by_a_version_that_encodes_it_differently() {
    let edit = ("approve", json!({ "edit": ["a lamp", 30] }));
    let (ended, _) = resumed::<cut_short_approved::desk, in_another_order_approved::desk>(&[edit], &[]).await;
    assert!(ended.unwrap_err().contains("was recorded with a different input"));
    assert_eq!(PAID.get(), 0);
}

/// A call that may not be repeated is cut short in one version of the program. The question about it in another one, which is
/// answered, and its result.
async fn after_it_was_cut_short<Now>(answer: Json) -> (Option<(String, String)>, String)
where
    Now: graphweft::Workflow<Input = String, Output = String>,
{
    let desk = Desk::that_ends_with("Done.");
    let (first, _) = desk.waiting::<cut_short_once::desk>().await;
    first.shutdown().await;
    let second = desk.engine::<Now>();
    second.recover().await.unwrap();
    second.answer("run", "hold", json!("a day")).await.unwrap();
    let run = second.get_run("run").await.unwrap().unwrap();
    let mut asked = None;
    if let Outcome::Waiting(questions) = run.outcome().await.unwrap() {
        run.answer(&questions[0].id, answer).await.unwrap();
        asked = Some((questions[0].id.clone(), questions[0].prompt.clone()));
    }
    assert_eq!((run.result().await.unwrap(), PAID.get()), (json!("Done."), 0));
    (asked, results(&desk.model.requests()[1]).swap_remove(0))
}

#[tokio::test]
async fn a_call_that_was_cut_short_is_not_approved_before_it_is_known_whether_it_went_through() {
    let (asked, result) = after_it_was_cut_short::<approved_once::desk>(json!({ "done": "paid by hand" })).await;
    let (id, prompt) = asked.unwrap();
    assert_eq!((id.as_str(), result.as_str()), ("desk/clerk/refund:1.0/went_through", "paid by hand"));
    assert!(prompt.contains("Did it go through?"), "{prompt}");
}

#[tokio::test]
async fn who_approves_or_makes_no_use_of_a_call_that_was_cut_short_learns_that_it_may_have_gone_through() {
    let begun = "An earlier version of the program has begun this call of `refund`, and it may have gone through.";
    let (asked, result) = after_it_was_cut_short::<approved::desk>(json!({ "reject": "too much" })).await;
    assert_eq!(asked.unwrap().1, format!("May `refund` be called with this? {begun}"));
    assert_eq!(result, format!("error: a person rejected the call: too much. {begun}"));
    let (asked, result) = after_it_was_cut_short::<gone::desk>(Json::Null).await;
    assert_eq!((asked, result), (None, format!("error: there is no tool `refund`; there are `hold`. {begun}")));
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_for_the_model() {
    let model = Scripted::turns([call("refund", json!({})), Message::assistant("Sorry.")]);
    let engine = Engine::builder().resource(Models::new(model.clone())).build().unwrap();
    let run = engine.start::<gone::desk>("Pay.".into()).await.unwrap();
    assert_eq!(run.result().await.unwrap(), "Sorry.");
    assert_eq!(results(&model.requests()[1]), ["error: there is no tool `refund`; there are `hold`"]);
}
