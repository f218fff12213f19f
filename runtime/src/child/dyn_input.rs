//! The input of a node that is called by name: an object with the names of its parameters.

use serde_json::{Map, Value as Json, json};

use crate::field::Unreadable;
use crate::node::{Node, Payload};
use crate::schema::schema_part;

/// How the input of a node is written as plain JSON.
#[derive(Clone, Debug)]
pub(super) enum InputForm {
    /// As the input itself: a node without named parameters, or with one that is an object.
    Whole,
    /// As an object with one parameter.
    One(Parameter),
    /// As an object with the parameters, of which some may be left out.
    Several(Vec<Parameter>),
    /// As an object without properties.
    None,
}

#[derive(Clone, Debug)]
pub(super) struct Parameter {
    name: &'static str,
    /// Whether it may be left out: it takes `null`.
    is_optional: bool,
}

impl Parameter {
    fn take(&self, object: &mut Map<String, Json>) -> Result<Json, Unreadable> {
        match object.remove(self.name) {
            Some(value) => Ok(value),
            None if self.is_optional => Ok(Json::Null),
            None => Err(missing(self.name)),
        }
    }
}

impl InputForm {
    /// The form for a node, and the JSON Schema of its input.
    pub(super) fn of<N: Node>() -> (InputForm, Json) {
        let schema = N::Input::__schema().to_value();
        let names = N::FACTS.parameters;
        let are_named = !names.is_empty() && names.iter().all(|name| !name.is_empty());
        if is_nothing::<N::Input>() {
            return (InputForm::None, json!({ "type": "object", "properties": {} }));
        }
        match (names, schema.get("prefixItems").and_then(Json::as_array)) {
            ([name], _) if are_named && !is_object(&schema) => {
                let one = Parameter { name, is_optional: takes_null(&schema) };
                let (part, definitions) = schema_part(schema.clone(), name);
                let version = schema.get("$schema").map(|version| ("$schema".to_owned(), version.clone()));
                let mut around: Map<String, Json> = version.into_iter().collect();
                if !definitions.is_empty() {
                    around.insert("$defs".to_owned(), definitions.into());
                }
                (InputForm::One(one), object(vec![(*name, part)], &around.into()))
            }
            ([_, _, ..], Some(types)) if are_named && types.len() == names.len() => {
                let properties: Vec<(&'static str, Json)> = names.iter().copied().zip(types.iter().cloned()).collect();
                let object = object(properties.clone(), &schema);
                let takes_null = |(name, ty): (&'static str, Json)| Parameter { name, is_optional: takes_null(&ty) };
                (InputForm::Several(properties.into_iter().map(takes_null).collect()), object)
            }
            _ => (InputForm::Whole, schema),
        }
    }

    /// The plain JSON of the input itself.
    ///
    /// # Errors
    /// If a parameter is missing, or there is one that the node does not have.
    pub(super) fn read(&self, input: Json) -> Result<Json, Unreadable> {
        match (self, input) {
            (InputForm::Whole, input) => Ok(input),
            (InputForm::None, Json::Object(object)) => no_others(&object, &[]).map(|()| Json::Null),
            (InputForm::None, Json::Null) => Ok(Json::Null),
            (InputForm::One(parameter), Json::Object(mut object)) => {
                let value = parameter.take(&mut object)?;
                no_others(&object, &[parameter.name])?;
                Ok(value)
            }
            (InputForm::Several(parameters), Json::Object(mut object)) => {
                let values = parameters.iter().map(|parameter| parameter.take(&mut object));
                let values = values.collect::<Result<Vec<Json>, Unreadable>>()?;
                let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
                no_others(&object, &names)?;
                Ok(Json::Array(values))
            }
            (InputForm::None | InputForm::One(_) | InputForm::Several(_), _) => {
                Err(Unreadable::whole("an object with the names of the parameters is expected"))
            }
        }
    }

    /// Where the problem is, in the words of the object.
    pub(super) fn located(&self, error: Unreadable) -> Unreadable {
        let Unreadable { field, message } = error;
        let field = match self {
            InputForm::One(parameter) => below(parameter.name, &field),
            InputForm::Several(parameters) => {
                let at = field.strip_prefix('[').and_then(|rest| rest.split_once(']'));
                let parameter = at.and_then(|(at, _)| parameters.get(at.parse::<usize>().ok()?));
                match (parameter, at) {
                    (Some(parameter), Some((_, rest))) => below(parameter.name, rest.trim_start_matches('.')),
                    _ => field,
                }
            }
            InputForm::Whole | InputForm::None => field,
        };
        Unreadable { field, message }
    }
}

fn below(name: &str, field: &str) -> String {
    match field {
        "" | "." => name.to_owned(),
        field if field.starts_with('[') => format!("{name}{field}"),
        field => format!("{name}.{field}"),
    }
}

fn is_nothing<I: Payload>() -> bool {
    std::any::TypeId::of::<I>() == std::any::TypeId::of::<()>()
}

fn is_object(schema: &Json) -> bool {
    schema.get("type").is_some_and(|ty| ty == "object")
}

fn takes_null(schema: &Json) -> bool {
    let is_null = |ty: &Json| ty == "null";
    let names_null = match schema.get("type") {
        Some(Json::Array(types)) => types.iter().any(is_null),
        Some(ty) => is_null(ty),
        None => false,
    };
    let of_any = schema.get("anyOf").and_then(Json::as_array);
    names_null || of_any.is_some_and(|any| any.iter().any(takes_null))
}

/// The schema of an object with these properties. `around` is the schema with the definitions that they refer to.
fn object(properties: Vec<(&'static str, Json)>, around: &Json) -> Json {
    let required: Vec<&str> =
        properties.iter().filter(|(_, schema)| !takes_null(schema)).map(|(name, _)| *name).collect();
    let definition = |key: &str| Some((key.to_owned(), around.get(key)?.clone()));
    let mut schema = Json::Object(["$schema", "$defs"].into_iter().filter_map(definition).collect());
    let without_definitions = |(name, mut schema): (&str, Json)| {
        if let Some(schema) = schema.as_object_mut() {
            schema.remove("$schema");
            schema.remove("$defs");
        }
        (name.to_owned(), schema)
    };
    schema["type"] = "object".into();
    schema["required"] = required.into();
    schema["properties"] = Json::Object(properties.into_iter().map(without_definitions).collect());
    schema["additionalProperties"] = false.into();
    schema
}

fn missing(name: &str) -> Unreadable {
    Unreadable { field: name.to_owned(), message: "it is missing".to_owned() }
}

fn no_others(left: &Map<String, Json>, names: &[&str]) -> Result<(), Unreadable> {
    match left.keys().next() {
        None => Ok(()),
        Some(other) => {
            let names = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let names = if names.is_empty() { "there are none".to_owned() } else { format!("they are {names}") };
            Err(Unreadable { field: other.clone(), message: format!("there is no such parameter: {names}") })
        }
    }
}
