//! The analysis by its rules, and against a judge: a plain interpreter that plays every choice.

mod compare;
mod exhaustive;
mod judge;
mod notation;
mod random;
mod random_graphs;
mod rules;
mod shrink;
mod small_graphs;
