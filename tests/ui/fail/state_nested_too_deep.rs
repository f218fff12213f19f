//! Workflows are inside each other some 30 deep at most: as a node each is a constant that is made of another.
#![allow(unused)]

use graphweft::prelude::*;

#[node]
async fn pass(n: u32) -> u32 {
    n
}

macro_rules! inside_each_other {
    ($($name:ident in $around:ident;)*) => {
        $(workflow! { $around(u32) -> u32 { START => $name; } })*
    };
}

inside_each_other! {
    pass in w0;
    w0 in w1;
    w1 in w2;
    w2 in w3;
    w3 in w4;
    w4 in w5;
    w5 in w6;
    w6 in w7;
    w7 in w8;
    w8 in w9;
    w9 in w10;
    w10 in w11;
    w11 in w12;
    w12 in w13;
    w13 in w14;
    w14 in w15;
    w15 in w16;
    w16 in w17;
    w17 in w18;
    w18 in w19;
    w19 in w20;
    w20 in w21;
    w21 in w22;
    w22 in w23;
    w23 in w24;
    w24 in w25;
    w25 in w26;
    w26 in w27;
    w27 in w28;
    w28 in w29;
    w29 in w30;
    w30 in w31;
    w31 in w32;
    w32 in w33;
}

workflow! { sound(u32) -> u32 { START => w5; } }

fn main() {}
