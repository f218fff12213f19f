//! What is no message.

use serde_json::json;

use crate::client::Client;
use crate::flows::engine;

fn nested(id: u32, depth: usize) -> String {
    let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"answer","arguments":{{"input":{deep}}}}}}}"#
    )
}

#[tokio::test]
async fn what_is_no_message_gets_an_error_and_the_next_one_is_read() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let deep = nested(77, 150);
    let very_deep = nested(78, 200_000);
    let cases: [(&[u8], i64, serde_json::Value); 7] = [
        (b"{", -32700, json!(null)),
        (b"hello\r", -32700, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xFF\"}", -32700, json!(null)),
        (deep.as_bytes(), -32600, json!(77)),
        (very_deep.as_bytes(), -32600, json!(78)),
        (b"[]", -32600, json!(null)),
        (br#"{"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": [1]}"#, -32600, json!("a")),
    ];
    for (line, code, id) in cases {
        client.send_line(line).await;
        let refused = client.next().await.unwrap();
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(code), &id), "{refused}");
    }
    // What has no response has none.
    client.send_line(b"").await;
    client.send_line(br#"{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [1]}"#).await;
    let sum = client.call("answer", json!({"input": [1, 2]})).await;
    assert_eq!(sum["structuredContent"]["output"], 3);
}

#[tokio::test]
async fn a_line_without_end_is_refused_and_skipped() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    let mut line = br#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":""#.to_vec();
    line.resize(40 << 20, b'A');
    client.send_line(&line).await;
    let refused = client.next().await.unwrap();
    assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(-32600), &json!(5)), "{refused}");
    assert_eq!(refused["error"]["message"], "the message has more than 16777216 bytes, and is not read");
    let sum = client.call("answer", json!({"input": [1, 2]})).await;
    assert_eq!(sum["structuredContent"]["output"], 3);
}

/// Also if the client reads none of the responses meanwhile.
#[tokio::test]
async fn many_lines_that_are_no_messages_get_a_response_each() {
    let (engine, _gate) = engine();
    let mut client = Client::of(&engine, json!({})).await;
    for _ in 0..1000 {
        client.send_line(b"x").await;
    }
    for _ in 0..1000 {
        assert_eq!(client.next().await.unwrap()["error"]["code"], -32700);
    }
}
