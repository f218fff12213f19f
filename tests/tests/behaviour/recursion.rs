//! Workflows that call themselves and each other.

use graphweft::prelude::*;

#[tokio::test]
async fn a_workflow_may_call_itself() {
    workflow! {
        /// The sum of all numbers up to this one.
        sum_to(u32) -> u32 {
            START => split;
            split => <some: (before => rest, itself) => add, none: zero>;
            let rest = sum_to();
        }
    }
    #[node]
    async fn split(n: u32) -> Option<u32> {
        (n > 0).then_some(n)
    }
    #[node]
    async fn before(n: u32) -> u32 {
        n - 1
    }
    #[node]
    async fn itself(n: u32) -> u32 {
        n
    }
    #[node]
    async fn add(a: u32, b: u32) -> u32 {
        a + b
    }
    #[node]
    async fn zero() -> u32 {
        0
    }
    assert_eq!(sum_to(5).await.unwrap(), 15);
}

#[tokio::test]
async fn two_workflows_may_call_each_other() {
    #[node]
    async fn down(n: u32) -> Option<u32> {
        n.checked_sub(1)
    }
    #[node]
    async fn yes() -> bool {
        true
    }
    #[node]
    async fn no() -> bool {
        false
    }
    workflow! { is_even(u32) -> bool { START => down => <some: is_odd, none: yes>; } }
    workflow! { is_odd(u32) -> bool { START => down => <some: is_even, none: no>; } }
    assert!(is_odd(7).await.unwrap());
}

#[tokio::test]
async fn a_workflow_may_run_itself_for_each_item() {
    #[node]
    async fn below(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    #[node]
    async fn count(below: Vec<u32>) -> u32 {
        1 + below.iter().sum::<u32>()
    }
    workflow! { tree(u32) -> u32 { START => below => [tree] => count; } }
    assert_eq!(tree(3).await.unwrap(), 8);
}

#[tokio::test]
async fn two_workflows_may_run_each_other_for_each_item_of_each_item() {
    #[node]
    async fn below(n: u32) -> Vec<Vec<u32>> {
        vec![(0..n).collect()]
    }
    #[node]
    async fn row(items: Vec<u32>) -> Vec<u32> {
        items
    }
    #[node]
    async fn count(below: Vec<Vec<u32>>) -> u32 {
        1 + below.iter().flatten().sum::<u32>()
    }
    workflow! { oak(u32) -> u32 { START => below => [row => [elm]] => count; } }
    workflow! { elm(u32) -> u32 { START => below => [row => [oak]] => count; } }
    assert_eq!(oak(3).await.unwrap(), 8);
}
