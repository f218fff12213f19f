//! Values from JSON.

use std::borrow::Cow;
use std::cell::Cell;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, Unexpected,
    VariantAccess, Visitor,
};
use serde_json::{Error, Map, Value as Json};

use super::form::{FLOAT, INTEGER, MAP, MAX_DEPTH, SOME, mark_of, resembles_mark};
use super::place::place;
use crate::field::Unreadable;

/// Reads a value, with marks interpreted or not.
pub(super) fn read<T: DeserializeOwned>(json: &Json, exact: bool) -> Result<T, Unreadable> {
    decode(json, exact, |decoder| T::deserialize(decoder))
}

/// Reads a recorded value as plain JSON, for a reader that does not have its type.
pub(super) fn read_untyped(json: &Json) -> Result<Json, Unreadable> {
    decode(json, true, |decoder| decoder.untyped())
}

fn decode<T>(
    json: &Json,
    exact: bool,
    read: impl for<'j> FnOnce(Decoder<'j>) -> Result<T, Error>,
) -> Result<T, Unreadable> {
    let at = Cell::new(json);
    read(Decoder { json, at: &at, wraps: 0, exact })
        .map_err(|error| Unreadable { field: place(at.get(), json, exact), message: error.to_string() })
}

/// Reads a value. Unmarked JSON is read as serde_json reads it.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'j> {
    json: &'j Json,
    /// What is being read, or was read last: after an error, where that is.
    at: &'j Cell<&'j Json>,
    /// How many options and newtypes are around it, since the last list or map.
    wraps: usize,
    /// Whether marks are interpreted.
    exact: bool,
}

/// A value, without its mark.
enum What<'j> {
    Plain(&'j Json),
    Some(&'j Json),
    Float(f64),
    Positive(u128),
    Negative(i128),
    Map(Vec<(Decoder<'j>, Decoder<'j>)>),
}

impl<'j> Decoder<'j> {
    /// The decoder of a value in a list or a map.
    fn inside(self, json: &'j Json) -> Self {
        Decoder { json, at: self.at, wraps: 0, exact: self.exact }
    }

    /// The decoder of the value in an option or a newtype. A type that contains itself in nothing else would recurse
    /// for ever.
    fn wrapped(self, json: &'j Json) -> Result<Self, Error> {
        if self.wraps == MAX_DEPTH {
            return Err(Error::custom(format_args!(
                "options and newtypes are nested more than {MAX_DEPTH} levels deep"
            )));
        }
        Ok(Decoder { json, at: self.at, wraps: self.wraps + 1, exact: self.exact })
    }

    fn what(self) -> Result<What<'j>, Error> {
        self.at.set(self.json);
        let mark = if self.exact { self.json.as_object().and_then(mark_of) } else { None };
        let Some((mark, marked)) = mark else { return Ok(What::Plain(self.json)) };
        let what = match (mark, marked) {
            (SOME, inner) => Some(What::Some(inner)),
            (FLOAT, Json::String(text)) => float(text).map(What::Float),
            (INTEGER, Json::String(text)) => {
                text.parse().map(What::Positive).or_else(|_| text.parse().map(What::Negative)).ok()
            }
            (MAP, Json::Array(entries)) => {
                let entry = |entry: &'j Json| match entry.as_array()?.as_slice() {
                    [key, value] => Some((self.inside(key), self.inside(value))),
                    _ => None,
                };
                entries.iter().map(entry).collect::<Option<_>>().map(What::Map)
            }
            _ => None,
        };
        what.ok_or_else(|| Error::custom(format_args!("`{mark}` marks something unknown: {marked}")))
    }

    /// The record as plain JSON, for a reader that does not have its type.
    fn untyped(self) -> Result<Json, Error> {
        let untyped = match self.what()? {
            What::Some(inner) => self.wrapped(inner)?.untyped()?,
            What::Float(_) => Json::Null,
            What::Positive(number) => Json::String(number.to_string()),
            What::Negative(number) => Json::String(number.to_string()),
            What::Map(all) => {
                let entry = |(key, value): (Self, Self)| Ok(Json::Array(vec![key.untyped()?, value.untyped()?]));
                all.into_iter().map(entry).collect::<Result<_, Error>>()?
            }
            What::Plain(Json::Array(items)) => {
                items.iter().map(|item| self.inside(item).untyped()).collect::<Result<_, _>>()?
            }
            What::Plain(Json::Object(map)) => {
                let field = |(key, value): (&'j String, &'j Json)| {
                    Ok((self.unescaped(key).to_owned(), self.inside(value).untyped()?))
                };
                Json::Object(map.iter().map(field).collect::<Result<_, Error>>()?)
            }
            What::Plain(scalar) => scalar.clone(),
        };
        Ok(untyped)
    }

    fn seq<V: Visitor<'j>>(self, items: &'j [Json], visitor: V) -> Result<V::Value, Error> {
        let mut items = SeqDeserializer::new(InTurn { of: self, parts: items.iter().map(|item| self.inside(item)) });
        let read = visitor.visit_seq(&mut items)?;
        self.at.set(self.json);
        items.end()?;
        Ok(read)
    }

    fn object<V: Visitor<'j>>(self, map: &'j Map<String, Json>, visitor: V) -> Result<V::Value, Error> {
        self.fields(map.iter(), visitor)
    }

    fn fields<V: Visitor<'j>>(
        self,
        fields: impl Iterator<Item = (&'j String, &'j Json)>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let field = |(key, value): (&'j String, &'j Json)| {
            // A key that cannot be read.
            self.at.set(value);
            (Key(self.unescaped(key)), self.inside(value))
        };
        let mut fields = MapDeserializer::new(InTurn { of: self, parts: fields.map(field) });
        let read = visitor.visit_map(&mut fields)?;
        self.at.set(self.json);
        fields.end()?;
        Ok(read)
    }

    fn entries<V: Visitor<'j>>(self, all: Vec<(Decoder<'j>, Decoder<'j>)>, visitor: V) -> Result<V::Value, Error> {
        let mut entries = MapDeserializer::new(InTurn { of: self, parts: all.into_iter() });
        let read = visitor.visit_map(&mut entries)?;
        self.at.set(self.json);
        entries.end()?;
        Ok(read)
    }

    fn unescaped(self, key: &'j str) -> &'j str {
        if self.exact && resembles_mark(key) { &key[1..] } else { key }
    }

    /// The JSON of a value that is read without interpretation.
    fn plain(self) -> Result<&'j Json, Error> {
        match self.what()? {
            What::Some(inner) => self.wrapped(inner)?.plain(),
            _ => Ok(self.json),
        }
    }
}

