//! The events of a run.

use std::time::UNIX_EPOCH;

use graphweft::{Engine, Event, EventKind, Run};
use serde_json::{Value, json};

use crate::arguments::{Output, Tail};
use crate::error::{CliError, Ended};
use crate::print;
use crate::times::{duration, safe};

pub(crate) async fn tail(engine: &Engine, asked: Tail, output: Output) -> Result<Ended, CliError> {
    let run = engine.get_run(&asked.run).await?.ok_or_else(|| CliError::UnknownRun { run: asked.run.clone() })?;
    let mut began = None;
    let mut show = |event: &Event| -> Result<(), CliError> {
        if output.json {
            print::line(&json!(event).to_string())?;
            return Ok(());
        }
        let since = event.time.duration_since(*began.get_or_insert(event.time)).unwrap_or_default();
        let what = format!("{:>5}  {:>12}  {:<18} {}", event.seq, duration(since), event.kind.name(), event.path);
        print::line(safe(format!("{what}  {}", said(&event.kind)).trim_end()).as_str())?;
        Ok(())
    };
    if asked.follow {
        follow(&run, &mut show).await?;
    } else {
        for event in engine.history(run.id()).await?.unwrap_or_default() {
            show(&event)?;
        }
    }
    Ok(Ended::of(run.status().await?))
}

/// Until the run ends, or Ctrl-C.
async fn follow(run: &Run<Value>, show: &mut impl FnMut(&Event) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut events = run.events();
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => show(&event)?,
                None => return Ok(()),
            },
            _ = tokio::signal::ctrl_c() => return Ok(()),
        }
    }
}

/// What an event says, in a line.
fn said(kind: &EventKind) -> String {
    let time = |time: &std::time::SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    match kind {
        EventKind::NodeStarted { attempt, .. } if *attempt > 1 => format!("attempt {attempt}"),
        EventKind::NodeCompleted { label: Some(label), .. } => label.clone(),
        EventKind::NodeFailed { cause, .. } => cause.to_string(),
        EventKind::Message { text } => text.clone(),
        EventKind::Note { name, .. } => name.clone(),
        EventKind::Progress { data, .. } => data.to_string(),
        EventKind::QuestionAsked { prompt, .. } => prompt.clone(),
        EventKind::Answered { answer, by, .. } => {
            by.as_ref().map_or_else(|| answer.to_string(), |by| format!("{answer}, by {by}"))
        }
        EventKind::AnswerRejected { message, .. } | EventKind::SignalRejected { message, .. } => message.clone(),
        EventKind::TimerSet { until } => format!("until {}", time(until)),
        EventKind::SignalReceived { name, .. } | EventKind::SignalAwaited { name, .. } => name.clone(),
        EventKind::RunFailed { failure } => failure.to_string(),
        _ => String::new(),
    }
}
