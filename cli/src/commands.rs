//! The commands that are short.

use graphweft::{AnswerError, Engine, Graph as RunGraph, RetryError, RunError, RunFilter, RunStatus};
use graphweft_inspector::Inspector;
use serde_json::{Value, json};

use crate::arguments::{Answer, Command, Fork, Format, Graph, OneRun, Output, Retry, Signal, Ui};
use crate::error::{CliError, Ended};
use crate::{check, list, print, prune, show, tail};

pub(crate) async fn carry_out(engine: &Engine, command: Command, output: Output) -> Result<Ended, CliError> {
    match command {
        Command::List(asked) => list::runs(engine, asked, output).await,
        Command::Show(asked) => show::show(engine, asked, output).await,
        Command::Tail(asked) => tail::tail(engine, asked, output).await,
        Command::Graph(asked) => graph(engine, asked, output).await,
        Command::Questions(asked) => list::questions(engine, asked, output).await,
        Command::Answer(asked) => answer(engine, asked, output).await,
        Command::Signal(asked) => signal(engine, asked, output).await,
        Command::Cancel(asked) => cancel(engine, asked, output).await,
        Command::Retry(asked) => retry(engine, asked, output).await,
        Command::Fork(asked) => fork(engine, asked, output).await,
        Command::Delete(asked) => {
            engine.delete_run(&asked.run).await?;
            done(output, &format!("`{}` is deleted", asked.run), &json!({ "run": asked.run }))
        }
        Command::Prune(asked) => prune::prune(engine, asked, output).await,
        Command::Check => check::check(engine, output).await,
        Command::Ui(asked) => ui(engine, asked, output).await,
        #[cfg(feature = "mcp")]
        Command::Mcp => mcp(engine).await,
    }
}

/// What was done is done, whatever becomes of the output.
fn done(output: Output, text: &str, value: &Value) -> Result<Ended, CliError> {
    Ended::Done.having_done(text, print::done(output, text, value))
}

/// Whether the engine is that of a file, whose workflows are not known.
pub(crate) fn has_no_code(engine: &Engine) -> bool {
    engine.workflows().next().is_none()
}

/// A run that was cancelled before is as it was to become. One that has ended otherwise is refused, since that cannot be undone.
async fn cancel(engine: &Engine, asked: OneRun, output: Output) -> Result<Ended, CliError> {
    let run = engine.get_run(&asked.run).await?.ok_or(CliError::UnknownRun { run: asked.run })?;
    // It is the one that is cancelled.
    let run = run.last().await?;
    match run.status().await? {
        RunStatus::Cancelled => {
            let text = format!("`{}` has already ended: it was cancelled", run.id());
            done(output, &text, &json!({ "run": run.id(), "requested": false }))
        }
        status @ (RunStatus::Completed | RunStatus::Failed) => {
            Err(CliError::RunOver { run: run.id().to_owned(), status })
        }
        _ => {
            run.cancel().await?;
            let text = format!("cancellation of `{}` is requested", run.id());
            done(output, &text, &json!({ "run": run.id(), "requested": true }))
        }
    }
}

async fn retry(engine: &Engine, asked: Retry, output: Output) -> Result<Ended, CliError> {
    let mut retry = engine.retry(&asked.run);
    for path in asked.from {
        retry = retry.from_node(path);
    }
    let run = retry.await.map_err(|error| match error {
        // One that has failed needs no workflow: its retry is requested.
        RetryError::Run(RunError::NotRegistered { .. }) if has_no_code(engine) => {
            CliError::NotFailed { run: asked.run }
        }
        error => error.into(),
    })?;
    if !engine.workflows().any(|name| name == run.workflow()) {
        let text = format!("a retry of `{}` is requested", run.id());
        return done(output, &text, &json!({ "run": run.id(), "requested": true }));
    }
    let _outcome = run.outcome().await?;
    let ended = Ended::of(run.status().await?);
    let text = format!("`{}` was retried", run.id());
    ended.having_done(&text, print::done(output, &text, &json!({ "run": run.id() })))
}

