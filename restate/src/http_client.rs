//! Requests to servers of Restate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use graphweft::Json;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};

use crate::error::ClientError;
use crate::invocation::MAX_BODY;

/// How often a request is made, each time to the next server.
const ATTEMPTS: usize = 60;

/// The pause after a first failed request; it doubles up to [`MAX_PAUSE`]. With these, some twenty seconds.
const PAUSE: Duration = Duration::from_millis(20);

const MAX_PAUSE: Duration = Duration::from_millis(400);

/// How long a server may take for one request: one that is stopped does not answer at all.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long all attempts may take together, with those at servers that do not answer.
const ALL_ATTEMPTS: Duration = Duration::from_secs(150);

/// Some servers, of which any will do. A clone shares their connections.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    http: Client<HttpConnector, Full<Bytes>>,
    addresses: Arc<[String]>,
    /// The one that has answered last.
    next: Arc<AtomicUsize>,
}

/// A request. It may be made twice: a server that dies has done it, or not.
pub(crate) struct Request<'r> {
    pub(crate) path: &'r str,
    pub(crate) body: Option<Bytes>,
    pub(crate) idempotency_key: Option<String>,
}

impl Servers {
    pub(crate) fn at<A: AsRef<str>>(addresses: &[A]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(Duration::from_secs(3)));
        let mut http = Client::builder(TokioExecutor::new());
        http.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(30));
        let addresses = addresses.iter().map(|address| address.as_ref().trim_start_matches("http://").to_owned());
        Servers { http: http.build(connector), addresses: addresses.collect(), next: Arc::default() }
    }

    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Asks for something, and again while no server answers.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, ClientError> {
        self.send(http::Method::GET, Request { path, body: None, idempotency_key: None }).await
    }

    /// Makes a request, and makes it again while no server answers it.
    pub(crate) async fn post(&self, request: Request<'_>) -> Result<Json, ClientError> {
        self.send(http::Method::POST, request).await
    }

    async fn send(&self, method: http::Method, request: Request<'_>) -> Result<Json, ClientError> {
        if let Some(bytes) = request.body.as_ref().map(Bytes::len).filter(|bytes| *bytes > MAX_BODY) {
            return Err(ClientError::TooLarge { bytes, limit: MAX_BODY });
        }
        let (mut last, mut pause) = ("there is no address".to_owned(), PAUSE);
        let begun = Instant::now();
        for _ in 0..if self.addresses.is_empty() { 0 } else { ATTEMPTS } {
            if begun.elapsed() > ALL_ATTEMPTS {
                break;
            }
            let at = self.next.load(Ordering::Relaxed);
            let address = &self.addresses[at % self.addresses.len()];
            match tokio::time::timeout(PATIENCE, self.send_to(address, &method, &request)).await {
                Ok(Ok((status, body))) if status < 500 && status != 429 => return read(status, &body),
                Ok(Ok((status, body))) => last = format!("{status} {}", message_of(&body)),
                Ok(Err(error)) => last = error,
                Err(_) => last = format!("it has not answered for {} s", PATIENCE.as_secs()),
            }
            // If another request has moved on meanwhile, that is enough.
            let _ = self.next.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        Err(ClientError::Unreachable { addresses: self.addresses.to_vec(), message: last })
    }

    async fn send_to(
        &self,
        address: &str,
        method: &http::Method,
        request: &Request<'_>,
    ) -> Result<(u16, Bytes), String> {
        let mut builder = http::Request::builder()
            .method(method)
            .uri(format!("http://{address}{}", request.path))
            .header("accept", "application/json");
        if let Some(key) = &request.idempotency_key {
            builder = builder.header("idempotency-key", key);
        }
        if request.body.is_some() {
            builder = builder.header("content-type", "application/json");
        }
        let body = Full::new(request.body.clone().unwrap_or_default());
        let request = builder.body(body).map_err(|error| error.to_string())?;
        let response = self.http.request(request).await.map_err(|error| chain(&error))?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|error| chain(&error))?;
        Ok((status, body.to_bytes()))
    }
}

fn read(status: u16, body: &Bytes) -> Result<Json, ClientError> {
    match status {
        200..300 if body.is_empty() => Ok(Json::Null),
        200..300 => serde_json::from_slice(body).map_err(|error| ClientError::of_json("the answer of Restate", &error)),
        404 => Err(ClientError::NotFound { message: message_of(body) }),
        status => Err(ClientError::Refused { status, message: message_of(body) }),
    }
}

/// What Restate says in an error, which is JSON with a message in most.
fn message_of(body: &Bytes) -> String {
    let json = serde_json::from_slice::<Json>(body).ok();
    let message = json.as_ref().and_then(|json| json["message"].as_str());
    message.map_or_else(|| String::from_utf8_lossy(body).into_owned(), str::to_owned)
}

/// An error with what has caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
