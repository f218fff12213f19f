//! The state proofs by their rules, and against a judge that plays every choice with the keys.

mod case;
mod exhaustive;
mod random;
mod rules;
