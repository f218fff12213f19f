//! Values to JSON.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt::{self, Display};

use foldhash::{HashSet, HashSetExt};
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Map, Number, Value as Json};

use super::form::{FLOAT, INTEGER, MAP, MAX_CALLS, MAX_DEPTH, MaxSize, Part, SOME, is_marked, resembles_mark, written};
use crate::field::Unreadable;

/// Why a value cannot be recorded, and the position in it.
#[derive(Debug)]
pub struct Unrecordable {
    /// The path to the problem, from the inside.
    way: Vec<Part>,
    message: String,
    is_too_deep: bool,
}

impl Unrecordable {
    pub(super) fn too_deep() -> Self {
        let message = format!("lists and maps are nested more than {MAX_DEPTH} levels deep");
        Unrecordable { way: Vec::new(), message, is_too_deep: true }
    }

    pub(super) fn is_too_deep(&self) -> bool {
        self.is_too_deep
    }

    fn too_large(max: MaxSize) -> Self {
        let MaxSize(max) = max;
        Self::custom(format_args!("it takes more than {max} bytes, which is as large as a value may be"))
    }

    /// A part of a record that its own type does not read.
    pub(super) fn not_read_back(error: Unreadable) -> Self {
        let Unreadable { field, message } = error;
        let way = if field == "." { Vec::new() } else { vec![Part::Field(field)] };
        let message = format!(
            "its own type would not read it back: {message}; `tag`, `untagged` and `flatten` of serde read no `i128` and no `u128`, and \
             no numbers as the keys of a map that is merged: leave these attributes out, or give it another type, such as a text"
        );
        Unrecordable { way, message, is_too_deep: false }
    }

    pub(super) fn of_size(size: usize, max: MaxSize) -> Self {
        let MaxSize(max) = max;
        Self::custom(format_args!("it takes {size} bytes, and a value may take {max}"))
    }

    fn within(mut self, part: Part) -> Self {
        // The path to a value that is nested too deep is long and not helpful.
        if self.way.len() < MAX_DEPTH / 2 {
            self.way.push(part);
        }
        self
    }

    /// The same error, as a part of a list.
    pub(crate) fn of_item(self, item: usize) -> Self {
        self.within(Part::Item(item))
    }

    /// Where it is, as in `items[0].name`; `.` is the whole.
    pub(crate) fn field(&self) -> String {
        written(self.way.iter().rev())
    }

    /// The problem there.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }
}

impl Display for Unrecordable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.field() {
            whole if whole == "." => f.write_str(&self.message),
            field => write!(f, "at `{field}`: {}", self.message),
        }
    }
}

impl std::error::Error for Unrecordable {}

impl serde::ser::Error for Unrecordable {
    fn custom<T: Display>(message: T) -> Self {
        Unrecordable { way: Vec::new(), message: message.to_string(), is_too_deep: false }
    }
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As plain JSON, which merges some values.
    Plain,
    /// With marks for what plain JSON would merge. A map whose keys are numbers or booleans has their text.
    Exact,
    /// The same, and such a map is marked too.
    ExactKeys,
    /// The same, but for one that is the whole value: it is merged entry by entry.
    ExactKeysInside,
}

pub(super) struct Encoded {
    pub(super) json: Json,
    /// Whether it has something that its type might not read back: the text of a number or a boolean in place of a key, or an
    /// integer of a type of 128 bits. serde keeps the contents of `tag`, `untagged` and `flatten` as they are in the record until it
    /// knows their type. That text stays a text then, and it reads no integer of such a type.
    pub(super) is_doubtful: bool,
}

pub(super) fn encode<T: Serialize + ?Sized>(value: &T, max: MaxSize, form: Form) -> Result<Encoded, Unrecordable> {
    let meter = Meter { left: Cell::new(max.0), max, is_doubtful: Cell::new(false) };
    let json = value.serialize(Encoder { meter: &meter, depth: 0, wraps: 0, calls: 0, form })?;
    Ok(Encoded { json, is_doubtful: meter.is_doubtful.get() })
}

/// What a whole value has used so far.
struct Meter {
    /// The size that is left for it.
    left: Cell<usize>,
    max: MaxSize,
    /// See [`Encoded`].
    is_doubtful: Cell<bool>,
}

