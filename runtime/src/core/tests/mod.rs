//! The core alone, with numbers for values: a test is the driver.

mod collecting;
mod each;
mod failure;
mod joins;
mod limits;
mod loops;
mod nested;
mod paths;
mod proven;
mod replaying;
mod short_way;
mod sim;
mod state;
