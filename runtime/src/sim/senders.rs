//! Those who send signals to a simulated run.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use super::behaviour::{self, SHARED_SIGNAL};
use super::life::Life;
use super::processes::Driving;
use super::scenario::Doing;
use crate::engine::Run;
use crate::event::EventKind;
use crate::signal::{SignalError, Signalled};
use crate::store::{StoreError, Stored};
use serde_json::Value;

impl Life<'_> {
    /// Sends what the run waits for, again and again, and some of it before.
    pub(super) async fn sends_signals(&self, driving: &Driving, run: &Run<Value>) -> Result<StoreError, String> {
        if !self.scenario.waits() {
            return std::future::pending().await;
        }
        for signal in self.early_signals() {
            if let Err(error) = self.sends(driving, &self.last_id_of(run), &signal).await? {
                return Ok(error);
            }
        }
        loop {
            let awaited = async { self.last_of(&driving.engine, run).await?.awaited_signals().await };
            let awaited = match awaited.await {
                Ok(awaited) => awaited,
                Err(error) => return Ok(error),
            };
            let names: BTreeSet<String> = awaited.into_iter().map(|signal| signal.name).collect();
            for name in names.iter().filter(|name| self.is_asked(driving, name)) {
                if let Err(error) = self.sends(driving, &self.last_id_of(run), name).await? {
                    return Ok(error);
                }
            }
            tokio::time::sleep(Duration::from_millis(11)).await;
        }
    }

    /// Signals of nodes that may not have begun, or may never begin.
    pub(super) fn early_signals(&self) -> Vec<String> {
        let nodes = self.scenario.flow.nodes.iter();
        let signals = nodes.flat_map(|(name, special)| {
            let waits = special.does.iter().enumerate().filter(|(_, doing)| **doing == Doing::Wait);
            waits.map(move |(at, _)| behaviour::own_signal(&format!("w/{name}"), at))
        });
        signals.filter(|signal| behaviour::is_sent_early(self.scenario, signal)).collect()
    }

    /// Sends a signal of another type, the right one, and the right one again.
    pub(super) async fn sends(
        &self,
        driving: &Driving,
        run: &str,
        signal: &str,
    ) -> Result<Result<(), StoreError>, String> {
        let engine = &driving.engine;
        if behaviour::comes_behind_another_type(self.scenario, signal) {
            match engine.signal_json(run, signal, json!("not a number")).await {
                Ok(_) | Err(SignalError::Invalid { .. }) => {}
                Err(SignalError::Store(error)) => return Ok(Err(error)),
                Err(SignalError::RunOver { .. }) => return Ok(Ok(())),
                Err(other) => return Err(format!("a signal `{signal}` of another type gave {other:?}")),
            }
        }
        let payload = json!(behaviour::answer(signal) | 1);
        if signal == SHARED_SIGNAL {
            return match engine.signal_json(run, signal, payload).await {
                Ok(Signalled::New) | Err(SignalError::RunOver { .. }) => Ok(Ok(())),
                Err(SignalError::Store(error)) => Ok(Err(error)),
                other => Err(format!("a signal without an id gave {other:?}")),
            };
        }
        let payload = json!(behaviour::answer(signal));
        let mut sent = Vec::new();
        let before = self.id();
        for _ in 0..2 {
            match engine.signal_json(run, signal, payload.clone()).id("own").await {
                Ok(signalled) => sent.push(signalled),
                Err(SignalError::Store(error)) => return Ok(Err(error)),
                Err(SignalError::RunOver { .. }) => return Ok(Ok(())),
                Err(other) => return Err(format!("the signal `{signal}` was refused: {other}")),
            }
        }
        if self.id() != before {
            // The run has started over meanwhile: the two may have reached different runs.
            return Ok(Ok(()));
        }
        if sent[1] != Signalled::Duplicate {
            return Err(format!("the signal `{signal}` was sent twice, and that gave {sent:?}"));
        }
        let is_it = |at: &Stored| match &at.record.kind {
            EventKind::SignalReceived { name, id, .. } => name == signal && id.is_some(),
            _ => false,
        };
        if self.disk.with_records_of(run, |records| records.iter().any(is_it)) {
            return Ok(Ok(()));
        }
        let was_taken = |at: &Stored| match &at.record.kind {
            EventKind::SignalsKnown { signals } => signals.iter().any(|(name, _)| name == signal),
            _ => false,
        };
        if !self.disk.with_records_of(run, |records| records.iter().any(was_taken)) {
            return Err(format!("the signal `{signal}` was taken, and that is not recorded"));
        }
        // A run before this one has taken it, and this one waits for one of its own.
        match engine.signal_json(run, signal, payload).id(before).await {
            Ok(_) | Err(SignalError::RunOver { .. }) => Ok(Ok(())),
            Err(SignalError::Store(error)) => Ok(Err(error)),
            Err(other) => Err(format!("the signal `{signal}` of this run was refused: {other}")),
        }
    }
}
