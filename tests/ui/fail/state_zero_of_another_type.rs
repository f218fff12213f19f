//! A key with a reducer has the type of the reducer's zero.
#![allow(unused)]

use graphweft::prelude::*;
use graphweft::state::{Append, Sum};

const WORDS: StateKey<String, Append> = StateKey::new("words");

const SOUND: StateKey<Vec<String>, Append> = StateKey::new("sound");

fn main() {}
