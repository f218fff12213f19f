//! The guide, one page in each module.
//!
//! | page | contents |
//! | --- | --- |
//! | [`shapes`] | the language, with examples |
//! | [`compile_errors`] | what the compiler reports |
//! | [`editor`] | what rust-analyzer shows and completes |
//! | [`running`] | engines, events, tests, failures, state |
//! | [`durable`] | stores, questions, signals, retries, crashes |
//! | [`features`] | what each feature brings, and SQLite beside sqlx |
//! | [`comparison`] | with hand-written code, other crates and servers |

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/shapes.md")]
pub mod shapes {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/compile-errors.md")]
pub mod compile_errors {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/editor.md")]
pub mod editor {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/running.md")]
pub mod running {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/durable.md")]
pub mod durable {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/features.md")]
pub mod features {}

#[doc = include_str!("../docs/links.md")]
#[doc = include_str!("../docs/guide/comparison.md")]
pub mod comparison {}