fn float(text: &str) -> Option<f64> {
    match text {
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        "NaN" => Some(f64::NAN),
        text => {
            let bits = u64::from_str_radix(text.strip_prefix("NaN:")?, 16).ok()?;
            Some(f64::from_bits(bits)).filter(|number| number.is_nan())
        }
    }
}

impl<'j> IntoDeserializer<'j, Error> for Decoder<'j> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// The parts of a value. When one is asked for, those before have been read, and an error is one of the whole.
struct InTurn<'j, P> {
    of: Decoder<'j>,
    parts: P,
}

impl<P: Iterator> Iterator for InTurn<'_, P> {
    type Item = P::Item;

    fn next(&mut self) -> Option<P::Item> {
        self.of.at.set(self.of.json);
        self.parts.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.parts.size_hint()
    }
}

macro_rules! as_json {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
            self.plain()?.$method(visitor)
        }
    )*};
}

impl<'j> Deserializer<'j> for Decoder<'j> {
    type Error = Error;

    as_json! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_char deserialize_str deserialize_string deserialize_unit
        deserialize_identifier
    }

    fn deserialize_any<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Some(inner) => visitor.visit_some(self.wrapped(inner)?),
            What::Float(number) => visitor.visit_f64(number),
            What::Positive(number) => visitor.visit_u128(number),
            What::Negative(number) => visitor.visit_i128(number),
            What::Map(all) => self.entries(all, visitor),
            What::Plain(Json::Array(items)) => self.seq(items, visitor),
            What::Plain(Json::Object(map)) => self.object(map, visitor),
            What::Plain(json) => json.deserialize_any(visitor),
        }
    }

    fn deserialize_f64<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Float(number) => visitor.visit_f64(number),
            _ => self.plain()?.deserialize_f64(visitor),
        }
    }

    fn deserialize_f32<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Float(number) if number.is_nan() => {
                let bits = number.to_bits();
                let (sign, fraction) = ((bits >> 63) as u32, (bits >> 29) as u32 & 0x7F_FFFF);
                // The fraction of a NaN that was no `f32` may be in the lower bits only.
                let fraction = if fraction == 0 { 0x40_0000 } else { fraction };
                visitor.visit_f32(f32::from_bits(sign << 31 | 0x7F80_0000 | fraction))
            }
            What::Float(number) => visitor.visit_f64(number),
            _ => self.plain()?.deserialize_f32(visitor),
        }
    }

    fn deserialize_i128<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Positive(number) => visitor.visit_u128(number),
            What::Negative(number) => visitor.visit_i128(number),
            _ => self.plain()?.deserialize_i128(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Positive(number) => visitor.visit_u128(number),
            _ => self.plain()?.deserialize_u128(visitor),
        }
    }

    fn deserialize_bytes<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.plain()? {
            Json::Array(items) => self.seq(items, visitor),
            json => json.deserialize_bytes(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Some(inner) => visitor.visit_some(self.wrapped(inner)?),
            What::Plain(Json::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self.wrapped(self.json)?),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'j>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'j>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self.wrapped(self.json)?)
    }

    fn deserialize_seq<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.plain()? {
            Json::Array(items) => self.seq(items, visitor),
            json => json.deserialize_seq(visitor),
        }
    }

    fn deserialize_tuple<V: Visitor<'j>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'j>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.what()? {
            What::Map(all) => self.entries(all, visitor),
            What::Some(inner) => self.wrapped(inner)?.deserialize_map(visitor),
            What::Plain(Json::Object(map)) => self.object(map, visitor),
            _ => self.json.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'j>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match (self.plain()?, fields) {
            (Json::Array(items), _) => self.seq(items, visitor),
            // An enum with `tag` and `content`: content that comes before the tag, as it does where keys are sorted, is
            // read without its type, and a number that is the key of a map is then text.
            (Json::Object(map), [tag, content]) if content < tag && map.contains_key(*tag) => {
                let others = map.iter().filter(|(key, _)| key != tag);
                self.fields(map.get_key_value(*tag).into_iter().chain(others), visitor)
            }
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'j>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.plain()? {
            Json::Object(map) if map.len() == 1 => match map.iter().next() {
                Some((variant, value)) => {
                    let variant = self.unescaped(variant);
                    visitor.visit_enum(Variant { variant, value: self.inside(value) })
                }
                None => map.deserialize_enum(name, variants, visitor),
            },
            json => json.deserialize_enum(name, variants, visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

/// A variant with data.
struct Variant<'j> {
    variant: &'j str,
    value: Decoder<'j>,
}

impl<'j> EnumAccess<'j> for Variant<'j> {
    type Error = Error;
    type Variant = Decoder<'j>;

    fn variant_seed<S: DeserializeSeed<'j>>(self, seed: S) -> Result<(S::Value, Decoder<'j>), Error> {
        let variant = seed.deserialize(BorrowedStrDeserializer::new(self.variant))?;
        Ok((variant, self.value))
    }
}

