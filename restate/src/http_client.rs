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

/// How long a request is made again that the servers answer with an error of theirs, and one to a handler that answers at once, while the
/// servers are there and no worker answers.
const ANSWERED: Duration = Duration::from_secs(20);

/// How long all attempts may take together, with those at servers that do not answer.
const ALL_ATTEMPTS: Duration = Duration::from_secs(150);

/// How long a server may take to say that it is there.
const HEALTH: Duration = Duration::from_secs(2);

#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;

#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;

#[cfg(not(feature = "tls"))]
fn secured(connector: HttpConnector, is_https: bool) -> Result<Connector, String> {
    let needed = "`https` needs the feature `tls` of graphweft-restate";
    if is_https { Err(needed.to_owned()) } else { Ok(connector) }
}

/// With the certificates that the machine trusts, if one of the addresses needs them.
#[cfg(feature = "tls")]
fn secured(mut connector: HttpConnector, is_https: bool) -> Result<Connector, String> {
    use hyper_rustls::ConfigBuilderExt;
    use rustls::crypto::ring::default_provider;
    use rustls::{ClientConfig, RootCertStore};

    let failed = |error: rustls::Error| format!("what this machine trusts cannot be read: {error}");
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    let builder = if is_https {
        builder.try_with_platform_verifier().map_err(failed)?
    } else {
        builder.with_root_certificates(RootCertStore::empty())
    };
    connector.enforce_http(false);
    let secured = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(builder.with_no_client_auth());
    Ok(secured.https_or_http().enable_http1().wrap_connector(connector))
}

/// The address of a server with its scheme, which is `http` if it has none.
fn with_scheme(address: &str) -> String {
    let address = address.trim_end_matches('/');
    let is_whole = address.starts_with("http://") || address.starts_with("https://");
    if is_whole { address.to_owned() } else { format!("http://{address}") }
}

/// Some servers, of which any will do. A clone shares their connections.
#[derive(Clone, Debug)]
pub(crate) struct Servers {
    /// Or why there is none for these addresses.
    http: Result<Client<Connector, Full<Bytes>>, String>,
    /// Each with its scheme.
    addresses: Arc<[String]>,
    /// The one that has answered last.
    next: Arc<AtomicUsize>,
}

/// A request. It may be made twice: a server that dies has done it, or not.
pub(crate) struct Request<'r> {
    pub(crate) path: &'r str,
    pub(crate) body: Option<Bytes>,
    pub(crate) idempotency_key: Option<String>,
    pub(crate) done_by: DoneBy,
}

/// Who does what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoneBy {
    /// The server.
    Server,
    /// A worker, at once.
    Worker,
    /// A worker, when the run is driven.
    Run,
}

