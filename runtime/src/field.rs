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

/// A position in a value, as the prefix of an error message.
pub(crate) fn at_field(field: &str) -> String {
    if field == "." { String::new() } else { format!("at `{field}`: ") }
}
