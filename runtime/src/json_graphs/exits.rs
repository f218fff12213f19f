//! How the output of a node that is a closure is routed.

use serde_json::Value;

use crate::box_value::BoxValue;
use crate::field::Unreadable;
use crate::node::Payload;
use crate::table::{Emitted, Moment, Routed, Token, Tokens};
use crate::value::MaxSize;

/// The choices of a node.
pub(super) struct Exits {
    pub(super) labels: Vec<String>,
    /// By choice.
    pub(super) edges: Vec<usize>,
    pub(super) bound: Option<Bound>,
}

/// A bounded arm.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) arm: usize,
    pub(super) at_most: u32,
    /// The choice that is taken after that.
    pub(super) spent: usize,
    /// How many loops there are around the one that is counted.
    pub(super) level: usize,
}

impl Exits {
    pub(super) fn emit(&self, label: Option<&str>, value: &Value, moment: Moment<'_>) -> Emitted {
        let own = label.map_or(0, |label| self.labels.iter().position(|known| known == label).expect("a label"));
        let bound = self.bound.filter(|bound| bound.arm == own);
        let spent = bound.filter(|bound| moment.is_spent(bound.level, bound.at_most, bound.spent));
        let choice = spent.map_or(own, |bound| bound.spent);
        let token = || Token { value: BoxValue::new(value.clone()), hand: |_, _| {} };
        let tokens = match self.edges[choice] {
            0 => Tokens::None,
            1 => Tokens::One(token()),
            edges => Tokens::Many((0..edges).map(|_| token()).collect()),
        };
        Emitted { choice, tokens }
    }

    pub(super) fn route(&self, label: &str, error: Value, records: Option<MaxSize>, moment: Moment<'_>) -> Routed {
        Routed { emitted: self.emit(Some(label), &error, moment), error: records.map(|max| recorded(&error, max)) }
    }

    /// The recorded output of a closure does not contain its label. To be restored, the output of a routed node must be
    /// the label, or an object with the label as its key. Otherwise the first label is assumed.
    pub(super) fn restore(&self, output: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        let output = Value::__from_json(output)?;
        let names = |label: &&String| output == label.as_str() || output.get(label.as_str()).is_some();
        let label = self.labels.iter().find(names).or(self.labels.first());
        Ok(self.emit(label.map(String::as_str), &output, Moment::recorded(choice)))
    }

    pub(super) fn restore_error(&self, error: &Value, choice: usize) -> Result<Emitted, Unreadable> {
        match self.labels.iter().find(|label| *label == "err") {
            Some(label) => Ok(self.emit(Some(label), &Value::__from_json(error)?, Moment::recorded(choice))),
            None => Err(Unreadable::whole("there is no arm `err`")),
        }
    }
}

pub(super) fn recorded(value: &Value, max: MaxSize) -> Value {
    value.__to_json(max).expect("JSON")
}
