//! Runs that were recorded with another version of the types that travel in them.
//!
//! Each version of the program has the same graphs, and another `Order`. A process with one version dies while `waits`
//! runs, or ends its run, and a process with another version goes on.

use graphweft::{EventKind, ForkError, RetryError, RunError, StartError, Workflow, json};
use graphweft_tests::{Death, Remains, life};
use serde_json::Value as Json;

/// What only some versions have.
macro_rules! more_graphs {
    (job) => {};
    (all) => {
        use graphweft::ChildError;
        use graphweft::state::Append;

        pub(crate) const LAST: StateKey<Order> = StateKey::new("last");
        const ALL: StateKey<Vec<Order>, Append> = StateKey::new("all");

        workflow! { pub(crate) whole(u32) -> Order { START => makes => waits; } }
        workflow! { pub(crate) nested(u32) -> String { START => whole => shows; } }
        workflow! { pub(crate) list(Vec<u32>) -> Vec<String> { START => [makes => waits => shows]; } }
        workflow! { pub(crate) listed(u32) -> Vec<String> {
            START => many => [makes] => many_wait => [shows];
        } }
        workflow! { pub(crate) given(Order) -> String { START => waits => shows; } }

        #[node]
        pub(crate) async fn many(n: u32) -> Vec<u32> {
            vec![n, n + 1]
        }

        #[node]
        pub(crate) async fn many_wait(orders: Vec<Order>, #[resource] death: &Death) -> Vec<Order> {
            death.come("waits").await;
            orders
        }

        #[node]
        pub(crate) async fn fails(n: u32) -> Result<(), Order> {
            Err(order(n))
        }

        #[node]
        pub(crate) async fn praises() -> String {
            "no error".to_owned()
        }

        workflow! { pub(crate) routed(u32) -> String {
            START => fails => <ok: praises, err: waits>;
            waits => shows;
        } }

        #[node]
        pub(crate) async fn calls(
            n: u32,
            ctx: &Context,
            #[resource] death: &Death,
        ) -> Result<String, ChildError<Never>> {
            let order = ctx.call::<makes>(n).await?;
            death.come("waits").await;
            Ok(format!("{order:?}"))
        }

        #[node]
        pub(crate) async fn steps(n: u32, ctx: &Context, #[resource] death: &Death) -> String {
            let step = ctx.step("try", || async move { Err::<(), Order>(order(n)) }).await;
            death.come("waits").await;
            match step {
                Err(ChildError::Error(order)) => format!("{order:?}"),
                other => format!("{other:?}"),
            }
        }

        #[node]
        pub(crate) async fn calls_a_workflow(n: u32, ctx: &Context) -> Result<String, ChildError<graphweft::Failure>> {
            ctx.call::<nested>(n).await
        }

        workflow! { pub(crate) child(u32) -> String { START => calls; } }
        workflow! { pub(crate) step(u32) -> String { START => steps; } }
        workflow! { pub(crate) child_workflow(u32) -> String { START => calls_a_workflow; } }

        #[node]
        pub(crate) async fn writes(n: u32, #[writes(LAST)] last: StateWriter<Order>) {
            last.set(order(n));
        }

        #[node]
        pub(crate) async fn rests(#[resource] death: &Death) {
            death.come("waits").await;
        }

        #[node]
        pub(crate) async fn reads(#[state] last: Order) -> String {
            format!("{last:?}")
        }

        workflow! { pub(crate) stateful(u32) -> String { START => writes => rests => reads; } }

        workflow! {
            #[given(LAST)]
            pub(crate) kept() -> String { START => rests => reads; }
        }

        #[node(collect)]
        pub(crate) async fn collects(order: Order, ctx: &Context) -> Option<Vec<Order>> {
            ctx.collector_state().push(ALL, order);
            let all = ctx.collector_state().get(ALL).ok()??;
            (all.len() == 2).then_some(all)
        }

        /// Its arrivals are numbers, and only what it keeps is of the type that changes.
        #[node(collect)]
        pub(crate) async fn gathers(n: u32, ctx: &Context) -> Result<Option<String>, graphweft::Fault> {
            ctx.collector_state().push(ALL, order(n));
            let all = ctx.collector_state().get(ALL)?.unwrap_or_default();
            Ok((all.len() == 2).then(|| format!("{all:?}")))
        }

        #[node]
        pub(crate) async fn delays(n: u32, #[resource] death: &Death) -> u32 {
            death.come("waits").await;
            n
        }

        workflow! { pub(crate) gathered(u32) -> String {
            START => (now, before => delays);
            now | delays => gathers;
        } }

        #[node]
        pub(crate) async fn now(n: u32) -> u32 {
            n
        }

        #[node]
        pub(crate) async fn before(n: u32) -> u32 {
            n
        }

        #[node]
        pub(crate) async fn shows_all(orders: Vec<Order>) -> String {
            format!("{orders:?}")
        }

        workflow! { pub(crate) collected(u32) -> String {
            let later = makes();
            START => (makes, later => waits);
            makes | waits => collects => shows_all;
        } }
    };
}

