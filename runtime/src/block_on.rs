//! A runtime for programs that have none.

use std::future::Future;

/// Runs a future to its end on a multi-thread tokio runtime of its own, with timers, and returns its output. For the
/// `main` of a program that has no runtime; one that has `#[tokio::main]` just awaits.
///
/// ```
/// use graphweft::prelude::*;
///
/// #[node]
/// async fn double(n: u32) -> u32 {
///     n * 2
/// }
///
/// workflow! {
///     pub doubled(u32) -> u32 { START => double; }
/// }
///
/// assert_eq!(graphweft::block_on(doubled(21)).unwrap(), 42);
/// ```
///
/// # Panics
/// If it is called inside a tokio runtime, or if the operating system gives no threads.
pub fn block_on<F: Future>(future: F) -> F::Output {
    match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("the operating system gives no threads for a tokio runtime: {error}"),
    }
}
