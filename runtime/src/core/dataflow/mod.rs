//! Tagged-token dataflow with dead-path elimination, the meaning of graphs as `analysis` of `graphweft-graph` gives it:
//! tokens, turns of loops, collecting nodes.

mod collect;
mod tokens;
