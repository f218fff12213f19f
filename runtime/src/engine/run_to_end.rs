//! Driving a run in the task of its caller.

use std::future::poll_fn;
use std::sync::{Arc, PoisonError, TryLockError};
use std::task::{Context as Waker, Poll};

use super::error::StartError;
use super::inner::Engine;
use super::live::ReadyRun;
use super::run::Run;
use super::runs::{Live, Reservation};
use super::runtime;
use super::start::{Prepared, Start, left_to_others};
use crate::halt::Halt;
use crate::node::Payload;
use crate::run_error::RunError;
use crate::shared::Progress;
use crate::workflow::Workflow;

/// A run that was driven in the task of its caller returned no output.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::RunToEndError;
///
/// # #[node] async fn charge(cents: u32) -> Result<u32, String> { Err(format!("{cents} cents are declined")) }
/// # workflow! { pub pay(u32) -> u32 { START => charge; } }
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// match engine.run_to_end::<pay>(40).await {
///     Ok(cents) => println!("{cents}"),
///     Err(RunToEndError::Run(RunError::Failed(failure))) => assert_eq!(failure.path, "pay/charge"),
///     Err(RunToEndError::Start(why)) => panic!("nothing has run: {why}"),
///     Err(other) => panic!("{other}"),
/// }
/// # Ok::<(), graphweft::BuildError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RunToEndError {
    /// The run could not be started. Nothing of it has run; see [`StartError`] for what may be recorded.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run returned no output.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Engine {
    /// Starts a run and drives it in the task of the caller: [`start`](Self::start) with [`Start::run_to_end`].
    ///
    /// # Errors
    /// See [`Start::run_to_end`].
    pub async fn run_to_end<W: Workflow>(&self, input: W::Input) -> Result<W::Output, RunToEndError> {
        self.start::<W>(input).run_to_end().await
    }

    /// Enters a run into the table, to be driven by its caller.
    fn admit_in_caller(&self, reservation: Reservation, ready: ReadyRun) -> Result<Arc<Live>, Halt> {
        let runtime = runtime::current()?;
        let (live, driven) = self.admit(reservation, ready)?;
        *live.in_caller.lock().unwrap_or_else(PoisonError::into_inner) = Some((runtime, Box::pin(driven.run())));
        Ok(live)
    }
}

impl<T: Payload> Start<T> {
    /// Starts the run and waits for its output, as awaiting this and [`Run::result`] do, and drives the run in the task
    /// of the caller: a short run is spared the cost of a task and of waking the caller. It is a run like any other,
    /// which is recorded and listed, and which can be answered and cancelled from elsewhere.
    ///
    /// The run moves while this future is polled. From the moment that it waits for an answer or a signal, or the engine is shut
    /// down, or this future is dropped, it is driven in a task of its own: it continues.
    ///
    /// If a run with the [id](Self::id) exists, waits for that one.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop a run that is recorded, and one that is not recorded yet may be or not;
    /// `get_run` finds it by its id, and [`Run::cancel`] stops it.
    ///
    /// # Errors
    /// [`RunToEndError::Start`] with the errors of starting a run, and [`RunToEndError::Run`] with those of
    /// [`Run::result`], among them [`RunError::Waiting`] if the run waits for an answer, and
    /// [`RunError::AwaitingSignals`] if it waits for a signal.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # #[node] async fn charge(cents: u64) -> String { cents.to_string() }
    /// # workflow! { pub pay(u64) -> String { START => charge; } }
    /// # graphweft::block_on(async {
    /// let engine = Engine::builder().build()?;
    /// assert_eq!(engine.run_to_end::<pay>(4000).await?, "4000");
    /// assert_eq!(engine.start::<pay>(4000).id("order-42").run_to_end().await?, "4000");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    pub async fn run_to_end(self) -> Result<T, RunToEndError> {
        let engine = self.engine().clone();
        let run = match self.prepare().await? {
            Prepared::Existing(run) | Prepared::Later(run) => run,
            Prepared::New(reservation, ready) => {
                let journal = Arc::clone(ready.journal());
                match engine.admit_in_caller(reservation, ready) {
                    Ok(live) => {
                        let in_caller = InCaller(&live);
                        poll_fn(|waker| in_caller.poll(waker)).await;
                        drop(in_caller);
                        Run::of_live(&engine, live)
                    }
                    Err(Halt::ShutDown) => Box::pin(left_to_others(&engine, &journal)).await,
                    Err(halt) => return Err(StartError::from(halt).into()),
                }
            }
        };
        Ok(run.result().await?)
    }
}

/// A run that is driven in the task of its caller as long as this lives.
struct InCaller<'l>(&'l Live);

impl InCaller<'_> {
    /// Ready when the caller has nothing more to drive: the run is over, waits for an answer, or is driven elsewhere.
    fn poll(&self, waker: &mut Waker<'_>) -> Poll<()> {
        let Live { in_caller, journal, .. } = self.0;
        let mut driven = in_caller.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((_, run)) = &mut *driven else { return Poll::Ready(()) };
        if run.as_mut().poll(waker).is_ready() {
            *driven = None;
            return Poll::Ready(());
        }
        drop(driven);
        let waits = journal.progress.now() == Progress::Waiting && journal.desk.waits_for_others();
        // A run that has to stop must not depend on when its caller polls again.
        if waits || journal.is_stopped() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for InCaller<'_> {
    fn drop(&mut self) {
        self.0.hand_over();
    }
}

impl Live {
    /// Has the run driven in a task of its own, if it is driven in that of its caller and is not being polled now.
    pub(super) fn hand_over(&self) {
        let mut driven = match self.in_caller.try_lock() {
            Ok(driven) => driven,
            Err(TryLockError::Poisoned(driven)) => driven.into_inner(),
            // The caller is polling the run, and checks after that whether it has to stop.
            Err(TryLockError::WouldBlock) => return,
        };
        let taken = driven.take();
        drop(driven);
        // A future that has panicked in the middle of a poll must not be polled again.
        if let Some((runtime, run)) = taken
            && !std::thread::panicking()
        {
            runtime.spawn(run);
        }
    }
}
