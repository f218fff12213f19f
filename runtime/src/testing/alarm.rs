//! A limit of real time, whatever tokio's clock shows.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

/// Resolves after this much real time. Under tokio's paused clock, a timer of tokio would fire as soon as everything waits.
pub(super) fn alarm(after: Duration) -> impl Future<Output = ()> {
    let (rings, rang) = oneshot::channel();
    let (until_dropped, is_dropped) = channel::<()>();
    let waiting = thread::spawn(move || {
        if is_dropped.recv_timeout(after) == Err(RecvTimeoutError::Timeout) {
            let _may_be_dropped = rings.send(());
        }
    });
    async move {
        let _until_dropped = until_dropped;
        let _ended = rang.await;
        drop(waiting);
    }
}