#[derive(Clone, Copy)]
struct Encoder<'m> {
    meter: &'m Meter,
    /// How many lists and maps are around it.
    depth: usize,
    /// How many options and newtypes there are since the last of those: most are not visible in JSON, and each is a
    /// call.
    wraps: usize,
    /// All calls.
    calls: usize,
    form: Form,
}

impl<'m> Encoder<'m> {
    /// Whether values that plain JSON would merge are marked.
    fn is_exact(self) -> bool {
        self.form != Form::Plain
    }

    fn takes(&self, size: usize) -> Result<(), Unrecordable> {
        let left = self.meter.left.get().checked_sub(size).ok_or_else(|| Unrecordable::too_large(self.meter.max))?;
        self.meter.left.set(left);
        Ok(())
    }

    /// The encoder of the values inside a list or a map.
    fn inside(self) -> Result<Self, Unrecordable> {
        self.takes(2)?;
        Encoder { depth: self.depth + 1, wraps: 0, ..self }.called()
    }

    /// The encoder of the value in an option or a newtype.
    fn wrapped(self) -> Result<Self, Unrecordable> {
        Encoder { wraps: self.wraps + 1, ..self }.called()
    }

    fn called(self) -> Result<Self, Unrecordable> {
        let calls = self.calls + 1;
        // A wrap may get a mark later, which is a level of its own.
        if self.depth + self.wraps > MAX_DEPTH || calls > MAX_CALLS {
            return Err(Unrecordable::too_deep());
        }
        Ok(Encoder { calls, ..self })
    }

    /// A number in an object of its own.
    fn marked_number(self, mark: &str, value: impl Into<Json>) -> Result<Json, Unrecordable> {
        self.inside()?.marked(mark, value)
    }

    fn marked(self, mark: &str, value: impl Into<Json>) -> Result<Json, Unrecordable> {
        self.takes(mark.len() + 5)?;
        Ok(Json::Object(Map::from_iter([(mark.to_owned(), value.into())])))
    }

    fn key(self, key: &str) -> Result<String, Unrecordable> {
        self.takes(key.len() + 3)?;
        Ok(if self.is_exact() && resembles_mark(key) { format!("${key}") } else { key.to_owned() })
    }

    fn variant(self, variant: &str, value: Json) -> Result<Json, Unrecordable> {
        Ok(Json::Object(Map::from_iter([(self.key(variant)?, value)])))
    }

    fn list(self, length: Option<usize>) -> Result<List<'m>, Unrecordable> {
        // The length that a value reports may be wrong.
        let items = Vec::with_capacity(length.unwrap_or(0).min(4096));
        Ok(List { inside: self.inside()?, items, variant: None })
    }

    fn record(self) -> Result<Fields<'m>, Unrecordable> {
        Ok(Fields { inside: self.inside()?, fields: Map::new(), variant: None })
    }
}

macro_rules! numbers {
    ($($method:ident: $number:ty;)*) => {$(
        fn $method(self, number: $number) -> Result<Json, Unrecordable> {
            self.takes(8)?;
            Ok(Json::Number(number.into()))
        }
    )*};
}

impl<'m> Serializer for Encoder<'m> {
    type Ok = Json;
    type Error = Unrecordable;
    type SerializeSeq = List<'m>;
    type SerializeTuple = List<'m>;
    type SerializeTupleStruct = List<'m>;
    type SerializeTupleVariant = List<'m>;
    type SerializeMap = Entries<'m>;
    type SerializeStruct = Fields<'m>;
    type SerializeStructVariant = Fields<'m>;

    numbers! {
        serialize_i8: i8;
        serialize_i16: i16;
        serialize_i32: i32;
        serialize_i64: i64;
        serialize_u8: u8;
        serialize_u16: u16;
        serialize_u32: u32;
        serialize_u64: u64;
    }

    fn serialize_i128(self, number: i128) -> Result<Json, Unrecordable> {
        self.meter.is_doubtful.set(true);
        match (i64::try_from(number), u64::try_from(number)) {
            (Ok(number), _) => self.serialize_i64(number),
            (_, Ok(number)) => self.serialize_u64(number),
            _ if self.is_exact() => self.marked_number(INTEGER, number.to_string()),
            _ => Err(Unrecordable::custom("JSON has no integers beyond 64 bits")),
        }
    }

