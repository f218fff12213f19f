//! `let`: a second name, other options, nodes by value.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use graphweft::prelude::*;
use graphweft_tests::{failure, records_of, started};

#[node]
async fn double(n: u32) -> u32 {
    n * 2
}

#[node]
async fn pair(a: u32, b: u32) -> (u32, u32) {
    (a, b)
}

#[node(name = "pay")]
async fn charge(n: u32) -> u32 {
    n
}

#[node(retry(max_attempts = 4, initial_delay = "0s"))]
async fn fails(_n: u32) -> Result<u32, String> {
    Err("no".to_owned())
}

struct Batch {
    size: u32,
}

impl Batch {
    fn new(size: u32) -> Self {
        Batch { size }
    }
}

impl Node for Batch {
    type Input = u32;
    type Output = Vec<u32>;
    type Error = Never;

    async fn run(&self, n: u32, _: &Context) -> Result<Vec<u32>, Never> {
        Ok((0..n).step_by(self.size as usize).collect())
    }
}

/// Remembers what it was given.
struct Keep {
    seen: Arc<Mutex<Vec<u32>>>,
}

impl Node for Keep {
    type Input = u32;
    type Output = u32;
    type Error = String;

    async fn run(&self, n: u32, _: &Context) -> Result<u32, String> {
        if n == 0 {
            return Err("nothing to keep".to_owned());
        }
        self.seen.lock().unwrap().push(n);
        Ok(n)
    }
}

struct Convert<T> {
    by: T,
}

impl<T: std::ops::Mul<Output = T> + graphweft::Payload + Copy + Sync> Node for Convert<T> {
    type Input = T;
    type Output = T;
    type Error = Never;

    async fn run(&self, n: T, _: &Context) -> Result<T, Never> {
        Ok(n * self.by)
    }
}

#[tokio::test]
async fn a_node_may_run_twice_under_two_names() {
    let flow = workflow! { let again = double(); START => (double, again) => pair };
    assert_eq!(flow.run(2).await.unwrap(), (4, 4));
}

#[tokio::test]
async fn the_second_name_stands_in_paths() {
    workflow! { twice(u32) -> u32 { let again = double(); START => double => again; } }
    assert_eq!(started(&records_of::<twice>(1).await), ["twice/double", "twice/again"]);
}

#[tokio::test]
async fn a_let_may_stand_behind_its_use() {
    let flow = workflow! { START => double => again; let again = double(); };
    assert_eq!(flow.run(2).await.unwrap(), 8);
}

#[tokio::test]
async fn a_let_of_the_same_name_sets_options_only() {
    workflow! {
        failing(u32) -> u32 {
            let fails = fails(retry(max_attempts = 2, initial_delay = "0s"));
            START => fails;
        }
    }
    let failed = failure(failing(1).await);
    assert_eq!((failed.path.as_str(), failed.attempts), ("failing/fails", 2));
}

#[tokio::test]
async fn an_option_that_a_let_does_not_set_stays() {
    let flow = workflow! { let fails = fails(timeout = "1s"); START => fails };
    assert_eq!(failure(flow.run(1).await).attempts, 4);
}

#[tokio::test]
async fn options_of_one_name_do_not_reach_the_other() {
    let flow = workflow! {
        let once = fails(retry(max_attempts = 1));
        START => fails => <ok: END, err: length>;
        length => once => END;
    };
    #[node]
    async fn length(error: String) -> u32 {
        error.len() as u32
    }
    assert_eq!(failure(flow.run(1).await).attempts, 1);
}

#[tokio::test]
async fn the_name_of_a_node_may_be_an_option() {
    workflow! { paying(u32) -> u32 { START => charge; } }
    assert_eq!(started(&records_of::<paying>(1).await), ["paying/pay"]);
}

#[tokio::test]
async fn a_node_may_be_a_struct_literal() {
    workflow! { batches(u32) -> Vec<u32> { let batch = Batch { size: 4 }; START => batch; } }
    assert_eq!(batches(10).await.unwrap(), [0, 4, 8]);
}