impl Servers {
    pub(crate) fn at<A: AsRef<str>>(addresses: &[A]) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(Duration::from_secs(3)));
        let mut http = Client::builder(TokioExecutor::new());
        http.pool_timer(TokioTimer::new()).pool_idle_timeout(Duration::from_secs(30));
        let addresses: Arc<[String]> = addresses.iter().map(|address| with_scheme(address.as_ref())).collect();
        let is_https = addresses.iter().any(|address| address.starts_with("https://"));
        let http = secured(connector, is_https).map(|connector| http.build(connector));
        Servers { http, addresses, next: Arc::default() }
    }

    pub(crate) fn addresses(&self) -> &[String] {
        &self.addresses
    }

    /// Asks for something, and again while no server answers.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, ClientError> {
        self.send(http::Method::GET, Request { path, body: None, idempotency_key: None, done_by: DoneBy::Server }).await
    }

    /// Makes a request, and makes it again while no server answers it.
    pub(crate) async fn post(&self, request: Request<'_>) -> Result<Json, ClientError> {
        self.send(http::Method::POST, request).await
    }

    async fn send(&self, method: http::Method, request: Request<'_>) -> Result<Json, ClientError> {
        if let Some(bytes) = request.body.as_ref().map(Bytes::len).filter(|bytes| *bytes > MAX_BODY) {
            return Err(ClientError::TooLarge { bytes, limit: MAX_BODY });
        }
        if let Err(message) = &self.http {
            return Err(ClientError::Unreachable { addresses: self.addresses.to_vec(), message: message.clone() });
        }
        let (mut last, mut pause) = ("there is no address".to_owned(), PAUSE);
        let begun = Instant::now();
        // Since when a server is there, and does not do it.
        let mut is_there_since: Option<Instant> = None;
        for _ in 0..if self.addresses.is_empty() { 0 } else { ATTEMPTS } {
            if begun.elapsed() > ALL_ATTEMPTS {
                break;
            }
            let at = self.next.load(Ordering::Relaxed);
            let address = &self.addresses[at % self.addresses.len()];
            let since = is_there_since.unwrap_or_else(Instant::now);
            let is_there = match tokio::time::timeout(PATIENCE, self.send_to(address, &method, &request)).await {
                Ok(Ok((status, body))) if status < 500 && status != 429 => {
                    return read(status, &body, &format!("{address}{}", request.path));
                }
                Ok(Ok((status, body))) => {
                    last = format!("{status} {}", message_of(&body));
                    true
                }
                Ok(Err(error)) => {
                    last = error;
                    false
                }
                Err(_) if request.done_by != DoneBy::Server && self.is_there(address).await => {
                    last = format!(
                        "the server is there, and no worker has answered for {} s: is one running that has the workflow, at the \
                         address that was registered?",
                        since.elapsed().as_secs()
                    );
                    true
                }
                Err(_) => {
                    last = format!("it has not answered for {} s", PATIENCE.as_secs());
                    false
                }
            };
            is_there_since = is_there.then_some(since);
            if is_there && request.done_by != DoneBy::Run && since.elapsed() >= ANSWERED {
                break;
            }
            // If another request has moved on meanwhile, that is enough.
            let _ = self.next.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
        }
        Err(ClientError::Unreachable { addresses: self.addresses.to_vec(), message: last })
    }

    /// Whether a server answers, whatever that is.
    async fn is_there(&self, address: &str) -> bool {
        let health = Request { path: "/restate/health", body: None, idempotency_key: None, done_by: DoneBy::Server };
        let asked = self.send_to(address, &http::Method::GET, &health);
        tokio::time::timeout(HEALTH, asked).await.is_ok_and(|answered| answered.is_ok())
    }

    async fn send_to(
        &self,
        address: &str,
        method: &http::Method,
        request: &Request<'_>,
    ) -> Result<(u16, Bytes), String> {
        let mut builder = http::Request::builder()
            .method(method)
            .uri(format!("{address}{}", request.path))
            .header("accept", "application/json");
        if let Some(key) = &request.idempotency_key {
            builder = builder.header("idempotency-key", key);
        }
        if request.body.is_some() {
            builder = builder.header("content-type", "application/json");
        }
        let body = Full::new(request.body.clone().unwrap_or_default());
        let request = builder.body(body).map_err(|error| error.to_string())?;
        let response =
            self.http.as_ref().map_err(String::clone)?.request(request).await.map_err(|error| chain(&error))?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.map_err(|error| chain(&error))?;
        Ok((status, body.to_bytes()))
    }
}

fn read(status: u16, body: &Bytes, address: &str) -> Result<Json, ClientError> {
    let message = || match message_of(body) {
        // What the server says of a path that it does not have.
        message if message.is_empty() || message.starts_with("bad path") => format!(
            "{address} is nothing that this port of Restate has: a `Client` takes the addresses of the ingress, port 8080 unless it is \
             set, and an `Admin` those of the administration, port 9070"
        ),
        message => message,
    };
    match status {
        200..300 if body.is_empty() => Ok(Json::Null),
        200..300 => serde_json::from_slice(body).map_err(|error| ClientError::of_json("the answer of Restate", &error)),
        404 => Err(ClientError::NotFound { message: message() }),
        status => Err(ClientError::Refused { status, message: message() }),
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

#[cfg(test)]
mod tests {
    #[cfg(not(feature = "tls"))]
    use super::{DoneBy, Request};
    use super::{Servers, with_scheme};

    #[test]
    fn an_address_without_a_scheme_is_http() {
        let addresses = ["10.0.0.1:8080", "http://10.0.0.1:8080/", "https://restate.internal"];
        let whole = ["http://10.0.0.1:8080", "http://10.0.0.1:8080", "https://restate.internal"];
        assert_eq!(addresses.map(with_scheme), whole);
    }

    #[cfg(feature = "tls")]
    #[tokio::test]
    async fn a_request_to_an_https_address_begins_with_a_handshake() {
        use tokio::io::AsyncReadExt;

        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let servers = Servers::at(&[format!("https://localhost:{}", listener.local_addr().unwrap().port())]);
        let request = tokio::spawn(async move { servers.get("/health").await });
        let (mut stream, _) = listener.accept().await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), 22, "a record of a handshake");
        request.abort();
    }

    #[cfg(not(feature = "tls"))]
    #[tokio::test]
    async fn an_https_address_without_tls_is_an_error_that_says_what_to_do() {
        let request = Request { path: "/health", body: None, idempotency_key: None, done_by: DoneBy::Server };
        let error = Servers::at(&["https://localhost:1"]).post(request).await.unwrap_err();
        assert!(error.to_string().contains("the feature `tls`"), "{error}");
    }
}
