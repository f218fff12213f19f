//! Typed output: the schema that a model gets, and its text read as a value.

use std::any::TypeId;

use graphweft::{Json, schema_part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::json_payload::JsonPayload;
use crate::message::{MAX_RECORDED, is_deeper};
use crate::model::Format;
use crate::names::shortened;

/// The property that holds an output whose schema is no object.
const ANSWER: &str = "answer";

/// How many times as long as a text is what is read of it, in looking for JSON at each of its brackets: each may begin a list that ends with the text.
const READ_AT_MOST: usize = 8;

/// What is read of the shortest text, in bytes.
const READ_AT_LEAST: usize = 4096;

/// What it costs to look at a bracket, in bytes that are read.
const COST_OF_PLACE: usize = 16;

/// Why an output does not fit its type. The model gets it as text.
///
/// Where an output is wrong, after the model was asked to repair it as often as it may:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, AgentError, Models, Scripted};
///
/// #[value]
/// struct Bill { cents: u32 }
///
/// workflow! {
///     read(String) -> Bill {
///         let reader: Agent<String, Bill> = Agent::new("You read bills.").repairs(0);
///         START => reader;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().resource(Models::new(Scripted::text(r#"{ "cents": "forty" }"#))).build()?;
/// let Outcome::Failed(failure) = engine.start::<read>("..".into()).await?.outcome().await? else { panic!("it is no bill") };
/// let Some(AgentError::Misfit { misfit, .. }) = failure.error_as() else { panic!("{failure}") };
/// assert_eq!(misfit.field, "cents");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, thiserror::Error)]
#[error("{}{message}", at(field))]
#[non_exhaustive]
pub struct Misfit {
    /// Where in the output: `lines[2].price`; `.` for the whole.
    pub field: String,
    /// The problem there.
    pub message: String,
}

fn at(field: &str) -> String {
    if field == "." { String::new() } else { format!("at `{field}`: ") }
}

impl Misfit {
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Misfit { field: ".".to_owned(), message: message.into() }
    }
}

/// A schema for a model, which has no use for the version of JSON Schema and the name of the type.
pub(crate) fn for_model(mut schema: Json) -> Json {
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("$schema");
        schema.remove("title");
    }
    schema
}

pub(crate) fn is_object(schema: &Json) -> bool {
    schema.get("type").is_some_and(|ty| ty == "object")
}

/// The schema of an object with one property. Providers accept only an object at the root.
pub(crate) fn in_object(property: &str, schema: Json) -> Json {
    let (schema, definitions) = schema_part(for_model(schema), property);
    let mut root = json!({
        "type": "object",
        "properties": { property: schema },
        "required": [property],
        "additionalProperties": false,
    });
    if !definitions.is_empty() {
        root["$defs"] = Json::Object(definitions);
    }
    root
}

fn is_text<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<String>()
}

/// The format of a type; `None` for a `String`, which is the text itself.
pub(crate) fn format_of<T: JsonPayload>() -> Option<Format> {
    if is_text::<T>() {
        return None;
    }
    let schema = schemars::schema_for!(T).to_value();
    let schema = if is_object(&schema) { for_model(schema) } else { in_object(ANSWER, schema) };
    Some(Format { name: ANSWER.to_owned(), schema })
}

/// Reads the text of a model as a value. Prose around the JSON and fences are skipped.
///
/// # Errors
/// The problem of the first JSON in it, if none fits; or that several fit which are not the same: a model may write what it considers before
/// what it answers.
pub(crate) fn read<T: JsonPayload>(text: &str) -> Result<T, Misfit> {
    let text = text.trim();
    if is_text::<T>() {
        if text.is_empty() {
            return Err(Misfit::whole("the answer is empty"));
        }
        return fit(&Json::String(text.to_owned()));
    }
    let is_wrapped = !is_object(&schemars::schema_for!(T).to_value());
    let answer = |json: Json| match json {
        Json::Object(mut object) if is_wrapped && object.len() == 1 && object.contains_key(ANSWER) => {
            object.remove(ANSWER).unwrap_or_default()
        }
        json => json,
    };
    let (mut first, mut no_object, mut fitting) = (None, None, None);
    for (place, json) in every_json(text) {
        let json = match json.map(answer) {
            Ok(json) if !is_deeper(&json, MAX_RECORDED) => json,
            _ => {
                let misfit = || Misfit::whole(format!("it nests more than {MAX_RECORDED} levels deep"));
                first.get_or_insert_with(misfit);
                continue;
            }
        };
        // A source such as `[1]`: serde would read the fields of a struct from it, in their order.
        if !is_wrapped && !json.is_object() {
            no_object = Some(Misfit::whole("it is no object"));
            continue;
        }
        match (fit(&json), &fitting) {
            (Ok(value), _) if place == Place::Alone => return Ok(value),
            (Ok(_), Some((_, other))) if json != *other => {
                return Err(Misfit::whole("it has several answers; write one alone"));
            }
            (Ok(value), None) => fitting = Some((value, json)),
            (Ok(_), Some(_)) => {}
            (Err(misfit), _) => drop(first.get_or_insert(misfit)),
        }
    }
    let none = || first.or(no_object).unwrap_or_else(|| Misfit::whole("there is no JSON in it"));
    fitting.map(|(value, _)| value).ok_or_else(none)
}

