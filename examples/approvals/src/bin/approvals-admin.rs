//! Looks at the runs of the service, and steers them: `approvals-admin check` before a deployment, `list`, `retry`, `prune` ..

use std::path::PathBuf;
use std::process::ExitCode;

use approvals::refunds::Bank;

#[tokio::main]
async fn main() -> ExitCode {
    let database = std::env::var_os("APPROVALS_DATABASE").map_or_else(|| "approvals.db".into(), PathBuf::from);
    match approvals::engine(&database, Bank::default()).await {
        Ok(engine) => graphweft_cli::main(engine).await,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
