//! The parameters of a node that come from the run.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::context::{Context, StateWriter};
use crate::fault::Fault;
use crate::node::not_written;
use crate::pool::PoolContext;
use crate::resource::ResourceNeed;
use crate::state::{StateKey, StateKeyFact, WriteMode, decode, zero_of};
use crate::table::GivenKey;
use crate::value;

/// `#[resource] name: &T`, as a need that is checked before the run starts.
pub fn need<T: Send + Sync + 'static>() -> ResourceNeed {
    ResourceNeed::of::<T>()
}

/// `#[resource] name: &T`
pub async fn resource<T: Send + Sync + 'static>(context: &Context) -> &T {
    match context.resource::<T>() {
        Some(resource) => resource,
        None => context.stop(missing_resource(std::any::type_name::<T>())).await,
    }
}

/// `ctx: &PoolContext`
pub fn pool_context(context: Context) -> PoolContext {
    PoolContext::new(context)
}

/// `#[resource] name: &T` in a blocking body. Its existence was checked before the body was moved.
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

/// `#[state] name: T`; an `Option` may have no value.
pub async fn parameter<T: Serialize + DeserializeOwned>(context: &Context, name: &str, is_optional: bool) -> T {
    let read = || match context.state().value(name)? {
        Some(value) => decode(name, &value),
        None if is_optional => decode(name, &Value::Null),
        None => match context.0.zero(name) {
            Some(zero) => decode(name, &zero_of(zero)),
            None => Err(missing_key(name)),
        },
    };
    or_stop(context, read()).await
}

/// `#[state(OWNER)] name: T`
pub async fn parameter_of<P, T, R>(context: &Context, key: StateKey<T, R>) -> P
where
    P: ReadsKey<T>,
    T: Serialize + DeserializeOwned,
    R: WriteMode<T>,
{
    let name = key.name();
    let read = || match (context.state().get(key)?, P::missing(), R::ZERO) {
        (Some(value), ..) => Ok(P::of(value)),
        (None, Some(missing), _) => Ok(missing),
        (None, None, Some(zero)) => decode(name, &zero_of(zero)).map(P::of),
        (None, None, None) => Err(missing_key(name)),
    };
    or_stop(context, read()).await
}

async fn or_stop<T>(context: &Context, read: Result<T, Fault>) -> T {
    match read {
        Ok(value) => value,
        Err(fault) => context.stop(fault).await,
    }
}

fn missing_key(name: &str) -> Fault {
    let message = format!(
        "state key `{name}` has no value; write it in a node before this one, set it when the run starts, or take an `Option`"
    );
    Fault::Context { message }
}

/// "The parameter takes the type of the key."
#[diagnostic::on_unimplemented(
    message = "the key holds `{T}`, but the parameter takes `{Self}`",
    label = "has to be `{T}`",
    note = "a key that may have no value is read as `Option<{T}>`"
)]
pub trait ReadsKey<T>: Sized {
    /// The parameter from an existing value.
    fn of(value: T) -> Self;

    /// The parameter without a value; `None` if it needs one.
    fn missing() -> Option<Self>;
}

#[diagnostic::do_not_recommend]
impl<T> ReadsKey<T> for T {
    fn of(value: T) -> T {
        value
    }

    fn missing() -> Option<T> {
        None
    }
}

#[diagnostic::do_not_recommend]
impl<T> ReadsKey<T> for Option<T> {
    fn of(value: T) -> Option<T> {
        Some(value)
    }

    fn missing() -> Option<Option<T>> {
        Some(None)
    }
}

/// "The parameter writes the key."
#[diagnostic::on_unimplemented(
    message = "a `{Self}` does not write a `{K}`",
    label = "not a writer of a `{K}`",
    note = "the parameter has the types of its key: `#[writes(KEY)] name: StateWriter<String>` for a `StateKey<String>`, \
            `StateWriter<f64, Sum>` for a `StateKey<f64, Sum>`"
)]
pub trait WritesKey<K> {
    /// A writer of that key.
    fn writes(context: &Context, key: K) -> Self;
}

#[diagnostic::do_not_recommend]
impl<T, R> WritesKey<StateKey<T, R>> for StateWriter<T, R> {
    fn writes(context: &Context, key: StateKey<T, R>) -> Self {
        StateWriter::declared(&context.0, key)
    }
}

/// `#[writes(OWNER)] name: StateWriter<T>`
pub fn writer<W: WritesKey<K>, K>(context: &Context, key: K) -> W {
    W::writes(context, key)
}

/// A key as a fact for a proof.
pub const fn key_fact<T, R: WriteMode<T>>(key: &StateKey<T, R>) -> StateKeyFact {
    key.fact()
}

/// The same for a key of which a reader knows only the name.
pub const fn named_key_fact(name: &'static str) -> StateKeyFact {
    StateKeyFact::reduced(name, false)
}

/// The keys that must have a value, and their number; an `Option` needs none.
pub const fn needed<const N: usize>(all: [(StateKeyFact, bool); N]) -> ([StateKeyFact; N], usize) {
    let (mut needed, mut len, mut at) = ([named_key_fact(""); N], 0, 0);
    while at < N {
        let (fact, is_optional) = all[at];
        if !is_optional {
            needed[len] = fact;
            len += 1;
        }
        at += 1;
    }
    (needed, len)
}

/// `#[given(OWNER)]`
pub fn given<T: Serialize + DeserializeOwned, R: WriteMode<T>>(key: StateKey<T, R>) -> GivenKey {
    GivenKey {
        fact: key.fact(),
        read_plain: |json, max| {
            let value: T = value::from_plain(json)?;
            value::encode(&value, max).map_err(not_written)
        },
    }
}
