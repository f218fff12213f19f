//! What all requests share.

use std::ops::Deref;
use std::sync::Arc;

use axum::http::StatusCode;
use graphweft::Engine;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::hosts::Hosts;
use crate::hub::Hub;
use crate::problem::Problem;

/// What all requests share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Inspected(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) hub: Hub,
    pub(crate) limits: Limits,
    /// One permit for each open stream.
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) read_only: bool,
    /// What the page sends back to change something; `None` where the caller's own authentication protects that.
    pub(crate) token: Option<String>,
    /// The names of this server; `None` where it is a part of another one.
    pub(crate) hosts: Option<Hosts>,
}

/// How much a client may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The bytes of a body.
    pub(crate) body: usize,
    /// The streams that are open at the same time.
    pub(crate) streams: usize,
    /// The sessions of MCP.
    #[cfg(feature = "mcp")]
    pub(crate) sessions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 1 << 20,
            streams: 256,
            #[cfg(feature = "mcp")]
            sessions: 256,
        }
    }
}

impl Inspected {
    pub(crate) fn new(
        engine: Engine,
        limits: Limits,
        read_only: bool,
        token: Option<String>,
        hosts: Option<Hosts>,
    ) -> Self {
        let (hub, streams) = (Hub::new(engine.clone()), Arc::new(Semaphore::new(limits.streams)));
        Inspected(Arc::new(Shared { engine, hub, limits, streams, read_only, token, hosts }))
    }

    /// For one more open stream.
    ///
    /// # Errors
    /// If there are as many as there may be.
    pub(crate) fn permit(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            let detail = format!("{} streams are open, and no more may be; close one", self.limits.streams);
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", detail)
        })
    }

    pub(crate) fn is_registered(&self, workflow: &str) -> bool {
        self.engine.workflows().any(|name| name == workflow)
    }
}

impl Deref for Inspected {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0
    }
}