impl<'j> VariantAccess<'j> for Decoder<'j> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        serde::Deserialize::deserialize(self)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'j>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'j>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn struct_variant<V: Visitor<'j>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, Error> {
        self.deserialize_struct("", &[], visitor)
    }
}

/// The key of an entry, which is text in JSON.
struct Key<'j>(&'j str);

impl<'j> IntoDeserializer<'j, Error> for Key<'j> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident: $visit:ident;)*) => {$(
        fn $method<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
            match self.0.parse() {
                Ok(parsed) => visitor.$visit(parsed),
                Err(_) => Err(Error::invalid_type(Unexpected::Str(self.0), &visitor)),
            }
        }
    )*};
}

impl<'j> Deserializer<'j> for Key<'j> {
    type Error = Error;

    parsed! {
        deserialize_bool: visit_bool;
        deserialize_i8: visit_i8;
        deserialize_i16: visit_i16;
        deserialize_i32: visit_i32;
        deserialize_i64: visit_i64;
        deserialize_i128: visit_i128;
        deserialize_u8: visit_u8;
        deserialize_u16: visit_u16;
        deserialize_u32: visit_u32;
        deserialize_u64: visit_u64;
        deserialize_u128: visit_u128;
        deserialize_f32: visit_f32;
        deserialize_f64: visit_f64;
    }

    fn deserialize_any<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_borrowed_str(self.0)
    }

    fn deserialize_option<V: Visitor<'j>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'j>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'j>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let key: CowStrDeserializer<'j, Error> = Cow::Borrowed(self.0).into_deserializer();
        key.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        <V: Visitor<'j>>
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}
