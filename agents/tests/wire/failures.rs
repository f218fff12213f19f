//! Failures of providers, as typed errors.

use std::net::TcpListener;
use std::time::Duration;

use graphweft_agents::{ChatModel, GenaiModel, Message, ModelError};

use crate::dialect::{BOTH, Dialect, OPENAI, request};
use crate::server::Server;

async fn error(dialect: Dialect, section: &str) -> ModelError {
    match dialect.ask(section).await.0 {
        Ok(reply) => panic!("{}, {section}: {reply:?}", dialect.name),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_rate_limit_has_the_delay_that_the_provider_asks_for() {
    for dialect in BOTH {
        let limited = error(dialect, "rate limited").await;
        assert!(limited.is_passing());
        assert_eq!(limited.retry_after(), Some(Duration::from_secs(3600)), "{limited}");
        let until = error(dialect, "rate limited until").await;
        assert_eq!(until.retry_after(), Some(Duration::from_secs(90)), "{until}");
    }
}

#[tokio::test]
async fn the_status_of_a_streamed_call_is_its_error() {
    for dialect in BOTH {
        let name = dialect.name;
        let of = async |section| error(dialect, section).await;
        let overloaded = of("overloaded").await;
        assert!(matches!(overloaded, ModelError::Overloaded { .. }), "{name}: {overloaded}");
        assert_eq!(overloaded.retry_after(), Some(Duration::from_secs(7)), "{name}");
        assert!(matches!(of("unauthorised").await, ModelError::Unauthorised { .. }), "{name}");
        assert!(matches!(of("too long").await, ModelError::TooLong { .. }), "{name}");
        let rejected = of("rejected").await;
        assert!(
            matches!(&rejected, ModelError::Rejected { message } if message.ends_with("(status 404)")),
            "{rejected}"
        );
        assert!(matches!(of("filtered").await, ModelError::Filtered { .. }), "{name}");
        assert!(matches!(of("error in the stream").await, ModelError::Overloaded { .. }), "{name}");
    }
}

#[tokio::test]
async fn a_redirect_does_not_take_the_key_to_another_server() {
    for dialect in BOTH {
        let other = dialect.server(&["text"]);
        let redirecting = dialect.section("redirected").replacing("PORT", &other.port().to_string());
        let server = Server::with([redirecting]);
        let redirected = dialect.model(&server).chat(&request(vec![Message::user("Hello?")]), &|_| {}).await;
        let redirected = redirected.expect_err("it is not followed");
        assert!(!redirected.is_passing(), "{}: {redirected}", dialect.name);
        assert_eq!((server.asked().len(), other.asked().len()), (1, 0), "{}", dialect.name);
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_the_reply_is_no_reply() {
    let sections = ["closed", "closed within an event", "shorter than announced", "without a reason", "a page"];
    for dialect in BOTH {
        for section in sections {
            let broken = error(dialect, section).await;
            assert!(matches!(broken, ModelError::Unreachable { .. }), "{}, {section}: {broken}", dialect.name);
            assert!(broken.is_passing());
        }
    }
}

#[tokio::test]
async fn a_reply_that_cannot_be_read_is_rejected_and_not_asked_for_again() {
    for dialect in BOTH {
        for section in ["nonsense", "call that cannot be read"] {
            let unreadable = error(dialect, section).await;
            assert!(matches!(unreadable, ModelError::Rejected { .. }), "{}, {section}: {unreadable}", dialect.name);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_listen_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = GenaiModel::new("openai::gpt-4o-mini").unwrap().endpoint(url);
    let error = model.chat(&request(vec![Message::user("Hello?")]), &|_| {}).await.unwrap_err();
    assert!(matches!(&error, ModelError::Unreachable { message } if message.contains("refused")), "{error}");
}

#[tokio::test]
async fn what_is_wrong_with_the_configuration_is_said_before_anything_is_sent() {
    let unknown = GenaiModel::new("no_such::model").unwrap_err();
    assert!(unknown.to_string().contains("no provider has the prefix `no_such::`; there are openai, "), "{unknown}");

    let asked = request(vec![Message::user("Hello?")]);
    let model = GenaiModel::new("openai::gpt-4o-mini").unwrap().endpoint("localhost:8080");
    let error = model.chat(&asked, &|_| {}).await.unwrap_err();
    assert!(matches!(&error, ModelError::Rejected { message } if message.contains("`localhost:8080/`")), "{error}");

    // A variable that no machine has.
    let model = GenaiModel::new("genai_251::model").unwrap();
    let error = model.chat(&asked, &|_| {}).await.unwrap_err();
    assert!(!error.is_passing(), "{error}");
}

#[tokio::test]
async fn a_reply_without_an_end_is_given_up() {
    let event = |text: &str| format!("{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}");
    let long = event(&"x".repeat(1 << 16));
    let many = vec![format!("data: {{\"choices\":[{long}]}}\n\n"); 150].concat();
    let server = Server::with([OPENAI.section("closed").replacing("data: ", &format!("{many}data: "))]);
    let error = OPENAI.model(&server).chat(&request(vec![Message::user("Hello?")]), &|_| {}).await.unwrap_err();
    assert!(matches!(&error, ModelError::Rejected { message } if message.contains("8388608 bytes")), "{error}");
}
