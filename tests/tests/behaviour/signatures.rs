//! What a node's signature says: what it takes, what it is given by the run, what it gives.

use graphweft::prelude::*;
use graphweft_tests::{Journal, failure};

#[node]
async fn number(n: u32) -> u32 {
    n
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn pair(a: u32, b: String) -> String {
    format!("{a} {b}")
}

#[tokio::test]
async fn without_parameters_it_takes_whatever_arrives() {
    #[node]
    async fn deaf() -> u32 {
        7
    }
    let flow = workflow! { START => text => deaf };
    assert_eq!(flow.run(1).await.unwrap(), 7);
}

#[tokio::test]
async fn without_parameters_it_may_stand_behind_a_join() {
    #[node]
    async fn deaf() -> u32 {
        7
    }
    let flow = workflow! { START => (number, text) => deaf };
    assert_eq!(flow.run(1).await.unwrap(), 7);
}

#[tokio::test]
async fn several_parameters_are_a_tuple() {
    #[node]
    async fn both(n: u32) -> (u32, String) {
        (n, "x".to_owned())
    }
    let flow = workflow! { START => both => pair };
    assert_eq!(flow.run(1).await.unwrap(), "1 x");
}

#[tokio::test]
async fn a_join_may_be_taken_as_one_tuple() {
    #[node]
    async fn whole(both: (u32, String)) -> String {
        format!("{both:?}")
    }
    let flow = workflow! { START => (number, text) => whole };
    assert_eq!(flow.run(1).await.unwrap(), r#"(1, "1")"#);
}

#[tokio::test]
async fn a_parameter_may_be_a_pattern() {
    #[node]
    async fn taken_apart((a, _): (u32, String), [first, ..]: [u8; 3]) -> u32 {
        a + u32::from(first)
    }
    #[node]
    async fn bytes(n: u32) -> [u8; 3] {
        [n as u8, 0, 0]
    }
    #[node]
    async fn both(n: u32) -> (u32, String) {
        (n, String::new())
    }
    let flow = workflow! { START => (both, bytes) => taken_apart };
    assert_eq!(flow.run(4).await.unwrap(), 8);
}

#[tokio::test]
async fn a_parameter_may_be_mutable() {
    #[node]
    async fn push(mut items: Vec<u32>) -> Vec<u32> {
        items.push(1);
        items
    }
    let flow = workflow! { START => push };
    assert_eq!(flow.run(vec![]).await.unwrap(), [1]);
}

#[tokio::test]
async fn the_context_may_stand_anywhere() {
    #[node]
    async fn first(ctx: &Context, n: u32) -> String {
        format!("{n} at {}", ctx.path())
    }
    workflow! { contexts(u32) -> String { START => first; } }
    assert_eq!(contexts(1).await.unwrap(), "1 at contexts/first");
}

#[tokio::test]
async fn the_context_may_be_written_with_its_path() {
    #[node]
    async fn knows(_n: u32, context: &graphweft::Context) -> u32 {
        context.attempt()
    }
    let flow = workflow! { START => knows };
    assert_eq!(flow.run(1).await.unwrap(), 1);
}

#[tokio::test]
async fn the_context_knows_its_run() {
    #[node]
    async fn knows(_n: u32, ctx: &Context) -> String {
        ctx.run_id().to_owned()
    }
    workflow! { knowing(u32) -> String { START => knows; } }
    let run = Engine::builder().build().unwrap().start::<knowing>(1).id("r-7").await.unwrap();
    assert_eq!(run.result().await.unwrap(), "r-7");
}

#[tokio::test]
async fn a_resource_is_borrowed_from_the_engine() {
    #[node]
    async fn write(n: u32, #[resource] journal: &Journal, #[resource] factor: &u64) -> u64 {
        journal.note("seen");
        u64::from(n) * factor
    }
    workflow! { writing(u32) -> u64 { START => write; } }
    let engine = Engine::builder().resource(Journal::default()).resource(3_u64).build().unwrap();
    assert_eq!(engine.start::<writing>(2).await.unwrap().result().await.unwrap(), 6);
}

#[tokio::test]
async fn a_plain_function_is_a_node() {
    #[node]
    fn plain(n: u32) -> u32 {
        n + 1
    }
    let flow = workflow! { START => plain };
    assert_eq!(flow.run(1).await.unwrap(), 2);
}

#[tokio::test]
async fn a_blocking_function_runs_on_another_thread() {
    #[node(blocking)]
    fn elsewhere(here: String) -> bool {
        format!("{:?}", std::thread::current().id()) != here
    }
    let flow = workflow! { START => elsewhere };
    assert!(flow.run(format!("{:?}", std::thread::current().id())).await.unwrap());
}

#[tokio::test]
async fn a_blocking_function_does_not_hold_up_the_others() {
    #[node(blocking)]
    fn waits(n: u32, #[resource] door: &std::sync::Barrier) -> u32 {
        door.wait();
        n
    }
    #[node(blocking)]
    fn opens(n: u32, #[resource] door: &std::sync::Barrier) -> String {
        door.wait();
        n.to_string()
    }
    workflow! { meeting(u32) -> String { START => (waits, opens) => pair; } }
    let engine = Engine::builder().resource(std::sync::Barrier::new(2)).build().unwrap();
    assert_eq!(engine.start::<meeting>(1).await.unwrap().result().await.unwrap(), "1 1");
}

#[tokio::test]
async fn a_blocking_function_may_ask_its_context() {
    #[node(blocking)]
    fn asks(_n: u32, ctx: &Context) -> String {
        ctx.path()
    }
    workflow! { asking(u32) -> String { START => asks; } }
    assert_eq!(asking(1).await.unwrap(), "asking/asks");
}

#[tokio::test]
async fn a_node_may_give_nothing() {
    #[node]
    async fn silent(_n: u32) {}
    #[node]
    async fn after(nothing: ()) -> String {
        format!("{nothing:?}")
    }
    let flow = workflow! { START => silent => after };
    assert_eq!(flow.run(1).await.unwrap(), "()");
}

#[tokio::test]
async fn a_node_may_give_nothing_or_an_error() {
    #[node]
    async fn check(n: u32) -> Result<(), String> {
        if n > 0 { Ok(()) } else { Err("zero".to_owned()) }
    }
    workflow! { checking(u32) { START => check; } }
    assert_eq!(failure(checking(0).await).cause.to_string(), "zero");
}

#[tokio::test]
async fn a_workflow_without_output_gives_nothing() {
    workflow! { quiet(u32) { START => (number, text); } }
    quiet(1).await.unwrap();
}

#[tokio::test]
async fn a_workflow_may_take_several_inputs() {
    workflow! { joined(u32, String) -> String { START => pair; } }
    assert_eq!(joined(1, "one".to_owned()).await.unwrap(), "1 one");
}

#[tokio::test]
async fn a_workflow_may_take_nothing() {
    #[node]
    async fn tick() -> u32 {
        1
    }
    workflow! { ticking() -> u32 { START => tick; } }
    assert_eq!(ticking().await.unwrap(), 1);
}

#[tokio::test]
async fn a_workflow_may_hand_its_input_through() {
    workflow! { through(u32) -> u32 { START => END; } }
    assert_eq!(through(5).await.unwrap(), 5);
}

#[tokio::test]
async fn a_node_is_still_a_function() {
    assert_eq!(pair(1, "a".to_owned()).await, "1 a");
}

#[tokio::test]
async fn a_local_may_have_the_name_of_a_node() {
    let number = 5;
    let flow = workflow! { START => number };
    assert_eq!(flow.run(number).await.unwrap(), 5);
}

#[tokio::test]
async fn a_node_may_be_named_by_its_path() {
    mod tools {
        use graphweft::prelude::*;
        #[node]
        pub(super) async fn triple(n: u32) -> u32 {
            n * 3
        }
    }
    let flow = workflow! { START => tools::triple => number };
    assert_eq!(flow.run(2).await.unwrap(), 6);
}

#[tokio::test]
async fn a_node_may_be_written_by_hand_without_fields() {
    struct Negate {}
    impl Node for Negate {
        type Input = bool;
        type Output = bool;
        type Error = Never;
        async fn run(&self, input: bool, _: &Context) -> Result<bool, Never> {
            Ok(!input)
        }
    }
    let flow = workflow! { START => Negate };
    assert!(flow.run(false).await.unwrap());
}
