//! Several runs are awaited at once.

use std::sync::Arc;
use std::time::Duration;

use graphweft::prelude::*;
use graphweft::{Outcome, RunError};
use tokio::sync::Semaphore;

#[node]
async fn works(n: u32, ctx: &Context, #[resource] go: &Arc<Semaphore>) -> Result<u32, String> {
    match n {
        0 => Ok(ctx.ask::<u32>("more", "how many?").await),
        13 => Err("unlucky".to_owned()),
        _ => {
            go.acquire().await.map_err(|error| error.to_string())?.forget();
            Ok(n)
        }
    }
}

workflow! { working(u32) -> u32 { START => works; } }

fn engine(store: &SqliteStore, go: &Arc<Semaphore>) -> Engine {
    Engine::builder().store(store.clone()).resource(Arc::clone(go)).register::<working>().build().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn all_of_them_wherever_they_run() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db")).await.unwrap();
    let go = Arc::new(Semaphore::new(0));
    let (here, there) = (engine(&store, &go), engine(&store, &go));
    for (engine, id, n) in [(&here, "a", 1), (&there, "b", 2), (&here, "c", 0), (&there, "d", 13), (&there, "e", 0)] {
        engine.start::<working>(n).id(id).await.unwrap();
    }
    let ids = ["a", "b", "c", "none", "d", "e", "a"];
    let waits = here.wait_all(ids);
    tokio::pin!(waits);
    tokio::select! {
        came = &mut waits => panic!("two of them have not ended: {came:?}"),
        () = tokio::time::sleep(Duration::from_millis(300)) => {}
    }
    go.add_permits(2);
    let came = waits.await;
    let (named, came): (Vec<String>, Vec<_>) = came.into_iter().unzip();
    assert_eq!(named, ids);
    assert!(matches!(came[0], Ok(Outcome::Completed(ref it)) if *it == 1), "{came:?}");
    assert!(matches!(came[1], Ok(Outcome::Completed(ref it)) if *it == 2), "{came:?}");
    assert!(matches!(came[2], Ok(Outcome::Waiting(ref open)) if open.len() == 1), "{came:?}");
    assert!(matches!(came[3], Err(RunError::NotFound)), "{came:?}");
    assert!(matches!(came[4], Ok(Outcome::Failed(ref failure)) if failure.path == "working/works"), "{came:?}");
    assert!(matches!(came[5], Ok(Outcome::Waiting(ref open)) if open.len() == 1), "{came:?}");
    assert!(matches!(came[6], Ok(Outcome::Completed(ref it)) if *it == 1), "one id twice is no harm: {came:?}");
    assert!(here.wait_all(Vec::<String>::new()).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_them_and_then_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("runs.db")).await.unwrap();
    let (go, other) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (here, there) = (engine(&store, &go), engine(&store, &other));
    here.start::<working>(1).id("a").await.unwrap();
    there.start::<working>(2).id("b").await.unwrap();
    let mut left = vec!["a".to_owned(), "b".to_owned()];
    other.add_permits(1);
    let (first, came) = here.wait_any(&left).await.unwrap();
    assert_eq!((&*first, came.unwrap()), ("b", Outcome::Completed(2.into())));
    left.retain(|id| *id != first);
    go.add_permits(1);
    let (second, came) = here.wait_any(&left).await.unwrap();
    assert_eq!((&*second, came.unwrap()), ("a", Outcome::Completed(1.into())));
    assert_eq!(here.wait_any(Vec::<String>::new()).await, None);
    assert_eq!(here.wait_any(["none"]).await, Some(("none".to_owned(), Err(RunError::NotFound))));
}
