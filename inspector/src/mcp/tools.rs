//! The tools: workflows, and how their arguments are read.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use graphweft::{Engine, Graph};
use rmcp::model::{JsonObject, Tool};
use serde_json::{Map, Value, json};

use super::{outcome, schema};

/// The argument with the id of the run.
pub(super) const RUN_ID: &str = "run_id";

/// The argument with the input, if the input is not an object with fields.
const INPUT: &str = "input";

/// The tools of a server.
pub(super) struct Tools {
    workflows: BTreeMap<String, WorkflowTool>,
    answer: Tool,
}

/// A workflow as a tool.
pub(super) struct WorkflowTool {
    tool: Tool,
    input: InputShape,
}

/// How the input of a workflow becomes arguments, which are an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputShape {
    /// Its fields are arguments.
    Fields,
    /// It is an argument.
    Whole,
    /// There is none.
    Nothing,
}

/// The arguments of `answer`.
pub(super) struct AnswerArguments {
    pub(super) run: String,
    pub(super) question: String,
    pub(super) answer: Value,
}

impl Tools {
    pub(super) fn of(engine: &Engine) -> Self {
        let workflow = |name: &str| {
            // A call gives no keys of the state.
            let can_be_started = engine.required_state(name).is_empty();
            let graphs = engine.graph(name).filter(|_| can_be_started)?;
            Some((name.to_owned(), WorkflowTool::of(&graphs.graph)))
        };
        let workflows: BTreeMap<String, WorkflowTool> = engine.workflows().filter_map(workflow).collect();
        // The name of a workflow is an identifier.
        let answer = if workflows.contains_key("answer") { "graphweft.answer" } else { "answer" };
        Tools { workflows, answer: answer_tool(answer) }
    }

    /// Those for a client that can show forms, or cannot.
    pub(super) fn list(&self, shows_forms: bool) -> Vec<Tool> {
        let answer = Some(&self.answer).filter(|_| !shows_forms);
        self.workflows.values().map(|workflow| &workflow.tool).chain(answer).cloned().collect()
    }

    pub(super) fn workflow(&self, name: &str) -> Option<&WorkflowTool> {
        self.workflows.get(name)
    }

    pub(super) fn is_answer(&self, name: &str) -> bool {
        self.answer.name == name
    }

    /// The name of the tool that answers questions.
    pub(super) fn answer_name(&self) -> &str {
        &self.answer.name
    }
}

impl WorkflowTool {
    fn of(graph: &Graph) -> Self {
        let (input, arguments) = arguments(graph.input.as_value());
        let description = match graph.doc.trim() {
            "" => format!("Runs the workflow `{}`.", graph.name),
            doc => doc.to_owned(),
        };
        let tool = Tool::new(graph.name.clone(), description, Arc::new(arguments))
            .with_raw_output_schema(Arc::new(outcome::schema(graph.output.as_value())));
        WorkflowTool { tool, input }
    }

    /// The id of the run and the input of the workflow.
    ///
    /// # Errors
    /// What is wrong with the arguments. Whether the input fits is not known here.
    pub(super) fn read(&self, mut arguments: JsonObject) -> Result<(Option<String>, Value), String> {
        let id = match arguments.remove(RUN_ID) {
            None | Some(Value::Null) => None,
            Some(Value::String(id)) => Some(id),
            Some(_) => return Err(format!("invalid arguments: at `{RUN_ID}`: the id of a run is a text")),
        };
        let input = match self.input {
            InputShape::Fields => return Ok((id, Value::Object(arguments))),
            InputShape::Whole => arguments.remove(INPUT).unwrap_or_default(),
            InputShape::Nothing => Value::Null,
        };
        match arguments.keys().next() {
            None => Ok((id, input)),
            Some(other) => {
                let there_are = if self.input == InputShape::Whole { "`input` and `run_id`" } else { "`run_id` only" };
                let other = crate::problem::shown(other);
                Err(format!("invalid arguments: at `{other}`: there is no such argument; there is {there_are}"))
            }
        }
    }
}

