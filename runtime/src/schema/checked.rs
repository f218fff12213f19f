//! The check itself.

use serde_json::Value;

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
        Some(error) => Err((field_of(&error.instance_path().to_string()), error.to_string())),
    }
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

    #[test]
    fn a_refused_integer_is_named_with_its_bounds() {
        let schema = schemars::schema_for!(Vec<u32>).to_value();
        let refused = fits_schema(&schema, &json!([5.0])).unwrap_err();
        assert_eq!(refused, ("[0]".to_owned(), "5.0 is not an integer from 0 to 4294967295".to_owned()));
    }
}
