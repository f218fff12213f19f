//! The check itself.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

use crate::value::shortened;

/// Checks a value from outside against a JSON Schema.
///
/// # Errors
/// Where in the value, and what is wrong with it.
pub(crate) fn fits_schema(schema: &Value, value: &Value) -> Result<(), (String, String)> {
    let validator = jsonschema::options()
        .with_keyword("format", |_, format, _| Ok(Box::new(ExactInteger::of(format))))
        .build(schema)
        .map_err(|error| (".".to_owned(), format!("its schema is not valid: {error}")))?;
    match validator.iter_errors(value).next() {
        None => Ok(()),
        Some(error) => Err(refusal(schema, &error)),
    }
}

/// Where a value does not fit, and why. Of the variants of an enum, by the one that comes nearest; if none does, with all of them.
fn refusal(schema: &Value, error: &ValidationError<'_>) -> (String, String) {
    let (ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context }) = error.kind() else {
        return (at(error), error.to_string());
    };
    let here = depth(error);
    // A variant with another tag is not meant. If all have another one, the tag is what is wrong.
    let is_meant = |errors: &&Vec<ValidationError<'static>>| wrong_tag(errors, here).is_none() && !is_of_null(errors);
    let meant: Vec<_> = context.iter().filter(is_meant).collect();
    let wrong = || context.iter().filter_map(|errors| wrong_tag(errors, here));
    if meant.is_empty()
        && let Some((first, _)) = wrong().next()
    {
        let tags = wrong().filter(|(error, _)| at(error) == at(first)).map(|(_, wanted)| shortened(wanted));
        return (at(first), is_none_of(first.instance(), tags));
    }
    // A variant is as near as the first of its errors on the way into the value.
    let firsts = || meant.iter().filter_map(|errors| errors.iter().min_by_key(|error| depth(error)));
    match firsts().max_by_key(|error| depth(error)) {
        Some(nearest) if depth(nearest) > here || firsts().count() == 1 => refusal(schema, nearest),
        _ => {
            let variants = part_at(schema, error.schema_path().as_str()).and_then(Value::as_array);
            let forms = variants.map(|variants| variants.iter().flat_map(|variant| forms_of(schema, variant, 0)));
            let why = forms.map(|forms| is_none_of(error.instance(), forms));
            (at(error), why.unwrap_or_else(|| error.to_string()))
        }
    }
}

fn at(error: &ValidationError<'_>) -> String {
    field_of(error.instance_path().as_str())
}

fn depth(error: &ValidationError<'_>) -> usize {
    error.instance_path().as_str().matches('/').count()
}

/// Whether these are the errors of a value that is not `null`, where that is one of the variants.
fn is_of_null(errors: &[ValidationError<'_>]) -> bool {
    let [error] = errors else { return false };
    matches!(error.kind(), ValidationErrorKind::Type { kind: TypeKind::Single(JsonType::Null) })
}

/// The error that a value has not the tag of a variant, and that tag.
fn wrong_tag<'e>(
    errors: &'e [ValidationError<'static>],
    around: usize,
) -> Option<(&'e ValidationError<'static>, &'e Value)> {
    errors.iter().filter(|error| depth(error) > around).find_map(|error| match error.kind() {
        ValidationErrorKind::Constant { expected_value } => Some((error, expected_value)),
        _ => None,
    })
}

fn is_none_of(value: &Value, forms: impl IntoIterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for form in forms {
        if !known.contains(&form) {
            known.push(form);
        }
    }
    format!("{} is none of these: {}", shortened(value), known.join(", "))
}

/// How many enums a variant may be within, if their forms are to be listed.
const DEPTH_OF_VARIANTS: usize = 4;

/// The values of a variant, in short: a word, `{"Later": ..}`, a type.
fn forms_of(root: &Value, variant: &Value, depth: usize) -> Vec<String> {
    let variant = referred(root, variant);
    let list = |key: &str| variant.get(key).and_then(Value::as_array);
    if let Some(word) = variant.get("const") {
        return vec![shortened(word)];
    }
    if let Some(words) = list("enum") {
        return words.iter().map(shortened).collect();
    }
    // An untagged type may contain itself.
    if let Some(variants) = list("oneOf").or(list("anyOf")).filter(|_| depth < DEPTH_OF_VARIANTS) {
        return variants.iter().flat_map(|variant| forms_of(root, variant, depth + 1)).collect();
    }
    match (variant.get("type"), list("required").map(Vec::as_slice)) {
        (_, Some([field, ..])) => vec![format!("{{{field}: ..}}")],
        (Some(Value::String(name)), _) => vec![name.clone()],
        (Some(Value::Array(names)), _) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => vec![shortened(variant)],
    }
}

