//! Runs whose nodes were renamed while they were under way.

use graphweft::prelude::*;
use graphweft::store::MemoryStore;
use graphweft_inspector::view::{State, ViewPart};
use serde_json::{Value, json};

use crate::Server;

mod before {
    use graphweft::prelude::*;

    #[node]
    async fn check(n: u32) -> u32 {
        n + 1
    }

    #[node]
    async fn approve(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("more", "How many more?").await
    }

    #[node]
    async fn left(n: u32) -> u32 {
        n * 10
    }

    #[node]
    async fn right(n: u32) -> u32 {
        n * 100
    }

    workflow! { pub(super) order(u32) -> u32 { START => check => left => right => approve; } }
}

mod after {
    use graphweft::prelude::*;

    #[node(renamed_from = "check")]
    async fn validate(n: u32) -> u32 {
        n + 1
    }

    #[node(renamed_from = "approve")]
    async fn decide(n: u32, ctx: &Context) -> u32 {
        n + ctx.ask::<u32>("more", "How many more?").await
    }

    // These two have changed their names.
    #[node(renamed_from = "left")]
    async fn right(n: u32) -> u32 {
        n * 10
    }

    #[node(renamed_from = "right")]
    async fn left(n: u32) -> u32 {
        n * 100
    }

    workflow! { pub(super) order(u32) -> u32 { START => validate => right => left => decide; } }
}

async fn begun_before(store: &MemoryStore) {
    let engine = Engine::builder().store(store.clone()).register::<before::order>().build().unwrap();
    engine.start::<before::order>(1).id("a").await.unwrap().outcome().await.unwrap();
    engine.shutdown().await;
}

async fn ended_after(store: &MemoryStore) -> Engine {
    let engine = Engine::builder().store(store.clone()).register::<after::order>().build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("a", "more", 5u32).await.unwrap();
    let run = engine.get_run_of::<after::order>("a").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 2005);
    engine
}

/// The paths of a view with the nodes in the graph and the last states.
fn things(part: &ViewPart) -> Vec<(String, i64, State)> {
    let moves = part.moves_by_thing();
    let things = part.things.path.iter().zip(&part.things.node).enumerate();
    let state = |thing: usize| moves[&u32::try_from(thing).unwrap()].last().unwrap().1;
    things.map(|(thing, (path, node))| (path.clone(), *node, state(thing))).collect()
}

fn under_current_names() -> Vec<(String, i64, State)> {
    let all = [
        ("order", -1),
        ("order/validate", 2),
        ("order/right", 3),
        ("order/left", 4),
        ("order/decide", 5),
        ("order/decide/more", -1),
    ];
    all.into_iter().map(|(path, node)| (path.to_owned(), node, State::Completed)).collect()
}

#[tokio::test]
async fn a_renamed_node_is_one_node_under_its_current_name() {
    let store = MemoryStore::new();
    begun_before(&store).await;
    let engine = ended_after(&store).await;
    let server = Server::of(&engine).await;

    let view: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    assert_eq!(things(&view), under_current_names());

    let input_and_output = async |path: &str| {
        let values: Value = server.get(&format!("/api/runs/a/values?path={path}")).await.ok();
        (values["input"]["value"].clone(), values["output"]["value"].clone())
    };
    assert_eq!(input_and_output("order/validate").await, (json!(1), json!(2)));
    assert_eq!(input_and_output("order/right").await, (json!(2), json!(20)));
    assert_eq!(input_and_output("order/left").await, (json!(20), json!(2000)));
    assert_eq!(input_and_output("order/decide").await, (json!(2000), json!(2005)));
    assert_eq!(input_and_output("order/decide/more").await.1, json!(5));
    // An event keeps the names under which it was recorded.
    let events = server.stream("/api/runs/a/events", None).await.all().await;
    assert!(events.iter().any(|event| event.data["path"] == "order/check"));
}

#[tokio::test]
async fn a_view_that_is_followed_begins_anew_when_the_graph_changes() {
    let store = MemoryStore::new();
    begun_before(&store).await;
    // Without the code of either workflow.
    let server = Server::of(&Engine::builder().store(store.clone()).build().unwrap()).await;
    let mut live = server.stream("/api/runs/a/live", None).await;
    let first: ViewPart = serde_json::from_value(live.next().await.unwrap().data).unwrap();
    assert!(first.things.path.contains(&"order/check".to_owned()));

    ended_after(&store).await;
    let (mut paths, mut is_new, mut graph_changed) = (first.things.path, false, 0);
    while let Some(sent) = live.next().await.filter(|sent| sent.event != "end") {
        let part: ViewPart = serde_json::from_value(sent.data).unwrap();
        if part.whole {
            (paths, is_new, graph_changed) = (Vec::new(), true, 0);
        }
        paths.extend(part.things.path);
        graph_changed += part.details.iter().filter(|detail| json!(detail)["type"] == "graph_changed").count();
    }
    assert!(is_new);
    assert_eq!(graph_changed, 1);
    assert_eq!(paths, under_current_names().into_iter().map(|(path, ..)| path).collect::<Vec<_>>());
}

mod grown {
    pub(super) mod before {
        use graphweft::prelude::*;

        #[node]
        pub(in super::super) async fn many(n: u32) -> Vec<u32> {
            (0..n).collect()
        }

        #[node]
        pub(in super::super) async fn pack(n: u32, ctx: &Context) -> u32 {
            n + ctx.ask::<u32>("more", "How many more?").await
        }

        #[node]
        pub(in super::super) async fn total(all: Vec<u32>) -> u32 {
            all.into_iter().sum()
        }

        workflow! { pub(in super::super) parcels(u32) -> u32 { START => many => [pack] => total; } }
    }

    pub(super) mod after {
        use super::before::{many, pack, total};
        use graphweft::prelude::*;

        #[node]
        async fn seal(n: u32) -> u32 {
            n * 10
        }

        workflow! { pub(in super::super) parcels(u32) -> u32 { START => many => [pack => seal] => total; } }
    }
}

/// The name of brackets is their text.
#[tokio::test]
async fn brackets_that_have_grown_are_one_thing_with_the_items_of_now() {
    let store = MemoryStore::new();
    let engine = Engine::builder().store(store.clone()).register::<grown::before::parcels>().build().unwrap();
    engine.start::<grown::before::parcels>(1).id("a").await.unwrap().outcome().await.unwrap();
    engine.shutdown().await;
    let engine = Engine::builder().store(store.clone()).register::<grown::after::parcels>().build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("a", "more", 5u32).await.unwrap();
    let run = engine.get_run_of::<grown::after::parcels>("a").await.unwrap().unwrap();
    assert_eq!(run.result().await.unwrap(), 50);

    let server = Server::of(&engine).await;
    let view: ViewPart = serde_json::from_value(server.get("/api/runs/a/view").await.ok()).unwrap();
    let paths: Vec<&str> = view.things.path.iter().map(|path| path.trim_start_matches("parcels/")).collect();
    let expected =
        ["parcels", "many", "[pack => seal]", "[pack => seal][0]", "pack[0]", "pack[0]/more", "seal[0]", "total"];
    assert_eq!(paths, expected);
    assert!(things(&view).iter().all(|(.., state)| *state == State::Completed), "{:?}", things(&view));
}