    fn serialize_u128(self, number: u128) -> Result<Json, Unrecordable> {
        self.meter.is_doubtful.set(true);
        match u64::try_from(number) {
            Ok(number) => self.serialize_u64(number),
            Err(_) if self.is_exact() => self.marked_number(INTEGER, number.to_string()),
            Err(_) => Err(Unrecordable::custom("JSON has no integers beyond 64 bits")),
        }
    }

    fn serialize_f32(self, number: f32) -> Result<Json, Unrecordable> {
        // By its bits, since arithmetic may change those of a NaN.
        let bits = number.to_bits();
        if number.is_nan() {
            let sign = u64::from(bits >> 31) << 63;
            return self
                .serialize_f64(f64::from_bits(sign | 0x7FF0_0000_0000_0000 | (u64::from(bits & 0x7F_FFFF) << 29)));
        }
        self.serialize_f64(number.into())
    }

    fn serialize_f64(self, number: f64) -> Result<Json, Unrecordable> {
        self.takes(8)?;
        match Number::from_f64(number) {
            Some(number) => Ok(Json::Number(number)),
            None if !self.is_exact() => Ok(Json::Null),
            None if number == f64::INFINITY => self.marked_number(FLOAT, "inf"),
            None if number == f64::NEG_INFINITY => self.marked_number(FLOAT, "-inf"),
            None if number.to_bits() == f64::NAN.to_bits() => self.marked_number(FLOAT, "NaN"),
            None => self.marked_number(FLOAT, format!("NaN:{:016x}", number.to_bits())),
        }
    }

    fn serialize_bool(self, value: bool) -> Result<Json, Unrecordable> {
        self.takes(5)?;
        Ok(Json::Bool(value))
    }

    fn serialize_char(self, value: char) -> Result<Json, Unrecordable> {
        self.takes(value.len_utf8() + 2)?;
        Ok(Json::String(value.to_string()))
    }

