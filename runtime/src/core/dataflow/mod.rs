//! Tagged-token dataflow with dead-path elimination (DESIGN.md 3.1): tokens, turns of loops, collecting nodes.

mod collect;
mod tokens;
