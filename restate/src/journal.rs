//! What a server sends before an attempt of an invocation begins, as far as it says what the object holds: the state, or the journal of
//! the attempts before, in which each value is that they have written or read.
//!
//! A server that sends the state has to have all of it in memory at once, for which it has 32 MiB, and pauses an invocation whose object
//! holds more. So it does not send that to who drives runs (`enableLazyState`). The journal comes entry by entry, as large as it may be, and
//! only the invocation that has an object for itself changes it: with what was there when it began, the journal says what is there now.
//!
//! What is read is stored once more in the journal, and sent with every attempt behind. So a value is asked for once in an invocation,
//! and not at all if the invocation has written it.
//!
//! ```text
//! | type: 2 bytes | flags: 2 | length: 4 | StartMessage, a command, or a notification |
//! ```

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

// What is read of the messages: `restate/service/protocol.proto`.

#[derive(Clone, PartialEq, Message)]
struct StartMessage {
    #[prost(uint32, tag = "3")]
    known_entries: u32,
    #[prost(message, repeated, tag = "4")]
    state_map: Vec<StateEntry>,
    #[prost(bool, tag = "5")]
    partial_state: bool,
}

#[derive(Clone, PartialEq, Message)]
struct StateEntry {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    value: Bytes,
}

/// A command that reads, writes or clears a value.
#[derive(Clone, PartialEq, Message)]
struct Command {
    #[prost(bytes = "bytes", tag = "1")]
    key: Bytes,
    #[prost(message, optional, tag = "3")]
    value: Option<Content>,
    #[prost(uint32, tag = "11")]
    result_completion_id: u32,
}

/// What a command has read: a value if there is one, or all keys.
#[derive(Clone, PartialEq, Message)]
struct Completion {
    #[prost(uint32, tag = "1")]
    completion_id: u32,
    #[prost(message, optional, tag = "5")]
    value: Option<Content>,
    #[prost(message, optional, tag = "17")]
    keys: Option<Keys>,
}

#[derive(Clone, PartialEq, Message)]
struct Content {
    #[prost(bytes = "bytes", tag = "1")]
    content: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct Keys {
    #[prost(bytes = "bytes", repeated, tag = "1")]
    keys: Vec<Bytes>,
}

const HEADER: usize = 8;

const START: u16 = 0x0000;
const GET: u16 = 0x0402;
const GOT: u16 = 0x8002;
const SET: u16 = 0x0403;
const CLEAR: u16 = 0x0404;
const GOT_KEYS: u16 = 0x8006;

/// What an invocation knows of the state of its object when an attempt begins.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// The keys at some time of this invocation.
    pub(crate) keys: Option<BTreeSet<String>>,
    /// The values that were read, or written since; `None`: there is no such value.
    pub(crate) values: BTreeMap<String, Option<Bytes>>,
}

impl Known {
    /// The values that are known, and the keys of those that are not. `keys`: all at some time of this invocation.
    pub(crate) fn split(self, keys: BTreeSet<String>) -> (BTreeMap<String, Bytes>, Vec<String>) {
        let unknown = keys.into_iter().filter(|key| !self.values.contains_key(key)).collect();
        (self.values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect(), unknown)
    }
}

/// Reads what the server sends before an attempt begins.
#[derive(Default)]
pub(crate) struct Journal {
    bytes: BytesMut,
    /// How many entries are still to come; `None` before the first message.
    left: Option<u32>,
    /// All values of the object, if the server has sent all.
    state: Option<Vec<(String, Bytes)>>,
    known: Known,
    /// The keys that were read, by the numbers of their completions.
    asked: HashMap<u32, String>,
}

