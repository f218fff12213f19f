use crate::context::Context;
use crate::driver::{Ending, Env, Job, Shared};
use crate::fault::*;
use crate::table::*;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, json};
use std::sync::Arc;

struct Inc;
impl AnyNode for Inc {
    fn prepare(&self, _: Arrived) -> Result<BoxValue, Fault> {
        unreachable!()
    }
    fn copy(&self, _: &BoxValue) -> Result<BoxValue, Fault> {
        unreachable!()
    }
    fn run(self: Arc<Self>, _: BoxValue, _: Context) -> BoxFuture<'static, Finished> {
        unreachable!()
    }
    fn run_once(self: Arc<Self>, arrived: Arrived, context: Context) -> BoxFuture<'static, Finished> {
        async move {
            let _c = context;
            let Arrived::One(token) = arrived else { unreachable!() };
            let v = *token.value.downcast::<u64>().unwrap();
            Finished::Emitted {
                emitted: Emitted { choice: 0, tokens: Tokens::One(Token { value: Box::new(v + 1), hand: |_, _| {} }) },
                output: None,
            }
        }
        .boxed()
    }
    fn route_fault(&self, _: &Fault) -> Option<Emitted> {
        None
    }
}

#[test]
#[ignore]
fn timing() {
    let mut text = String::from("START>n0;");
    for at in 0..99 {
        text.push_str(&format!("n{at}>n{};", at + 1));
    }
    text.push_str("n99>END");
    let mut d = Arc::try_unwrap(crate::testing::made(&text).build()).ok().unwrap();
    for e in &mut d.entries {
        e.node = Some(Arc::new(Inc));
    }
    d.start = Box::new(|i| Emitted { choice: 0, tokens: Tokens::One(Token { value: i, hand: |_, _| {} }) });
    d.end = Box::new(|a| {
        let Arrived::One(t) = a else { unreachable!() };
        t.value
    });
    let d = Arc::new(d);
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async {
        for round in 0..5 {
            let begun = std::time::Instant::now();
            for _ in 0..20000 {
                let job = Job {
                    definition: Arc::clone(&d),
                    shared: Arc::new(Shared::in_memory(Arc::clone(Env::plain()))),
                    cancel: None,
                    state: Map::new(),
                    around: None,
                };
                let Ending::Completed(out) = job.run(Box::new(0u64)).await else { panic!() };
                assert_eq!(*out.downcast::<u64>().unwrap(), 100);
            }
            let t = begun.elapsed();
            println!("round {round}: {:?} per run, {} ns per node", t / 20000, t.as_nanos() / 2_000_000);
        }
    });
    let _ = json!(1);
}
