//! The command line of graphweft: `graphweft list runs.db`, and the same commands in a program of your own.
//!
//! The binary `graphweft` opens a store without the code of its workflows. It lists and shows runs, follows, answers, signals, cancels
//! and deletes them, and serves the page. It requests a `retry`, which a program that has the code carries out. [`main`] puts the
//! same commands into such a program, where `retry` waits for what comes of it and `fork` works as well. There, `check` lists the
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
#![forbid(unsafe_code)]

mod arguments;
mod check;
mod commands;
mod completions;
mod error;
mod list;
mod print;
mod prune;
mod show;
mod tail;
mod times;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use graphweft::Engine;
use graphweft::store::SqliteStore;

use crate::arguments::{Alone, Own, Request};
use crate::error::{CliError, Ended};

/// Carries out the arguments of the process in a program that has an engine. Engines that are to continue the runs of other processes
/// call [`Engine::recover`] before.
pub async fn main(engine: Engine) -> ExitCode {
    match Own::try_parse() {
        Ok(own) => {
            let carried_out = match own.request {
                Request::OfRuns(command) => commands::carry_out(&engine, command, own.output).await,
                Request::Completions(asked) => completions::print(&mut Own::command(), &own_name(), asked, own.output),
            };
            engine.shutdown().await;
            code(carried_out)
        }
        Err(error) => usage(&error),
    }
}

/// The same for a file, whose workflows are not known: what the binary `graphweft` does.
pub async fn main_of_files() -> ExitCode {
    match Alone::try_parse() {
        Ok(alone) => code(in_file(alone).await),
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
    let command = match alone.request {
        Request::OfRuns(command) => command,
        Request::Completions(asked) => {
            let name = Alone::command().get_name().to_owned();
            return completions::print(&mut Alone::command(), &name, asked, alone.output);
        }
    };
    let path: &Path = &alone.store;
    // A misspelt name would be a new store.
    if !path.exists() {
        return Err(CliError::NoStore { path: path.to_owned() });
    }
    let engine = Engine::builder().store(SqliteStore::open(path).await?).build()?;
    let carried_out = commands::carry_out(&engine, command, alone.output).await;
    engine.shutdown().await;
    carried_out
}

fn code(carried_out: Result<Ended, CliError>) -> ExitCode {
    match carried_out {
        Ok(ended) => ended.code(),
        // Who reads the output has seen enough.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    // It cannot be said where nothing can be printed.
    let _printed = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
