//! What the status of a server behind a URL says of a call.

use std::error::Error;

use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpClientTransportConfig, StreamableHttpError,
};

/// A status of HTTP that is an error.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) code: u16,
    /// The header `retry-after`, as it is.
    retry_after: Option<String>,
}

/// Reads the status from the error of a transport.
pub(super) type ReadStatus = fn(&(dyn Error + 'static)) -> Option<Status>;

/// What reads the errors of this transport. Their type is known by that of its client alone.
pub(super) fn reader<C: StreamableHttpClient>(_: &StreamableHttpClientTransport<C>) -> ReadStatus {
    read::<C::Error>
}

fn read<E: Error + Send + Sync + 'static>(error: &(dyn Error + 'static)) -> Option<Status> {
    let status = |code| Some(Status { code, retry_after: None });
    match error.downcast_ref::<StreamableHttpError<E>>()? {
        StreamableHttpError::HttpStatus(error) => {
            Some(Status { code: error.status, retry_after: error.retry_after.clone() })
        }
        StreamableHttpError::AuthRequired(_) => status(401),
        StreamableHttpError::InsufficientScope(_) => status(403),
        StreamableHttpError::SessionExpired => status(404),
        StreamableHttpError::UnexpectedServerResponse(text) => status(code_in(text)?),
        _ => None,
    }
}

/// The error of the HTTP client within an error of the transport, which does not have it as its source.
pub(super) fn of_client<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    of_client_of(StreamableHttpClientTransport::from_config, error)
}

/// The client's type is that of the transport, which no crate of ours names.
fn of_client_of<'e, C: StreamableHttpClient>(
    _: fn(StreamableHttpClientTransportConfig) -> StreamableHttpClientTransport<C>,
    error: &'e (dyn Error + 'static),
) -> Option<&'e (dyn Error + 'static)> {
    match error.downcast_ref::<StreamableHttpError<C::Error>>()? {
        StreamableHttpError::Client(error) => Some(error),
        _ => None,
    }
}

/// That of `HTTP 401 Unauthorized: ..`, as the transport writes a status that it has no error for.
fn code_in(text: &str) -> Option<u16> {
    text.strip_prefix("HTTP ")?.split([' ', ':']).next()?.parse().ok()
}

impl Status {
    /// Why the call has not been made; `None` if that is not known.
    pub(super) fn refusal(&self) -> Option<String> {
        let why = match self.code {
            401 => "it wants other credentials; set them with `McpBuilder::header`",
            403 => "the credentials do not allow it",
            404 => "there is nothing at the address, or the session has ended",
            429 => "there were too many requests",
            _ => return None,
        };
        let after = self.retry_after.as_ref().map(|after| format!(" (`retry-after: {after}`)"));
        Some(format!("{why}{}", after.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_without_an_error_of_its_own_is_read_from_the_text() {
        assert_eq!(code_in("HTTP 401 Unauthorized: who are you?"), Some(401));
        assert_eq!(code_in("HTTP 404: "), Some(404));
        assert_eq!(code_in("invalid www-authenticate header value"), None);
    }
}
