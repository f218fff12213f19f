//! A workflow whose node starts runs of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Event, EventKind, OnClose};

use crate::flows::{chain_of_20, work};
use crate::kills::Judges;
use crate::ledger::Ledger;

/// The keys of the runs, with what becomes of them when the run that has started them ends.
const STARTED: [(&str, OnClose); 3] =
    [("waits", OnClose::Wait), ("cancels", OnClose::Cancel), ("leaves", OnClose::Leave)];

#[node]
async fn starts(n: u64, ctx: &Context, #[resource] ledger: &Ledger) -> Result<u64, String> {
    let starting = async {
        for (key, on_close) in STARTED {
            let started = ctx.start::<chain_of_20>(n).key(key).on_close(on_close).await;
            let id = started.map_err(|error| error.to_string())?.id().to_owned();
            ledger.given(ctx, &format!("start:chain_of_20@{key}"), Some(&id));
            ctx.sleep(Duration::from_millis(5)).key(key).await;
        }
        Ok(n + 1)
    };
    ledger.during(ctx, starting).await
}

workflow! {
    pub(crate) starts_others(u64) -> u64 {
        let last = work();
        START => work => starts => last;
    }
}

fn end(history: &[Event]) -> Option<&Event> {
    history.last().filter(|event| event.is_terminal())
}

/// Holds the started runs of a run that is over against what was asked for them: each was started once.
pub(crate) fn over(history: &[Event], judges: &Judges) -> Result<(), String> {
    let is_start =
        |event: &&Event| event.path.contains("/start:") && matches!(event.kind, EventKind::NodeCompleted { .. });
    let starts: Vec<&Event> = history.iter().filter(is_start).collect();
    let started: BTreeMap<&str, &[Event]> = judges.started().collect();
    if started.len() != starts.len() {
        let ids: Vec<&&str> = started.keys().collect();
        return Err(format!("it has started {} runs by its records, and there are {ids:?}", starts.len()));
    }
    for (key, on_close) in STARTED {
        let Some(start) = starts.iter().find(|start| start.path.ends_with(key)) else { continue };
        let id = format!("run-0:{}", start.path);
        let of_run = started.get(id.as_str()).ok_or_else(|| format!("there is no run `{id}`"))?;
        let (Some(its), Some(of_starter)) = (end(of_run), end(history)) else {
            return Err(format!("run `{id}` is not over"));
        };
        let is_completed = matches!(its.kind, EventKind::RunCompleted { .. });
        let is_cancelled = matches!(its.kind, EventKind::RunCancelled);
        let fits = match on_close {
            OnClose::Wait => is_completed && its.time <= of_starter.time,
            OnClose::Cancel => is_completed || is_cancelled,
            _ => is_completed,
        };
        if !fits {
            return Err(format!(
                "run `{id}` was started to be closed by {on_close:?}, and has ended with {:?}",
                its.kind
            ));
        }
    }
    Ok(())
}