/// The part of a schema at a path of it, which may lead through references.
fn part_at<'s>(root: &'s Value, path: &str) -> Option<&'s Value> {
    let parts = path.split('/').filter(|part| !part.is_empty()).map(|part| part.replace("~1", "/").replace("~0", "~"));
    parts.filter(|part| part != "$ref").try_fold(root, |schema, part| match referred(root, schema) {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        schema => schema.get(&part),
    })
}

/// The schema itself, or the one in the same root that it refers to.
fn referred<'s>(root: &'s Value, schema: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#'));
    reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(schema)
}

/// `/lines/2/price` as `lines[2].price`.
fn field_of(pointer: &str) -> String {
    let mut field = String::new();
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if part.bytes().all(|byte| byte.is_ascii_digit()) {
            field.push_str(&format!("[{part}]"));
        } else {
            if !field.is_empty() {
                field.push('.');
            }
            field.push_str(&part);
        }
    }
    if field.is_empty() { ".".to_owned() } else { field }
}

/// The integers of a Rust type, by the `format` that schemars writes for it. JSON Schema alone is not exact: `5.0` is
/// an integer there, and only the narrow types have a `maximum`. `None` for every other format.
struct ExactInteger(Option<(i128, i128)>);

impl ExactInteger {
    fn of(format: &Value) -> Self {
        ExactInteger(match format.as_str().unwrap_or_default() {
            "int8" => Some((i8::MIN.into(), i8::MAX.into())),
            "int16" => Some((i16::MIN.into(), i16::MAX.into())),
            "int32" => Some((i32::MIN.into(), i32::MAX.into())),
            "int64" => Some((i64::MIN.into(), i64::MAX.into())),
            "int" => Some((isize::MIN as i128, isize::MAX as i128)),
            "int128" => Some((i128::MIN, i128::MAX)),
            "uint8" => Some((0, u8::MAX.into())),
            "uint16" => Some((0, u16::MAX.into())),
            "uint32" => Some((0, u32::MAX.into())),
            "uint64" => Some((0, u64::MAX.into())),
            "uint" => Some((0, usize::MAX as i128)),
            // JSON has no larger ones here.
            "uint128" => Some((0, i128::MAX)),
            _ => None,
        })
    }
}

