//! Ranges may be open at either end, negative, and of characters.

use graphweft::prelude::*;

#[node]
async fn count(n: i8) -> i8 {
    unreachable!()
}

#[node]
async fn letter(n: i8) -> char {
    unreachable!()
}

#[node]
async fn low(n: i8) -> u8 {
    unreachable!()
}

#[node]
async fn high(n: i8) -> u8 {
    unreachable!()
}

#[node]
async fn first(n: char) -> u8 {
    unreachable!()
}

#[node]
async fn rest(n: char) -> u8 {
    unreachable!()
}

workflow! {
    numbers(i8) -> u8 { START => count => <..-5: low, -5..=-1: high, 0 | 1: low, 2..: high>; }
}

workflow! {
    letters(i8) -> u8 { START => letter => <'a'..='m' | 'A'..='M': first, _: rest>; }
}
