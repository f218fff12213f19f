//! Values from outside, checked against recorded JSON Schemas.

#[cfg(feature = "json-schema")]
mod checked;
mod part;

pub use part::schema_part;

/// Whether this build can check a value against a schema.
pub(crate) const IS_CHECKED: bool = cfg!(feature = "json-schema");

#[cfg(feature = "json-schema")]
pub(crate) use self::checked::fits_schema;

/// Every value passes: callers look at [`IS_CHECKED`].
#[cfg(not(feature = "json-schema"))]
pub(crate) fn fits_schema(_: &serde_json::Value, _: &serde_json::Value) -> Result<(), (String, String)> {
    Ok(())
}
