//! The routes of a real server on loopback.

mod attacks;
mod client;
mod conversations;
mod flows;
mod large;
#[cfg(feature = "mcp")]
mod mcp;
mod mounted;
mod odd;
mod page;
mod renamed;
mod routes;
mod slow;
mod store_only;
mod streams;

use graphweft::Engine;
use graphweft_inspector::Inspector;
use tokio::task::JoinHandle;

use crate::client::Client;

/// A server that stops when it is dropped.
pub(crate) struct Server {
    pub(crate) client: Client,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn of(engine: &Engine) -> Server {
        Server::with(Inspector::new(engine.clone())).await
    }

    pub(crate) async fn with(inspector: Inspector) -> Server {
        let serving = inspector.bind(0).await.unwrap();
        let client = Client { address: serving.address(), token: Some(serving.token().to_owned()) };
        assert!(client.address.ip().is_loopback());
        Server { client, task: tokio::spawn(async { serving.run().await.unwrap() }) }
    }
}

impl std::ops::Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// A text as a segment of a path.
pub(crate) fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}
