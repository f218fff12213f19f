//! Graphs of which the compiler proves that every key is written before it is read: where the proof has to look into
//! workflows, into `[..]`, and at nodes that are written by hand.

use std::marker::PhantomData;

use graphweft::prelude::*;
use graphweft::state::StateFacts;

const OWNER: StateKey<String> = StateKey::new("owner");

#[node]
async fn assign(n: u32, #[writes(OWNER)] owner: StateWriter<String>) -> u32 {
    owner.set(format!("Ada {n}"));
    n
}

#[node]
async fn report(#[state(OWNER)] owner: String) -> String {
    owner
}

#[node]
async fn down(n: u32) -> Option<u32> {
    n.checked_sub(1)
}

#[node]
async fn end() -> u32 {
    0
}

// Every run of it ends in one that assigns, however often it goes down before.
workflow! {
    count_down(u32) -> u32 {
        START => down => <some: again, none: end>;
        end => assign => END;
        again => END;
        let again = count_down();
    }
}

#[tokio::test]
async fn a_workflow_inside_itself_has_written_what_every_way_out_of_it_writes() {
    let flow = workflow! { START => count_down => report };
    assert_eq!(flow.run(3).await.unwrap(), "Ada 0");
}

workflow! { there(u32) -> u32 { START => down => <some: back, none: end>; end => assign => END; back => END; } }
workflow! { back(u32) -> u32 { START => down => <some: there, none: end>; end => assign => END; there => END; } }

#[tokio::test]
async fn so_have_workflows_inside_each_other() {
    let flow = workflow! { START => there => report };
    assert_eq!(flow.run(4).await.unwrap(), "Ada 0");
}

#[node]
async fn each(n: u32) -> Vec<u32> {
    (0..n).collect()
}

#[node]
async fn sign(n: u32, #[state(OWNER)] owner: String) -> String {
    format!("{n} of {owner}")
}

workflow! {
    #[given(OWNER)]
    signed(u32) -> String { START => sign; }
}

#[tokio::test]
async fn items_read_what_was_written_around_them() {
    let flow = workflow! { START => assign => each => [signed] };
    assert_eq!(flow.run(2).await.unwrap(), ["0 of Ada 2", "1 of Ada 2"]);
}

struct Signed<T> {
    by: PhantomData<fn() -> T>,
}

impl<T: 'static> Node for Signed<T> {
    type Input = u32;
    type Output = String;
    type Error = Fault;
    const STATE: StateFacts = StateFacts { reads: &[OWNER.fact()], ..StateFacts::NONE };

    async fn run(&self, n: u32, ctx: &Context) -> Result<String, Fault> {
        Ok(format!("{n} of {}", ctx.state().get(OWNER)?.unwrap_or_default()))
    }
}

async fn signed_by<T: 'static>() -> String {
    let flow = workflow! {
        let signed: Signed<T> = Signed { by: PhantomData };
        START => assign => signed
    };
    flow.run(5).await.unwrap()
}

#[tokio::test]
async fn a_node_may_have_a_type_that_only_the_function_around_the_workflow_knows() {
    assert_eq!(signed_by::<u8>().await, "5 of Ada 5");
}
