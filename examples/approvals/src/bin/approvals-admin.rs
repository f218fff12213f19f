//! Looks at the runs of the service, and steers them: `approvals-admin check` before a deployment, `list`, `retry`, `prune` ..

use std::process::ExitCode;

use approvals::refunds::Bank;

#[tokio::main]
async fn main() -> ExitCode {
    let database = approvals::database();
    // The file is made by the service; a wrong name would be an empty one, in which all is well.
    if !database.is_file() {
        eprintln!("error: there is no file `{}`; set APPROVALS_DATABASE as for the service", database.display());
        return ExitCode::FAILURE;
    }
    match approvals::engine(&database, Bank::default()).await {
        Ok(engine) => graphweft_cli::main(engine).await,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
