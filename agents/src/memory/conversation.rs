//! What the entries of a session come to.

use std::collections::BTreeMap;

use graphweft::store::{LogEntry, LogStore};
use serde::{Deserialize, Serialize};

use super::checkpoint;
use super::entry::{SessionEntry, TurnId};
use super::error::SessionError;
use crate::message::Message;

/// The fold of the entries of a session up to a position. It begins with a checkpoint, if there is one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Conversation {
    /// The position of the last entry.
    pub(super) end: u64,
    /// The turns that have begun and not ended, in the order in which they came.
    pub(super) open: Vec<TurnId>,
    /// What is seen, in order.
    parts: Vec<Part>,
    /// The numbers of the next turns of agents, by run and path. A checkpoint does not have them: there are as many as there were runs.
    #[serde(skip)]
    next: BTreeMap<(String, String), u32>,
    /// Where it begins: the end of a checkpoint, or 0.
    #[serde(skip)]
    begins: u64,
    /// How far the newest checkpoint goes.
    #[serde(skip)]
    newest: u64,
    /// How many entries were read behind its beginning.
    #[serde(skip)]
    entries: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    /// The position where it came first.
    position: u64,
    /// None of a summary and of what a fork began with.
    turn: Option<TurnId>,
    messages: Vec<Message>,
}

impl Conversation {
    /// That of the log up to a position.
    pub(super) async fn read(logs: &dyn LogStore, log: &str, until: u64) -> Result<Self, SessionError> {
        let checkpoint::Found { newest, conversation } = checkpoint::find(logs, log, until).await;
        if let Some(mut conversation) = conversation {
            (conversation.begins, conversation.newest) = (conversation.end, newest);
            let mut entries = logs.read(log, conversation.end.saturating_sub(1), until).await?;
            // No position is given again: without this entry, the log was deleted, and all that the checkpoint has.
            if entries.first().is_some_and(|entry| entry.position == conversation.end) {
                conversation.add(log, entries.split_off(1))?;
                return Ok(conversation);
            }
        }
        let mut conversation = Conversation { newest, ..Conversation::default() };
        conversation.add(log, logs.read(log, 0, until).await?)?;
        Ok(conversation)
    }

    /// Reads what was added since.
    pub(super) async fn catch_up(&mut self, logs: &dyn LogStore, log: &str) -> Result<(), SessionError> {
        self.add(log, logs.read(log, self.end, u64::MAX).await?)
    }

    fn add(&mut self, log: &str, entries: Vec<LogEntry>) -> Result<(), SessionError> {
        for entry in entries {
            self.apply(entry.position, SessionEntry::read(log, &entry)?);
        }
        Ok(())
    }

    pub(super) fn apply(&mut self, position: u64, entry: SessionEntry) {
        self.end = position;
        self.entries += 1;
        match entry {
            SessionEntry::Opened { turn } => self.open.push(turn),
            SessionEntry::Closed { turn } => self.end_of(&turn),
            SessionEntry::Turn { turn, messages } => {
                self.end_of(&turn);
                let before = self
                    .parts
                    .iter_mut()
                    .find(|part| part.turn.as_ref().is_some_and(|before| before.is_of(&turn.run, &turn.path)));
                match before {
                    Some(part) => part.messages = messages,
                    None => self.parts.push(Part { position, turn: Some(turn), messages }),
                }
            }
            SessionEntry::Cleared => self.parts.clear(),
            SessionEntry::Summary { until, text } => {
                // A summary of less than is summarized already comes from a run that was retried or forked.
                let rest = self.parts.iter().position(|part| part.position > until).unwrap_or(self.parts.len());
                let text = format!("This is what was said before, in short: {text}");
                let summary = Part { position: until, turn: None, messages: vec![Message::user(text)] };
                if rest > 0 {
                    self.parts.splice(..rest, [summary]);
                }
            }
            SessionEntry::Forked { messages, .. } => self.parts.push(Part { position, turn: None, messages }),
        }
    }

    fn end_of(&mut self, turn: &TurnId) {
        self.open.retain(|open| open != turn);
        // A fork of a run begins with the numbers of its origin, so these are no counts.
        let next = self.next.entry((turn.run.clone(), turn.path.clone())).or_default();
        *next = (*next).max(turn.again.saturating_add(1));
    }

    /// Whether no checkpoint goes as far.
    pub(super) fn is_newest(&self) -> bool {
        self.end > self.newest
    }

    /// How many entries were read behind the checkpoint that it begins with.
    pub(super) fn entries_read(&self) -> usize {
        self.entries
    }

    /// How much of what was read still counts.
    pub(super) fn parts_and_turns(&self) -> usize {
        self.parts.len() + self.open.len()
    }

    /// Whether it was read from the beginning of the session, so that it knows of all turns.
    pub(super) fn is_whole(&self) -> bool {
        self.begins == 0
    }

    /// The number of the next turn of the agent of this node, as far as it is known here.
    pub(super) fn next_turn(&self, run: &str, path: &str) -> u32 {
        self.next.get(&(run.to_owned(), path.to_owned())).copied().unwrap_or(0)
    }

    /// The agent of a node is executed again: what it said before is none of what it sees.
    pub(super) fn without(mut self, run: &str, path: &str) -> Self {
        self.parts.retain(|part| !part.turn.as_ref().is_some_and(|turn| turn.is_of(run, path)));
        self
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        self.parts.iter().flat_map(|part| part.messages.iter().cloned()).collect()
    }

