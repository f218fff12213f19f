//! The routes in an app, below any path.

use axum::Router;
use serde_json::json;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::flows::engine;

async fn serve(app: Router) -> (Client, JoinHandle<std::io::Result<()>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client { address: listener.local_addr().unwrap(), token: None };
    (client, tokio::spawn(axum::serve(listener, app).into_future()))
}

/// `nest` serves `/runs` and not `/runs/`, where a `<base>` would lead the links of the page, which are fragments.
#[tokio::test]
async fn the_page_names_its_files_by_the_mount_and_leaves_its_links_where_it_was_opened() {
    for (mount, below) in [("", "/"), ("", "//x"), ("/runs", ""), ("/runs", "/x"), ("/runs", "//x"), ("/a/b", "/x/y")] {
        let router = graphweft_inspector::router(engine());
        let app = if mount.is_empty() { router } else { Router::new().nest(mount, router) };
        let (client, served) = serve(app).await;
        let page = client.get(&format!("{mount}{below}")).await;
        let html = page.text();
        assert_eq!(page.status, 200, "{mount}{below}");
        assert!(!html.contains("<base"), "{mount}{below}: {html}");
        let meta = format!("<meta name=\"graphweft-mount\" content=\"{mount}/\">");
        assert!(html.contains(&meta), "{mount}{below}: {html}");
        let script =
            html.split_once("src=\"").and_then(|(_, rest)| rest.split_once('"')).map(|(path, _)| path).unwrap();
        assert!(script.starts_with(&format!("{mount}/assets/")), "{mount}{below}: {script}");
        assert_eq!(client.get(script).await.header("content-type"), Some("text/javascript; charset=utf-8"));
        client.get(&format!("{mount}/api/runs")).await.ok();
        served.abort();
    }
}

#[tokio::test]
async fn a_mount_may_have_parameters_also_of_the_same_names() {
    for mount in ["/t/{tenant}/runs", "/t/{id}/runs"] {
        let (client, served) = serve(Router::new().nest(mount, graphweft_inspector::router(engine()))).await;
        let at = "/t/acme/runs";
        client.post(&format!("{at}/api/workflows/wide/runs"), json!({"input": 1, "id": "a/b"})).await.ok();
        assert_eq!(client.get(&format!("{at}/api/runs/a%2Fb")).await.ok()["id"], "a/b", "{mount}");
        assert_eq!(client.get(&format!("{at}/api/workflows/wide/pictures/mermaid")).await.status, 200, "{mount}");
        assert!(client.get(at).await.text().contains("content=\"/t/acme/runs/\""), "{mount}");
        served.abort();
    }
}