macro_rules! version {
    ($version:ident, $graphs:ident: $order:item, $n:ident => $make:expr) => {
        mod $version {
            #![allow(dead_code, reason = "not every test runs every graph of every version")]
            use graphweft::prelude::*;
            use graphweft_tests::{Death, Journal};

            $order

            pub(crate) fn order($n: u32) -> Order {
                $make
            }

            #[node]
            pub(crate) async fn makes(n: u32, #[resource] journal: &Journal, #[resource] death: &Death) -> Order {
                journal.note("makes");
                death.come("makes").await;
                order(n)
            }

            #[node]
            pub(crate) async fn waits(order: Order, #[resource] death: &Death) -> Order {
                death.come("waits").await;
                order
            }

            #[node]
            pub(crate) async fn shows(order: Order) -> String {
                format!("{order:?}")
            }

            workflow! { pub(crate) job(u32) -> String { START => makes => waits => shows; } }

            more_graphs!($graphs);
        }
    };
}

version!(first, all: #[value] #[derive(Debug, PartialEq)] pub(crate) struct Order {
    pub(crate) id: u32,
    pub(crate) price: u32,
}, n => Order { id: n, price: 2 * n });

version!(with_option, all: #[value] #[derive(Debug, PartialEq)] pub(crate) struct Order {
    pub(crate) id: u32,
    pub(crate) price: u32,
    pub(crate) note: Option<String>,
}, n => Order { id: n, price: 2 * n, note: None });

version!(with_default, job: #[value] #[derive(Debug, PartialEq)] pub(crate) struct Order {
    pub(crate) id: u32,
    pub(crate) price: u32,
    pub(crate) note: Option<String>,
    #[serde(default)]
    pub(crate) parts: Vec<u8>,
}, n => Order { id: n, price: 2 * n, note: None, parts: Vec::new() });

version!(with_more, job: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u32,
    price: u32,
    weight: u32,
}, n => Order { id: n, price: 2 * n, weight: 1 });

version!(renamed, all: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u32,
    #[serde(default)]
    cost: u32,
}, n => Order { id: n, cost: 2 * n });

version!(renamed_from, job: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u32,
    #[serde(alias = "price", default)]
    cost: u32,
}, n => Order { id: n, cost: 2 * n });

version!(without, all: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u32,
}, n => Order { id: n });

version!(widened, job: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u64,
    price: i64,
}, n => Order { id: n.into(), price: (2 * n).into() });

version!(narrowed, job: #[value] #[derive(Debug)] pub(crate) struct Order {
    id: u32,
    price: u8,
}, n => Order { id: n, price: (2 * n) as u8 });

version!(open_or_paid, job: #[value] #[derive(Debug)] pub(crate) enum Order {
    Open,
    Paid(u32),
}, n => if n == 0 { Order::Open } else { Order::Paid(n) });

version!(or_lost, job: #[value] #[derive(Debug)] pub(crate) enum Order {
    Open,
    Lost { by: String },
    Paid(u32),
}, n => if n == 0 { Order::Open } else { Order::Paid(n) });

version!(open_only, job: #[value] #[derive(Debug)] pub(crate) enum Order {
    Open,
    Lost,
}, n => if n == 0 { Order::Open } else { Order::Lost });

version!(open_or_closed, job: #[value] #[derive(Debug)] pub(crate) enum Order {
    Open,
    #[serde(alias = "Lost")]
    Closed,
}, n => if n == 0 { Order::Open } else { Order::Closed });

version!(open_or_other, job: #[value] #[derive(Debug)] pub(crate) enum Order {
    Open,
    #[serde(other)]
    Other,
}, n => if n == 0 { Order::Open } else { Order::Other });