impl Journal {
    /// The next bytes that the server has sent.
    pub(crate) fn push(&mut self, bytes: &Bytes) {
        if self.left == Some(0) {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        while self.left != Some(0)
            && let Some((kind, message)) = self.next()
        {
            // The state machine says what is wrong with one that cannot be read.
            self.left = match self.left {
                None => self.start(kind, message),
                Some(left) => {
                    self.entry(kind, message);
                    Some(left - 1)
                }
            };
        }
    }

    /// The type of the next message, and what is in it, if all of it is there.
    fn next(&mut self) -> Option<(u16, Bytes)> {
        let mut header = self.bytes.get(..HEADER)?;
        let (kind, _flags, length) = (header.get_u16(), header.get_u16(), usize::try_from(header.get_u32()).ok()?);
        if self.bytes.len() - HEADER < length {
            return None;
        }
        let mut message = self.bytes.split_to(HEADER + length).freeze();
        message.advance(HEADER);
        Some((kind, message))
    }

    fn start(&mut self, kind: u16, message: Bytes) -> Option<u32> {
        let start = StartMessage::decode(message).ok().filter(|_| kind == START);
        let Some(StartMessage { known_entries, state_map, partial_state }) = start else { return Some(0) };
        if !partial_state {
            let entries = state_map.into_iter().map(|entry| Some((text(&entry.key)?, entry.value)));
            self.state = entries.collect::<Option<BTreeMap<_, _>>>().map(|state| state.into_iter().collect());
        }
        Some(known_entries)
    }

    fn entry(&mut self, kind: u16, message: Bytes) -> Option<()> {
        let known = &mut self.known;
        match kind {
            SET | CLEAR | GET => {
                let Command { key, value, result_completion_id } = Command::decode(message).ok()?;
                let key = text(&key)?;
                match kind {
                    SET => drop(known.values.insert(key, Some(value.unwrap_or_default().content))),
                    CLEAR => drop(known.values.insert(key, None)),
                    _ => drop(self.asked.insert(result_completion_id, key)),
                }
            }
            GOT => {
                let Completion { completion_id, value, .. } = Completion::decode(message).ok()?;
                let key = self.asked.remove(&completion_id)?;
                // What was written since is there already.
                known.values.entry(key).or_insert(value.map(|value| value.content));
            }
            GOT_KEYS => {
                let keys = Completion::decode(message).ok()?.keys.unwrap_or_default();
                known.keys = Some(keys.keys.iter().map(text).collect::<Option<_>>()?);
            }
            _ => {}
        }
        Some(())
    }

    /// All values of the object, in the order of their keys, if the server has sent them; or what the journal says of them.
    pub(crate) fn into_state(self) -> Result<Vec<(String, Bytes)>, Known> {
        self.state.ok_or(self.known)
    }
}

fn text(key: &Bytes) -> Option<String> {
    String::from_utf8(key.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use bytes::Bytes;
    use prost::Message;

    use super::{
        CLEAR, Command, Completion, Content, GET, GOT, GOT_KEYS, Journal, Keys, Known, SET, START, StartMessage,
        StateEntry,
    };

    fn framed(kind: u16, message: &impl Message) -> Vec<u8> {
        let message = message.encode_to_vec();
        let mut bytes = ((u64::from(kind) << 48) | message.len() as u64).to_be_bytes().to_vec();
        bytes.extend(message);
        bytes
    }

    fn start(partial_state: bool, known_entries: u32) -> Vec<u8> {
        let entry = |key: &'static str| StateEntry { key: key.into(), value: Bytes::from_static(b"{}") };
        let state_map = vec![entry("r/0000000001"), entry("input")];
        framed(START, &StartMessage { known_entries, state_map, partial_state })
    }

    fn content(text: &'static str) -> Option<Content> {
        Some(Content { content: text.into() })
    }

    fn set(key: &'static str, value: &'static str) -> Vec<u8> {
        framed(SET, &Command { key: key.into(), value: content(value), result_completion_id: 0 })
    }

    fn clear(key: &'static str) -> Vec<u8> {
        framed(CLEAR, &Command { key: key.into(), ..Command::default() })
    }

    fn get(key: &'static str, result_completion_id: u32) -> Vec<u8> {
        framed(GET, &Command { key: key.into(), value: None, result_completion_id })
    }

    fn got(completion_id: u32, value: Option<&'static str>) -> Vec<u8> {
        framed(GOT, &Completion { completion_id, value: value.and_then(content), keys: None })
    }

    fn got_keys(keys: &[&'static str]) -> Vec<u8> {
        let keys = Keys { keys: keys.iter().map(|key| (*key).into()).collect() };
        framed(GOT_KEYS, &Completion { completion_id: 1, value: None, keys: Some(keys) })
    }

    fn read(chunks: &[&[u8]]) -> Result<Vec<(String, Bytes)>, Known> {
        let mut journal = Journal::default();
        chunks.iter().for_each(|chunk| journal.push(&Bytes::copy_from_slice(chunk)));
        journal.into_state()
    }

    fn known_of(entries: &[Vec<u8>]) -> Known {
        let count = u32::try_from(entries.len()).expect("there are few");
        read(&[&start(true, count), &entries.concat()]).expect_err("the server has not sent all of the state")
    }

    #[test]
    fn a_state_that_the_server_has_sent_is_read_however_the_message_comes_in() {
        let mut bytes = start(false, 1);
        let length = bytes.len();
        bytes.extend(b"the next message");
        let value = |key: &str| (key.to_owned(), Bytes::from_static(b"{}"));
        let state = Ok(vec![value("input"), value("r/0000000001")]);
        assert_eq!(read(&[&bytes]), state);
        for at in 0..length {
            assert_eq!(read(&[&bytes[..at], &bytes[at..]]), state, "{at}");
            assert_eq!(read(&[&bytes[..at]]), Err(Known::default()), "{at}");
        }
    }

    #[test]
    fn another_message_says_nothing() {
        let mut other = start(false, 1);
        other[0] = 4;
        assert_eq!(read(&[&other, &set("header", "{}")]), Err(Known::default()));
    }

    #[test]
    fn a_journal_says_what_was_written_last_however_it_comes_in() {
        let entries =
            [got_keys(&["refused"]), clear("refused"), set("driver", "1"), set("r/0", "a"), set("driver", "2")];
        let known = known_of(&entries);
        assert_eq!(known.keys, Some(BTreeSet::from(["refused".to_owned()])));
        let (values, unknown) = known.split(BTreeSet::from(["refused".to_owned()]));
        assert_eq!(values, BTreeMap::from([("driver".to_owned(), "2".into()), ("r/0".to_owned(), "a".into())]));
        assert_eq!(unknown, [""; 0]);

        let mut bytes = start(true, 5);
        bytes.extend(entries.concat());
        for at in 0..bytes.len() {
            assert_eq!(read(&[&bytes[..at], &bytes[at..]]), Err(known_of(&entries)), "{at}");
        }
    }

    #[test]
    fn a_value_that_was_read_is_known_unless_it_was_written_since() {
        let entries = [
            get("r/0", 3),
            get("driver", 4),
            get("r/9", 5),
            get("header", 6),
            set("driver", "mine"),
            got(3, Some("a")),
        ];
        let known = known_of(&[&entries[..], &[got(4, Some("of another")), got(6, None)]].concat());
        let keys = ["driver", "header", "r/0", "r/9"].map(str::to_owned);
        let (values, unknown) = known.split(BTreeSet::from(keys));
        assert_eq!(values, BTreeMap::from([("driver".to_owned(), "mine".into()), ("r/0".to_owned(), "a".into())]));
        assert_eq!(unknown, ["r/9"], "no attempt has lived long enough to read it");
    }

    #[test]
    fn what_comes_behind_the_journal_is_no_part_of_it() {
        let bytes = [start(true, 1), set("driver", "1"), set("driver", "2")].concat();
        let known = read(&[&bytes]).expect_err("the server has not sent all of the state");
        assert_eq!(known.values, BTreeMap::from([("driver".to_owned(), Some("1".into()))]));
    }
}
