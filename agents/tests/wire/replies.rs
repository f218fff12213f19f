//! Replies: text, calls, reasoning, usage, and what of them goes back.

use std::sync::Arc;

use graphweft::{Json, json};
use graphweft_agents::{ChatModel, Delta, Format, Message, ModelError, OpaquePart, Reply, ToolCall, ToolSpec, Usage};

use crate::dialect::{ANTHROPIC, BOTH, Dialect, OPENAI, request};
use crate::server::Server;

/// The parts of the message of a reply.
fn parts(reply: &Reply) -> (&str, &[ToolCall], &[OpaquePart]) {
    match &reply.message {
        Message::Assistant { text, calls, opaque, .. } => (text, calls, opaque),
        other => panic!("a model says this: {other:?}"),
    }
}

/// The requests of a conversation that goes on with these messages.
async fn sent(dialect: Dialect, messages: Vec<Message>) -> Json {
    let (reply, _, server) = dialect.ask_for("text", request(messages)).await;
    reply.unwrap();
    server.asked()[0].body.clone()
}

#[tokio::test]
async fn a_text_comes_in_pieces_with_its_usage_in_the_end() {
    for dialect in BOTH {
        let (reply, shown, _) = dialect.ask("text").await;
        let reply = reply.unwrap();
        assert_eq!(parts(&reply), ("Un café, s'il vous plaît ☕.", &[][..], &[][..]), "{}", dialect.name);
        assert_eq!(reply.usage, Usage::new(1200, 9).cached(1024), "{}", dialect.name);
        assert!(!reply.is_cut_off);
        assert_eq!(shown, [Delta::Text("Un café, ".into()), Delta::Text("s'il vous plaît ☕.".into())]);
    }
}

#[tokio::test]
async fn a_reply_with_the_reason_of_its_end_is_whole_also_if_the_connection_is_closed_behind_it() {
    let reply = OPENAI.ask("whole without its mark").await.0.unwrap();
    assert_eq!((parts(&reply).0, reply.usage), ("It is forty-two.", Usage::new(8, 4)));
    let reply = OPENAI.ask("call without its mark").await.0.unwrap();
    let (_, calls, _) = parts(&reply);
    assert_eq!((calls.len(), &calls[0].arguments), (1, &json!({ "number": 21 })));
}

#[tokio::test]
async fn the_request_has_the_model_without_its_prefix_the_key_and_the_options() {
    for (dialect, key) in [(OPENAI, "authorization: bearer secret"), (ANTHROPIC, "x-api-key: secret")] {
        let engine_options = graphweft_agents::ModelOptions::default();
        let mut asked = request(vec![Message::user("Hello?")]);
        asked.options = engine_options;
        asked.options.temperature = Some(0.5);
        asked.options.max_tokens = Some(77);
        let (reply, _, server) = dialect.ask_for("text", asked).await;
        let model = reply.unwrap().model;
        let sent = &server.asked()[0];
        assert_eq!(sent.body["model"], model);
        assert!(!model.contains("::"), "{model}");
        assert!(sent.head.contains(key), "{}", sent.head);
        let options = (&sent.body["temperature"], &sent.body["max_tokens"], &sent.body["stream"]);
        assert_eq!(options, (&json!(0.5), &json!(77), &json!(true)));
        assert!(sent.body.to_string().contains("You help."));
    }
}

#[tokio::test]
async fn a_provider_that_wants_a_limit_of_tokens_gets_one_and_another_does_not() {
    let (_, _, server) = ANTHROPIC.ask("text").await;
    assert_eq!(server.asked()[0].body["max_tokens"], 64_000);
    let (_, _, server) = OPENAI.ask("text").await;
    let body = &server.asked()[0].body;
    assert!(body["max_tokens"].is_null() && body["max_completion_tokens"].is_null(), "{body}");
}

