//! What a provider gets back unchanged, in a format of our own: that of genai may change with its version, and runs outlive it.

use genai::adapter::AdapterKind;
use genai::chat::{ContentPart, CustomPart};
use graphweft::Json;
use serde::{Deserialize, Serialize};

use crate::message::OpaquePart;

/// The name of the format for a provider, with its version.
pub(super) fn format_of(adapter: AdapterKind) -> String {
    format!("{}/1", adapter.as_lower_str())
}

/// A part, as version 1 of the format has it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept {
    /// The signature of the reasoning that follows, or of the whole reply.
    Signature(String),
    /// Reasoning.
    Reasoning(String),
    /// Something that only this provider has.
    Custom(Json),
    /// The signatures of one call, by its position.
    Call { at: usize, signatures: Vec<String> },
}

impl Kept {
    pub(super) fn into_part(self, format: &str) -> Option<OpaquePart> {
        let data = serde_json::to_value(self).ok()?;
        Some(OpaquePart { format: format.to_owned(), data })
    }

    /// Those of this format. Other ones are of another provider or version.
    pub(super) fn all<'p>(parts: &'p [OpaquePart], format: &'p str) -> impl Iterator<Item = Kept> + 'p {
        parts.iter().filter(move |part| part.format == format).filter_map(|part| Kept::deserialize(&part.data).ok())
    }

    /// The part for genai; `None` for what belongs to a call.
    pub(super) fn into_content(self) -> Option<ContentPart> {
        match self {
            Kept::Signature(signature) => Some(ContentPart::ThoughtSignature(signature)),
            Kept::Reasoning(reasoning) => Some(ContentPart::ReasoningContent(reasoning)),
            Kept::Custom(data) => Some(ContentPart::Custom(CustomPart { model_iden: None, data })),
            Kept::Call { .. } => None,
        }
    }
}
