//! Agents as users write them, held against what the crate promises.

mod attribute;
mod budgets;
mod classify;
mod composition;
mod constrained;
mod figures;
mod hand_over;
mod hostile;
mod killed;
mod lab;
mod long_sessions;
mod loops;
mod models;
mod output;
mod overlap;
mod people;
mod scene;
mod session_away;
mod session_killed;
mod session_left;
mod session_retries;
mod session_started;
mod sessions;
mod tool_results;
mod unrecordable;
