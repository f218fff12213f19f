//! Looks at the runs of the service, and steers them: `approvals-admin check` before a deployment, `list`, `retry`, `prune` ..

use std::process::ExitCode;

use approvals::Database;
use approvals::refunds::Bank;

#[tokio::main]
async fn main() -> ExitCode {
    let database = Database::of_environment();
    // The file is made by the service; a wrong name would be an empty one, in which all is well.
    if let Database::File(path) = &database
        && !path.is_file()
    {
        eprintln!("error: {database} is not there; set APPROVALS_DATABASE as for the service");
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
