//! A process that dies at any of its commits, to runs and to the state beyond them: each update is made once, and what a node reads
//! again is what it has read.

use std::time::Duration;

use graphweft::prelude::*;
use graphweft::scope::{App, ScopeError, USER, User};
use graphweft::state::{Append, Overwrite, Sum};
use graphweft::store::{SqliteStore, Store};
use graphweft_tests::{dies_at_commit, life};

const VISITS: StateKey<u64, Sum, App> = StateKey::new("visits");
const SEEN: StateKey<Vec<String>, Append, User> = StateKey::new("seen");
const LAST: StateKey<String, Overwrite, User> = StateKey::new("last");

/// Says what was there before.
#[node]
async fn visit(name: String, ctx: &Context) -> Result<String, ScopeError> {
    let user = ctx.scope(User).await?;
    let before = format!("{:?} {:?}", user.get(SEEN)?, user.get(LAST)?);
    user.update().push(SEEN, name.clone()).set(LAST, name).await?;
    ctx.scope(App).await?.update().merge(VISITS, 1).await?;
    Ok(before)
}

workflow! { visiting(String) -> String { START => visit; } }

fn engine(store: impl Store) -> Engine {
    Engine::builder().store(store).register::<visiting>().build().unwrap()
}

async fn visits(engine: &Engine, name: &str) -> String {
    let run = engine.start::<visiting>(name.to_owned()).id(name).state(USER, "ada".into()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), run.result()).await.expect("the run ends").unwrap()
}

#[test]
fn an_update_is_made_once_wherever_the_process_dies() {
    let mut deaths = 0;
    for carried_out in [false, true] {
        for commit in 0.. {
            let at = format!("commit {commit}, carried out: {carried_out}");
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("runs.db");
            life(async {
                let engine = engine(SqliteStore::open(&path).await.unwrap());
                visits(&engine, "first").await;
                engine.shutdown().await;
            });
            let died = dies_at_commit(&path, commit, carried_out, |dying| async {
                let engine = engine(dying);
                visits(&engine, "second").await;
                engine.shutdown().await;
            });
            deaths += u32::from(died);
            life(async {
                let engine = engine(SqliteStore::open(&path).await.unwrap());
                // Another one comes before the run is resumed: it merges, and does not touch what the run overwrites.
                engine.scope(User, "ada").await.unwrap().update().push(SEEN, "between".into()).await.unwrap();
                engine.recover().await.unwrap();
                let before = visits(&engine, "second").await;
                let user = engine.scope(User, "ada").await.unwrap();
                let seen = user.get(SEEN).unwrap().unwrap();
                let count = |name: &str| seen.iter().filter(|seen| *seen == name).count();
                assert_eq!(["first", "between", "second"].map(count), [1; 3], "{at}: {seen:?}");
                assert_eq!(user.get(LAST).unwrap().as_deref(), Some("second"), "{at}");
                assert_eq!(engine.scope(App, "visiting").await.unwrap().get(VISITS).unwrap(), Some(2), "{at}");
                // Once the position is recorded, it is what was there before the process died.
                let (alone, later) =
                    (r#"Some(["first"]) Some("first")"#, r#"Some(["first", "between"]) Some("first")"#);
                let wrote =
                    seen.iter().position(|seen| seen == "second") < seen.iter().position(|seen| seen == "between");
                assert!(before == alone || (before == later && !wrote), "{at}: {before}, {seen:?}");
                engine.shutdown().await;
            });
            if !died {
                break;
            }
        }
    }
    assert!(deaths >= 16, "it has died at {deaths} commits only");
}
