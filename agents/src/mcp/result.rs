//! The result of a tool call.

use graphweft::Json;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::error::McpError;

/// The structured content, or the texts. A model reads text, so everything else is only named.
///
/// # Errors
/// If the result is marked as an error.
pub(super) fn read(result: CallToolResult) -> Result<Json, McpError> {
    let text = || result.content.iter().map(shown).collect::<Vec<_>>().join("\n");
    if result.is_error == Some(true) {
        let message = match &result.structured_content {
            Some(structured) if result.content.is_empty() => structured.to_string(),
            _ => text(),
        };
        let message =
            if message.is_empty() { "the tool failed, and says nothing about it".to_owned() } else { message };
        return Err(McpError::Tool { message });
    }
    Ok(result.structured_content.clone().unwrap_or_else(|| Json::String(text())))
}

fn shown(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out(&audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                format!("{uri}: {}", left_out(mime_type.as_deref().unwrap_or("binary data"), blob))
            }
            _ => "[a resource of an unknown kind was left out]".to_owned(),
        },
        ContentBlock::ResourceLink(link) => {
            let description = link.description.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
            format!("[{}]({}){description}", link.name, link.uri)
        }
        _ => "[content of an unknown kind was left out]".to_owned(),
    }
}

fn left_out(kind: &str, base64: &str) -> String {
    let padding = base64.bytes().rev().take_while(|byte| *byte == b'=').count();
    format!("[{kind} of {} bytes was left out]", (base64.len() / 4 * 3).saturating_sub(padding))
}
