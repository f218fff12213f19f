//! Who keeps connections of the store.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use futures::poll;
use graphweft::json;
use graphweft::store::{Claim, Delete, LogTrim, NewLogEntry, Store};
use graphweft_postgres_tests::{builder, fresh_schema};

/// A node that is alone in its run is not polled while the run records something.
// On one thread, on which nothing else is done before the first poll returns.
#[tokio::test]
async fn what_is_not_polled_keeps_no_connection() {
    let store = builder(&fresh_schema()).max_connections(1).connect().await.unwrap();
    let logs = store.logs().expect("it has logs");
    let owner = store.join(vec!["later".to_owned()]).await.unwrap();
    let now = SystemTime::now();
    logs.append(NewLogEntry::new("talk", "first", json!("Hello"), now)).await.unwrap();
    let asked: Vec<(&str, BoxFuture<'_, bool>)> = vec![
        ("append", {
            let appended = logs.append(NewLogEntry::new("talk", "second", json!("Hello?"), now));
            Box::pin(async move { appended.await.is_ok() })
        }),
        ("trim", {
            let trimmed = logs.trim(LogTrim::new("talk", 1, json!("Hello")));
            Box::pin(async move { trimmed.await.is_ok() })
        }),
        ("read", {
            let read = logs.read("talk", 0, u64::MAX);
            Box::pin(async move { read.await.is_ok() })
        }),
        ("header", {
            let header = store.header("nothing");
            Box::pin(async move { header.await.is_ok() })
        }),
        ("claim", {
            let claimed = store.claim(Claim::new(owner, vec!["later".to_owned()], now));
            Box::pin(async move { claimed.await.is_ok() })
        }),
        ("delete", {
            let deleted = store.delete(Delete::new(vec![], now));
            Box::pin(async move { deleted.await.is_ok() })
        }),
    ];
    for (name, asked) in asked {
        let mut asked = pin!(asked);
        assert!(poll!(&mut asked).is_pending(), "{name} asks the server");
        let other = tokio::time::timeout(Duration::from_secs(20), store.feed_end()).await;
        assert!(other.is_ok_and(|other| other.is_ok()), "{name} keeps the connection");
        assert!(asked.await, "{name}");
    }
}
