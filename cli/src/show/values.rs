//! What went into everything in a run, and what came out of it.

use std::collections::{BTreeMap, BTreeSet};

use graphweft::{AfterFailure, Event, EventKind, Run, RunError};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::safe::cut;

/// By path.
#[derive(Default)]
pub(super) struct Values(BTreeMap<String, OfOne>);

#[derive(Default)]
struct OfOne {
    input: Option<Value>,
    /// Why the input is not known.
    unknown: Option<String>,
    output: Option<Value>,
}

impl Values {
    /// After the event of a number: the outputs by the events that count, and the inputs of what has started last. `recorded`: the paths
    /// of the events as they were recorded, which those of inputs are.
    pub(super) async fn of(
        run: &Run<Value>,
        events: &[Event],
        recorded: &[String],
        until: u64,
    ) -> Result<Values, CliError> {
        let mut values = Values::default();
        let past = || events.iter().filter(|event| event.seq <= until && !event.derived);
        let voids = past().filter_map(|event| match &event.kind {
            EventKind::RunRetried { voids, .. } => Some(voids),
            _ => None,
        });
        let voids: Vec<_> = voids.flatten().collect();
        let mut signals = BTreeMap::new();
        for event in past() {
            if let EventKind::SignalReceived { payload, .. } = &event.kind {
                signals.insert(event.seq, payload);
            }
            if voids.iter().any(|range| range.contains(&event.seq)) {
                continue;
            }
            let output = match &event.kind {
                EventKind::NodeCompleted { output, .. } => output.as_ref(),
                EventKind::NodeFailed { then: AfterFailure::Routed { error, .. }, .. } => Some(error),
                EventKind::Answered { answer, .. } => Some(answer),
                EventKind::SignalDelivered { signal, .. } => signals.get(signal).copied(),
                EventKind::RunCompleted { output, .. } => Some(output),
                EventKind::AnswerRejected { .. } | EventKind::SignalRejected { .. } => None,
                _ => continue,
            };
            values.at(&event.path).output = output.cloned();
        }
        let mut starts = BTreeMap::new();
        for (event, recorded) in events.iter().zip(recorded) {
            if let EventKind::RunStarted { .. } | EventKind::NodeStarted { .. } = event.kind {
                starts.insert(event.path.as_str(), (event.seq, recorded));
            }
        }
        let mut inputs = run.inputs().await?;
        // The input of a start that is later than the moment is not that of the moment.
        for (path, (_, recorded)) in starts.into_iter().filter(|(_, (seq, _))| *seq <= until) {
            match inputs.remove(recorded) {
                Some(Ok(input)) => values.at(path).input = Some(input),
                Some(Err(error)) => values.at(path).unknown = Some(reason(&error)),
                None => {}
            }
        }
        Ok(values)
    }

    fn at(&mut self, path: &str) -> &mut OfOne {
        self.0.entry(path.to_owned()).or_default()
    }

    /// The lines below that of what is at a path.
    pub(super) fn lines(&self, path: &str, most: usize) -> Vec<String> {
        let Some(OfOne { input, output, .. }) = self.0.get(path) else { return Vec::new() };
        let line = |what: &str, value: &Option<Value>| {
            value.as_ref().map(|value| format!("{what:<6} {}", cut(&value.to_string(), most)))
        };
        [line("input", input), line("output", output)].into_iter().flatten().collect()
    }

    /// Why inputs are not known, each reason once.
    pub(super) fn unknown(&self) -> Vec<String> {
        let reasons: BTreeSet<&String> = self.0.values().filter_map(|one| one.unknown.as_ref()).collect();
        reasons.into_iter().map(|why| format!("inputs are not known: {why}")).collect()
    }

    pub(super) fn json(&self) -> Value {
        let of_one = |(path, OfOne { input, unknown, output }): (&String, &OfOne)| {
            let all = [
                ("input", input.clone()),
                ("input_unknown", unknown.clone().map(Value::from)),
                ("output", output.clone()),
            ];
            let known = all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
            (path.clone(), Value::Object(known.collect()))
        };
        json!(self.0.iter().map(of_one).collect::<BTreeMap<_, _>>())
    }
}

fn reason(error: &RunError) -> String {
    match error {
        RunError::NotRegistered { workflow } => format!("this program does not have the code of workflow `{workflow}`"),
        error => error.to_string(),
    }
}
