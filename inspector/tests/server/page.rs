//! The page and its files.

use graphweft_inspector::page::FILES;

use crate::Server;
use crate::flows::engine;

#[tokio::test]
async fn every_path_of_the_page_is_the_page_with_the_token_of_this_start() {
    let server = Server::of(&engine()).await;
    let token = format!("<meta name=\"graphweft-token\" content=\"{}\">", server.token.as_deref().unwrap());
    for path in ["/", "/runs", "/runs/acme%2F7", "/inbox", "/workflows/refund?at=5", "/index.html"] {
        let page = server.get(path).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{path}");
        assert!(
            page.text().contains(&token) && page.text().contains("<meta name=\"graphweft-mount\" content=\"/\">"),
            "{path}"
        );
        assert_eq!(page.header("cache-control"), Some("no-store"));
    }
    assert_eq!(server.get("/assets/none.js").await.problem(404).0, "no_such_file");
    let post = server.post("/runs", serde_json::json!({})).await;
    assert_eq!(post.problem(405).0, "no_such_method");
}

#[tokio::test]
async fn a_file_is_compressed_and_sent_once() {
    let server = Server::of(&engine()).await;
    let mut files = 0;
    for (name, bytes) in FILES.iter().filter(|(name, _)| *name != "index.html") {
        let path = format!("/{name}");
        let plain = server.get(&path).await;
        assert_eq!((plain.status, &plain.body[..]), (200, *bytes), "{name}");
        assert_eq!(plain.header("content-encoding"), None);
        let etag = plain.header("etag").unwrap();
        let again = server.send("GET", &path, &[("If-None-Match", etag)], None).await;
        assert_eq!((again.status, again.body.len()), (304, 0), "{name}");
        let weak = server.send("GET", &path, &[("If-None-Match", &format!("\"x\", W/{etag}"))], None).await;
        assert_eq!(weak.status, 304);
        let other = server.send("GET", &path, &[("If-None-Match", "\"x\"")], None).await;
        assert_eq!(other.status, 200);
        if name.ends_with(".js") || name.ends_with(".css") {
            let zipped = server.send("GET", &path, &[("Accept-Encoding", "br, gzip;q=0.8")], None).await;
            assert_eq!(zipped.header("content-encoding"), Some("gzip"), "{name}");
            assert!(zipped.body.len() < bytes.len() && zipped.body.starts_with(&[0x1f, 0x8b]));
            let refused = server.send("GET", &path, &[("Accept-Encoding", "gzip;q=0")], None).await;
            assert_eq!(refused.header("content-encoding"), None);
        }
        files += 1;
    }
    println!("{files} files");
}
