//! The first message of a server to an invocation. It has the state of the object, which the state machine of
//! `restate-sdk-shared-core` returns one key at a time, with a command for each: the server would store all values again in the journal
//! of the invocation, and send them with every attempt.
//!
//! ```text
//! | type: 2 bytes, 0 | flags: 2 | length: 4 | StartMessage |
//! ```

use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

/// What is read of it: `restate/service/protocol.proto`.
#[derive(Clone, PartialEq, Message)]
struct StartMessage {
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

const HEADER: usize = 8;

/// The bytes of the first message, as far as they have come.
#[derive(Default)]
pub(crate) struct FirstMessage(BytesMut);

impl FirstMessage {
    /// The next bytes that the server has sent.
    pub(crate) fn push(&mut self, bytes: &Bytes) {
        if self.length().is_none_or(|length| self.0.len() < HEADER + length) {
            self.0.extend_from_slice(bytes);
        }
    }

    fn length(&self) -> Option<usize> {
        let mut header = self.0.get(..HEADER)?;
        usize::try_from(header.get_u64() & 0xffff_ffff).ok()
    }

    /// All values of the object, in the order of their keys; `None` if the message has not all of them.
    pub(crate) fn state(self) -> Option<Vec<(String, Bytes)>> {
        let length = self.length()?;
        let mut bytes = self.0.freeze();
        if bytes.get_u64() >> 48 != 0 || bytes.len() < length {
            return None;
        }
        let start = StartMessage::decode(bytes.split_to(length)).ok().filter(|start| !start.partial_state)?;
        let entries =
            start.state_map.into_iter().map(|entry| Some((String::from_utf8(entry.key.into()).ok()?, entry.value)));
        let mut state: Vec<_> = entries.collect::<Option<_>>()?;
        state.sort();
        Some(state)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use prost::Message;

    use super::{FirstMessage, StartMessage, StateEntry};

    fn message(partial_state: bool) -> Vec<u8> {
        let entry = |key: &'static str| StateEntry { key: key.into(), value: Bytes::from_static(b"{}") };
        let start = StartMessage { state_map: vec![entry("r/0000000001"), entry("input")], partial_state };
        let start = start.encode_to_vec();
        let mut bytes = (start.len() as u64).to_be_bytes().to_vec();
        bytes.extend(start);
        bytes
    }

    fn state_of(chunks: &[&[u8]]) -> Option<Vec<String>> {
        let mut first = FirstMessage::default();
        chunks.iter().for_each(|chunk| first.push(&Bytes::copy_from_slice(chunk)));
        Some(first.state()?.into_iter().map(|(key, _)| key).collect())
    }

    #[test]
    fn the_state_is_read_however_the_message_comes_in() {
        let mut bytes = message(false);
        let length = bytes.len();
        bytes.extend(b"the next message");
        let keys = Some(vec!["input".to_owned(), "r/0000000001".to_owned()]);
        assert_eq!(state_of(&[&bytes]), keys);
        for at in 0..length {
            assert_eq!(state_of(&[&bytes[..at], &bytes[at..]]), keys, "{at}");
            assert_eq!(state_of(&[&bytes[..at]]), None, "{at}");
        }
    }

    #[test]
    fn a_part_of_the_state_and_another_message_are_none() {
        assert_eq!(state_of(&[&message(true)]), None);
        let mut other = message(false);
        other[0] = 4;
        assert_eq!(state_of(&[&other]), None);
    }
}
