//! tokio for tests, under its own name: each `#[tokio::test]` runs on one thread, as tokio has it, or on as many as
//! `GRAPHWEFT_THREADS` says.
//!
//! `start_paused` keeps a test on one thread whatever is set: with `true` because tokio can pause time only there, and
//! with `false` because the test counts on the order in which one thread does things.
#![forbid(unsafe_code)]

pub use ::tokio::*;

/// Where `#[tokio::test]` gets its runtimes.
pub mod runtime {
    use std::num::NonZeroUsize;

    pub use ::tokio::runtime::*;

    /// As tokio's, but that of one thread may have several.
    #[derive(Debug)]
    pub struct Builder(::tokio::runtime::Builder);

    impl Builder {
        /// A runtime of one thread, or of `GRAPHWEFT_THREADS`.
        pub fn new_current_thread() -> Self {
            let threads = std::env::var("GRAPHWEFT_THREADS").ok().map(|text| text.parse::<NonZeroUsize>());
            match threads {
                None => Builder(::tokio::runtime::Builder::new_current_thread()),
                Some(threads) => {
                    let mut several = Builder::new_multi_thread();
                    several.worker_threads(threads.expect("GRAPHWEFT_THREADS is a number of threads").get());
                    several
                }
            }
        }

        /// A runtime of several threads.
        pub fn new_multi_thread() -> Self {
            Builder(::tokio::runtime::Builder::new_multi_thread())
        }

        /// With clocks and I/O.
        pub fn enable_all(&mut self) -> &mut Self {
            self.0.enable_all();
            self
        }

        /// With clocks.
        pub fn enable_time(&mut self) -> &mut Self {
            self.0.enable_time();
            self
        }

        /// So many threads.
        pub fn worker_threads(&mut self, threads: usize) -> &mut Self {
            self.0.worker_threads(threads);
            self
        }

        /// On one thread, and with a clock that jumps to whatever is waited for, or with one that does not.
        pub fn start_paused(&mut self, paused: bool) -> &mut Self {
            self.0 = ::tokio::runtime::Builder::new_current_thread();
            self.0.enable_all().start_paused(paused);
            self
        }

        /// The runtime.
        ///
        /// # Errors
        /// As tokio's.
        pub fn build(&mut self) -> std::io::Result<Runtime> {
            self.0.build()
        }
    }
}
