//! The two dialects.

use std::sync::Mutex;

use graphweft_agents::{ChatModel, Delta, GenaiModel, Message, ModelError, Reply, Request};

use crate::server::{Recorded, Server};

#[derive(Clone, Copy)]
pub(crate) struct Dialect {
    pub(crate) name: &'static str,
    /// The model with its prefix.
    model: &'static str,
    file: &'static str,
}

pub(crate) const OPENAI: Dialect =
    Dialect { name: "openai", model: "openai::gpt-4o-mini", file: include_str!("openai.http") };
pub(crate) const ANTHROPIC: Dialect =
    Dialect { name: "anthropic", model: "anthropic::claude-sonnet-5", file: include_str!("anthropic.http") };
pub(crate) const BOTH: [Dialect; 2] = [OPENAI, ANTHROPIC];

impl Dialect {
    pub(crate) fn section(&self, name: &str) -> Recorded {
        Recorded::section(self.file, name)
    }

    /// A server that sends these sections in turn.
    pub(crate) fn server(&self, sections: &[&str]) -> Server {
        Server::with(sections.iter().map(|name| self.section(name)))
    }

    pub(crate) fn model(&self, server: &Server) -> GenaiModel {
        GenaiModel::new(self.model).unwrap().endpoint(server.url()).key("secret")
    }

    /// Asks for the reply of one section. With the pieces that were shown, and the server.
    pub(crate) async fn ask(&self, section: &str) -> (Result<Reply, ModelError>, Vec<Delta>, Server) {
        self.ask_for(section, request(vec![Message::user("Hello?")])).await
    }

    pub(crate) async fn ask_for(
        &self,
        section: &str,
        request: Request,
    ) -> (Result<Reply, ModelError>, Vec<Delta>, Server) {
        let server = self.server(&[section]);
        let shown = Mutex::new(Vec::new());
        let reply = self.model(&server).chat(&request, &|delta| shown.lock().unwrap().push(delta)).await;
        (reply, shown.into_inner().unwrap(), server)
    }
}

pub(crate) fn request(messages: Vec<Message>) -> Request {
    Request::new("You help.", messages)
}
