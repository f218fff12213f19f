//! On a store of their own.

mod journal;
