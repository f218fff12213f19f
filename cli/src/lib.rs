//! The command line of graphweft: `graphweft --store runs.db list`, and the same commands in a program of your own.
//!
//! The binary `graphweft` opens a store without the code of its workflows. It lists and shows runs, follows, answers, signals, cancels
//! and deletes them, and serves the page. It requests a `retry`, which a program that has the code carries out. [`main`] puts the
//! same commands into such a program, where `retry` and `fork` wait for what comes of them. There, `check` lists the
//! unfinished runs that the program could not resume.
//!
//! ```no_run
//! use std::process::ExitCode;
//! use graphweft::prelude::*;
//!
//! # #[node] async fn double(n: u32) -> u32 { 2 * n }
//! # workflow! { pub doubled(u32) -> u32 { START => double; } }
//! #[tokio::main]
//! async fn main() -> ExitCode {
//!     let store = SqliteStore::open("runs.db").await.expect("the file can be opened");
//!     let engine = Engine::builder().store(store).register::<doubled>().build().expect("the workflows have different names");
//!     graphweft_cli::main(engine).await
//! }
//! ```
//!
//! With the feature `mcp`, the command `mcp` serves the workflows of such a program as the tools of an MCP server over the standard streams;
//! see `graphweft_inspector::mcp`.
//!
//! A file or a directory that this user cannot write to is read by all commands that change nothing, and its page is read-only. What is
//! not possible then is in [`read_only`](graphweft::store::SqliteStoreBuilder::read_only).
//!
//! # Exit codes
//! | code | meaning |
//! | --- | --- |
//! | 0 | done; for a run that was waited for or shown: it has completed, or is under way |
//! | 1 | refused, or the store cannot be read |
//! | 2 | the arguments are wrong |
//! | 3 | the run waits for an answer or a signal |
//! | 4 | the run has failed |
//! | 5 | the run was cancelled |
//! | 6 | `check`: there are runs that this program could not resume |
//! | 7 | the output cannot be written; what was to be done is done |
//!
//! An output that is closed early, as by `head`, changes nothing: what was to be done is done, and the code is the same. `cancel` of a run
//! that was cancelled before is 0, and of one that has completed or failed 1.
//!
//! # Errors
//! An error is a text on standard error, with `--json` an object in a line: `{"error":{"code":"unknown_run","message":".."}}`, and `field`
//! if something at one place of a value is wrong. The codes are those of [`graphweft_inspector::Problem`], and `no_store`, `no_graph`,
//! `build_failed`, `not_served`, `output_failed` and `usage`. Nothing is on standard output then, except for what `fork`, `ui` and `tail`
//! print at once: the id of the new run, the address, and events.
//!
//! # Texts of others
//! Control characters, characters without a width and those that change the direction of writing are printed as `\u{fffd}`, and escaped
//! in JSON: no text in a file of another person steers the terminal.
#![forbid(unsafe_code)]
// `print` is the one door.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod check;
mod commands;
mod completions;
mod conversation;
mod error;
mod list;
mod print;
mod prune;
mod quoted;
mod safe;
mod show;
mod status;
mod tail;
mod times;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use graphweft::Engine;
use graphweft::store::{SqliteStore, Store, StoreError};
use serde_json::json;

use crate::arguments::{Alone, Command, Output, Own, Request};
use crate::error::{CliError, Ended};

/// Carries out the arguments of the process in a program that has an engine. Engines that are to continue the runs of other processes
/// call [`Engine::recover`] before.
///
/// ```no_run
/// use std::process::ExitCode;
/// use graphweft::prelude::*;
///
/// # #[node] async fn double(n: u32) -> u32 { 2 * n }
/// # workflow! { pub doubled(u32) -> u32 { START => double; } }
/// #[tokio::main]
/// async fn main() -> ExitCode {
///     let store = SqliteStore::open("runs.db").await.expect("the file can be opened");
///     let engine = Engine::builder().store(store).register::<doubled>().build().expect("the workflows have different names");
///     // `my-program list`, `my-program retry order-7`, `my-program check` ..
///     graphweft_cli::main(engine).await
/// }
/// ```
pub async fn main(engine: Engine) -> ExitCode {
    match Own::try_parse() {
        Ok(own) => {
            let carried_out = match own.request {
                Request::OfRuns(command) => commands::carry_out(&engine, command, own.output).await,
                Request::Completions(asked) => completions::print(&mut Own::command(), &own_name(), asked, own.output),
            };
            engine.shutdown().await;
            code(carried_out, own.output)
        }
        Err(error) => usage(&error),
    }
}

