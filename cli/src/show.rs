//! A run as a tree with bars, and what its agents have said: what its view has.

mod bars;
mod tree;
mod values;

use std::time::SystemTime;

use graphweft::{Engine, RunStatus};
use graphweft_inspector::view::{Conversations, RunView, State, What};
use serde_json::json;

use crate::arguments::{Output, Show};
use crate::conversation;
use crate::error::{CliError, Ended};
use crate::print;
use crate::quoted::quoted;
use crate::status::word;
use crate::times::duration;
use values::Values;

/// How many characters of each text of a conversation are printed.
const SAID: usize = 300;

pub(crate) async fn show(engine: &Engine, asked: Show, output: Output) -> Result<Ended, CliError> {
    let unknown = || CliError::UnknownRun { run: asked.run.clone() };
    let run = engine.get_run(&asked.run).await?.ok_or_else(unknown)?;
    let graphs = engine.run_graph(run.id()).await?;
    let mut view = RunView::new(run.workflow(), graphs.as_ref());
    let mut conversations = Conversations::default();
    let at = asked.at.unwrap_or(u64::MAX);
    let mut events = engine.history(run.id()).await?.ok_or_else(unknown)?;
    let names = engine.recorded_names(&events).await?;
    let recorded: Vec<String> = events.iter().map(|event| event.path.clone()).collect();
    events.iter_mut().for_each(|event| names.rename(event));
    for event in events.iter().filter(|event| event.seq <= at) {
        if let Some(hash) = view.missing_graph(event)
            && let Some(graphs) = engine.stored_graph(hash).await?
        {
            view.add_graph(hash, &graphs);
        }
        view.apply(event);
        conversations.apply(event);
    }
    let values = match asked.values {
        true => Some(Values::of(&run, &events, &recorded, at).await?),
        false => None,
    };
    let ended = view.status().map_or(Ended::Done, Ended::of);
    let part = view.part(None);
    if output.json {
        let info = run.info().await?;
        let mut all = json!({ "run": info, "view": part, "conversations": conversations.all() });
        if let Some(values) = values {
            all["values"] = values.json();
        }
        return ended.having_printed(print::json(&all));
    }
    let status = part.status.map(word).unwrap_or_default();
    let times = bars::whole(&part.times);
    let events_shown = times.len();
    let is_over = asked.at.is_some() || view.status().is_none_or(RunStatus::is_over);
    let times = if is_over { times } else { bars::until(times, SystemTime::now()) };
    let took = times.last().zip(times.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    let took = duration(std::time::Duration::from_millis(took));
    let head = format!("{} of {}: {status} after {took}, {events_shown} events", run.id(), run.workflow());
    let most = if asked.long { usize::MAX } else { SAID };
    let of_run = values.iter().flat_map(|values| values.lines(run.workflow(), most)).map(|line| format!("  {line}"));
    let rows = tree::rows(&part).into_iter().flat_map(|row| {
        let bar = bars::bar(&row, &times, usize::from(asked.bars));
        let line = format!("{:<48} {:<19} {bar}", row.label, row.state).trim_end().to_owned();
        let below = values.iter().flat_map(|values| values.lines(&row.path, most));
        let below = below.map(|line| format!("{}  {line}", row.lead)).collect::<Vec<_>>();
        std::iter::once(line).chain(below)
    });
    // Those before the last one were retried, and so was that, unless the run is at its end by it.
    let failed = part.details.iter().rposition(|detail| matches!(detail.what, What::RunFailed { .. }));
    let failed = failed.filter(|_| view.status() == Some(RunStatus::Failed));
    let details = part.details.iter().enumerate().flat_map(|(at, detail)| {
        let said = match &detail.what {
            What::RunFailed { path, message, cut, .. } if Some(at) == failed => {
                Some(format!("failed at {path}: {}", marked(message, *cut)))
            }
            What::Asked { prompt, cut, .. } => {
                let path = &part.things.path[detail.thing as usize];
                // An id may begin like an option.
                let no_option = if run.id().starts_with('-') { "-- " } else { "" };
                let (id, question) = (quoted(run.id()), quoted(path));
                let asks =
                    || format!("waits for an answer: {}\n  answer {no_option}{id} {question} ..", marked(prompt, *cut));
                (view.state_of(path) == State::Waiting).then(asks)
            }
            _ => None,
        };
        said.iter().flat_map(|said| said.lines()).map(str::to_owned).collect::<Vec<_>>()
    });
    let said = conversations.all();
    let said = said.iter().flat_map(|one| std::iter::once(String::new()).chain(conversation::lines(one, most)));
    let unknown = values.iter().flat_map(Values::unknown);
    let mut lines = [head].into_iter().chain(of_run).chain(rows).chain(unknown).chain(details).chain(said);
    ended.having_printed(lines.try_for_each(|line| print::line(&line)))
}

/// A text of the view, which has the beginning of long ones.
fn marked(text: &str, is_cut: bool) -> String {
    if is_cut { format!("{text}… (`tail` has the whole)") } else { text.to_owned() }
}