async fn fork(engine: &Engine, asked: Fork, output: Output) -> Result<Ended, CliError> {
    let mut fork = engine.fork(&asked.run);
    if let Some(before) = asked.before {
        fork = fork.before(before);
    }
    if let Some(id) = asked.id {
        fork = fork.id(id);
    }
    let run = fork.await?;
    if !engine.workflows().any(|name| name == run.workflow()) {
        let text = format!("a fork of `{}` is requested: `{}`", asked.run, run.id());
        return done(output, &text, &json!({ "run": run.id(), "requested": true }));
    }
    // Before it is waited for: Ctrl-C ends that, and the run is there.
    let printed = print::done(output, run.id(), &json!({ "run": run.id() }));
    let _outcome = run.outcome().await?;
    Ended::of(run.status().await?).having_done(&format!("`{}` was forked as `{}`", asked.run, run.id()), printed)
}

/// The graph of a registered workflow, or of a run. A workflow that is not registered has the graph of its last run.
async fn graph(engine: &Engine, asked: Graph, output: Output) -> Result<Ended, CliError> {
    let of = asked.of;
    let graphs = if let Some(graphs) = engine.graph(&of) {
        graphs
    } else if engine.get_run(&of).await?.is_some() {
        engine.run_graph(&of).await?.ok_or(CliError::NoGraph { run: of })?
    } else {
        let last = engine.list_runs(RunFilter::default().workflow(of.as_str()).limit(1)).await?;
        let run = last.into_iter().next().ok_or(CliError::UnknownWorkflow { workflow: of })?.id;
        engine.run_graph(&run).await?.ok_or(CliError::NoGraph { run })?
    };
    Ended::Done.having_printed(match output.json {
        true => print::json(&json!(graphs)),
        false => print::text(picture(&graphs.graph, asked.format).trim_end_matches('\n')),
    })
}

fn picture(graph: &RunGraph, format: Format) -> String {
    match format {
        Format::Ascii => graph.to_text(),
        Format::Svg => graph.to_svg(),
        Format::Mermaid => graph.to_mermaid(),
        Format::Dot => graph.to_dot(),
    }
}

fn read(text: &str) -> Result<Value, CliError> {
    serde_json::from_str(text).map_err(|source| CliError::NotJson { text: text.to_owned(), source })
}

async fn answer(engine: &Engine, asked: Answer, output: Output) -> Result<Ended, CliError> {
    let mut answering = engine.answer(&asked.run, &asked.question, read(&asked.answer)?);
    if let Some(who) = asked.by {
        answering = answering.by(who);
    }
    if let Some(comment) = asked.comment {
        answering = answering.comment(comment);
    }
    answering.await.map_err(|error| match error {
        AnswerError::Run(RunError::NotRegistered { workflow }) if has_no_code(engine) => {
            CliError::NoProcess { workflow }
        }
        error => error.into(),
    })?;
    let value = json!({ "run": asked.run, "question": asked.question });
    let answered = done(output, &format!("`{}` of `{}` is answered", asked.question, asked.run), &value);
    // The answer has resumed it in this process, which is about to end.
    if engine.drives(&asked.run)
        && let Some(run) = engine.get_run(&asked.run).await?
    {
        let _outcome = run.outcome().await?;
    }
    answered
}

async fn signal(engine: &Engine, asked: Signal, output: Output) -> Result<Ended, CliError> {
    let mut signalling = engine.signal_json(&asked.run, asked.name, read(&asked.payload)?);
    if let Some(id) = asked.id {
        signalling = signalling.id(id);
    }
    let signalled = signalling.await?;
    done(output, &format!("{signalled:?}").to_lowercase(), &json!({ "signal": signalled }))
}

async fn ui(engine: &Engine, asked: Ui, output: Output) -> Result<Ended, CliError> {
    let inspector = Inspector::new(engine.clone());
    let inspector = if asked.read_only { inspector.read_only() } else { inspector };
    let port = asked.port;
    let serving = inspector.bind(port).await.map_err(|source| CliError::Bind { port, source })?;
    let printed = print::done(output, &serving.url(), &json!({ "url": serving.url(), "read_only": asked.read_only }));
    serving.until(async { _ = tokio::signal::ctrl_c().await }).await.map_err(CliError::Serve)?;
    Ended::Done.having_printed(printed)
}

/// Prints nothing: the output is that of the server.
#[cfg(feature = "mcp")]
async fn mcp(engine: &Engine) -> Result<Ended, CliError> {
    if has_no_code(engine) {
        return Err(CliError::NoWorkflows);
    }
    engine.recover().await?;
    graphweft_inspector::McpServer::new(engine.clone()).serve_stdio().await.map_err(CliError::Serve)?;
    Ok(Ended::Done)
}
