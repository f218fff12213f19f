//! The thread by which leases are renewed.
//!
//! A node that blocks keeps a thread of the program's runtime, and some that do, or large values that are written and read, keep all of them. The
//! runs of the program are not to be taken from it for that: it lives, and will record what its nodes have done.

use std::io;
use std::sync::OnceLock;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The thread of a store, which begins when it is needed first, and ends with this.
#[derive(Debug, Default)]
pub(crate) struct Leases(OnceLock<Option<Thread>>);

#[derive(Debug)]
struct Thread {
    runtime: Handle,
    /// The thread ends when this is dropped, with all that was spawned there.
    _ends: oneshot::Sender<()>,
}

impl Leases {
    /// Where tasks are spawned on it. Where the system gives no more threads, this is the present runtime.
    pub(crate) fn thread(&self) -> Handle {
        let thread = self.0.get_or_init(|| {
            let begun = Thread::begin();
            begun.inspect_err(|error| tracing::warn!(%error, "leases have no thread of their own")).ok()
        });
        thread.as_ref().map_or_else(Handle::current, |thread| thread.runtime.clone())
    }
}

impl Thread {
    fn begin() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (ends, ended) = oneshot::channel::<()>();
        let thread = Thread { runtime: runtime.handle().clone(), _ends: ends };
        thread::Builder::new().name("graphweft-lease".to_owned()).spawn(move || drop(runtime.block_on(ended)))?;
        Ok(thread)
    }
}
