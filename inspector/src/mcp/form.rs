//! A question as the form of an elicitation.

use graphweft::Question;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};

use super::schema;

/// The field of an answer that has no fields of its own.
const ANSWER: &str = "answer";

/// A form: fields of texts, numbers, yes or no, and choices. Forms of MCP have nothing else.
pub(super) struct Form {
    schema: ElicitationSchema,
    shape: AnswerShape,
}

/// How an answer becomes fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerShape {
    /// It has fields.
    Fields,
    /// It is a field.
    Field,
    /// It is a text that is JSON, since a form cannot express it.
    Json,
}

/// What a person has done with a form.
#[derive(Debug, PartialEq)]
pub(super) enum Filled {
    Answer(Value),
    /// Why it is no answer.
    Unusable(String),
    /// The person does not want to answer.
    Declined,
}

impl Form {
    /// The form for an answer with this schema.
    pub(super) fn of(schema: &Value) -> Self {
        let form = |fields: Map<String, Value>, required: Value| {
            let object = json!({"type": "object", "properties": fields, "required": required});
            serde_json::from_value::<ElicitationSchema>(object).ok()
        };
        let one = |(field, is_required)| {
            let fields = Map::from_iter([(ANSWER.to_owned(), field)]);
            form(fields, if is_required { json!([ANSWER]) } else { json!([]) })
        };
        let root = schema::resolved(schema, schema);
        if let Some(schema) = fields(root, schema).and_then(|(fields, required)| form(fields, required)) {
            return Form { schema, shape: AnswerShape::Fields };
        }
        if let Some(schema) = field(root, schema).and_then(one) {
            return Form { schema, shape: AnswerShape::Field };
        }
        let text =
            json!({"type": "string", "title": "Answer", "description": format!("JSON by this schema: {schema}")});
        Form {
            schema: one((text, true)).unwrap_or_else(|| ElicitationSchema::new(Default::default())),
            shape: AnswerShape::Json,
        }
    }

    /// Shows a question, and what was wrong with the last answer.
    pub(super) fn ask(&self, question: &Question, problem: Option<&str>) -> ElicitRequestParams {
        let mut message = String::new();
        if let Some(problem) = problem {
            message.push_str(problem);
            message.push_str("\n\n");
        }
        message.push_str(&question.prompt);
        if !question.payload.is_null() {
            message.push_str(&format!("\n\n{:#}", question.payload));
        }
        ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema: self.schema.clone() }
    }

    /// Reads what was filled in.
    pub(super) fn read(&self, result: ElicitResult) -> Filled {
        if result.action != ElicitationAction::Accept {
            return Filled::Declined;
        }
        let mut content = match result.content {
            Some(Value::Object(content)) => content,
            None => Map::new(),
            Some(_) => return Filled::Unusable("the content of the form is not an object".to_owned()),
        };
        match self.shape {
            AnswerShape::Fields => Filled::Answer(Value::Object(content)),
            AnswerShape::Field => Filled::Answer(content.remove(ANSWER).unwrap_or_default()),
            AnswerShape::Json => match content.get(ANSWER).and_then(Value::as_str).map(serde_json::from_str) {
                Some(Ok(answer)) => Filled::Answer(answer),
                Some(Err(error)) => Filled::Unusable(format!("the answer is not JSON: {error}")),
                None => Filled::Unusable("there is no answer".to_owned()),
            },
        }
    }
}

/// The fields of an object, if a form has all of them, and the names of those that are required.
fn fields(object: &Value, root: &Value) -> Option<(Map<String, Value>, Value)> {
    let choices = ["oneOf", "anyOf", "allOf"];
    if choices.iter().any(|it| object.get(it).is_some()) {
        return None;
    }
    let properties = object.get("properties")?.as_object()?;
    let field = |(name, schema): (&String, &Value)| Some((name.clone(), field(schema, root)?.0));
    let fields = properties.iter().map(field).collect::<Option<Map<String, Value>>>()?;
    Some((fields, object.get("required").cloned().unwrap_or_else(|| json!([]))))
}

/// The field for a value, and whether it has to be filled in; `None` if a form has no such field.
fn field(schema: &Value, root: &Value) -> Option<(Value, bool)> {
    let definition = schema::resolved(schema, root);
    if let Some(choices) = definition.get("anyOf").and_then(Value::as_array) {
        // `Option` of a type with a name.
        let is_null = |choice: &&Value| choice.get("type") == Some(&json!("null"));
        let (nulls, others): (Vec<&Value>, Vec<&Value>) = choices.iter().partition(is_null);
        let [other] = others.as_slice() else { return None };
        // A type can be an `Option` of itself.
        if schema::resolved(other, root).get("anyOf").is_some() {
            return None;
        }
        return Some((field(other, root)?.0, nulls.is_empty()));
    }
    let (kind, is_required) = match definition.get("type") {
        Some(Value::Array(types)) => {
            let others: Vec<&Value> = types.iter().filter(|kind| *kind != "null").collect();
            let [kind] = others.as_slice() else { return None };
            (kind.as_str(), others.len() == types.len())
        }
        kind => (kind.and_then(Value::as_str), true),
    };
    let names = names(definition);
    let kept: &[&str] = match (kind, &names) {
        (Some("string") | None, Some(_)) => &["title", "description"],
        (Some("string"), None) => &["title", "description", "minLength", "maxLength", "format", "default"],
        (Some("integer" | "number"), _) => &["title", "description", "minimum", "maximum", "default"],
        (Some("boolean"), _) => &["title", "description", "default"],
        _ => return None,
    };
    let mut field = Map::new();
    for key in kept {
        // What is said of the field comes before what is said of its type.
        if let Some(value) = schema.get(key).or_else(|| definition.get(key)) {
            field.insert((*key).to_owned(), value.clone());
        }
    }
    let formats = ["email", "uri", "date", "date-time"];
    if field.get("format").is_some_and(|format| !formats.iter().any(|it| format == it)) {
        field.remove("format");
    }
    if field.get("default").is_some_and(Value::is_null) {
        field.remove("default");
    }
    field.insert("type".to_owned(), json!(kind.unwrap_or("string")));
    if let Some(names) = names {
        field.insert("enum".to_owned(), json!(names));
    }
    Some((Value::Object(field), is_required))
}

