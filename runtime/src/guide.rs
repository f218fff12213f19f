//! The guide, one page in each module.
//!
//! | page | contents |
//! | --- | --- |
//! | [`first_workflow`] | nodes, values, a route, an engine, from an empty crate |
//! | [`shapes`] | routes, joins, loops: the whole language |
//! | [`running`] | engines, resources, events, all runs |
//! | [`errors`] | from the error of a node to the `RunError` of its run; retries, time limits, panics |
//! | [`durable`] | stores, crashes, signals, retries, finding and deleting runs |
//! | [`people`] | questions, deadlines, approvals, an inbox |
//! | [`children`] | steps, children, timers, runs that start others or have no end |
//! | [`state`] | what the nodes of a run share, and what outlives a run |
//! | [testing](https://docs.rs/graphweft/latest/graphweft/guide/testing/index.html) | contexts, mocks, crashes, upgrades, arms that no test takes |
//! | [`upgrading`] | what may change while runs are under way: graphs, types, several versions |
//! | [`deploying`] | the program of a service: start, SIGTERM, processes, a container, limits |
//! | [`operating`] | which store, new versions, failures, backups, retention, several machines |
//! | [`coming_from`] | for those who know Temporal, LangGraph or ADK |
//! | [`compile_errors`] | what the compiler reports |
//! | [`editor`] | what rust-analyzer shows and completes |
//! | [`features`] | what each feature brings, and SQLite beside sqlx |
//! | [`comparison`] | with hand-written code, other crates and servers |

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/first.md")]
pub mod first_workflow {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/shapes.md")]
pub mod shapes {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/running.md")]
pub mod running {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/errors.md")]
pub mod errors {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/durable.md")]
pub mod durable {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/people.md")]
pub mod people {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/children.md")]
pub mod children {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/state.md")]
pub mod state {}

// The feature that it is about.
#[cfg(feature = "test-util")]
#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/testing.md")]
pub mod testing {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/upgrading.md")]
pub mod upgrading {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/deploying.md")]
pub mod deploying {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/operating.md")]
pub mod operating {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/coming-from.md")]
pub mod coming_from {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/compile-errors.md")]
pub mod compile_errors {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/editor.md")]
pub mod editor {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/features.md")]
pub mod features {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/comparison.md")]
pub mod comparison {}