pub(crate) fn fit<T: JsonPayload>(json: &Json) -> Result<T, Misfit> {
    serde_path_to_error::deserialize(json).map_err(|error| Misfit {
        field: shortened(error.path().to_string()),
        message: shortened(error.inner().to_string()),
    })
}

/// Where JSON is in a text.
#[derive(PartialEq, Eq)]
enum Place {
    /// It is the whole text, or the whole of its fence.
    Alone,
    InProse,
}

/// JSON that nests deeper than can be read. What is inside of it is no answer.
struct TooDeep;

fn json_of(text: &str) -> Option<Result<Json, TooDeep>> {
    read_json(serde_json::from_str(text))
}

/// What was read; nothing if it is no JSON.
fn read_json(read: serde_json::Result<Json>) -> Option<Result<Json, TooDeep>> {
    match read {
        Ok(json) => Some(Ok(json)),
        // The limit of `serde_json`, of which the text alone says that it is that.
        Err(error) if error.to_string().starts_with("recursion limit exceeded") => Some(Err(TooDeep)),
        Err(_) => None,
    }
}

/// The whole text, what is in its only fence, and every object and list in it, in this order.
fn every_json(text: &str) -> impl Iterator<Item = (Place, Result<Json, TooDeep>)> + '_ {
    let fence = fenced(text).filter(|_| text.matches("```").count() == 2);
    let whole = [Some(text), fence].into_iter().flatten().filter_map(json_of);
    let mut from = 0;
    let mut left = (READ_AT_MOST * text.len()).max(READ_AT_LEAST);
    let inside = std::iter::from_fn(move || {
        let rest = text.get(from..)?;
        let begins = from + rest.find(['{', '['])?;
        let rest = &text[begins..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        let value = values.next();
        let read = match &value {
            Some(Err(error)) => offset_of(error, rest),
            _ => values.byte_offset(),
        };
        left = left.checked_sub(COST_OF_PLACE + read)?;
        let value = value.and_then(read_json);
        from = match &value {
            Some(Ok(_)) => begins + read,
            Some(Err(TooDeep)) => text.len(),
            None => begins + 1,
        };
        Some(value)
    });
    whole.map(|json| (Place::Alone, json)).chain(inside.flatten().map(|json| (Place::InProse, json)))
}

/// How far a text was read that has this error, in bytes.
fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let lines_before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    lines_before.map(str::len).sum::<usize>() + error.column()
}

