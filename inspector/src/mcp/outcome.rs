//! What a run has come to, as the result of a tool.

use graphweft::{AwaitedSignal, Failure, Outcome, Question};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Map, Value, json};

use super::schema;

/// The schema of the results of a workflow with this output.
pub(super) fn schema(output: &Value) -> JsonObject {
    let (output, definitions) = schema::part(output, "Output");
    let mut object = Map::new();
    object.insert("type".to_owned(), json!("object"));
    object.insert("required".to_owned(), json!(["run", "status"]));
    let text = json!({"type": "string"});
    let mut properties = json!({
        "run": {"type": "string", "description": "The id of the run."},
        "status": {"enum": ["completed", "waiting", "failed", "cancelled"]},
        "questions": {
            "description": "What a person has to answer before the run continues, if it is waiting.",
            "type": "array",
            "items": {"type": "object", "required": ["id", "prompt", "schema"], "properties": {
                "id": text, "prompt": text, "payload": {}, "schema": {"description": "That of the answer."},
            }},
        },
        "signals": {
            "description": "The signals without which the run does not continue, if it is waiting.",
            "type": "array",
            "items": {"type": "object", "properties": {
                "name": text, "path": text, "schema": {"description": "That of the payload."},
            }},
        },
        "error": {
            "description": "Why the run has failed.",
            "type": "object",
            "properties": {"path": text, "attempts": {"type": "integer"}, "causes": {"type": "array", "items": text}},
        },
    });
    properties["output"] = output;
    object.insert("properties".to_owned(), properties);
    if !definitions.is_empty() {
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    object
}

/// The result of a call.
pub(super) fn result(run: &str, outcome: &Outcome<Value>) -> CallToolResult {
    match outcome {
        Outcome::Completed(output) => success(json!({"run": run, "status": "completed", "output": output})),
        Outcome::Waiting(questions) => {
            let questions: Vec<Value> = questions.iter().map(question).collect();
            success(json!({"run": run, "status": "waiting", "questions": questions}))
        }
        Outcome::AwaitingSignals(signals) => {
            let signal = |AwaitedSignal { name, path, schema, .. }: &AwaitedSignal| json!({"name": name, "path": path, "schema": schema});
            let signals: Vec<Value> = signals.iter().map(signal).collect();
            success(json!({"run": run, "status": "waiting", "signals": signals}))
        }
        Outcome::Failed(failure) => {
            let Failure { path, attempts, cause, .. } = failure;
            let error = json!({"path": path, "attempts": attempts, "causes": cause.chain});
            failed(
                format!("run `{run}` has failed: {failure}"),
                json!({"run": run, "status": "failed", "error": error}),
            )
        }
        Outcome::Cancelled => failed(format!("run `{run}` was cancelled"), json!({"run": run, "status": "cancelled"})),
        // The enum may grow.
        other => CallToolResult::error(vec![ContentBlock::text(format!("run `{run}`: {other:?}"))]),
    }
}

fn question(Question { id, prompt, payload, schema, .. }: &Question) -> Value {
    json!({"id": id, "prompt": prompt, "payload": payload, "schema": schema})
}

/// The text is the same: clients that do not read structured content show that to their model.
fn success(structured: Value) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(structured.to_string())]);
    result.structured_content = Some(structured);
    result
}

fn failed(text: String, structured: Value) -> CallToolResult {
    let mut result = CallToolResult::error(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structured);
    result
}
