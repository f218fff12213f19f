//! The collecting nodes that the crate brings.

use graphweft::prelude::*;
use graphweft::{First, FirstN, RunError};

#[node]
async fn one() -> u32 {
    1
}

#[node]
async fn two() -> u32 {
    2
}

/// Answers only after it is not needed any more.
#[node]
async fn late(ctx: &Context) -> u32 {
    ctx.cancelled().await;
    3
}

#[node]
async fn if_positive(number: i32) -> Option<u32> {
    u32::try_from(number).ok()
}

#[node]
async fn same(number: u32) -> u32 {
    number
}

#[node]
async fn nothing() {}

workflow! {
    first(()) -> u32 {
        let fastest: First<u32> = First::new();
        START => (two, late);
        two | late => fastest;
    }
}

workflow! {
    both(()) -> Vec<u32> {
        let pair: FirstN<u32> = FirstN::new(2);
        START => (one, two, late);
        one | two | late => pair;
    }
}

workflow! {
    /// The second arrival is there only where the input is positive.
    two_if_positive(i32) -> Vec<u32> {
        let pair: FirstN<u32> = FirstN::new(2);
        START => (one, if_positive);
        if_positive => <some: same, none: nothing>;
        one | same => pair => END;
    }
}

#[tokio::test]
async fn first_of_gives_the_first_arrival_and_does_not_wait_for_the_others() {
    assert_eq!(first(()).await, Ok(2));
}

#[tokio::test]
async fn k_of_gives_as_many_arrivals_as_it_was_asked_for() {
    let mut arrived = both(()).await.unwrap();
    arrived.sort();
    assert_eq!(arrived, [1, 2]);
}

#[tokio::test]
async fn k_of_keeps_nothing_from_one_run_to_the_next() {
    assert_eq!(two_if_positive(7).await.map(|arrived| arrived.len()), Ok(2));
    assert_eq!(two_if_positive(8).await.map(|arrived| arrived.len()), Ok(2));
}

#[tokio::test]
async fn k_of_fails_the_run_where_the_routes_leave_too_few() {
    let Err(RunError::Failed(failure)) = two_if_positive(-1).await else { panic!("it has waited for nothing") };
    assert_eq!(failure.path, "two_if_positive/pair");
    assert_eq!(failure.cause.fault, Some(Fault::NothingCollected { arrivals: 1 }));
}

#[test]
#[should_panic(expected = "`FirstN::new(0)` would wait for nothing")]
fn k_of_none_is_refused() {
    let _ = FirstN::<u32>::new(0);
}