/// The schema of the arguments of a workflow with this input.
fn arguments(input: &Value) -> (InputShape, JsonObject) {
    let is = |name: &str| input.get("type").and_then(Value::as_str) == Some(name);
    let only_its_own = input.get("additionalProperties").is_none_or(|more| more == &Value::Bool(false));
    let choices = ["oneOf", "anyOf", "allOf", "$ref", "if", "patternProperties"];
    let fields = input.get("properties").and_then(Value::as_object).filter(|fields| {
        is("object")
            && only_its_own
            && !fields.contains_key(RUN_ID)
            && !choices.iter().any(|it| input.get(it).is_some())
    });
    let (part, mut definitions) = schema::part(input, "Input");
    let mut object = match (&part, fields) {
        // One that refers to itself has to stay as it is.
        (Value::Object(part), Some(_)) if !part.contains_key("$ref") => part.clone(),
        _ => Map::new(),
    };
    let shape = match (object.is_empty(), is("null")) {
        (false, _) => InputShape::Fields,
        (true, true) => InputShape::Nothing,
        (true, false) => InputShape::Whole,
    };
    // The name of a type, which says less than that of the tool.
    object.remove("title");
    object.insert("type".to_owned(), json!("object"));
    let properties = object.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.insert(RUN_ID.to_owned(), run_id());
        if shape == InputShape::Whole {
            properties.insert(INPUT.to_owned(), part);
        }
    }
    match shape {
        InputShape::Fields => {}
        InputShape::Whole => _ = object.insert("required".to_owned(), json!([INPUT])),
        InputShape::Nothing => definitions.clear(),
    }
    if !definitions.is_empty() {
        object.insert("$defs".to_owned(), Value::Object(definitions));
    }
    (shape, object)
}

fn run_id() -> Value {
    json!({
        "type": "string",
        "description": "An id of your choice for this run. If the call is cut off, a call with the same id and the same \
                        arguments gets the result of this run, and does nothing twice. Leave it out for a new run.",
        "minLength": 1,
        "maxLength": 1024,
    })
}

fn answer_tool(name: &'static str) -> Tool {
    let mut arguments = Map::new();
    arguments.insert("type".to_owned(), json!("object"));
    arguments.insert("required".to_owned(), json!([RUN_ID, "question", "answer"]));
    let properties = json!({
        RUN_ID: {"type": "string", "description": "The id of the run that asks: `run` in the result of the call."},
        "question": {"type": "string", "description": "The `id` of the question, or its name."},
        "answer": {"description": "The answer, by the `schema` of the question."},
    });
    arguments.insert("properties".to_owned(), properties);
    let description = "Answers an open question of a run, and returns the result of the run. Ask the user before you answer: \
                       the question is meant for a person.";
    Tool::new(Cow::Borrowed(name), description, Arc::new(arguments))
        .with_raw_output_schema(Arc::new(outcome::schema(&json!({}))))
}

impl AnswerArguments {
    /// # Errors
    /// Which argument is wrong.
    pub(super) fn read(mut arguments: JsonObject) -> Result<Self, String> {
        let mut text = |name: &str| match arguments.remove(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("invalid arguments: at `{name}`: this is not a text")),
            None => Err(format!("invalid arguments: at `{name}`: it is missing")),
        };
        let (run, question) = (text(RUN_ID)?, text("question")?);
        let answer = arguments.remove("answer").ok_or("invalid arguments: at `answer`: it is missing")?;
        Ok(AnswerArguments { run, question, answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_an_input_are_arguments() {
        let input = json!({"$schema": "x", "title": "Refund", "type": "object", "required": ["cents"],
            "properties": {"cents": {"$ref": "#/$defs/Cents"}}, "$defs": {"Cents": {"type": "integer"}}});
        let (shape, schema) = arguments(&input);
        assert_eq!(shape, InputShape::Fields);
        assert_eq!(schema["required"], json!(["cents"]));
        assert_eq!(schema["properties"]["run_id"]["type"], "string");
        assert_eq!(schema["$defs"], input["$defs"]);
        assert!(!schema.contains_key("$schema") && !schema.contains_key("title"));
    }

    #[test]
    fn an_input_that_has_no_fields_of_its_own_is_an_argument() {
        let recursive = json!({"type": "object", "properties": {"next": {"$ref": "#"}}});
        let taken = json!({"type": "object", "properties": {"run_id": {"type": "integer"}}});
        let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
        let choice = json!({"oneOf": [{"type": "object", "properties": {}}]});
        for input in [json!({"type": "integer"}), recursive, taken, map, choice] {
            let (shape, schema) = arguments(&input);
            assert_eq!(shape, InputShape::Whole, "{input}");
            assert_eq!(schema["required"], json!(["input"]), "{input}");
            assert_eq!(schema["properties"]["run_id"]["type"], "string");
        }
    }

    #[test]
    fn a_workflow_without_an_input_has_the_id_only() {
        let (shape, schema) = arguments(&json!({"type": "null"}));
        assert_eq!(shape, InputShape::Nothing);
        assert_eq!(schema["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["run_id"]);
    }
}
