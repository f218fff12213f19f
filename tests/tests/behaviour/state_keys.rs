//! The keys of the state: what a node declares of them, what a run is given, and what they hold before they are written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};

use graphweft::prelude::*;
use graphweft::state::{Append, MergeMap, StateFacts, Sum};
use graphweft::{ChildError, RunError, StartError, json};
use graphweft_tests::{Death, Remains, failure};

const OWNER: StateKey<String> = StateKey::new("owner");
const BUDGET: StateKey<u32> = StateKey::new("budget");
const SPENT: StateKey<f64, Sum> = StateKey::new("spent");
const SEEN: StateKey<Vec<u32>, Append> = StateKey::new("seen");
const TABLE: StateKey<BTreeMap<String, u32>, MergeMap> = StateKey::new("table");
const NICKNAME: StateKey<Option<String>> = StateKey::new("nickname");

#[node]
async fn who(#[state(OWNER)] owner: String) -> String {
    owner
}

#[node]
async fn who_spends(#[state(OWNER)] who: String, #[state] budget: u32) -> String {
    format!("{who} spends {budget}")
}

workflow! {
    #[given(OWNER, BUDGET)]
    spends() -> String { START => who_spends; }
}

mod given {
    use super::*;

    #[tokio::test]
    async fn a_run_begins_with_the_keys_that_it_is_given() {
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<spends>(()).state(OWNER, "ada".to_owned()).state(BUDGET, 7).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "ada spends 7");
    }

    #[tokio::test]
    async fn a_run_without_one_of_its_keys_is_not_started() {
        let engine = Engine::builder().build().unwrap();
        let error = engine.start::<spends>(()).id("one").state(OWNER, "ada".to_owned()).await.unwrap_err();
        let missing = StartError::MissingState { workflow: "spends".to_owned(), keys: vec!["budget"] };
        assert_eq!(error, missing);
        assert!(engine.get_run("one").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn the_error_names_all_of_them() {
        let engine = Engine::builder().build().unwrap();
        let error = engine.start::<spends>(()).await.unwrap_err().to_string();
        assert!(error.contains("state key `owner`, state key `budget`"), "{error}");
    }

    #[tokio::test]
    async fn a_run_from_json_is_given_its_keys_as_json() {
        let engine = Engine::builder().register::<spends>().build().unwrap();
        let start = engine.start_json("spends", json!(null));
        let run = start.state_json("owner", json!("ada")).state_json("budget", json!(7)).await.unwrap();
        assert_eq!(run.result().await.unwrap(), json!("ada spends 7"));
    }

    #[tokio::test]
    async fn json_that_is_no_value_of_its_key_is_refused() {
        let engine = Engine::builder().register::<spends>().build().unwrap();
        let error = engine.start_json("spends", json!(null)).state_json("budget", json!("much")).await.unwrap_err();
        assert!(matches!(&error, StartError::InvalidState { key, .. } if key == "budget"), "{error}");
    }

    #[tokio::test]
    async fn json_for_a_key_that_the_workflow_does_not_name_is_refused() {
        let engine = Engine::builder().register::<spends>().build().unwrap();
        let error = engine.start_json("spends", json!(null)).state_json("color", json!(1)).await.unwrap_err();
        assert!(error.to_string().contains("`#[given(..)]`"), "{error}");
    }

    #[tokio::test]
    async fn a_workflow_that_is_given_keys_does_not_run_without_an_engine() {
        let missing = RunError::MissingState { workflow: "spends".to_owned(), keys: vec!["owner", "budget"] };
        assert_eq!(spends().await.unwrap_err(), missing);
    }

    #[tokio::test]
    async fn a_flow_is_given_its_keys_by_an_engine() {
        let flow = workflow! { #[given(OWNER)] START => who };
        assert!(matches!(flow.run(()).await, Err(RunError::MissingState { .. })));
        let engine = Engine::builder().build().unwrap();
        let run = engine.start_flow(&flow, ()).state(OWNER, "ada".to_owned()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "ada");
    }

    #[tokio::test]
    async fn a_nested_workflow_takes_its_keys_from_the_graph_around_it() {
        #[node]
        async fn assign(#[writes(OWNER)] owner: StateWriter<String>, #[writes(BUDGET)] budget: StateWriter<u32>) {
            owner.set("grace".to_owned());
            budget.set(3);
        }
        let flow = workflow! { START => assign => spends };
        assert_eq!(flow.run(()).await.unwrap(), "grace spends 3");
    }

    #[test]
    fn a_run_that_goes_on_in_another_process_has_the_keys_that_it_was_given() {
        const NAME: StateKey<String> = StateKey::new("name");
        #[node]
        async fn comes(#[resource] death: &Death) {
            death.come("here").await;
        }
        #[node]
        async fn says(#[state(NAME)] name: Option<String>) -> String {
            name.unwrap_or_default()
        }
        workflow! { says_name(()) -> String { START => comes => named => says; } }
        #[node]
        async fn named(#[writes(NAME)] name: StateWriter<String>) {
            name.set("ada".to_owned());
        }
        let remains = Remains::default();
        remains.dies_at::<says_name>((), "here");
        assert_eq!(remains.goes_on::<says_name>().0.unwrap(), "ada");
    }
}

mod zeros {
    use super::*;

    #[node]
    async fn maybe_spends(
        n: u32,
        #[may_write(SPENT)] spent: StateWriter<f64, Sum>,
        #[may_write(SEEN)] seen: StateWriter<Vec<u32>, Append>,
        #[may_write(TABLE)] table: StateWriter<BTreeMap<String, u32>, MergeMap>,
    ) -> u32 {
        if n > 0 {
            spent.merge(0.5);
            seen.push(n);
            table.merge(BTreeMap::from([("n".to_owned(), n)]));
        }
        n
    }

    #[node]
    async fn by_name(#[state] spent: f64, #[state] seen: Vec<u32>, #[state] table: BTreeMap<String, u32>) -> String {
        format!("{spent} {seen:?} {}", table.len())
    }

    #[node]
    async fn by_key(
        #[state(SPENT)] money: f64,
        #[state(SEEN)] numbers: Vec<u32>,
        #[state(TABLE)] entries: BTreeMap<String, u32>,
    ) -> String {
        format!("{money} {numbers:?} {}", entries.len())
    }

    #[tokio::test]
    async fn a_key_that_nothing_has_written_holds_its_zero() {
        let flow = workflow! { START => maybe_spends => by_key };
        assert_eq!(flow.run(0).await.unwrap(), "0 [] 0");
        assert_eq!(flow.run(7).await.unwrap(), "0.5 [7] 1");
    }

    #[tokio::test]
    async fn a_parameter_that_is_called_like_its_key_has_the_zero_too() {
        let flow = workflow! { START => maybe_spends => by_name };
        assert_eq!(flow.run(0).await.unwrap(), "0 [] 0");
        assert_eq!(flow.run(7).await.unwrap(), "0.5 [7] 1");
    }

    #[tokio::test]
    async fn an_item_knows_the_zeros_of_the_graph_around_it() {
        #[node]
        async fn items(n: u32) -> Vec<u32> {
            vec![n]
        }
        #[node]
        async fn spent_so_far(_n: u32, #[state] spent: f64) -> f64 {
            spent
        }
        let flow = workflow! { START => maybe_spends => items => [spent_so_far] };
        assert_eq!(flow.run(0).await.unwrap(), [0.0]);
    }

    #[tokio::test]
    async fn what_a_nested_workflow_may_write_has_its_zero_behind_it() {
        workflow! { may_spend(u32) -> u32 { START => maybe_spends; } }
        let flow = workflow! { START => may_spend => by_name };
        assert_eq!(flow.run(0).await.unwrap(), "0 [] 0");
    }

    #[tokio::test]
    async fn a_child_has_the_zeros_of_its_caller() {
        #[node]
        async fn calls(_n: u32, ctx: &Context) -> Result<String, ChildError<Never>> {
            ctx.call::<by_name>(()).await
        }
        let flow = workflow! { START => maybe_spends => calls };
        assert_eq!(flow.run(0).await.unwrap(), "0 [] 0");
    }

    #[tokio::test]
    async fn a_key_with_a_zero_need_not_be_given() {
        #[node]
        async fn spent_before(#[state] spent: f64) -> f64 {
            spent
        }
        workflow! {
            #[given(SPENT)]
            spending() -> f64 { START => spent_before; }
        }
        assert_eq!(spending().await.unwrap(), 0.0);
        let engine = Engine::builder().build().unwrap();
        let run = engine.start::<spending>(()).state(SPENT, 1.5).await.unwrap();
        assert_eq!(run.result().await.unwrap(), 1.5);
    }

    #[tokio::test]
    async fn without_a_parameter_it_can_be_seen_that_nothing_was_written() {
        #[node]
        async fn is_written(_n: u32, ctx: &Context) -> Result<bool, Fault> {
            Ok(ctx.state().get(SPENT)?.is_some())
        }
        let flow = workflow! { START => maybe_spends => is_written };
        assert!(!flow.run(0).await.unwrap());
    }
}

mod writing {
    use super::*;

    #[node]
    async fn forgets(name: String, #[writes(OWNER)] owner: StateWriter<String>) -> String {
        if name != "nobody" {
            owner.set(name.clone());
        }
        name
    }

    #[tokio::test]
    async fn a_node_that_leaves_out_a_key_which_it_declares_fails() {
        let flow = workflow! { START => forgets => who };
        assert_eq!(flow.run("ada".to_owned()).await.unwrap(), "ada");
        let failed = failure(flow.run("nobody".to_owned()).await);
        let fault = Fault::StateNotWritten { node: "flow/forgets".into(), key: "owner".into() };
        assert_eq!(failed.cause.fault, Some(fault));
    }

    #[tokio::test]
    async fn a_node_may_leave_out_a_key_that_it_only_may_write() {
        #[node]
        async fn may_forget(name: String, #[may_write(OWNER)] owner: StateWriter<String>) -> String {
            if name != "nobody" {
                owner.set(name.clone());
            }
            name
        }
        #[node]
        async fn anybody(#[state(OWNER)] owner: Option<String>) -> Option<String> {
            owner
        }
        let flow = workflow! { START => may_forget => anybody };
        assert_eq!(flow.run("nobody".to_owned()).await.unwrap(), None);
        assert_eq!(flow.run("ada".to_owned()).await.unwrap().as_deref(), Some("ada"));
    }

    #[tokio::test]
    async fn each_attempt_has_to_write() {
        #[node(retry(max_attempts = 2, initial_delay = "1ms"))]
        async fn at_the_second_time(
            #[resource] tries: &AtomicU32,
            #[writes(OWNER)] owner: StateWriter<String>,
        ) -> Result<(), String> {
            match tries.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    owner.set("of a failed attempt".to_owned());
                    Err("not yet".to_owned())
                }
                _ => Ok(()),
            }
        }
        workflow! { twice() -> String { START => at_the_second_time => who; } }
        let engine = Engine::builder().resource(AtomicU32::new(0)).build().unwrap();
        let failed = failure(engine.start::<twice>(()).await.unwrap().result().await);
        assert!(matches!(failed.cause.fault, Some(Fault::StateNotWritten { .. })), "{failed}");
    }

    #[tokio::test]
    async fn a_node_that_fails_need_not_write() {
        #[node]
        async fn refuses(_name: String, #[writes(OWNER)] _owner: StateWriter<String>) -> Result<String, String> {
            Err("no".to_owned())
        }
        #[node]
        async fn why(why: String, #[state] owner: Option<String>) -> String {
            format!("{why}: {owner:?}")
        }
        #[node]
        async fn done(name: String) -> String {
            name
        }
        let flow = workflow! { START => refuses => <ok: done, err: why> };
        assert_eq!(flow.run("ada".to_owned()).await.unwrap(), "no: None");
    }

    #[tokio::test]
    async fn a_collecting_node_has_written_when_it_has_enough() {
        #[node]
        async fn left(n: u32) -> u32 {
            n
        }
        #[node]
        async fn right(n: u32) -> u32 {
            n
        }
        #[node(collect)]
        async fn both(n: u32, ctx: &Context, #[writes(BUDGET)] budget: StateWriter<u32>) -> Result<Option<u32>, Fault> {
            let arrived = ctx.collector_state().get(SEEN)?.unwrap_or_default().len();
            ctx.collector_state().push(SEEN, n);
            if arrived == 0 {
                budget.set(n);
                return Ok(None);
            }
            Ok(Some(n))
        }
        #[node]
        async fn budget(#[state] budget: u32) -> u32 {
            budget
        }
        workflow! { collects(u32) -> u32 { START => (left, right); left | right => both => budget; } }
        assert_eq!(collects(4).await.unwrap(), 4);
    }

    struct Assigns {
        name: Option<&'static str>,
    }

    impl Node for Assigns {
        type Input = ();
        type Output = ();
        type Error = Never;
        const STATE: StateFacts = StateFacts { writes: &[OWNER.fact()], ..StateFacts::NONE };

        async fn run(&self, (): (), ctx: &Context) -> Result<(), Never> {
            if let Some(name) = self.name {
                ctx.state_writer(OWNER).set(name.to_owned());
            }
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_node_that_is_written_by_hand_gets_its_writer_from_the_context() {
        let flow = workflow! { let assigns: Assigns = Assigns { name: Some("ada") }; START => assigns => who };
        assert_eq!(flow.run(()).await.unwrap(), "ada");
    }

    #[tokio::test]
    async fn it_has_to_write_what_it_states() {
        let flow = workflow! { let assigns: Assigns = Assigns { name: None }; START => assigns => who };
        assert!(matches!(failure(flow.run(()).await).cause.fault, Some(Fault::StateNotWritten { .. })));
    }

    #[tokio::test]
    async fn a_node_gets_no_writer_of_a_key_that_it_does_not_declare() {
        #[node]
        async fn sneaks(ctx: &Context) {
            ctx.state_writer(OWNER).set("ada".to_owned());
        }
        let flow = workflow! { START => sneaks };
        let fault = Fault::StateNotDeclared { node: "flow/sneaks".into(), key: "owner".into(), child: None };
        assert_eq!(failure(flow.run(()).await).cause.fault, Some(fault));
    }

    workflow! { named(String) -> String { START => forgets => who; } }

    #[tokio::test]
    async fn a_mock_writes_what_its_node_declares() {
        let mocked = |name: String, ctx: Context| async move {
            ctx.state_writer(OWNER).set(format!("not {name}"));
            Ok(name)
        };
        let engine = Engine::builder().register::<named>().mock::<forgets>(mocked).build().unwrap();
        let run = engine.start::<named>("ada".to_owned()).await.unwrap();
        assert_eq!(run.result().await.unwrap(), "not ada");
    }

    #[tokio::test]
    async fn a_mock_that_does_not_write_what_its_node_declares_fails() {
        let mocked = |name: String, _ctx: Context| async move { Ok(name) };
        let engine = Engine::builder().register::<named>().mock::<forgets>(mocked).build().unwrap();
        let failed = failure(engine.start::<named>("ada".to_owned()).await.unwrap().result().await);
        assert!(matches!(failed.cause.fault, Some(Fault::StateNotWritten { .. })), "{failed}");
    }

    #[tokio::test]
    async fn a_key_of_an_option_is_written_as_none() {
        #[node]
        async fn forgets_the_nickname(#[writes(NICKNAME)] nickname: StateWriter<Option<String>>) {
            nickname.set(None);
        }
        #[node]
        async fn nickname(#[state(NICKNAME)] nickname: Option<String>) -> String {
            nickname.unwrap_or_else(|| "none".to_owned())
        }
        let flow = workflow! { START => forgets_the_nickname => nickname };
        assert_eq!(flow.run(()).await.unwrap(), "none");
    }
}

mod children {
    use super::*;

    #[node]
    async fn assign(name: String, #[writes(OWNER)] owner: StateWriter<String>) -> String {
        owner.set(name.clone());
        name
    }

    workflow! { assigns(String) -> String { START => assign; } }

    #[node]
    async fn undeclared(name: String, ctx: &Context) -> Result<String, ChildError<Never>> {
        ctx.call::<assign>(name).await
    }

    #[node]
    async fn undeclared_workflow(name: String, ctx: &Context) -> Result<String, ChildError<Failure>> {
        ctx.call::<assigns>(name).await
    }

    #[node]
    async fn declared(
        name: String,
        ctx: &Context,
        #[writes(OWNER)] _owner: StateWriter<String>,
    ) -> Result<String, ChildError<Failure>> {
        ctx.call::<assigns>(name).await
    }

    #[tokio::test]
    async fn what_a_child_writes_counts_as_written_by_its_caller() {
        let flow = workflow! { START => declared => who };
        assert_eq!(flow.run("ada".to_owned()).await.unwrap(), "ada");
    }

    #[tokio::test]
    async fn a_child_that_writes_what_its_caller_does_not_declare_is_not_called() {
        let said = failure(workflow! { START => undeclared }.run("ada".to_owned()).await).to_string();
        for part in ["`flow/undeclared` calls `flow/undeclared/assign`", "state key `owner`", "#[may_write(..)]"] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[tokio::test]
    async fn nor_is_a_workflow_in_which_a_node_does() {
        let said = failure(workflow! { START => undeclared_workflow }.run("ada".to_owned()).await).to_string();
        assert!(said.contains("calls `flow/undeclared_workflow/assigns`, which writes state key `owner`"), "{said}");
    }

    #[tokio::test]
    async fn a_child_has_to_write_what_it_declares() {
        #[node]
        async fn forgets(_name: String, #[writes(OWNER)] _owner: StateWriter<String>) {}
        #[node]
        async fn calls(
            name: String,
            ctx: &Context,
            #[may_write(OWNER)] _owner: StateWriter<String>,
        ) -> Result<(), ChildError<Never>> {
            ctx.call::<forgets>(name).await
        }
        let said = failure(workflow! { START => calls }.run("ada".to_owned()).await).to_string();
        assert!(said.contains("`flow/calls/forgets` is done and has not written state key `owner`"), "{said}");
    }
}