impl jsonschema::Keyword for ExactInteger {
    fn validate<'i>(&self, answer: &'i Value) -> Result<(), jsonschema::ValidationError<'i>> {
        match self.0 {
            Some((least, greatest)) if !self.is_valid(answer) => {
                let message = format!("{answer} is not an integer from {least} to {greatest}");
                Err(jsonschema::ValidationError::custom(message))
            }
            _ => Ok(()),
        }
    }

    fn is_valid(&self, answer: &Value) -> bool {
        let (Some((least, greatest)), Value::Number(number)) = (self.0, answer) else { return true };
        number.as_i128().is_some_and(|number| (least..=greatest).contains(&number))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn takes<T: schemars::JsonSchema>(answer: Value) -> bool {
        fits_schema(&schemars::schema_for!(T).to_value(), &answer).is_ok()
    }

    /// Asserts that the schema accepts exactly the values that serde reads.
    fn agrees<T: schemars::JsonSchema + serde::de::DeserializeOwned>() {
        let edges = [0, 8, 16, 32, 64].map(|bits| 1i128 << bits);
        let around = edges.into_iter().flat_map(|edge| [edge, edge / 2].map(|edge| [edge - 1, edge, -edge, -edge - 1]));
        let whole = around.flatten().filter_map(|number| serde_json::Number::from_i128(number).map(Value::Number));
        for answer in whole.chain([json!(5.0), json!(-0.0), json!(1e30), json!(0.5), json!("5"), json!(null)]) {
            let is_read = serde_json::from_value::<T>(answer.clone()).is_ok();
            assert_eq!(takes::<T>(answer.clone()), is_read, "{answer} as {}", std::any::type_name::<T>());
        }
    }

    #[test]
    fn the_schema_of_an_integer_takes_what_the_integer_reads() {
        agrees::<u8>();
        agrees::<u16>();
        agrees::<u32>();
        agrees::<u64>();
        agrees::<u128>();
        agrees::<usize>();
        agrees::<i8>();
        agrees::<i16>();
        agrees::<i32>();
        agrees::<i64>();
        agrees::<i128>();
        agrees::<isize>();
        agrees::<std::num::NonZeroU32>();
        agrees::<Option<u32>>();
    }

    #[test]
    fn integers_inside_are_held_against_their_type() {
        assert!(takes::<Vec<(u32, f64)>>(json!([[5, 5.0], [0, 5]])));
        assert!(!takes::<Vec<(u32, f64)>>(json!([[5.0, 5.0]])));
        assert!(!takes::<std::collections::BTreeMap<String, u32>>(json!({"a": 4294967296u64})));
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    enum Verdict {
        /// With a text of its own, so that it is a `const` and not one of an `enum`.
        Yes,
        No,
        Later {
            days: u32,
        },
        Ask(Vec<String>),
    }

    #[derive(schemars::JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code, reason = "only its schema is used")]
    enum Way {
        Mail { to: String },
        Fax { number: u32, verdict: Verdict },
    }

    #[derive(schemars::JsonSchema)]
    #[allow(dead_code, reason = "only its schema is used")]
    enum Colour {
        Red,
        Green,
    }

    #[track_caller]
    fn refuses<T: schemars::JsonSchema>(value: Value, field: &str, message: &str) {
        let (at, why) = fits_schema(&schemars::schema_for!(T).to_value(), &value).unwrap_err();
        assert_eq!((at.as_str(), why.as_str()), (field, message), "{value}");
    }

    #[test]
    fn a_refused_variant_is_named_with_those_that_there_are() {
        let all = r#""No", "Yes", {"Later": ..}, {"Ask": ..}"#;
        refuses::<Verdict>(json!("Perhaps"), ".", &format!(r#""Perhaps" is none of these: {all}"#));
        refuses::<Verdict>(json!({"Never": 1}), ".", &format!(r#"{{"Never":1}} is none of these: {all}"#));
        refuses::<Vec<Verdict>>(json!([7]), "[0]", &format!("7 is none of these: {all}"));
        refuses::<Option<Verdict>>(json!(7), ".", &format!("7 is none of these: {all}"));
        refuses::<Colour>(json!("Blue"), ".", r#""Blue" is not one of "Red" or "Green""#);
        refuses::<Vec<Colour>>(json!(["Red", 7]), "[1]", r#"7 is not of type "string""#);
    }

    #[test]
    fn what_is_wrong_in_a_variant_is_said_of_the_variant() {
        refuses::<Verdict>(json!({"Later": {"days": -1}}), "Later.days", "-1 is less than the minimum of 0");
        refuses::<Verdict>(json!({"Later": {}}), "Later", r#""days" is a required property"#);
        refuses::<Verdict>(json!({"Ask": ["a", 7]}), "Ask[1]", r#"7 is not of type "string""#);
        refuses::<Vec<Way>>(json!([{"kind": "Post"}]), "[0].kind", r#""Post" is none of these: "Mail", "Fax""#);
        refuses::<Way>(json!({"kind": "Mail", "to": 7}), "to", r#"7 is not of type "string""#);
        refuses::<Way>(
            json!({"kind": "Fax", "number": 7, "verdict": {"Later": {"days": "x"}}}),
            "verdict.Later.days",
            r#""x" is not of type "integer""#,
        );
    }

    #[test]
    fn a_type_that_contains_itself_has_an_end() {
        #[derive(schemars::JsonSchema)]
        #[serde(untagged)]
        #[allow(dead_code, reason = "only its schema is used")]
        enum Tree {
            Leaf(u32),
            Both { left: Box<Tree>, right: Box<Tree> },
        }
        refuses::<Tree>(json!("x"), ".", r#""x" is none of these: integer, {"left": ..}"#);
        refuses::<Tree>(json!({"left": 1, "right": "x"}), "right", r#""x" is none of these: integer, {"left": ..}"#);
    }

    #[test]
    fn what_is_wrong_in_an_optional_value_is_said_of_the_value() {
        #[derive(schemars::JsonSchema)]
        #[allow(dead_code, reason = "only its schema is used")]
        struct Place {
            street: String,
        }
        refuses::<Option<Place>>(json!({}), ".", r#""street" is a required property"#);
        refuses::<Option<Place>>(json!({"street": 7}), "street", r#"7 is not of type "string""#);
        refuses::<Option<Colour>>(json!("Blue"), ".", r#""Blue" is not one of "Red" or "Green""#);
    }

    #[test]
    fn a_refused_integer_is_named_with_its_bounds() {
        let schema = schemars::schema_for!(Vec<u32>).to_value();
        let refused = fits_schema(&schema, &json!([5.0])).unwrap_err();
        assert_eq!(refused, ("[0]".to_owned(), "5.0 is not an integer from 0 to 4294967295".to_owned()));
    }
}
