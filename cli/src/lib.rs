//! The command line of graphweft: `graphweft list runs.db`, and the same commands in a program of your own.
//!
//! The binary `graphweft` opens a store without the code of its workflows. It lists and shows runs, follows, answers, signals, cancels
//! and deletes them, and serves the page. [`main`] puts the same commands into a program that has the code, where runs can be
//! started anew as well: `retry` and `fork`.
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
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod error;
mod list;
mod print;
mod show;
mod tail;
mod times;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use graphweft::Engine;
use graphweft::store::SqliteStore;

use crate::arguments::{Alone, Own};
use crate::error::{CliError, Ended};

/// Carries out the arguments of the process in a program that has an engine. Engines that are to continue the runs of other processes
/// call [`Engine::recover`] before.
pub async fn main(engine: Engine) -> ExitCode {
    match Own::try_parse() {
        Ok(own) => {
            let carried_out = commands::carry_out(&engine, own.command, own.output).await;
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

async fn in_file(alone: Alone) -> Result<Ended, CliError> {
    let path: &Path = &alone.store;
    // A misspelt name would be a new store.
    if !path.exists() {
        return Err(CliError::NoStore { path: path.to_owned() });
    }
    let engine = Engine::builder().store(SqliteStore::open(path).await?).build()?;
    let carried_out = commands::carry_out(&engine, alone.command, alone.output).await;
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
