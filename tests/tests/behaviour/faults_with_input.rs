//! Errors that are made of a fault and the input of the node.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Fault, FromFault};
use graphweft_tests::failure;

/// What has failed, and why.
#[value]
#[derive(Debug, PartialEq)]
struct Failed {
    order: u32,
    why: String,
}

impl FromFault<u32> for Failed {
    fn from_fault(fault: Fault, order: u32) -> Self {
        Failed { order, why: fault.to_string() }
    }
}

/// Panics for odd numbers, is too slow for multiples of four, and has an error of its own for others above 100.
#[node(timeout = "20ms")]
async fn work(n: u32) -> Result<u32, Failed> {
    match n {
        _ if n % 2 == 1 => panic!("odd"),
        _ if n.is_multiple_of(4) => std::future::pending().await,
        _ if n > 100 => Err(Failed { order: 0, why: "its own".to_owned() }),
        _ => Ok(n),
    }
}

#[node]
async fn text(n: u32) -> String {
    n.to_string()
}

#[node]
async fn explain(failed: Failed) -> String {
    format!("{}: {}", failed.order, failed.why)
}

workflow! {
    working(u32) -> String { START => work => <ok: text, err: explain>; text => END; explain => END; }
}

workflow! {
    all_work(Vec<u32>) -> Vec<String> { START => [work => <ok: text, err: explain>] => END; }
}

const CASES: [(u32, &str); 4] =
    [(2, "2"), (3, "3: panicked: odd"), (4, "4: timed out after 20ms"), (102, "0: its own")];

#[tokio::test]
async fn the_arm_knows_the_input_in_memory_and_in_an_engine() {
    let engine = Engine::builder().build().unwrap();
    for (n, text) in CASES {
        assert_eq!(working(n).await.unwrap(), text);
        assert_eq!(engine.start::<working>(n).await.unwrap().result().await.unwrap(), text);
        assert_eq!(engine.start::<working>(n).run_to_end().await.unwrap(), text);
    }
}

#[tokio::test]
async fn each_item_has_its_own() {
    let engine = Engine::builder().build().unwrap();
    let input: Vec<u32> = (1..=8).collect();
    let wanted: Vec<String> = (1..=8)
        .map(|n| match n {
            2 | 6 => n.to_string(),
            4 | 8 => format!("{n}: timed out after 20ms"),
            _ => format!("{n}: panicked: odd"),
        })
        .collect();
    assert_eq!(all_work(input.clone()).await.unwrap(), wanted);
    assert_eq!(engine.start::<all_work>(input).await.unwrap().result().await.unwrap(), wanted);
}

#[tokio::test]
async fn retries_come_first() {
    #[node(retry(max_attempts = 3, initial_delay = "0s"))]
    async fn flaky(n: u32, ctx: &Context) -> Result<u32, Failed> {
        if ctx.attempt() < n {
            panic!("attempt {}", ctx.attempt())
        }
        Ok(n)
    }
    workflow! { tries(u32) -> String { START => flaky => <ok: text, err: explain>; text => END; explain => END; } }
    assert_eq!(tries(3).await.unwrap(), "3");
    assert_eq!(tries(4).await.unwrap(), "4: panicked: attempt 3");
}

#[tokio::test]
async fn a_loop_goes_on_with_it() {
    #[value]
    struct Left(u32);
    impl FromFault<u32> for Left {
        fn from_fault(_: Fault, left: u32) -> Self {
            Left(left / 2)
        }
    }
    #[node]
    async fn halve(n: u32) -> Result<u32, Left> {
        assert!(n < 10, "too much");
        Ok(n)
    }
    #[node]
    async fn less(left: Left) -> u32 {
        left.0
    }
    workflow! { halving(u32) -> u32 { START => halve => <ok: END, err: less>; less => halve; } }
    assert_eq!(halving(1000).await.unwrap(), 7);
}

#[tokio::test]
async fn without_an_input_the_other_conversion_is_taken() {
    #[value]
    struct Nothing(String);
    impl From<Fault> for Nothing {
        fn from(fault: Fault) -> Self {
            Nothing(format!("alone: {fault}"))
        }
    }
    impl FromFault<u32> for Nothing {
        fn from_fault(fault: Fault, n: u32) -> Self {
            Nothing(format!("{n}: {fault}"))
        }
    }
    #[node(collect)]
    async fn never(n: u32) -> Result<Option<u32>, Nothing> {
        if n == 9 {
            panic!("nine")
        }
        Ok(None)
    }
    #[node]
    async fn same(n: u32) -> u32 {
        n
    }
    #[node]
    async fn says(nothing: Nothing) -> String {
        nothing.0
    }
    workflow! {
        collecting(u32) -> String {
            START => (same, double);
            same | double => never;
            never => <ok: text, err: says>;
            text => END;
            says => END;
        }
    }
    #[node]
    async fn double(n: u32) -> u32 {
        n * 2
    }
    assert_eq!(collecting(1).await.unwrap(), "alone: produced no output after all 2 arrivals");
    assert_eq!(collecting(9).await.unwrap(), "9: panicked: nine");
}

#[tokio::test]
async fn where_it_is_not_routed_the_run_fails_with_the_fault() {
    workflow! { bare(u32) -> u32 { START => work; } }
    assert_eq!(failure(bare(3).await).cause.fault, Some(Fault::Panic { message: "odd".to_owned() }));
}

#[tokio::test]
async fn an_interrupted_attempt_knows_its_input_after_a_restart() {
    #[node(at_most_once)]
    async fn once(n: u32) -> Result<u32, Failed> {
        std::future::pending::<()>().await;
        Ok(n)
    }
    #[node]
    async fn next(n: u32) -> u32 {
        n + 1
    }
    workflow! { interrupted(u32) -> String { START => next => once => <ok: text, err: explain>; text => END; explain => END; } }
    let store = graphweft::store::MemoryStore::new();
    let first = tokio::runtime::Runtime::new().unwrap();
    let began = {
        let store = store.clone();
        async move {
            let engine = Engine::builder().store(store).build().unwrap();
            let run = engine.start::<interrupted>(41).id("x").await.unwrap();
            let mut events = run.events();
            while let Some(event) = events.next().await {
                if event.path == "interrupted/once" {
                    break;
                }
            }
        }
    };
    tokio::task::spawn_blocking(move || {
        first.block_on(began);
        first.shutdown_timeout(Duration::from_secs(5));
    })
    .await
    .unwrap();
    let engine = Engine::builder().store(store).register::<interrupted>().build().unwrap();
    engine.recover().await.unwrap();
    let run = engine.get_run_of::<interrupted>("x").await.unwrap().unwrap();
    let text = run.result().await.unwrap();
    assert!(text.starts_with("42: interrupted"), "{text}");
}
