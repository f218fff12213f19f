//! Models of providers, against recorded replies of two dialects: OpenAI's chat completions and Anthropic's messages.

mod dialect;
mod failures;
mod loops;
mod replies;
mod server;