/// One process dies while a run of `Then` waits, and the next one has `Now`.
fn resumed<Then: Workflow, Now: Workflow>(input: Then::Input) -> Result<Json, RunError> {
    let remains = Remains::default();
    remains.dies_at::<Then>(input, "waits");
    let made = remains.journal.lines();
    let (result, events) = remains.goes_on::<Now>();
    assert_eq!(remains.journal.lines(), made, "what was made is not made again");
    let is_changed = events.iter().any(|event| matches!(event.kind, EventKind::GraphChanged { .. }));
    assert_eq!(is_changed, result.is_ok(), "{events:?}");
    result
}

#[track_caller]
fn refused<Then: Workflow, Now: Workflow>(input: Then::Input, parts: &[&str]) {
    let error = resumed::<Then, Now>(input).expect_err("it is refused");
    assert!(matches!(error, RunError::GraphChanged { .. }), "{error:?}");
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "no `{part}` in: {message}");
    }
}

#[test]
fn an_option_may_be_added_to_what_a_node_gave() {
    let result = resumed::<first::job, with_option::job>(5);
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None }")));
}

#[test]
fn a_field_with_a_default_may_be_added_to_what_a_node_gave() {
    let result = resumed::<first::job, with_default::job>(5);
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None, parts: [] }")));
}

#[test]
fn a_field_that_must_be_there_may_not_be_added() {
    refused::<first::job, with_more::job>(5, &["`job/makes`", "with_more::Order", "`weight`", "`#[serde(default)]`"]);
}

#[test]
fn a_field_that_nothing_reads_any_more_is_refused_by_name() {
    refused::<first::job, renamed::job>(5, &["`job/makes`", "renamed::Order", "at `price`", "which is 10", "alias"]);
    refused::<first::job, without::job>(5, &["`job/makes`", "without::Order", "at `price`", "which is 10"]);
}

#[test]
fn a_field_may_have_another_name_that_reads_the_former_one() {
    for n in [0, 5] {
        let result = resumed::<first::job, renamed_from::job>(n);
        assert_eq!(result, Ok(json!(format!("Order {{ id: {n}, cost: {} }}", 2 * n))));
    }
}

#[test]
fn an_integer_may_be_wider() {
    assert_eq!(resumed::<first::job, widened::job>(5), Ok(json!("Order { id: 5, price: 10 }")));
}

#[test]
fn an_integer_may_be_narrower_if_it_fits() {
    assert_eq!(resumed::<first::job, narrowed::job>(127), Ok(json!("Order { id: 127, price: 254 }")));
    refused::<first::job, narrowed::job>(128, &["`job/makes`", "narrowed::Order", "at `price`", "256", "u8"]);
}

#[test]
fn an_enum_may_gain_variants_and_lose_those_that_were_not_recorded() {
    assert_eq!(resumed::<open_or_paid::job, or_lost::job>(7), Ok(json!("Paid(7)")));
    assert_eq!(resumed::<open_or_paid::job, open_only::job>(0), Ok(json!("Open")));
    refused::<open_or_paid::job, open_only::job>(7, &["`job/makes`", "open_only::Order", "`Paid`"]);
}

#[test]
fn a_variant_may_have_another_name_that_reads_the_former_one() {
    assert_eq!(resumed::<open_only::job, open_or_closed::job>(7), Ok(json!("Closed")));
    refused::<open_only::job, open_or_other::job>(7, &["`job/makes`", "\"Lost\" would become \"Other\"", "variant"]);
}

#[test]
fn the_same_holds_in_nested_workflows() {
    let result = resumed::<first::nested, with_option::nested>(5);
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None }")));
    refused::<first::nested, renamed::nested>(5, &["`nested/whole/makes`", "at `price`"]);
}

#[test]
fn the_same_holds_in_items() {
    let result = resumed::<first::list, with_option::list>(vec![5]);
    assert_eq!(result, Ok(json!(["Order { id: 5, price: 10, note: None }"])));
    refused::<first::list, renamed::list>(vec![5], &["`list/makes`", "at `price`"]);
}

