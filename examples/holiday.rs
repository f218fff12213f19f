//! People in the loop: a request for a holiday. The program ends while it waits for the answer, and continues when it is run again.
//!
//! The page to it: `docs/guide/people.md`.
//!
//! ```sh
//! cargo run --example holiday -- holiday.db ask ada 12
//! cargo run --example holiday -- holiday.db            # the inbox
//! cargo run --example holiday -- holiday.db answer ada '{"Fewer": 10}' grace
//! cargo run --example holiday -- holiday.db answer ada '"Granted"' grace
//! ```

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{AskHuman, QuestionFilter};

#[value]
struct Request {
    who: String,
    days: u32,
}

/// What a manager answers.
#[value]
#[derive(Route)]
enum Verdict {
    Granted,
    /// So many days at most.
    Fewer(u32),
    Refused(String),
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Asks the one who wants to go whether less will do, for a week.
#[node]
async fn haggle(days: u32, ctx: &Context) -> bool {
    let asked = ctx.ask::<bool>("fewer", format!("Are {days} days enough?")).payload(days);
    asked.within(7 * DAY).await.unwrap_or(false)
}

#[node]
async fn grant() -> String {
    "Have a good time.".to_owned()
}

#[node]
async fn refuse(why: String) -> String {
    format!("Not now: {why}.")
}

#[node]
async fn stay() -> String {
    "Another time, then.".to_owned()
}

workflow! {
    holiday(Request) -> String {
        let decide: AskHuman<Request, Verdict> = AskHuman::new("decide", "Can they go?");
        START => decide => <granted: grant, fewer: haggle, refused: refuse>;
        haggle => <true: grant, false: stay>;
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [file, command @ ..] = arguments.as_slice() else { return Err("usage: holiday FILE [COMMAND ..]".into()) };
    let store = SqliteStore::open(file).await?;
    let engine = Engine::builder().store(store).register::<holiday>().build()?;
    engine.recover().await?;
    match command {
        [] => inbox(&engine).await?,
        ["ask", who, days] => {
            let request = Request { who: (*who).to_owned(), days: days.parse()? };
            let run = engine.start::<holiday>(request).id(*who).await?;
            report(&run).await?;
        }
        ["answer", id, answer, by] => {
            let run = engine.get_run_of::<holiday>(id).await?.ok_or("there is no such request")?;
            let questions = run.questions().await?;
            let question = questions.first().ok_or("nothing is asked")?;
            let answer: serde_json::Value = serde_json::from_str(answer)?;
            run.answer(&question.id, answer).by(*by).await?;
            report(&run).await?;
        }
        _ => return Err("usage: holiday FILE [ask WHO DAYS | answer WHO JSON BY]".into()),
    }
    engine.shutdown().await;
    Ok(())
}

/// What a request has come to.
async fn report(run: &Run<String>) -> Result<(), Box<dyn Error>> {
    match run.outcome().await? {
        Outcome::Completed(text) => println!("{text}"),
        Outcome::Waiting(questions) => {
            for question in questions {
                println!("{}: {} {}", question.id, question.prompt, question.payload);
            }
        }
        other => println!("{other:?}"),
    }
    Ok(())
}

/// What is asked of anyone.
async fn inbox(engine: &Engine) -> Result<(), Box<dyn Error>> {
    for asked in engine.questions(QuestionFilter::default()).await? {
        println!("{}: {} {}", asked.run, asked.question.prompt, asked.question.payload);
    }
    Ok(())
}
