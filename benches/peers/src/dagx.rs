//! `dagx`: a graph is made, run once, and asked for its values. It has no loops.

use dagx::{DagRunner, task_fn};

use super::{NODES, Work, add_one, each_made};

pub(super) fn chain() -> Work {
    let make = || {
        let dag = DagRunner::new();
        let first = dag.add_task(task_fn(|_: ()| async { 1_u64 }));
        let mut last = dag.add_task(task_fn(|n: u64| async move { add_one(n) })).depends_on(&first);
        for _ in 1..NODES {
            last = dag.add_task(task_fn(|n: u64| async move { add_one(n) })).depends_on(last);
        }
        (dag, last)
    };
    each_made(make, |(dag, last)| async move {
        dag.run(|future| drop(tokio::spawn(future))).await.expect("it runs");
        assert_eq!(dag.get(last).expect("it has run"), NODES + 1);
    })
}

/// `run` ends when all have ended, so that it is the join: a task cannot depend on a hundred others.
pub(super) fn fan_out() -> Work {
    let make = || {
        let dag = DagRunner::new();
        let first = dag.add_task(task_fn(|_: ()| async { 1_u64 }));
        let add = || dag.add_task(task_fn(|n: u64| async move { add_one(n) })).depends_on(&first);
        let branches: Vec<_> = (0..NODES).map(|_| add()).collect();
        (dag, branches)
    };
    each_made(make, |(dag, branches)| async move {
        dag.run(|future| drop(tokio::spawn(future))).await.expect("it runs");
        let sum = branches.into_iter().map(|branch| dag.get(branch).expect("it has run")).sum::<u64>();
        assert_eq!(sum, 2 * NODES);
    })
}
