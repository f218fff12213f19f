//! What a node's signature asks of the run.

use std::any::TypeId;

use serde::{Serialize, de::DeserializeOwned};

use crate::context::Context;
use crate::fault::Fault;
use crate::resource::ResourceNeed;

/// `#[resource] name: &T`, as something to be checked before the run starts.
pub fn need<T: Send + Sync + 'static>() -> ResourceNeed {
    ResourceNeed { type_id: TypeId::of::<T>(), type_name: std::any::type_name::<T>() }
}

/// `#[resource] name: &T`
pub async fn resource<T: Send + Sync + 'static>(context: &Context) -> &T {
    match context.resource::<T>() {
        Some(resource) => resource,
        None => context.stop(missing_resource(std::any::type_name::<T>())).await,
    }
}

/// `#[resource] name: &T` in a blocking body, where it was found to be there before the body was moved.
pub fn held<T: Send + Sync + 'static>(context: &Context) -> &T {
    match context.resource::<T>() {
        Some(resource) => resource,
        None => unreachable!("{}", missing_resource(std::any::type_name::<T>())),
    }
}

pub(crate) fn missing_resource(type_name: &str) -> Fault {
    let message =
        format!("the engine has no resource of type `{type_name}`: add it with `Engine::builder().resource(..)`");
    Fault::Context { message }
}

/// `#[state] name: T`
pub async fn parameter<T: Serialize + DeserializeOwned>(context: &Context, name: &str) -> T {
    match context.state().parameter::<T>(name) {
        Ok(value) => value,
        Err(fault) => context.stop(fault).await,
    }
}