    fn serialize_str(self, value: &str) -> Result<Json, Unrecordable> {
        self.takes(value.len() + 3)?;
        Ok(Json::String(value.to_owned()))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<Json, Unrecordable> {
        let mut list = self.list(Some(value.len()))?;
        for byte in value {
            SerializeSeq::serialize_element(&mut list, byte)?;
        }
        SerializeSeq::end(list)
    }

    fn serialize_none(self) -> Result<Json, Unrecordable> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Json, Unrecordable> {
        let json = value.serialize(self.wrapped()?)?;
        let is_merged = match &json {
            Json::Null => true,
            Json::Object(map) => is_marked(map) && map.contains_key(SOME),
            _ => false,
        };
        if is_merged && self.is_exact() { self.marked(SOME, json) } else { Ok(json) }
    }

    fn serialize_unit(self) -> Result<Json, Unrecordable> {
        self.takes(5)?;
        Ok(Json::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Json, Unrecordable> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Json, Unrecordable> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Json, Unrecordable> {
        value.serialize(self.wrapped()?)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Json, Unrecordable> {
        let json = value.serialize(self.inside()?).map_err(|error| error.within(Part::Field(variant.to_owned())))?;
        self.variant(variant, json)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, Unrecordable> {
        self.list(length)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, Unrecordable> {
        self.list(Some(length))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, Unrecordable> {
        self.list(Some(length))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, Unrecordable> {
        Ok(List { variant: Some(variant), ..self.inside()?.list(Some(length))? })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unrecordable> {
        Ok(Entries { inside: self.inside()?, entries: Vec::new(), key: None })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Unrecordable> {
        self.record()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Unrecordable> {
        Ok(Fields { variant: Some(variant), ..self.inside()?.record()? })
    }
}

/// A list under way.
pub(super) struct List<'m> {
    inside: Encoder<'m>,
    items: Vec<Json>,
    variant: Option<&'static str>,
}

impl List<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unrecordable> {
        let item = value.serialize(self.inside).map_err(|error| error.within(Part::Item(self.items.len())))?;
        self.items.push(item);
        Ok(())
    }

    fn finish(self) -> Result<Json, Unrecordable> {
        let List { inside, items, variant } = self;
        match variant {
            Some(variant) => inside.variant(variant, Json::Array(items)),
            None => Ok(Json::Array(items)),
        }
    }
}

/// The fields of a struct under way.
pub(super) struct Fields<'m> {
    inside: Encoder<'m>,
    fields: Map<String, Json>,
    variant: Option<&'static str>,
}

impl Fields<'_> {
    fn push<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unrecordable> {
        let value = value.serialize(self.inside).map_err(|error| error.within(Part::Field(name.to_owned())))?;
        self.fields.insert(self.inside.key(name)?, value);
        Ok(())
    }

    fn finish(self) -> Result<Json, Unrecordable> {
        let Fields { inside, fields, variant } = self;
        match variant {
            Some(variant) => inside.variant(variant, Json::Object(fields)),
            None => Ok(Json::Object(fields)),
        }
    }
}

macro_rules! parts {
    ($($of:ident: $method:ident $($trait:ident)*;)*) => {$($(
        impl $trait for $of<'_> {
            type Ok = Json;
            type Error = Unrecordable;

            parts!(@ $of $method);

            fn end(self) -> Result<Json, Unrecordable> {
                self.finish()
            }
        }
    )*)*};
    (@ List $method:ident) => {
        fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unrecordable> {
            self.push(value)
        }
    };
    (@ Fields $method:ident) => {
        fn $method<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unrecordable> {
            self.push(name, value)
        }
    };
}

parts! {
    List: serialize_element SerializeSeq SerializeTuple;
    List: serialize_field SerializeTupleStruct SerializeTupleVariant;
    Fields: serialize_field SerializeStruct SerializeStructVariant;
}

/// The entries of a map under way.
pub(super) struct Entries<'m> {
    inside: Encoder<'m>,
    entries: Vec<(Json, Json)>,
    key: Option<Json>,
}

/// A key as it is written in an object; `None` for one that is no text in JSON.
fn as_text(key: &Json) -> Option<Cow<'_, str>> {
    match key {
        Json::String(text) => Some(Cow::Borrowed(text)),
        Json::Number(number) => Some(number.to_string().into()),
        Json::Bool(value) => Some(value.to_string().into()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

impl SerializeMap for Entries<'_> {
    type Ok = Json;
    type Error = Unrecordable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unrecordable> {
        let key = key.serialize(self.inside).map_err(|error| error.within(Part::Item(self.entries.len())))?;
        self.key = Some(key);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unrecordable> {
        let key = self.key.take().ok_or_else(|| Unrecordable::custom("an entry of a map has no key"))?;
        let part = || as_text(&key).map_or(Part::Item(self.entries.len()), |text| Part::Field(text.into_owned()));
        let value = value.serialize(self.inside).map_err(|error| error.within(part()))?;
        self.entries.push((key, value));
        Ok(())
    }

    fn end(self) -> Result<Json, Unrecordable> {
        let Entries { inside, entries, .. } = self;
        let mut texts = HashSet::with_capacity(entries.len());
        let mut is_plain = true;
        for (key, _) in &entries {
            if matches!(key, Json::Number(_) | Json::Bool(_)) {
                inside.meter.is_doubtful.set(true);
                let is_marked = match inside.form {
                    Form::ExactKeys => true,
                    Form::ExactKeysInside => inside.depth > 1,
                    Form::Plain | Form::Exact => false,
                };
                if is_marked {
                    is_plain = false;
                    break;
                }
            }
            match as_text(key).map(|text| texts.insert(text)) {
                Some(is_new) if is_new || !inside.is_exact() => {}
                None if !inside.is_exact() => {
                    return Err(Unrecordable::custom(format_args!("{key} is no key in JSON")));
                }
                _ => {
                    is_plain = false;
                    break;
                }
            }
        }
        if !is_plain {
            // Two levels more than the map itself.
            inside.inside()?.inside()?;
            let entries = entries.into_iter().map(|(key, value)| Json::Array(vec![key, value])).collect();
            return Ok(Json::Object(Map::from_iter([(MAP.to_owned(), Json::Array(entries))])));
        }
        drop(texts);
        let fields =
            entries.into_iter().map(|(key, value)| Ok((inside.key(&as_text(&key).unwrap_or_default())?, value)));
        Ok(Json::Object(fields.collect::<Result<_, _>>()?))
    }
}
