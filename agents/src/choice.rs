//! A person's choice as JSON: a word alone, or a word with a value.
//!
//! What serde derives for an enum reads `{"approve": null}` as the word `approve`. A form that was sent before it was filled in looks like
//! that, so it must not count as a decision.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, IgnoredAny, MapAccess, Visitor};

/// A type that is read by [`read`].
pub(crate) trait Choice<'de>: Sized {
    /// All forms, for the text of an error.
    const FORMS: &'static str;

    /// The choice that is a word alone.
    fn alone(word: &str) -> Option<Self>;

    /// The choice of this word with the next value of the map.
    fn with<A: MapAccess<'de>>(word: &str, map: &mut A) -> Result<Self, A::Error>;
}

pub(crate) fn read<'de, T: Choice<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(OneOf(PhantomData))
}

/// The error of a word that is no choice in this form.
pub(crate) fn is_none_of<'de, T: Choice<'de>, E: Error>(word: &str) -> E {
    match T::alone(word) {
        Some(_) => E::custom(format_args!("\"{word}\" has no value, expected {}", T::FORMS)),
        None => E::custom(format_args!("{word:?} is no choice, expected {}", T::FORMS)),
    }
}

struct OneOf<T>(PhantomData<T>);

impl<'de, T: Choice<'de>> Visitor<'de> for OneOf<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::FORMS)
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<T, E> {
        T::alone(word).ok_or_else(|| is_none_of::<T, E>(word))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let none = || A::Error::custom(format_args!("no choice, expected {}", T::FORMS));
        let word: String = map.next_key()?.ok_or_else(none)?;
        let choice = T::with(&word, &mut map)?;
        match map.next_key::<IgnoredAny>()? {
            None => Ok(choice),
            Some(_) => Err(A::Error::custom(format_args!("more than one choice, expected {}", T::FORMS))),
        }
    }
}
