//! Applies writes to the values of their keys.

use graphweft_graph::state_proof::{Holds, StateKeyFact};
use serde_json::{Map, Number, Value};

use crate::fault::Fault;
use crate::state_write::{StateOp, StateWrite};

/// The keys of which a reducer makes values that nothing has written, and that their types may not hold: sums.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals(Vec<(String, Holds)>);

impl Totals {
    /// Of these keys.
    pub(crate) fn of<'f>(facts: impl IntoIterator<Item = &'f StateKeyFact>) -> Self {
        let mut totals = Totals::default();
        for fact in facts {
            if let Some(holds) = fact.holds {
                totals.add(fact.name, holds);
            }
        }
        totals
    }

    pub(crate) fn add(&mut self, key: &str, holds: Holds) {
        if !self.0.iter().any(|(known, _)| known == key) {
            self.0.push((key.to_owned(), holds));
        }
    }

    /// Whether it depends on what is there already if keys can take these writes.
    pub(crate) fn check_some_of(&self, writes: &[StateWrite]) -> bool {
        let is_sum = |write: &&StateWrite| matches!(write.op, StateOp::Add(_));
        writes.iter().filter(is_sum).any(|write| self.0.iter().any(|(key, _)| *key == write.key))
    }

    /// Checks what a write, and others of its key, have made of it.
    ///
    /// # Errors
    /// If it is no value of the key's type.
    fn check(&self, values: &Map<String, Value>, write: &StateWrite) -> Result<(), Fault> {
        let StateOp::Add(more) = &write.op else { return Ok(()) };
        let (Some((_, holds)), Some(total)) =
            (self.0.iter().find(|(key, _)| *key == write.key), values.get(&write.key))
        else {
            return Ok(());
        };
        (holds.0)(total).map_err(|why| Fault::Context {
            message: format!(
                "state key `{}` cannot take {more}: the sum would be {total}, which {why}; give the key a type that holds it",
                write.key
            ),
        })
    }
}

/// Applies writes one after another, and checks the sums that they come to: those in between nothing reads.
///
/// # Errors
/// The first write that does not fit its key, and why.
pub(crate) fn fold_within<'w>(
    values: &mut Map<String, Value>,
    writes: &'w [StateWrite],
    totals: &Totals,
) -> Result<(), (&'w StateWrite, Fault)> {
    writes.iter().try_for_each(|write| apply(values, write).map_err(|fault| (write, fault)))?;
    writes.iter().try_for_each(|write| totals.check(values, write).map_err(|fault| (write, fault)))
}

/// Applies writes one after another.
pub(crate) fn fold_into(values: &mut Map<String, Value>, writes: &[StateWrite]) -> Result<(), Fault> {
    for write in writes {
        apply(values, write)?;
    }
    Ok(())
}

fn apply(values: &mut Map<String, Value>, write: &StateWrite) -> Result<(), Fault> {
    let mismatch = |found: &Value, wanted: &str| Fault::Context {
        message: format!("state key `{}` holds {found}, which is not {wanted}", write.key),
    };
    match &write.op {
        StateOp::Set(value) => {
            values.insert(write.key.clone(), value.clone());
        }
        StateOp::Append(more) | StateOp::Union(more) => {
            let all = values.entry(write.key.as_str()).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(all) = all else { return Err(mismatch(all, "a list")) };
            for item in more {
                if matches!(write.op, StateOp::Append(_)) || !all.contains(item) {
                    all.push(item.clone());
                }
            }
        }
        StateOp::Add(more) | StateOp::Min(more) | StateOp::Max(more) => {
            let Some(old) = values.get(&write.key) else {
                values.insert(write.key.clone(), Value::Number(more.clone()));
                return Ok(());
            };
            let Value::Number(number) = old else { return Err(mismatch(old, "a number")) };
            let new = combine(&write.op, number, more).ok_or_else(|| Fault::Context {
                message: format!("state key `{}`: {number} and {more} have no sum that a number can hold", write.key),
            })?;
            values.insert(write.key.clone(), Value::Number(new));
        }
        StateOp::Merge(more) => {
            let all = values.entry(write.key.as_str()).or_insert_with(|| Value::Object(Map::new()));
            let Value::Object(all) = all else { return Err(mismatch(all, "a map")) };
            for (key, value) in more {
                all.insert(key.clone(), value.clone());
            }
        }
    }
    Ok(())
}

pub(super) fn combine(op: &StateOp, old: &Number, more: &Number) -> Option<Number> {
    let whole = |number: &Number| number.as_i128();
    let (new, either) = match (whole(old), whole(more)) {
        (Some(a), Some(b)) => match op {
            StateOp::Min(_) => (None, Some(a.min(b))),
            StateOp::Max(_) => (None, Some(a.max(b))),
            _ => (None, Some(a.checked_add(b)?)),
        },
        _ => {
            let (a, b) = (old.as_f64()?, more.as_f64()?);
            let new = match op {
                StateOp::Min(_) => a.min(b),
                StateOp::Max(_) => a.max(b),
                _ => a + b,
            };
            (Some(new), None)
        }
    };
    match (new, either) {
        (Some(float), _) => Number::from_f64(float),
        (None, Some(whole)) => Number::from_i128(whole),
        (None, None) => None,
    }
}
