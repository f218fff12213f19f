//! What is outside of the processes of one run: it survives their crashes.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use serde_json::Value as Json;
use tokio::time::Instant;

use crate::context::Context;
use crate::node::{Node, Payload, name_of};

/// A call of a mock.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) node: TypeId,
    pub(super) name: String,
    pub(super) path: String,
    /// The number of the process, from 0.
    pub(super) process: usize,
    /// Its recorded form, or why there is none.
    pub(super) input: Result<Json, String>,
}

/// What is outside of the processes of one run.
#[derive(Default)]
pub(super) struct World {
    /// The resources that were made for this run, each as it was made.
    resources: HashMap<TypeId, Box<dyn Any + Send + Sync>>,
    calls: Mutex<Vec<Call>>,
    process: AtomicUsize,
    /// For what a script counts (the executions of a mock, the questions of a name): the numbers of the paths, in the order of their
    /// first occurrence.
    counted: Mutex<HashMap<String, HashMap<String, usize>>>,
    began: OnceLock<(Instant, SystemTime)>,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(super) fn new(resources: HashMap<TypeId, Box<dyn Any + Send + Sync>>) -> Self {
        World { resources, ..World::default() }
    }

    pub(super) fn resource<T: Any>(&self) -> Option<&T> {
        self.resources.get(&TypeId::of::<T>())?.downcast_ref()
    }

    /// When it began, by tokio's clock and by that of the system.
    pub(super) fn began(&self) -> (Instant, SystemTime) {
        *self.began.get_or_init(|| (Instant::now(), SystemTime::now()))
    }

    /// Another process begins.
    pub(super) fn next_process(&self) {
        self.process.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn note_call<N: Node>(&self, ctx: &Context, input: &N::Input) {
        let call = Call {
            node: TypeId::of::<N>(),
            name: name_of::<N>(),
            path: ctx.path(),
            process: self.process.load(Ordering::Relaxed),
            input: input.to_record().map_err(|error| error.to_string()),
        };
        lock(&self.calls).push(call);
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        lock(&self.calls).clone()
    }

    /// The number of this path among those that were counted under a name, from 0. A path keeps its number.
    pub(super) fn number_of(&self, name: &str, path: &str) -> usize {
        let mut counted = lock(&self.counted);
        let numbers = counted.entry(name.to_owned()).or_default();
        let next = numbers.len();
        *numbers.entry(path.to_owned()).or_insert(next)
    }
}
