//! A receiver of OTLP on loopback, which decodes what it is sent.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

pub(crate) struct Receiver {
    pub(crate) endpoint: String,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Receiver {
    pub(crate) fn begin() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let endpoint = format!("http://{}/v1/traces", listener.local_addr().expect("an address"));
        let spans: Arc<Mutex<Vec<Span>>> = Arc::default();
        let received = Arc::clone(&spans);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (connection, received) = (connection.expect("a connection"), Arc::clone(&received));
                std::thread::spawn(move || while receive(&connection, &received).is_some() {});
            }
        });
        Receiver { endpoint, spans }
    }

    /// The spans so far, in the order in which they began.
    pub(crate) fn spans(&self) -> Vec<Span> {
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner).clone();
        spans.sort_by_key(|span| span.start_time_unix_nano);
        spans
    }
}

/// Takes one request. `None` at the end of the connection.
fn receive(connection: &TcpStream, received: &Mutex<Vec<Span>>) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut length = 0;
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    assert!(line.starts_with("POST /v1/traces "), "{line}");
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-type:") {
            assert_eq!(value.trim(), "application/x-protobuf");
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let request = ExportTraceServiceRequest::decode(&*body).expect("a request of OTLP");
    let spans = request.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans);
    received.lock().unwrap_or_else(PoisonError::into_inner).extend(spans);
    (&mut &*connection).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()
}

/// The text of an attribute; empty if there is none.
pub(crate) fn attribute(span: &Span, name: &str) -> String {
    let of_name = |it: &&opentelemetry_proto::tonic::common::v1::KeyValue| it.key == name;
    let mut found = span.attributes.iter().filter(of_name);
    let first = found.next().and_then(|attribute| attribute.value.as_ref()?.value.clone());
    assert!(found.next().is_none(), "{name} is there once");
    match first {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        _ => String::new(),
    }
}
