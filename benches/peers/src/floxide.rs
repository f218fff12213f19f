//! `floxide`: a workflow is a type with a field for each node. Its items wait in a queue and are taken one after the other,
//! those of a fan-out too.

use async_trait::async_trait;
use floxide::{FloxideError, Node, SharedState, SplitNode, Transition, Workflow, WorkflowCtx, workflow};

use super::{NODES, TURNS, Work, add_one};

#[derive(Clone, Debug)]
struct AddOne;

#[async_trait]
impl Node<()> for AddOne {
    type Input = u64;
    type Output = u64;

    async fn process(&self, _context: &(), n: u64) -> Result<Transition<u64>, FloxideError> {
        Ok(Transition::Next(add_one(n)))
    }
}

/// A chain of those before the colon to those behind it, each to the one at its place.
macro_rules! chain {
    ($($from:ident)* : $($to:ident)* => $last:ident) => {
        workflow! {
            struct Chain { $($from: AddOne,)* $last: AddOne }
            start = n0;
            context = ();
            edges {
                $($from => { [$to] };)*
                $last => {};
            }
        }

        const CHAIN: Chain = Chain { $($from: AddOne,)* $last: AddOne };
    };
}

chain! {
    n0 n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 n20 n21 n22 n23 n24 n25 n26 n27 n28 n29 n30
    n31 n32 n33 n34 n35 n36 n37 n38 n39 n40 n41 n42 n43 n44 n45 n46 n47 n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58
    n59 n60 n61 n62 n63 n64 n65 n66 n67 n68 n69 n70 n71 n72 n73 n74 n75 n76 n77 n78 n79 n80 n81 n82 n83 n84 n85 n86
    n87 n88 n89 n90 n91 n92 n93 n94 n95 n96 n97 n98
    :
    n1 n2 n3 n4 n5 n6 n7 n8 n9 n10 n11 n12 n13 n14 n15 n16 n17 n18 n19 n20 n21 n22 n23 n24 n25 n26 n27 n28 n29 n30
    n31 n32 n33 n34 n35 n36 n37 n38 n39 n40 n41 n42 n43 n44 n45 n46 n47 n48 n49 n50 n51 n52 n53 n54 n55 n56 n57 n58
    n59 n60 n61 n62 n63 n64 n65 n66 n67 n68 n69 n70 n71 n72 n73 n74 n75 n76 n77 n78 n79 n80 n81 n82 n83 n84 n85 n86
    n87 n88 n89 n90 n91 n92 n93 n94 n95 n96 n97 n98 n99
    => n99
}

pub(super) fn chain() -> Work {
    super::again(|| async {
        let n = CHAIN.run(&WorkflowCtx::new(()), 0).await.expect("it runs");
        assert_eq!(n, NODES);
    })
}

/// What has come to the join of a run.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Arrived(SharedState<Vec<u64>>);

#[derive(Clone, Debug)]
struct Branch;

#[async_trait]
impl Node<Arrived> for Branch {
    type Input = u64;
    type Output = u64;

    async fn process(&self, _context: &Arrived, n: u64) -> Result<Transition<u64>, FloxideError> {
        Ok(Transition::Next(add_one(n)))
    }
}

#[derive(Clone, Debug)]
struct Join;

#[async_trait]
impl Node<Arrived> for Join {
    type Input = u64;
    type Output = u64;

    async fn process(&self, context: &Arrived, n: u64) -> Result<Transition<u64>, FloxideError> {
        let mut arrived = context.0.get().await;
        arrived.push(n);
        let is_last = arrived.len() as u64 == NODES;
        Ok(if is_last { Transition::Next(arrived.iter().sum()) } else { Transition::Hold })
    }
}

workflow! {
    struct FanOut {
        split: SplitNode<u64, u64, fn(u64) -> Vec<u64>>,
        branch: Branch,
        join: Join,
    }
    start = split;
    context = Arrived;
    edges {
        split => { [branch] };
        branch => { [join] };
        join => {};
    }
}

pub(super) fn fan_out() -> Work {
    let fan_out: &'static FanOut =
        Box::leak(Box::new(FanOut { split: SplitNode::new(|n| vec![n; NODES as usize]), branch: Branch, join: Join }));
    super::again(move || async move {
        let sum = fan_out.run(&WorkflowCtx::new(Arrived::default()), 0).await.expect("it runs");
        assert_eq!(sum, NODES);
    })
}

/// Where a loop goes.
#[derive(Clone, Debug)]
enum Way {
    Again(u64),
    End(u64),
}

#[derive(Clone, Debug)]
struct Turn;

#[async_trait]
impl Node<()> for Turn {
    type Input = u64;
    type Output = Way;

    async fn process(&self, _context: &(), n: u64) -> Result<Transition<Way>, FloxideError> {
        let n = add_one(n);
        Ok(Transition::Next(if n < TURNS { Way::Again(n) } else { Way::End(n) }))
    }
}

/// What the workflow gives is what its last node gives.
#[derive(Clone, Debug)]
struct End;

#[async_trait]
impl Node<()> for End {
    type Input = u64;
    type Output = u64;

    async fn process(&self, _context: &(), n: u64) -> Result<Transition<u64>, FloxideError> {
        Ok(Transition::Next(n))
    }
}

workflow! {
    struct Rounds { turn: Turn, end: End }
    start = turn;
    context = ();
    edges {
        turn => {
            Way::Again(n) => [turn];
            Way::End(n) => [end];
        };
        end => {};
    }
}

pub(super) fn rounds() -> Work {
    super::again(|| async {
        let n = Rounds { turn: Turn, end: End }.run(&WorkflowCtx::new(()), 0).await.expect("it runs");
        assert_eq!(n, TURNS);
    })
}