    /// The beginning that leaves at most so many messages behind it, in whole turns: where it ends, and what was said in it. None
    /// if that is less than two messages, which a summary would not make shorter.
    pub(super) fn beginning(&self, keep: usize) -> Option<(u64, Vec<Message>)> {
        let mut kept = 0;
        let fits = |part: &&Part| {
            kept += part.messages.len();
            kept <= keep
        };
        let first_kept = self.parts.len() - self.parts.iter().rev().take_while(fits).count();
        let beginning = self.parts.get(..first_kept).unwrap_or_default();
        let messages: Vec<Message> = beginning.iter().flat_map(|part| part.messages.iter().cloned()).collect();
        let last = beginning.last().filter(|_| messages.len() > 1)?;
        Some((last.position, messages))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(run: &str, again: u32, said: &str) -> SessionEntry {
        let turn = TurnId { run: run.to_owned(), path: "chat/guest".to_owned(), again };
        SessionEntry::Turn { turn, messages: vec![Message::user(said), Message::assistant(said)] }
    }

    fn of(entries: impl IntoIterator<Item = SessionEntry>) -> Conversation {
        let mut conversation = Conversation::default();
        (1..).zip(entries).for_each(|(position, entry)| conversation.apply(position, entry));
        conversation
    }

    fn said(conversation: &Conversation) -> Vec<String> {
        let text = |message| match message {
            Message::User { text } => Some(text),
            _ => None,
        };
        conversation.messages().into_iter().filter_map(text).collect()
    }

    #[test]
    fn a_turn_that_is_made_again_replaces_the_one_before_where_it_was() {
        let conversation = of([turn("a", 0, "one"), turn("b", 0, "two"), turn("a", 1, "one again")]);
        assert_eq!(said(&conversation), ["one again", "two"]);
        assert_eq!(conversation.next_turn("a", "chat/guest"), 2);
        assert_eq!(said(&conversation.without("a", "chat/guest")), ["two"]);
    }

    #[test]
    fn a_turn_that_begins_behind_that_of_the_origin_of_its_run_is_followed_by_another_one() {
        let conversation = of([turn("origin", 0, "one"), turn("origin", 1, "one again"), turn("fork", 1, "two")]);
        assert_eq!(conversation.next_turn("fork", "chat/guest"), 2);
    }

    #[test]
    fn what_was_said_before_a_clearance_is_not_seen() {
        assert_eq!(said(&of([turn("a", 0, "one"), SessionEntry::Cleared, turn("b", 0, "two")])), ["two"]);
    }

    #[test]
    fn a_summary_stands_for_the_turns_up_to_its_position_and_for_the_summary_before() {
        let summary = |until, text: &str| SessionEntry::Summary { until, text: text.to_owned() };
        let turns = [turn("a", 0, "one"), turn("b", 0, "two"), turn("c", 0, "three")];
        let conversation = of(turns.into_iter().chain([summary(1, "1"), summary(2, "1, 2")]));
        assert_eq!(said(&conversation), ["This is what was said before, in short: 1, 2", "three"]);
        assert_eq!(conversation.messages().len(), 3);
        let mut conversation = conversation;
        conversation.apply(6, summary(1, "1"));
        assert_eq!(conversation.messages().len(), 3);
    }

    #[test]
    fn the_beginning_leaves_whole_turns_and_at_most_so_many_messages() {
        let conversation = of([turn("a", 0, "one"), turn("b", 0, "two"), turn("c", 0, "three")]);
        let ends = |keep| conversation.beginning(keep).map(|(until, messages)| (until, messages.len()));
        assert_eq!(
            [0, 1, 2, 3, 4, 6].map(ends),
            [Some((3, 6)), Some((3, 6)), Some((2, 4)), Some((2, 4)), Some((1, 2)), None]
        );
    }

    /// Entries of all kinds, as they follow from a number.
    fn some_entries(mut seed: u32) -> Vec<SessionEntry> {
        let mut number = move |most: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % most
        };
        let entry = |position: u32| {
            let id = TurnId { run: number(4).to_string(), path: "chat/guest".to_owned(), again: number(3) };
            match number(10) {
                0..=2 => SessionEntry::Opened { turn: id },
                3..=5 => SessionEntry::Turn { turn: id, messages: vec![Message::user(position.to_string())] },
                6 => SessionEntry::Closed { turn: id },
                7 => SessionEntry::Cleared,
                8 => SessionEntry::Summary { until: number(position).into(), text: position.to_string() },
                _ => {
                    let messages = vec![Message::user(position.to_string())];
                    SessionEntry::Forked { from: "chat/bob".to_owned(), until: 1, messages }
                }
            }
        };
        (1..40).map(entry).collect()
    }

    #[test]
    fn what_begins_with_a_checkpoint_comes_to_the_same_wherever_that_is() {
        for seed in 0..50 {
            let entries = some_entries(seed);
            let whole = of(entries.iter().cloned());
            for at in 1..=entries.len() {
                let checkpoint = serde_json::to_value(of(entries[..at].iter().cloned())).unwrap();
                let mut conversation = Conversation::deserialize(checkpoint).unwrap();
                for (position, entry) in (1..).zip(&entries).skip(at) {
                    conversation.apply(position, entry.clone());
                }
                let seen = |conversation: &Conversation| {
                    (conversation.end, conversation.open.clone(), conversation.parts.clone())
                };
                assert_eq!(seen(&conversation), seen(&whole), "seed {seed}, checkpoint at {at}");
            }
        }
    }
}