/// The variants of an enum of names.
fn names(schema: &Value) -> Option<Vec<&str>> {
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return names.iter().map(Value::as_str).collect();
    }
    // Variants with doc comments; several without one are together.
    let variants = schema.get("oneOf")?.as_array()?;
    let of = |variant| match <Value>::get(variant, "const") {
        Some(name) => Some(vec![name.as_str()?]),
        None => names(variant),
    };
    Some(variants.iter().map(of).collect::<Option<Vec<_>>>()?.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(schema: Value) -> (AnswerShape, Value) {
        let form = Form::of(&schema);
        (form.shape, serde_json::to_value(&form.schema).unwrap())
    }

    fn accepted(content: Value) -> ElicitResult {
        ElicitResult::new(ElicitationAction::Accept).with_content(content)
    }

    #[test]
    fn an_answer_of_simple_fields_is_a_form() {
        let schema = json!({"type": "object", "required": ["fine", "level"], "properties": {
            "fine": {"type": "boolean", "description": "Whether."},
            "cents": {"type": "integer", "format": "uint32", "minimum": 0},
            "note": {"type": ["string", "null"]},
            "level": {"$ref": "#/$defs/Level"},
        }, "$defs": {"Level": {"oneOf": [{"type": "string", "enum": ["Low", "Middle"]},
            {"type": "string", "const": "High", "description": "Much."}]}}});
        let (shape, form) = form(schema);
        assert_eq!(shape, AnswerShape::Fields);
        assert_eq!(form["required"], json!(["fine", "level"]));
        let fields = &form["properties"];
        assert_eq!(fields["fine"], json!({"type": "boolean", "description": "Whether."}));
        assert_eq!(fields["cents"], json!({"type": "integer", "minimum": 0}));
        assert_eq!(fields["note"], json!({"type": "string"}));
        assert_eq!(fields["level"], json!({"type": "string", "enum": ["Low", "Middle", "High"]}));
    }

    #[test]
    fn a_simple_answer_is_one_field() {
        let schema = json!({"$schema": "x", "type": "boolean"});
        assert_eq!(form(schema.clone()).1["properties"], json!({"answer": {"type": "boolean"}}));
        assert_eq!(Form::of(&schema).read(accepted(json!({"answer": true}))), Filled::Answer(json!(true)));
    }

    #[test]
    fn what_may_be_null_need_not_be_filled_in() {
        let schema = json!({"anyOf": [{"$ref": "#/$defs/L"}, {"type": "null"}], "$defs": {"L": {"type": "string", "enum": ["A"]}}});
        let (shape, form) = form(schema.clone());
        assert_eq!((shape, &form["required"]), (AnswerShape::Field, &json!([])));
        assert_eq!(Form::of(&schema).read(accepted(json!({}))), Filled::Answer(Value::Null));
    }

    #[test]
    fn an_option_of_itself_is_json() {
        let schema = json!({"$ref": "#/$defs/W", "$defs": {"W": {"anyOf": [{"$ref": "#/$defs/W"}, {"type": "null"}]}}});
        assert_eq!(form(schema).0, AnswerShape::Json);
    }

    #[test]
    fn an_answer_that_no_form_has_is_json() {
        let nested = json!({"type": "object", "properties": {"lines": {"type": "array"}}});
        let either = json!({"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}}, {"const": 1}]});
        for schema in [nested, either, json!({"type": "array"}), json!({})] {
            assert_eq!(form(schema.clone()).0, AnswerShape::Json, "{schema}");
            let read = |text: &str| Form::of(&schema).read(accepted(json!({"answer": text})));
            assert_eq!(read("[1]"), Filled::Answer(json!([1])));
            assert!(matches!(read("[1"), Filled::Unusable(why) if why.contains("not JSON")));
        }
    }

    #[test]
    fn a_form_that_is_not_sent_is_declined() {
        let form = Form::of(&json!({"type": "boolean"}));
        for action in [ElicitationAction::Decline, ElicitationAction::Cancel] {
            assert_eq!(form.read(ElicitResult::new(action)), Filled::Declined);
        }
    }
}
