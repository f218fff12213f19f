//! Messages as lines of a pair of streams.

use std::io;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcError, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::message;

/// How many bytes a line may have.
const LINE: usize = 16 << 20;

/// What is kept of the memory of a long line.
const KEPT: usize = 64 << 10;

/// A client at a pair of streams. What it sends that is no message gets an error as its response; rmcp's own transport of streams is
/// silent then, and the client waits for ever.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of the line is skipped, since it is too long.
    is_skipping: bool,
    /// `None` when it is closed.
    write: Arc<Mutex<Option<W>>>,
    /// The response to what was no message. It is kept here since `receive` is dropped when something else happens.
    refusing: Option<BoxFuture<'static, io::Result<()>>>,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(read: R, write: W) -> Self {
        let (read, write) = (BufReader::new(read), Arc::new(Mutex::new(Some(write))));
        Lines { read, line: Vec::new(), is_skipping: false, write, refusing: None }
    }

    /// Reads the next line. `None` at the end of the stream, where a line without its end is dropped. Cancel safe.
    async fn next(&mut self) -> io::Result<Option<Result<Vec<u8>, JsonRpcError>>> {
        loop {
            let there_is = self.read.fill_buf().await?;
            if there_is.is_empty() {
                return Ok(None);
            }
            let end = there_is.iter().position(|byte| *byte == b'\n');
            let part = &there_is[..end.unwrap_or(there_is.len())];
            let is_too_long = !self.is_skipping && self.line.len() + part.len() > LINE;
            if !self.is_skipping && !is_too_long {
                self.line.extend_from_slice(part);
            }
            let consumed = part.len() + usize::from(end.is_some());
            self.read.consume(consumed);
            let was_skipping = self.is_skipping;
            self.is_skipping = end.is_none() && (was_skipping || is_too_long);
            if is_too_long {
                return Ok(Some(Err(message::too_long(&std::mem::take(&mut self.line), LINE))));
            }
            if end.is_some() && !was_skipping {
                return Ok(Some(Ok(std::mem::take(&mut self.line))));
            }
        }
    }

    fn write(&self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = Arc::clone(&self.write);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let Some(write) = write.as_mut() else { return Err(io::ErrorKind::NotConnected.into()) };
            write.write_all(&line).await?;
            write.flush().await
        }
    }

    /// The message in a line; `None` if it is none.
    fn read(&mut self, mut line: Vec<u8>) -> Option<ClientJsonRpcMessage> {
        let text = line.strip_suffix(b"\r").unwrap_or(&line);
        let message = if text.is_empty() { Err(None) } else { message::read(text) };
        line.clear();
        line.shrink_to(KEPT);
        self.line = line;
        match message {
            Ok(message) => Some(message),
            Err(refusal) => {
                self.refuse(refusal);
                None
            }
        }
    }

    fn refuse(&mut self, refusal: Option<JsonRpcError>) {
        let Some(refusal) = refusal else { return };
        tracing::debug!(error = %refusal.error.message, "a client has sent what is no message");
        self.refusing = Some(self.write(JsonRpcMessage::Error(refusal)).boxed());
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(refusing) = &mut self.refusing {
                let refused = refusing.await;
                self.refusing = None;
                refused.ok()?;
            }
            match self.next().await {
                Ok(Some(Ok(line))) => {
                    if let Some(message) = self.read(line) {
                        return Some(message);
                    }
                }
                Ok(Some(Err(too_long))) => self.refuse(Some(too_long)),
                Ok(None) => return None,
                Err(error) => {
                    tracing::debug!(%error, "a client cannot be read any more");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.take();
        Ok(())
    }
}
