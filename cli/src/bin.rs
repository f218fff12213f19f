//! `graphweft`: see and steer the runs in a file.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    graphweft_cli::main_of_files().await
}
