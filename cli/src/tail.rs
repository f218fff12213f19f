//! The events of a run.

use std::io;
use std::time::UNIX_EPOCH;

use graphweft::{Engine, Event, EventKind, Events, RunError};
use graphweft_inspector::view::Conversations;
use serde_json::json;

use crate::arguments::{Output, Tail};
use crate::conversation;
use crate::error::{CliError, Ended};
use crate::print;
use crate::times::duration;

/// How many characters of each text of a conversation are in a line.
const SAID: usize = 160;

pub(crate) async fn tail(engine: &Engine, asked: Tail, output: Output) -> Result<Ended, CliError> {
    let run = engine.get_run(&asked.run).await?.ok_or_else(|| CliError::UnknownRun { run: asked.run.clone() })?;
    let (mut began, mut conversations) = (None, Conversations::default());
    let mut show = |event: &Event| -> io::Result<()> {
        if output.json {
            return print::json_line(&json!(event));
        }
        let since = event.time.duration_since(*began.get_or_insert(event.time)).unwrap_or_default();
        let what = format!("{:>5}  {:>12}  {:<18} {}", event.seq, duration(since), event.kind.name(), event.path);
        let talked = conversation::line(conversations.apply(event), SAID);
        let said = if talked.is_empty() { said(&event.kind) } else { talked };
        print::line(format!("{what}  {said}").trim_end())
    };
    let printed = match asked.follow {
        true => follow(run.events(), &mut show).await,
        false => engine.history(run.id()).await?.iter().flatten().try_for_each(&mut show).map(|()| None),
    };
    if let Ok(Some(unread)) = printed {
        return Err(unread.into());
    }
    Ended::of(run.status().await?).having_printed(printed.map(drop))
}

/// Until the run ends, Ctrl-C, or no one reads any more. `Some`: why its events are not read to their end.
async fn follow(mut events: Events, show: &mut impl FnMut(&Event) -> io::Result<()>) -> io::Result<Option<RunError>> {
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => show(&event)?,
                None => return Ok(events.error().cloned()),
            },
            _ = tokio::signal::ctrl_c() => return Ok(None),
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
        EventKind::Message { text, .. } => text.clone(),
        EventKind::Note { name, .. } => name.clone(),
        EventKind::Progress { data, .. } => data.to_string(),
        EventKind::QuestionAsked { prompt, .. } => prompt.clone(),
        EventKind::Answered { answer, by, .. } => {
            by.as_ref().map_or_else(|| answer.to_string(), |by| format!("{answer}, by {by}"))
        }
        EventKind::AnswerRejected { message, .. } | EventKind::SignalRejected { message, .. } => message.clone(),
        EventKind::TimerSet { until, .. } => format!("until {}", time(until)),
        EventKind::SignalReceived { name, .. } | EventKind::SignalAwaited { name, .. } => name.clone(),
        EventKind::RunFailed { failure, .. } => failure.to_string(),
        _ => String::new(),
    }
}