/// What is in the first fence of a text.
pub(crate) fn fenced(text: &str) -> Option<&str> {
    let (_, after) = text.split_once("```")?;
    let (inside, _) = after.split_once("```")?;
    let inside = inside.strip_prefix("json").unwrap_or(inside);
    Some(inside.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    struct Price {
        cents: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    enum Colour {
        Red,
        Green,
    }

    /// Its schema refers to its own root.
    #[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    enum Nested {
        Leaf(u32),
        Both(Vec<Nested>),
    }

    #[test]
    fn a_type_that_holds_itself_and_is_no_object_is_defined_below_the_object_around_it() {
        let schema = format_of::<Nested>().unwrap().schema;
        assert_eq!(schema["properties"]["answer"], json!({ "$ref": "#/$defs/answer" }));
        let both = &schema["$defs"]["answer"]["oneOf"][1]["properties"]["Both"];
        assert_eq!(both["items"], json!({ "$ref": "#/$defs/answer" }), "{schema:#}");
    }

    #[test]
    fn what_nests_too_deep_is_said_to_and_nothing_inside_of_it_is_the_answer() {
        let both =
            |levels: usize| (0..levels).fold("{\"Leaf\":1}".to_owned(), |inside, _| format!("{{\"Both\":[{inside}]}}"));
        assert!(read::<Nested>(&both(49)).is_ok());
        for levels in [50, 63, 64, 80, 200, 100_000] {
            let deep = both(levels);
            let fence = format!("```json\n{deep}\n```");
            for text in [format!("It is {deep}."), deep, fence] {
                let misfit = read::<Nested>(&text).unwrap_err();
                assert_eq!(misfit, Misfit::whole("it nests more than 100 levels deep"), "{levels}");
            }
        }
    }

    #[test]
    fn json_is_read_out_of_prose_with_brackets() {
        let text = "As [you] asked {sic}: {\"cents\": 5}. Is that [right]?";
        assert_eq!(read::<Price>(text), Ok(Price { cents: 5 }));
    }

    #[test]
    fn json_is_read_behind_a_text_with_many_sources() {
        assert_eq!(read::<Price>("[[[ {\"cents\": 5}"), Ok(Price { cents: 5 }));
        for source in ["It is so [1].", "See [Knuth 1974].\n", "{sic}", "[\"a\"; "] {
            let text = format!("{} {{\"cents\": 5}}", source.repeat(500));
            assert_eq!(read::<Price>(&text), Ok(Price { cents: 5 }), "{source}");
        }
    }

    #[test]
    fn a_list_is_no_answer_where_an_object_is_wanted() {
        assert_eq!(read::<Price>("It was so in 1974 [5]."), Err(Misfit::whole("it is no object")));
        assert_eq!(read::<Price>("[5]"), Err(Misfit::whole("it is no object")));
        let misfit = read::<Price>("See [5]: {\"cents\": \"five\"}").unwrap_err();
        assert_eq!(misfit.field, "cents");
    }

    #[test]
    fn of_several_answers_none_is_chosen() {
        let several = Misfit::whole("it has several answers; write one alone");
        assert_eq!(read::<Price>("<think>{\"cents\": 1}?</think>{\"cents\": 9}"), Err(several.clone()));
        assert_eq!(read::<Vec<u32>>("See [1]: [4, 5]"), Err(several.clone()));
        assert_eq!(read::<Price>("```\n{\"cents\": 1}\n``` no: ```\n{\"cents\": 9}\n```"), Err(several));
        assert_eq!(read::<Price>("{\"cents\": 5}, that is {\"cents\": 5}"), Ok(Price { cents: 5 }));
        assert_eq!(read::<Price>("Not {\"dollars\": 1} but {\"cents\": 5}"), Ok(Price { cents: 5 }));
    }

    #[test]
    fn json_is_read_out_of_a_fence() {
        assert_eq!(read::<Price>("Here:\n```json\n{\"cents\": 5}\n```"), Ok(Price { cents: 5 }));
        assert_eq!(read::<u32>("```\n7\n```"), Ok(7));
    }

    #[test]
    fn what_is_no_object_is_read_with_and_without_the_property_around_it() {
        assert_eq!(read::<Colour>("{\"answer\": \"Green\"}"), Ok(Colour::Green));
        assert_eq!(read::<Colour>("\"Red\""), Ok(Colour::Red));
        assert_eq!(read::<Vec<u32>>("{\"answer\": [1, 2]}"), Ok(vec![1, 2]));
        assert_eq!(format_of::<Colour>().map(|format| format.schema["type"].clone()), Some(json!("object")));
    }

    #[test]
    fn a_misfit_names_the_field() {
        let Err(misfit) = read::<Price>("{\"cents\": \"five\"}") else { panic!("it does not fit") };
        assert_eq!(misfit.field, "cents");
        assert!(misfit.to_string().starts_with("at `cents`: invalid type: string \"five\""), "{misfit}");
        assert_eq!(read::<Price>("five"), Err(Misfit::whole("there is no JSON in it")));
    }

    #[test]
    fn a_text_of_brackets_is_read_in_a_bounded_number_of_tries() {
        for brackets in ["[\"", "[\"\n", "{\"a\": [\n", "[1, "] {
            assert!(read::<Price>(&brackets.repeat(1 << 18)).is_err(), "{brackets}");
        }
        assert_eq!(read::<Price>(&"[x".repeat(1 << 19)), Err(Misfit::whole("there is no JSON in it")));
    }

    #[test]
    fn a_string_is_the_text_itself() {
        assert_eq!(read::<String>(" {\"a\": 1} "), Ok("{\"a\": 1}".to_owned()));
        assert_eq!(read::<String>(" "), Err(Misfit::whole("the answer is empty")));
    }
}