#[test]
fn the_same_holds_for_the_list_that_items_gave() {
    let result = resumed::<first::listed, with_option::listed>(5);
    let order = |n: u32| format!("Order {{ id: {n}, price: {}, note: None }}", 2 * n);
    assert_eq!(result, Ok(json!([order(5), order(6)])));
    refused::<first::listed, renamed::listed>(5, &["`listed/[makes]`", "at `[0].price`", "`listed/makes`"]);
}

#[test]
fn the_same_holds_for_the_input_of_a_workflow() {
    let input = || first::Order { id: 5, price: 10 };
    let result = resumed::<first::given, with_option::given>(input());
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None }")));
    refused::<first::given, renamed::given>(input(), &["`given`", "input", "at `price`"]);
}

#[test]
fn the_same_holds_for_an_error_that_is_routed() {
    // The error is no part of the graph, which is the same but for the output of `waits`, which has given nothing.
    let result = resumed::<first::routed, with_option::routed>(5);
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None }")));
    let refused = resumed::<first::routed, renamed::routed>(5).expect_err("it is refused");
    assert!(refused.to_string().contains("`routed/fails`") && refused.to_string().contains("`price`"), "{refused}");
}

#[test]
fn the_same_holds_for_what_a_collecting_node_has_kept() {
    let result = resumed::<first::collected, with_option::collected>(5);
    let order = "Order { id: 5, price: 10, note: None }";
    assert_eq!(result, Ok(json!(format!("[{order}, {order}]"))));
}

#[test]
fn a_key_of_the_state_is_read_by_the_type_that_has_a_field_more() {
    let remains = Remains::default();
    remains.dies_at::<first::stateful>(5, "waits");
    let (result, _) = remains.goes_on::<with_option::stateful>();
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None }")));
}

#[test]
fn a_key_of_the_state_that_would_lose_a_field_is_refused_by_name() {
    for error in [refused_state::<renamed::stateful>(), refused_state::<without::stateful>()] {
        for part in ["`stateful/reads`", "state key `last`", "Order`", "at `price`", "which is 10"] {
            assert!(error.contains(part), "no `{part}` in: {error}");
        }
    }
}

/// What a process with this version of the program makes of the state of `first::stateful`.
fn refused_state<Now: Workflow<Input = u32>>() -> String {
    let remains = Remains::default();
    remains.dies_at::<first::stateful>(5, "waits");
    remains.goes_on::<Now>().0.expect_err("a field would be lost").to_string()
}

#[test]
fn the_initial_state_that_would_lose_a_field_is_refused_by_name() {
    let remains = Remains::default();
    life(async {
        let death = Death::at("waits");
        let engine = remains.engine(&death).register::<first::kept>().build().unwrap();
        engine.start::<first::kept>(()).state(first::LAST, first::order(5)).id("run").await.unwrap();
        death.came().await;
    });
    let (result, _) = remains.goes_on::<renamed::kept>();
    let error = result.expect_err("a field would be lost").to_string();
    assert!(error.contains("state key `last`") && error.contains("at `price`"), "{error}");
    // Nothing is lost: the program that knows the field reads it when the run is retried.
    life(async {
        let engine = remains.engine(&Death::default()).register::<with_option::kept>().build().unwrap();
        let run = engine.retry("run").await.unwrap();
        assert_eq!(run.result().await, Ok(json!("Order { id: 5, price: 10, note: None }")));
    });
}

#[test]
fn what_a_collecting_node_has_kept_is_refused_by_name_if_it_would_lose_a_field() {
    let remains = Remains::default();
    life(async {
        let death = Death::at("waits");
        let engine = remains.engine(&death).build().unwrap();
        let run = engine.start::<first::gathered>(5).id("run").await.unwrap();
        let mut events = run.events();
        while !matches!(events.next().await.unwrap().kind, EventKind::NodeCollecting { .. }) {}
        death.came().await;
    });
    let (result, _) = remains.goes_on::<renamed::gathered>();
    let error = result.expect_err("a field would be lost").to_string();
    assert!(error.contains("state key `all`") && error.contains("at `[0].price`"), "{error}");
}

/// The same graph, so that nothing but the value itself shows that its type has changed.
fn of_same_graph<Then: Workflow<Input = u32>, Now: Workflow>() -> (Vec<String>, String) {
    let remains = Remains::default();
    remains.dies_at::<Then>(5, "waits");
    let (result, _) = remains.goes_on::<Now>();
    (remains.journal.lines(), result.map_or_else(|error| error.to_string(), |result| result.to_string()))
}

