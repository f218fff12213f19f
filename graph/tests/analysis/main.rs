//! The analysis by its rules, and against a judge: a plain interpreter that plays every choice.

mod compare;
mod exhaustive;
mod random;
mod rules;

use graphweft_judge::{judge, notation, random_graphs, shrink, small_graphs};