/// The same for a file, whose workflows are not known: what the binary `graphweft` does.
///
/// ```no_run
/// #[tokio::main]
/// async fn main() -> std::process::ExitCode {
///     graphweft_cli::main_of_files().await // `graphweft --store runs.db list`
/// }
/// ```
pub async fn main_of_files() -> ExitCode {
    match Alone::try_parse() {
        Ok(alone) => {
            let output = alone.output;
            code(in_file(alone).await, output)
        }
        Err(error) => usage(&error),
    }
}

/// The name by which the program was started.
fn own_name() -> String {
    let path = std::env::args_os().next().map(PathBuf::from);
    let name = path.as_ref().and_then(|path| path.file_stem()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| Own::command().get_name().to_owned())
}

async fn in_file(alone: Alone) -> Result<Ended, CliError> {
    let mut command = match alone.request {
        Request::OfRuns(command) => command,
        Request::Completions(asked) => {
            let name = Alone::command().get_name().to_owned();
            return completions::print(&mut Alone::command(), &name, asked, alone.output);
        }
    };
    let path: &Path = &alone.store;
    #[cfg(feature = "postgres")]
    if let Some(address) = path.to_str().filter(|store| is_address(store)) {
        let store = graphweft_postgres::PostgresStore::builder(address).schema(alone.schema);
        // A misspelt name would be a new store.
        let store = match store.clone().existing().connect().await {
            Err(StoreError::OlderFormat { .. }) if command.writes() => store.connect().await?,
            existing => existing?,
        };
        return in_store(store, command, alone.output).await;
    }
    #[cfg(not(feature = "postgres"))]
    if path.to_str().is_some_and(is_address) {
        return Err(CliError::NoPostgres);
    }
    match path.try_exists() {
        Ok(true) => {}
        // A misspelt name would be a new store.
        Ok(false) => return Err(CliError::NoStore { path: path.to_owned() }),
        // It may well be there, as in a directory that is closed to this user.
        Err(error) => {
            return Err(StoreError::Open { path: path.to_owned(), message: error.to_string() }.into());
        }
    }
    // It would become a store, also by a command that only reads.
    if path.metadata().is_ok_and(|file| file.is_file() && file.len() == 0) {
        return Err(CliError::EmptyStore { path: path.to_owned() });
    }
    let store = open(path, &mut command, alone.output).await?;
    in_store(store, command, alone.output).await
}

/// Carries out a command without the code of the workflows.
async fn in_store(store: impl Store, command: Command, output: Output) -> Result<Ended, CliError> {
    let engine = Engine::builder().store(store).build()?;
    let carried_out = commands::carry_out(&engine, command, output).await;
    engine.shutdown().await;
    carried_out
}

/// Whether a store is a database on a server, and no file.
fn is_address(store: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| store.starts_with(scheme))
}

/// Opens a file. One that cannot be written to is read, if that is enough. One of an older format is converted only for a command that
/// writes: the program that it belongs to could not open it any more.
async fn open(path: &Path, command: &mut Command, output: Output) -> Result<SqliteStore, StoreError> {
    let refusal = match SqliteStore::builder().existing().open(path).await {
        Err(StoreError::OlderFormat { .. }) if command.writes() => return SqliteStore::open(path).await,
        Err(refusal @ (StoreError::ReadOnly { .. } | StoreError::Busy { .. })) if !command.writes() => refusal,
        opened => return opened,
    };
    let store = SqliteStore::builder().read_only().open(path).await?;
    if let Command::Ui(asked) = command
        && !asked.read_only
    {
        asked.read_only = true;
        if !output.json {
            print::error(&format!("the page changes nothing: {refusal}"));
        }
    }
    Ok(store)
}

fn code(carried_out: Result<Ended, CliError>, output: Output) -> ExitCode {
    match carried_out {
        Ok(ended) => ended.code(),
        Err(error) => {
            match output.json {
                true => print::json_error(&error.json()),
                // No further line looks like another error.
                false => print::error(&format!("error: {error}").replace('\n', "\n    ")),
            }
            error.exit_code()
        }
    }
}

/// `--help` and `--version` come here as well.
fn usage(error: &clap::Error) -> ExitCode {
    let output = Output { json: std::env::args_os().any(|argument| argument == "--json") };
    let text = error.render().to_string();
    if !error.use_stderr() {
        return code(Ended::Done.having_printed(print::help(error)), output);
    }
    if output.json {
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        print::json_error(&json!({ "error": { "code": "usage", "message": message } }));
    } else {
        print::error(&text);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