#[test]
fn a_child_is_found_whose_output_has_a_field_more_now() {
    let (made, result) = of_same_graph::<first::child, with_option::child>();
    assert_eq!((made.len(), result.as_str()), (1, r#""Order { id: 5, price: 10, note: None }""#));
}

#[test]
fn a_child_whose_output_would_lose_a_field_is_refused_by_name() {
    let (made, error) = of_same_graph::<first::child, renamed::child>();
    assert_eq!(made.len(), 1);
    assert!(error.contains("`child/calls/makes`") && error.contains("at `price`"), "{error}");
}

#[test]
fn a_step_is_found_whose_error_has_a_field_more_now() {
    let (_, result) = of_same_graph::<first::step, with_option::step>();
    assert_eq!(result, r#""Order { id: 5, price: 10, note: None }""#);
}

#[test]
fn a_step_whose_error_would_lose_a_field_is_refused_by_name() {
    let (_, result) = of_same_graph::<first::step, renamed::step>();
    assert!(result.contains("`step/steps/try`") && result.contains("at `price`"), "{result}");
}

#[test]
fn a_node_of_a_child_workflow_gave_what_has_a_field_more_now() {
    let (made, result) = of_same_graph::<first::child_workflow, with_option::child_workflow>();
    assert_eq!((made.len(), result.as_str()), (1, r#""Order { id: 5, price: 10, note: None }""#));
}

#[test]
fn a_node_of_a_child_workflow_whose_output_would_lose_a_field_is_refused_by_name() {
    let (made, error) = of_same_graph::<first::child_workflow, renamed::child_workflow>();
    assert_eq!(made.len(), 1);
    assert!(error.contains("nested/whole/makes") && error.contains("at `price`"), "{error}");
}

#[test]
fn a_type_may_change_twice() {
    let remains = Remains::default();
    remains.dies_at::<first::job>(5, "waits");
    let stop = |version: &str| {
        life(async {
            let death = Death::at("waits");
            let engine = remains.engine(&death).register::<with_option::job>().build().unwrap();
            assert_eq!(engine.recover().await.unwrap().resumed.len(), 1, "{version}");
            death.came().await;
        });
    };
    stop("the second version");
    let (result, _) = remains.goes_on::<with_default::job>();
    assert_eq!(result, Ok(json!("Order { id: 5, price: 10, note: None, parts: [] }")));
    assert_eq!(remains.journal.lines(), ["makes"]);
}

#[test]
fn a_run_is_found_by_its_id_if_its_input_is_the_same_for_the_type_of_today() {
    let remains = Remains::default();
    remains.dies_at::<first::given>(first::Order { id: 5, price: 10 }, "waits");
    life(async {
        let engine = remains.engine(&Death::default()).register::<with_option::given>();
        let engine = engine.build().unwrap();
        let order = |note| with_option::Order { id: 5, price: 10, note };
        let started = |note| engine.start::<with_option::given>(order(note)).id("run");
        let other = started(Some("x".to_owned())).await.unwrap_err();
        assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
        // In the store, in this process, and over.
        let run = started(None).await.unwrap();
        let same = started(None).await.unwrap();
        let other = started(Some("x".to_owned())).await.unwrap_err();
        assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
        assert_eq!(run.result().await.unwrap(), "Order { id: 5, price: 10, note: None }");
        assert_eq!(same.result().await.unwrap(), "Order { id: 5, price: 10, note: None }");
        assert!(started(None).await.is_ok());
    });
}

#[test]
fn an_input_that_the_type_of_today_would_lose_some_of_is_another_one() {
    let remains = Remains::default();
    remains.dies_at::<first::given>(first::Order { id: 5, price: 10 }, "waits");
    life(async {
        let engine = remains.engine(&Death::default()).register::<without::given>().build().unwrap();
        let input = without::order(5);
        let other = engine.start::<without::given>(input).id("run").await.unwrap_err();
        assert!(matches!(other, StartError::OtherInput { .. }), "{other}");
    });
}

/// A run of `first::whole` that has ended.
fn ended() -> Remains {
    let remains = Remains::default();
    life(async {
        let engine = remains.engine(&Death::default()).register::<first::whole>().build().unwrap();
        engine.start::<first::whole>(5).id("run").await.unwrap().result().await.unwrap();
    });
    remains
}

#[test]
fn the_output_of_a_run_that_is_over_is_read_by_the_type_of_today() {
    let remains = ended();
    life(async {
        let builder = remains.engine(&Death::default());
        let engine = builder.register::<with_option::whole>().build().unwrap();
        let run = engine.start::<with_option::whole>(5).id("run").await.unwrap();
        assert_eq!(run.result().await, Ok(with_option::Order { id: 5, price: 10, note: None }));
    });
    life(async {
        let builder = remains.engine(&Death::default());
        let engine = builder.register::<renamed::whole>().build().unwrap();
        let error = engine.start::<renamed::whole>(5).id("run").await.unwrap().result().await.unwrap_err();
        assert!(matches!(&error, RunError::OutputMismatch { message } if message.contains("`price`")), "{error}");
    });
}

#[test]
fn a_fork_reads_what_it_copies_with_the_type_of_today() {
    let remains = ended();
    let completed = |remains: &Remains| {
        life(async {
            let engine = remains.engine(&Death::default()).build().unwrap();
            let history = engine.history("run").await.unwrap().unwrap();
            let is_output = |kind: &EventKind| matches!(kind, EventKind::NodeCompleted { .. });
            let event = history.iter().find(|event| event.path == "whole/makes" && is_output(&event.kind));
            event.unwrap().seq
        })
    };
    let seq = completed(&remains);
    life(async {
        let builder = remains.engine(&Death::default());
        let engine = builder.register::<renamed::whole>().build().unwrap();
        let refused = engine.fork("run").await.unwrap_err();
        assert!(matches!(refused, ForkError::Run(RunError::GraphChanged { .. })), "{refused}");
        // Without the value that cannot be read.
        let fork = engine.fork("run").before(seq).await.unwrap();
        assert_eq!(fork.result().await, Ok(json!({"id": 5, "cost": 10})));
    });
    life(async {
        let builder = remains.engine(&Death::default());
        let engine = builder.register::<with_option::whole>().build().unwrap();
        let fork = engine.fork("run").await.unwrap();
        assert_eq!(fork.result().await, Ok(json!({"id": 5, "price": 10, "note": null})));
    });
    assert_eq!(remains.journal.lines(), ["makes", "makes"]);
}

#[test]
fn a_fork_from_the_start_is_refused_if_the_input_would_lose_a_field() {
    let remains = Remains::default();
    remains.dies_at::<first::given>(first::Order { id: 5, price: 10 }, "waits");
    life(async {
        let builder = remains.engine(&Death::default());
        let engine = builder.register::<without::given>().build().unwrap();
        let refused = engine.fork("run").before(1).await.unwrap_err();
        assert!(refused.to_string().contains("at `price`"), "{refused}");
    });
}

/// A run of `first::job` that was cancelled while `waits` ran.
fn cancelled() -> Remains {
    let remains = Remains::default();
    remains.dies_at::<first::job>(5, "waits");
    life(async {
        let death = Death::at("waits");
        let engine = remains.engine(&death).register::<first::job>().build().unwrap();
        engine.recover().await.unwrap();
        death.came().await;
        let run = engine.get_run("run").await.unwrap().unwrap();
        run.cancel().await.unwrap();
        run.outcome().await.unwrap();
    });
    remains
}

#[test]
fn a_value_that_a_retry_has_voided_may_be_of_any_type() {
    let remains = cancelled();
    life(async {
        let death = Death::at("makes");
        let engine = remains.engine(&death).register::<first::job>().build().unwrap();
        engine.retry("run").from_node("job/makes").await.unwrap();
        death.came().await;
    });
    let (result, _) = remains.goes_on::<renamed::job>();
    assert_eq!(result, Ok(json!("Order { id: 5, cost: 10 }")));
}

#[test]
fn a_retry_from_the_node_that_gave_what_cannot_be_read_makes_it_again() {
    let remains = cancelled();
    life(async {
        let engine = remains.engine(&Death::default()).register::<renamed::job>().build().unwrap();
        let refused = engine.retry("run").await.unwrap_err();
        assert!(matches!(refused, RetryError::Run(RunError::GraphChanged { .. })), "{refused}");
        let run = engine.retry("run").from_node("job/makes").await.unwrap();
        assert_eq!(run.result().await, Ok(json!("Order { id: 5, cost: 10 }")));
    });
}
