//! From a run to its report: progress, questions and their answers, Ctrl-C.

use std::io::IsTerminal;

use graphweft::{AnswerError, EventKind, Outcome, Run};
use tokio::sync::oneshot;

use crate::answer::Answer;
use crate::arguments::Arguments;
use crate::dialogue::{self, Open};
use crate::progress;
use crate::report::Report;
use crate::runs::Runs;
use crate::stop::Stop;
use crate::ui::Ui;

/// Waits for the report of a run. If it is stopped, the run is not lost: `--resume` resumes it.
pub(crate) async fn to_report(
    runs: &Runs,
    run: Run<Report>,
    arguments: &Arguments,
    ui: Option<&Ui>,
) -> Result<Report, Stop> {
    let id = run.id().to_owned();
    tokio::select! {
        report = answer_until_done(runs, run, arguments, ui) => report,
        _ = tokio::signal::ctrl_c() => {
            Err(Stop::Interrupted(format!("run {id} is stopped; `--resume {id}` resumes it")))
        }
    }
}

async fn answer_until_done(
    runs: &Runs,
    mut run: Run<Report>,
    arguments: &Arguments,
    ui: Option<&Ui>,
) -> Result<Report, Stop> {
    let id = &run.id().to_owned();
    let try_again = || format!("`--resume {id}` retries it");
    let mut given = arguments.answer.as_slice();
    let past = runs.history(id).await?;
    let mut outcome = progress::show_until(&past, run.events_from(past.len() as u64), run.outcome()).await;
    loop {
        let open = match outcome.map_err(|error| Stop::audit(error).with_help(&try_again()))? {
            Outcome::Waiting(questions) => Open::read(questions)?,
            Outcome::Completed(report) => {
                dialogue::matched(id, given, &[])?;
                return Ok(report);
            }
            // The lock file is all that can be wrong with the input; what is wrong with a package is a finding.
            Outcome::Failed(failure) if failure.path == "audit/read_lock" && failure.cause.fault.is_none() => {
                return Err(Stop::Input(failure.cause.to_string()));
            }
            Outcome::Failed(failure) if failure.path == "audit/time_is_up" => {
                return Err(Stop::Audit(failure.cause.to_string()).with_help(&try_again()));
            }
            Outcome::Failed(failure) => return Err(Stop::audit(failure).with_help(&try_again())),
            outcome => return Err(Stop::Audit(format!("run {id} has ended without a report: {outcome:?}"))),
        };
        if !given.is_empty() {
            for (question, answer) in dialogue::matched(id, std::mem::take(&mut given), &open)? {
                record(&run, &question, &answer).await?;
            }
        } else if arguments.leave_undecided {
            for open in &open {
                record(&run, &open.question, &Answer::LEAVE).await?;
            }
        } else if let Some(ui) = ui {
            let questions = if open.len() == 1 { "question" } else { "questions" };
            eprintln!("run {id} waits for {} {questions}: answer at {}", open.len(), ui.inbox());
            until_answered(runs, &run, open.len()).await?;
        } else if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
            for open in &open {
                let Some(answer) = at_the_terminal(open.clone()).await? else {
                    return Err(Stop::Waits(format!("run {id} waits; `--resume {id}` asks again")));
                };
                record(&run, &open.question, &answer).await?;
            }
        } else {
            return Err(Stop::Waits(dialogue::describe(id, &open).trim_end().to_owned()));
        }
        // The process that asked may be dead by now.
        run = runs.take_up(id).await?;
        outcome = run.outcome().await;
    }
}

/// Waits until one of the open questions is answered from elsewhere, or the run has ended.
async fn until_answered(runs: &Runs, run: &Run<Report>, open: usize) -> Result<(), Stop> {
    let past = runs.history(run.id()).await?.len() as u64;
    // The answer may be one of the events before that.
    if run.questions().await.map_err(Stop::audit)?.len() != open {
        return Ok(());
    }
    let mut events = run.events_from(past);
    while let Some(event) = events.next().await {
        if matches!(event.kind, EventKind::Answered { .. }) {
            break;
        }
    }
    Ok(())
}

async fn record(run: &Run<Report>, question: &str, answer: &Answer) -> Result<(), Stop> {
    let answer = serde_json::to_value(answer).map_err(Stop::audit)?;
    match run.answer(question, answer).await {
        // It was answered from another terminal.
        Err(error @ AnswerError::AlreadyAnswered { .. }) => eprintln!("{error}"),
        Err(error) => return Err(Stop::audit(error)),
        Ok(()) => {}
    }
    Ok(())
}

async fn at_the_terminal(open: Open) -> Result<Option<Answer>, Stop> {
    let (send, answer) = oneshot::channel();
    // Not one of tokio's threads: after Ctrl-C the program would wait for it.
    std::thread::spawn(move || send.send(dialogue::ask(&open, &mut std::io::stdin().lock(), &mut std::io::stderr())));
    answer.await.unwrap_or(Ok(None)).map_err(Stop::audit)
}