#[tokio::test]
async fn another_server_does_not_get_the_key_of_the_environment() {
    let server = OPENAI.server(&["text"]);
    let model = graphweft_agents::GenaiModel::new("openai::local").unwrap().endpoint(server.url());
    model.chat(&request(vec![Message::user("Hello?")]), &|_| {}).await.unwrap();
    assert!(server.asked()[0].head.contains("authorization: bearer none"), "{}", server.asked()[0].head);
    assert!(!format!("{:?}", model.key("secret")).contains("secret"));
}

#[tokio::test]
async fn a_call_that_is_split_is_put_together() {
    for dialect in BOTH {
        let (reply, shown, _) = dialect.ask("one call").await;
        let reply = reply.unwrap();
        let call = ToolCall::new("call_a", "double", json!({ "number": 21 }));
        assert_eq!(parts(&reply), ("", &[call][..], &[][..]), "{}", dialect.name);
        assert_eq!((reply.usage.input, reply.usage.output), (50, 12), "{}", dialect.name);
        assert!(shown.is_empty(), "{shown:?}");
    }
}

#[tokio::test]
async fn a_call_whose_index_is_odd_is_one_call() {
    let reply = OPENAI.ask("call with an odd index").await.0.unwrap();
    let [call] = parts(&reply).1 else { panic!("one call: {reply:?}") };
    assert_eq!(call.arguments, json!({ "number": 21 }));
}

#[tokio::test]
async fn several_calls_keep_their_order_and_a_call_without_arguments_has_an_object_of_none() {
    for dialect in BOTH {
        let (reply, ..) = dialect.ask("two calls").await;
        let reply = reply.unwrap();
        let (text, calls, _) = parts(&reply);
        let calls: Vec<_> = calls.iter().map(|call| (&*call.id, &*call.name, call.arguments.clone())).collect();
        let expected = [("call_a", "double", json!({ "number": 1 })), ("call_b", "now", json!({}))];
        assert_eq!((text, &calls[..]), ("Both.", &expected[..]), "{}", dialect.name);
    }
}

