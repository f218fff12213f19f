//! Positions of errors in a value.

/// A record that the current code cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at `{field}`: {message}")]
pub struct Unreadable {
    /// Which part of it, as in `items[0].name`; `.` is the whole.
    pub field: String,
    /// The problem there.
    pub message: String,
}

impl Unreadable {
    pub(crate) fn whole(message: impl Into<String>) -> Self {
        Unreadable { field: ".".to_owned(), message: message.into() }
    }

    /// The same error, as a part of a list.
    pub(crate) fn of_item(self, item: usize) -> Self {
        let field = match self.field.as_str() {
            "." => format!("[{item}]"),
            field if field.starts_with('[') => format!("[{item}]{field}"),
            field => format!("[{item}].{field}"),
        };
        Unreadable { field, ..self }
    }
}

impl From<serde_path_to_error::Error<serde_json::Error>> for Unreadable {
    fn from(error: serde_path_to_error::Error<serde_json::Error>) -> Self {
        Unreadable { field: error.path().to_string(), message: error.inner().to_string() }
    }
}

/// A position in a value, as the prefix of an error message.
pub(crate) fn at_field(field: &str) -> String {
    if field == "." { String::new() } else { format!("at `{field}`: ") }
}
