//! What graphweft does, tried as its users write it: one module a subject, in one program, since every further test program
//! links the whole crate again.

mod after_failure;
mod asking;
mod cancellation;
mod changed_graphs;
mod children;
mod children_after_a_crash;
mod collecting;
mod conversions;
mod each_of;
mod engine;
mod events;
mod failures;
mod faults;
mod graph_data;
mod hand_over;
mod joins;
mod lets;
mod library_collectors;
mod loops;
mod nested;
mod planners;
mod recursion;
mod replacing;
mod restoring;
mod results_and_options;
mod resuming;
mod retries;
mod routing;
mod runtimes;
mod signatures;
mod sleeping;
mod state;
mod steps;
mod store_failures;
mod timeouts;