#[tokio::test]
async fn arguments_that_are_no_json_are_a_text_and_go_back_in_an_object() {
    for dialect in BOTH {
        let (reply, ..) = dialect.ask("call with nonsense").await;
        let reply = reply.unwrap();
        let arguments = &parts(&reply).1[0].arguments;
        assert_eq!(arguments, &json!("{\"number\": twenty-one"), "{}", dialect.name);

        let result = Message::tool("call_a", "double", "error: no");
        let body = sent(dialect, vec![Message::user("Hello?"), reply.message, result]).await;
        let back = match dialect.name {
            "openai" => {
                let text = body["messages"][2]["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
                serde_json::from_str(text).unwrap()
            }
            _ => body["messages"][1]["content"][0]["input"].clone(),
        };
        assert_eq!(back, json!({ "invalid_json": "{\"number\": twenty-one" }), "{}", dialect.name);
    }
}

#[tokio::test]
async fn results_go_back_with_the_ids_of_their_calls() {
    let calls = ["a", "b"].map(|id| ToolCall::new(id, "double", json!({})));
    let reply = Message::assistant("").with_calls(calls);
    let result = |id: &str| Message::tool(id, "double", format!("of {id}"));
    let conversation = vec![Message::user("Hello?"), reply, result("a"), result("b")];

    let body = sent(OPENAI, conversation.clone()).await;
    let [first, second] = &body["messages"].as_array().unwrap()[3..] else { panic!("two results: {body}") };
    assert_eq!((&first["tool_call_id"], &first["content"]), (&json!("a"), &json!("of a")));
    assert_eq!((&second["role"], &second["tool_call_id"]), (&json!("tool"), &json!("b")));

    let body = sent(ANTHROPIC, conversation).await;
    let results = body["messages"][2]["content"].as_array().unwrap();
    let ids: Vec<&Json> = results.iter().map(|result| &result["tool_use_id"]).collect();
    assert_eq!((ids, &body["messages"][3]), (vec![&json!("a"), &json!("b")], &Json::Null), "they are one message");
}

#[tokio::test]
async fn reasoning_goes_back_to_its_own_provider_in_a_format_with_a_version() {
    let mut replies = Vec::new();
    for dialect in BOTH {
        let (reply, shown, _) = dialect.ask("reasoning and a call").await;
        let reply = reply.unwrap();
        assert_eq!(shown, ["Twice is ", "times two."].map(|text| Delta::Reasoning(text.into())), "{}", dialect.name);
        let formats: Vec<&str> = parts(&reply).2.iter().map(|part| &*part.format).collect();
        assert!(!formats.is_empty() && formats.iter().all(|format| *format == format!("{}/1", dialect.name)));
        replies.push(reply.message);
    }
    let conversation = |reply: &Message| {
        let result = Message::tool("call_a", "double", "42");
        vec![Message::user("Hello?"), reply.clone(), result]
    };

    let body = sent(ANTHROPIC, conversation(&replies[1])).await;
    let thinking = json!({ "type": "thinking", "thinking": "Twice is times two.", "signature": "EqQBCgIYAhIM" });
    let redacted = json!({ "type": "redacted_thinking", "data": "EmwKAhgBEgy3" });
    let content = body["messages"][1]["content"].as_array().unwrap();
    assert_eq!(content[..2], [thinking, redacted]);
    assert_eq!((&content[2]["type"], content.len()), (&json!("tool_use"), 3));
    let body = sent(OPENAI, conversation(&replies[0])).await;
    assert_eq!(body["messages"][2]["reasoning_content"], "Twice is times two.");

    for (dialect, other) in [(OPENAI, &replies[1]), (ANTHROPIC, &replies[0])] {
        let body = sent(dialect, conversation(other)).await.to_string();
        assert!(!body.contains("times two") && !body.contains("EqQBCgIYAhIM"), "{body}");
    }
}

#[tokio::test]
async fn parts_of_another_version_or_of_nobody_are_left_out() {
    let part = |format: &str, data: Json| OpaquePart::new(format, data);
    let opaque = vec![
        part("anthropic/2", json!({ "signature": "new" })),
        part("anthropic/1", json!({ "hologram": "?" })),
        part("anthropic/1", json!([])),
    ];
    let reply = Message::assistant("Yes.").with_opaque(opaque);
    let body = sent(ANTHROPIC, vec![Message::user("Hello?"), reply, Message::user("Why?")]).await;
    assert_eq!(body["messages"][1]["content"], "Yes.");
}

#[tokio::test]
async fn tools_and_the_format_are_sent_as_the_dialect_has_them() {
    let schema = json!({ "type": "object", "properties": { "answer": { "type": "integer" } }, "required": ["answer"] });
    let tool = ToolSpec::new("double", "Doubles.", schema.clone());
    let with_tool = || {
        let mut request = request(vec![Message::user("Hello?")]);
        request.tools = Arc::from([tool.clone()]);
        request
    };
    let with_format = || {
        let mut request = request(vec![Message::user("Hello?")]);
        request.format = Some(Format::new("answer", schema.clone()));
        request
    };
    let of = |server: Server| server.asked()[0].body.clone();
    let body = of(OPENAI.ask_for("text", with_tool()).await.2);
    assert_eq!(body["tools"][0]["function"]["name"], "double");
    assert_eq!(body["tools"][0]["function"]["parameters"], schema);
    let body = of(OPENAI.ask_for("text", with_format()).await.2);
    assert_eq!(body["response_format"]["json_schema"]["schema"]["properties"], schema["properties"]);
    let body = of(ANTHROPIC.ask_for("text", with_tool()).await.2);
    assert_eq!((&body["tools"][0]["description"], &body["tools"][0]["input_schema"]), (&json!("Doubles."), &schema));
    let body = of(ANTHROPIC.ask_for("text", with_format()).await.2);
    assert_eq!(body["output_config"]["format"]["schema"]["properties"], schema["properties"]);
}

#[tokio::test]
async fn a_schema_for_openai_is_strict_if_it_can_be() {
    let sent = async |of_answer: Json| {
        let mut asked = request(vec![Message::user("Hello?")]);
        let schema = json!({ "type": "object", "properties": { "answer": of_answer }, "required": [] });
        asked.format = Some(Format::new("answer", schema));
        let body = OPENAI.ask_for("text", asked).await.2.asked()[0].body.clone();
        body["response_format"]["json_schema"].clone()
    };
    let one_of = json!({ "oneOf": [{ "type": "integer" }, { "type": "null" }], "default": null });
    let strict = sent(one_of).await;
    let expected = json!({
        "type": "object",
        "properties": { "answer": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } },
        "required": ["answer"],
        "additionalProperties": false,
    });
    assert_eq!((&strict["strict"], &strict["schema"]), (&json!(true), &expected));
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    let loose = sent(map.clone()).await;
    assert_eq!((&loose["strict"], &loose["schema"]["properties"]["answer"]), (&json!(false), &map));
}