#[tokio::test]
async fn a_node_may_be_an_expression_with_its_type_written() {
    workflow! { batches(u32) -> Vec<u32> { let batch: Batch = Batch::new(5); START => batch; } }
    assert_eq!(batches(10).await.unwrap(), [0, 5]);
}

#[tokio::test]
async fn two_values_of_one_type_are_two_nodes() {
    #[node]
    async fn lengths(a: Vec<u32>, b: Vec<u32>) -> (usize, usize) {
        (a.len(), b.len())
    }
    let flow = workflow! {
        let small = Batch { size: 1 };
        let large = Batch { size: 5 };
        START => (small, large) => lengths
    };
    assert_eq!(flow.run(10).await.unwrap(), (10, 2));
}

#[tokio::test]
async fn in_item_position_a_value_is_built_once() {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    fn build() -> Batch {
        BUILT.fetch_add(1, Ordering::Relaxed);
        Batch::new(3)
    }
    workflow! { batches(u32) -> Vec<u32> { let batch: Batch = build(); START => batch; } }
    batches(1).await.unwrap();
    batches(2).await.unwrap();
    assert_eq!(BUILT.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn in_expression_position_a_value_may_capture_locals() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let flow = workflow! { let keep = Keep { seen: Arc::clone(&seen) }; START => double => keep };
    flow.run(2).await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [4]);
}

#[tokio::test]
async fn the_error_of_a_value_may_be_routed() {
    #[node]
    async fn excuse(error: String) -> u32 {
        error.len() as u32
    }
    let flow = workflow! {
        let keep = Keep { seen: Arc::default() };
        START => keep => <ok: END, err: excuse>;
        excuse => END;
    };
    assert_eq!(flow.run(0).await.unwrap(), 15);
}

#[tokio::test]
async fn a_generic_type_may_be_a_node() {
    let flow = workflow! { let convert: Convert<u64> = Convert { by: 3 }; START => convert };
    assert_eq!(flow.run(5).await.unwrap(), 15);
}

#[tokio::test]
async fn a_value_may_stand_inside_each_of() {
    #[node]
    async fn count(n: u32) -> Vec<u32> {
        (0..n).collect()
    }
    let flow = workflow! { let batch = Batch { size: 2 }; START => count => [batch] };
    assert_eq!(flow.run(4).await.unwrap(), [vec![], vec![0], vec![0], vec![0, 2]]);
}

#[tokio::test]
async fn a_flow_may_run_again() {
    let flow = workflow! { START => double };
    assert_eq!((flow.run(1).await.unwrap(), flow.run(2).await.unwrap()), (2, 4));
}

#[tokio::test]
async fn a_flow_may_run_many_times_at_once() {
    let flow = workflow! { START => double };
    let runs = (0..20).map(|n| flow.run(n));
    let outputs: Vec<u32> = futures::future::try_join_all(runs).await.unwrap();
    assert_eq!(outputs.iter().sum::<u32>(), 380);
}

#[tokio::test]
async fn a_flow_may_be_given_away_and_run_elsewhere() {
    let flow = workflow! { START => double };
    let other = flow.clone();
    drop(flow);
    assert_eq!(tokio::spawn(async move { other.run(4).await }).await.unwrap().unwrap(), 8);
}

#[node(renamed_from = "bill")]
async fn collect(n: u32) -> u32 {
    n
}

#[test]
fn a_former_name_belongs_to_the_name_and_not_to_the_function() {
    let flow = workflow! {
        let kept = collect();
        let second = collect(renamed_from("other", "another"));
        START => collect => kept => second
    };
    let was: Vec<_> = flow.definition().entries.iter().map(|entry| (entry.name.as_str(), entry.renamed_from)).collect();
    assert_eq!(was, [("collect", &["bill"][..]), ("kept", &[]), ("second", &["other", "another"])]);
}

#[test]
fn a_let_that_only_sets_options_keeps_the_former_names() {
    let flow = workflow! { let collect = collect(timeout = "1s"); START => collect };
    assert_eq!(flow.definition().entries[0].renamed_from, ["bill"]);
}
