//! The core alone, with numbers for values: a test is the driver.

mod attempts;
mod collecting;
mod each;
mod failure;
mod in_place;
mod joins;
mod limits;
mod loops;
mod nested;
mod paths;
mod proven;
mod resuming;

mod sim;
mod state;
