//! An enum with generics has labels too.

use graphweft::prelude::*;

#[value]
#[derive(Route)]
enum Either<A, B> {
    Left(A),
    Right(B),
}

#[node]
async fn side(n: u8) -> Either<u8, String> {
    unreachable!()
}

#[node]
async fn left(n: u8) -> u8 {
    unreachable!()
}

#[node]
async fn right(text: String) -> u8 {
    unreachable!()
}

workflow! {
    choose(u8) -> u8 { START => side => <left: left, right: right>; }
}