#[tokio::test]
async fn texts_of_the_user_that_follow_each_other_are_one_message() {
    let summary = Message::user("This is what was said before, in short: They have met.");
    let conversation = [summary, Message::user("Hello?"), Message::assistant("Yes."), Message::user("Well?")];
    for dialect in BOTH {
        let body = sent(dialect, conversation.to_vec()).await;
        let messages = body["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
        let messages: Vec<String> = messages.map(|message| message.to_string()).collect();
        assert_eq!(messages.len(), 3, "{body}");
        let joined = "This is what was said before, in short: They have met.\\n\\nHello?";
        assert!(messages[0].contains(joined) && messages[2].contains("Well?"), "{body}");
    }
}

#[tokio::test]
async fn an_empty_reply_goes_back_as_a_text() {
    for (dialect, nothing) in BOTH.into_iter().flat_map(|dialect| ["", " \n\n"].map(|nothing| (dialect, nothing))) {
        let said = vec![Message::user("Hello?"), Message::assistant(nothing), Message::user("Well?")];
        let body = sent(dialect, said).await;
        assert_eq!(texts_of(&body), ["Hello?", "(empty)", "Well?"], "{body}");
    }
}

#[tokio::test]
async fn white_space_beside_calls_stays_here_and_an_empty_prompt_is_sent_as_a_text() {
    let call = ToolCall::new("call-1", "look", json!({}));
    let conversation = [
        Message::user(" "),
        Message::assistant("\n\n").with_calls([call]),
        Message::tool("call-1", "look", "A lamp."),
        Message::assistant("It is there."),
        Message::user(""),
    ];
    for dialect in BOTH {
        let body = sent(dialect, conversation.to_vec()).await;
        assert_eq!(texts_of(&body), ["(empty)", "It is there.", "(empty)"], "{body}");
    }
}

/// The texts of the user and of the model in a request, in both dialects.
fn texts_of(body: &Json) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["role"] == "user" || message["role"] == "assistant");
    let texts = said.flat_map(|message| match &message["content"] {
        // OpenAI takes it.
        Json::String(text) if text.is_empty() && message["tool_calls"].is_array() => Vec::new(),
        Json::String(text) => vec![text.clone()],
        Json::Array(parts) => parts.iter().filter_map(|part| Some(part["text"].as_str()?.to_owned())).collect(),
        _ => Vec::new(),
    });
    texts.collect()
}

#[tokio::test]
async fn a_reply_at_the_limit_of_tokens_says_so() {
    for dialect in BOTH {
        let (reply, ..) = dialect.ask("cut off").await;
        let reply = reply.unwrap();
        assert_eq!((parts(&reply).0, reply.is_cut_off), ("Once upon", true), "{}", dialect.name);
    }
}

#[tokio::test]
async fn odd_numbers_of_tokens_do_no_harm() {
    let (reply, ..) = OPENAI.ask("odd numbers").await;
    assert_eq!(reply.unwrap().usage, Usage::default());
    // Their sum does not fit: what adds them up panics, or wraps around if it is built without the check.
    match ANTHROPIC.ask("odd numbers").await.0 {
        Ok(reply) => assert_eq!(parts(&reply).0, "Many."),
        Err(error) => assert!(matches!(error, ModelError::Rejected { .. }), "{error}"),
    }
}
