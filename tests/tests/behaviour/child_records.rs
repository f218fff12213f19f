//! Records inside a child workflow that a later program cannot read.

use std::time::SystemTime;

use graphweft::store::{Append, Appended, Record, Store};
use graphweft::{EventKind, RunError, json};
use graphweft_tests::{Death, Remains, event, life};

/// The program that recorded the run.
mod then {
    use graphweft::prelude::*;
    use graphweft_tests::{Death, Journal};

    #[value]
    pub(crate) struct Amount(u32);

    #[node]
    pub(crate) async fn makes(n: u32, #[resource] journal: &Journal) -> Amount {
        journal.note("makes");
        Amount(n)
    }

    #[node]
    pub(crate) async fn waits(amount: Amount, #[resource] journal: &Journal, #[resource] death: &Death) -> u32 {
        journal.note("waits");
        death.come("waits").await;
        amount.0
    }

    workflow! {
        pub(crate) sub(u32) -> u32 { START => makes => waits; }
    }

    #[node]
    pub(crate) async fn calls(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note("calls");
        ctx.call::<sub>(n).await.map_err(|error| error.to_string())
    }

    workflow! {
        pub(crate) calling(u32) -> u32 { START => calls; }
    }
}

/// A program whose graphs are the same, and that reads no amount.
mod strict {
    use graphweft::prelude::*;
    use graphweft_tests::Journal;
    use serde::{Deserialize, Deserializer, de::Error};

    #[value]
    pub(crate) struct Amount(#[serde(deserialize_with = "none")] u32);

    fn none<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let amount = u32::deserialize(from)?;
        Err(D::Error::custom(format!("{amount} is an amount")))
    }

    #[node]
    pub(crate) async fn makes(n: u32) -> Amount {
        Amount(n)
    }

    #[node]
    pub(crate) async fn waits(amount: Amount) -> u32 {
        amount.0
    }

    workflow! {
        pub(crate) sub(u32) -> u32 { START => makes => waits; }
    }

    #[node]
    pub(crate) async fn calls(n: u32, ctx: &Context, #[resource] journal: &Journal) -> Result<u32, String> {
        journal.note("calls");
        ctx.call::<sub>(n).await.map_err(|error| error.to_string())
    }

    workflow! {
        pub(crate) calling(u32) -> u32 { START => calls; }
    }
}

#[test]
fn a_value_that_only_the_child_workflow_can_read_stops_the_run_and_loses_nothing() {
    let remains = Remains::default();
    remains.dies_at::<then::calling>(7, "waits");

    let (result, events) = remains.goes_on::<strict::calling>();

    let Err(RunError::RecordMismatch { path, message, .. }) = result else { panic!("{result:?}") };
    assert_eq!(path, "calling/calls/sub/makes");
    assert!(message.contains("7 is an amount"), "{message}");
    let is_new = |kind: &EventKind| !matches!(kind, EventKind::RunResumed { .. });
    let new: Vec<_> = events.iter().skip_while(|event| is_new(&event.kind)).collect();
    assert!(new.iter().all(|event| !is_new(&event.kind)), "{new:?}");
    let (result, _) = remains.goes_on::<then::calling>();
    assert_eq!(result, Ok(json!(7)));
    assert_eq!(remains.journal.lines(), ["calls", "makes", "waits", "calls", "calls", "waits"]);
}

#[test]
fn a_record_in_a_child_workflow_that_no_program_can_read_is_found_before_a_node_runs() {
    let remains = Remains::default();
    remains.dies_at::<then::calling>(7, "waits");
    let path = "calling/calls/sub/waits".to_owned();
    let reported = life(async {
        let header = remains.store.header("run").await.unwrap().unwrap();
        let kind = event(json!({ "type": "node_completed" }));
        let records = vec![Record::new(path.clone(), kind)];
        let append = Append::new(header.key, header.records, SystemTime::now(), records);
        assert_eq!(remains.store.append(append).await.unwrap(), Appended::Done);
        let engine = remains.engine(&Death::default()).register::<then::calling>().build().unwrap();
        engine.recover().await.unwrap().failed.remove(0).1
    });
    let message = "its record holds no output".to_owned();
    assert_eq!(reported, RunError::RecordMismatch { path, field: ".".to_owned(), message });
    assert_eq!(remains.journal.lines(), ["calls", "makes", "waits"]);
}
