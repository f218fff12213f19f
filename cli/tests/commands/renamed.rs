//! A run of which a node was renamed while it was under way.

use graphweft::prelude::*;

use crate::Runs;

mod before {
    use graphweft::prelude::*;

    #[node]
    async fn weigh(n: u32) -> u32 {
        n + 1
    }

    #[node]
    async fn post(n: u32, ctx: &Context) -> bool {
        n > 0 && ctx.ask::<bool>("fine", "Is it fine?").await
    }

    workflow! { pub(super) parcel(u32) -> bool { START => weigh => post; } }
}

mod after {
    use graphweft::prelude::*;

    #[node(renamed_from = "weigh")]
    async fn measure(n: u32) -> u32 {
        n + 1
    }

    #[node(renamed_from = "post")]
    async fn send(n: u32, ctx: &Context) -> bool {
        n > 0 && ctx.ask::<bool>("fine", "Is it fine?").await
    }

    workflow! { pub(super) parcel(u32) -> bool { START => measure => send; } }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renamed_node_is_shown_under_its_current_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let before = SqliteStore::open(&file).await.unwrap();
    let before = Engine::builder().store(before).register::<before::parcel>().build().unwrap();
    before.start::<before::parcel>(1).id("a").await.unwrap().outcome().await.unwrap();
    before.shutdown().await;
    let engine = SqliteStore::open(&file).await.unwrap();
    let engine = Engine::builder().store(engine).register::<after::parcel>().build().unwrap();
    engine.recover().await.unwrap();
    engine.answer("a", "fine", true).await.unwrap();
    engine.get_run("a").await.unwrap().unwrap().outcome().await.unwrap();

    let runs = Runs { _folder: folder, file, engine };
    let shown = runs.ran(&["show", "a", "--bars", "0", "--values"]).await;
    let lines: Vec<String> =
        shown.out.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let tree = ["├─ measure completed", "│ output 2", "└─ send completed", "output true", "└─ fine completed"];
    assert_eq!(lines[2..7], tree, "{}", shown.out);
}
