//! A run as a tree with bars: what its view has.

mod bars;
mod tree;

use graphweft::Engine;
use graphweft_inspector::view::{RunView, What};
use serde_json::json;

use crate::arguments::{Output, Show};
use crate::error::{CliError, Ended};
use crate::print;
use crate::times::{duration, safe};

pub(crate) async fn show(engine: &Engine, asked: Show, output: Output) -> Result<Ended, CliError> {
    let unknown = || CliError::UnknownRun { run: asked.run.clone() };
    let run = engine.get_run(&asked.run).await?.ok_or_else(unknown)?;
    let graphs = engine.run_graph(run.id()).await?;
    let mut view = RunView::new(run.workflow(), graphs.as_ref());
    for event in engine.history(run.id()).await?.ok_or_else(unknown)? {
        if asked.at.is_some_and(|at| event.seq > at) {
            continue;
        }
        if let Some(hash) = view.missing_graph(&event)
            && let Some(graphs) = engine.stored_graph(hash).await?
        {
            view.add_graph(hash, &graphs);
        }
        view.apply(&event);
    }
    let ended = view.status().map_or(Ended::Done, Ended::of);
    let part = view.part(None);
    if output.json {
        let info = run.info().await?;
        print::json(&json!({ "run": info, "view": part }))?;
        return Ok(ended);
    }
    let status = part.status.map(|status| format!("{status:?}").to_lowercase()).unwrap_or_default();
    let times = bars::whole(&part.times);
    let took = times.last().zip(times.first()).map_or(0, |(last, first)| last.saturating_sub(*first));
    let took = duration(std::time::Duration::from_millis(took));
    print::line(&safe(&format!("{} of {}: {status} after {took}, {} events", run.id(), run.workflow(), times.len())))?;
    for row in tree::rows(&part) {
        let bar = bars::bar(&row, &times, usize::from(asked.bars));
        let line = format!("{:<48} {:<19} {bar}", safe(&row.label), row.state);
        print::line(line.trim_end())?;
    }
    for detail in &part.details {
        let said = match &detail.what {
            What::RunFailed { path, message, .. } => Some(format!("failed at {path}: {message}")),
            What::Asked { prompt, .. } => {
                let path = &part.things.path[detail.thing as usize];
                let is_open = view.state_of(path) == graphweft_inspector::view::State::Waiting;
                is_open.then(|| format!("waits for an answer: {prompt}\n  answer {} {path} ..", run.id()))
            }
            _ => None,
        };
        for line in said.iter().flat_map(|said| said.lines()) {
            print::line(&safe(line))?;
        }
    }
    Ok(ended)
}
