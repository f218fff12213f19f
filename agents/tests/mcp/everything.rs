//! The server with one of everything, as its authors have written it.

use graphweft::json;
use graphweft_agents::{McpClient, McpError, Message};

use crate::scene::{everything, everything_over_http, requests, results};

#[tokio::test]
async fn a_model_knows_the_tools_by_the_names_the_descriptions_and_the_schemas_of_the_server() {
    let server = everything().prefix("every_").connect().await.unwrap();
    let request = requests(server, [Message::assistant("Done.")]).await.remove(0);
    let sum = request.tools.iter().find(|tool| tool.name == "every_get-sum").expect("a tool");
    assert!(sum.description.contains("sum"), "{}", sum.description);
    assert_eq!(sum.parameters["properties"]["a"]["type"], "number");
    assert_eq!(sum.parameters["type"], "object");
}

async fn has_results(server: McpClient) {
    let calls = [
        ("echo", json!({ "message": "Hello" })),
        ("get-structured-content", json!({ "location": "Chicago" })),
        ("get-tiny-image", json!({})),
        ("get-sum", json!({ "a": "many" })),
    ];
    let results = results(server, calls).await;
    let [echo, structured, image, refused] = &results[..] else { panic!("four results: {results:?}") };
    assert_eq!(echo, "Echo: Hello");
    let structured: graphweft::Json = serde_json::from_str(structured).unwrap();
    assert_eq!(structured["temperature"], 36);
    assert!(image.contains("[image/png of ") && image.contains(" bytes was left out]"), "{image}");
    assert!(image.len() < 1_000, "the image is not in the text");
    assert!(refused.starts_with("error: ") && refused.contains("number"), "{refused}");
}

#[tokio::test]
async fn results_of_a_program_are_text_and_structures_and_errors_go_to_the_model() {
    has_results(everything().connect().await.unwrap()).await;
}

#[tokio::test]
async fn results_over_http_are_the_same() {
    let (_server, url) = everything_over_http().await;
    has_results(McpClient::http(url).header("X-Test", "1").connect().await.unwrap()).await;
}

#[tokio::test]
async fn a_server_that_is_not_there_and_a_tool_that_is_not_there_are_named() {
    let missing = McpClient::process("/no/such/program").connect().await.unwrap_err();
    assert!(matches!(&missing, McpError::Unreachable { server, .. } if server == "/no/such/program"), "{missing}");
    // Port 9 discards, and nothing listens there.
    let missing = McpClient::http("http://127.0.0.1:9/mcp").connect().await.unwrap_err();
    assert!(matches!(&missing, McpError::Unreachable { message, .. } if message.contains("refused")), "{missing}");
    let no_url = McpClient::http("not a url").connect().await.unwrap_err();
    assert!(matches!(&no_url, McpError::Unreachable { message, .. } if message.contains("URL")), "{no_url}");
    let invalid = McpClient::http("http://127.0.0.1:9/mcp").header("no header", "1").connect().await.unwrap_err();
    assert!(matches!(&invalid, McpError::Option { message } if message.contains("`no header`")), "{invalid}");
    let server = everything().connect().await.unwrap();
    let unknown = server.tool("shout").unwrap_err();
    assert!(matches!(&unknown, McpError::UnknownTool { known, .. } if known.contains("`echo`")), "{unknown}");
}
