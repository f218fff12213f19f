//! Whose state it is.

use std::fmt::Debug;

use super::error::ScopeError;
use crate::context::Context;
pub use crate::state::scope_ids::{APP, SESSION, USER};
use crate::state::{App, Session, StateKey, User};

/// Whose state it is: [`Session`], [`User`] or [`App`].
///
/// A page of administrators that works for all three:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::scope::{Scope, ScopeError, User};
/// use graphweft::state::Sum;
///
/// const VISITS: StateKey<u64, Sum, User> = StateKey::new("visits");
///
/// async fn keys_of<S: Scope>(engine: &Engine, scope: S, id: &str) -> Result<Vec<String>, ScopeError> {
///     Ok(engine.scope(scope, id).await?.keys().map(str::to_owned).collect())
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().build()?;
/// engine.scope(User, "ada").await?.update().merge(VISITS, 1).await?;
/// assert_eq!(keys_of(&engine, User, "ada").await?, ["visits"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub trait Scope: sealed::Sealed + Copy + Debug + Send + Sync + 'static {
    #[doc(hidden)]
    const NAME: &'static str;
    /// The key of the run's state with the id.
    #[doc(hidden)]
    const ID: StateKey<String>;
    /// The id in a run that has none.
    #[doc(hidden)]
    fn default_id(workflow: &str) -> Option<&str>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scopes {
    ($($scope:ident: $name:literal, $id:ident, $default:expr;)*) => {$(
        impl sealed::Sealed for $scope {}

        impl Scope for $scope {
            const NAME: &'static str = $name;
            const ID: StateKey<String> = $id;

            fn default_id(workflow: &str) -> Option<&str> {
                let default: fn(&str) -> Option<&str> = $default;
                default(workflow)
            }
        }
    )*};
}

scopes! {
    Session: "session", SESSION, |_| None;
    User: "user", USER, |_| None;
    App: "app", APP, |workflow| Some(workflow);
}

/// The id of the scope in this run.
pub(super) fn id_of<S: Scope>(context: &Context) -> Result<String, ScopeError> {
    if let Some(id) = context.state().get(S::ID)? {
        return Ok(id);
    }
    let path = context.path();
    let workflow = path.split_once('/').map_or(path.as_str(), |(workflow, _)| workflow);
    let none = || ScopeError::NoId { scope: S::NAME.to_owned(), key: S::ID.name().to_owned() };
    S::default_id(workflow).map(str::to_owned).ok_or_else(none)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_application_has_an_id_without_one() {
        assert_eq!(App::default_id("chat"), Some("chat"));
        assert_eq!((Session::default_id("chat"), User::default_id("chat")), (None, None));
    }
}
