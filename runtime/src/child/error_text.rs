//! Errors as their texts.

use std::error::Error;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error_text::{MAX_SOURCES, chain};

/// An error that is not a [`Payload`](crate::Payload), as its text and those of its sources: the error of a child or a
/// step with `error_as_text()`. It is the same before and after a restart.
///
/// `{}` is the error's own text, `{:#}` is followed by those of its sources: `cannot read the price: file not found`.
/// [`source`](Error::source) leads through the sources. As JSON it is the list of the texts.
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft::{ChildError, ErrorText};
///
/// #[node]
/// async fn read(path: String) -> std::io::Result<String> {
///     std::fs::read_to_string(path)
/// }
///
/// #[node]
/// async fn summary(path: String, ctx: &Context) -> Result<usize, ChildError<ErrorText>> {
///     let text = ctx.call::<read>(path).error_as_text().await?;
///     Ok(text.len())
/// }
///
/// let flow = workflow! { START => summary };
/// let Err(RunError::Failed(failure)) = graphweft::block_on(flow.run("/no/such/file".to_owned())) else { panic!() };
/// assert!(failure.cause.to_string().contains("No such file"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<String>", into = "Vec<String>")]
pub struct ErrorText {
    message: String,
    source: Option<Box<ErrorText>>,
}

impl ErrorText {
    /// The text of an error and those of its sources, up to 100.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        ErrorText::of_chain(&chain(error))
    }

    /// An error without sources.
    pub fn new(message: impl Into<String>) -> Self {
        ErrorText { message: message.into(), source: None }
    }

    /// The error's own text.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The error's own text and those of its sources, outermost first.
    pub fn chain(&self) -> impl Iterator<Item = &str> {
        std::iter::successors(Some(self), |error| error.source.as_deref()).map(|error| error.message.as_str())
    }

    pub(crate) fn of_chain(chain: &[String]) -> Self {
        let mut texts = chain.iter().take(MAX_SOURCES + 1).rev();
        let innermost = ErrorText::new(texts.next().map_or("", String::as_str));
        texts.fold(innermost, |source, text| ErrorText { message: text.clone(), source: Some(Box::new(source)) })
    }
}

impl From<Vec<String>> for ErrorText {
    fn from(chain: Vec<String>) -> Self {
        ErrorText::of_chain(&chain)
    }
}

impl From<ErrorText> for Vec<String> {
    fn from(error: ErrorText) -> Self {
        error.chain().map(str::to_owned).collect()
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if f.alternate() {
            for source in self.chain().skip(1) {
                write!(f, ": {source}")?;
            }
        }
        Ok(())
    }
}

impl Error for ErrorText {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_deref()?)
    }
}

impl JsonSchema for ErrorText {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ErrorText".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        Vec::<String>::json_schema(generator)
    }
}
