//! The writes to the state of a graph inside a node, for the state around it.

use serde::{Deserialize, Serialize};
use serde_json::Map;

use super::fold_writes::{combine, fold_into};
use crate::fault::Fault;
use crate::sorted::SortedMap;
use crate::state_write::{StateOp, StateWrite};

/// The writes to each key, in their order. Writes that merge are combined, so that the log of an endless loop does not
/// grow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WriteLog(SortedMap<String, Vec<StateOp>>);

impl WriteLog {
    /// Adds writes that their keys have taken.
    pub(super) fn extend(&mut self, writes: &[StateWrite]) -> Result<(), Fault> {
        for write in writes {
            match self.0.get_mut(&write.key) {
                Some(ops) => add(ops, write)?,
                None => _ = self.0.insert(write.key.clone(), vec![write.op.clone()]),
            }
        }
        Ok(())
    }

    pub(super) fn writes_to(&self, key: &str) -> Vec<StateWrite> {
        let ops = self.0.get(key).into_iter().flatten();
        ops.map(|op| StateWrite { key: key.to_owned(), op: op.clone() }).collect()
    }

    /// All of them, key by key.
    pub(super) fn writes(&self) -> Vec<StateWrite> {
        self.0.keys().flat_map(|key| self.writes_to(key)).collect()
    }
}

fn add(ops: &mut Vec<StateOp>, write: &StateWrite) -> Result<(), Fault> {
    if let StateOp::Set(_) = write.op {
        *ops = vec![write.op.clone()];
        return Ok(());
    }
    match (ops.last_mut(), &write.op) {
        (Some(StateOp::Set(value)), _) => {
            let mut values = Map::from_iter([(write.key.clone(), value.take())]);
            fold_into(&mut values, std::slice::from_ref(write))?;
            if let Some(merged) = values.remove(&write.key) {
                *value = merged;
            }
        }
        (Some(StateOp::Append(all)), StateOp::Append(more)) => all.extend_from_slice(more),
        (Some(StateOp::Union(all)), StateOp::Union(more)) => {
            for item in more {
                if !all.contains(item) {
                    all.push(item.clone());
                }
            }
        }
        (Some(StateOp::Merge(all)), StateOp::Merge(more)) => {
            all.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        (Some(StateOp::Add(all)), StateOp::Add(more))
        | (Some(StateOp::Min(all)), StateOp::Min(more))
        | (Some(StateOp::Max(all)), StateOp::Max(more)) => match combine(&write.op, all, more) {
            Some(both) => *all = both,
            None => ops.push(write.op.clone()),
        },
        _ => ops.push(write.op.clone()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::{StateOp, StateWrite, WriteLog, fold_into};

    fn op(which: u64, n: u64) -> StateOp {
        let list = || vec![json!(n % 3), json!(n)];
        match which {
            0 => StateOp::Set(json!([n])),
            1 => StateOp::Append(list()),
            2 => StateOp::Union(list()),
            3 => StateOp::Set(json!(n)),
            4 => StateOp::Add(n.into()),
            5 => StateOp::Min(n.into()),
            6 => StateOp::Max(n.into()),
            7 => StateOp::Set(json!({})),
            _ => StateOp::Merge(Map::from_iter([(format!("{}", n % 3), json!(n))])),
        }
    }

    /// Random writes that fit one kind of value, after a value of that kind or none.
    fn drawn(seed: u64) -> (Map<String, Value>, Vec<StateWrite>) {
        let mut chance = seed;
        let mut draw = |of: u64| {
            chance = chance.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (chance >> 33) % of
        };
        let (kinds, before): (&[u64], Value) = match draw(3) {
            0 => (&[0, 1, 2], json!([1, 7])),
            1 => (&[3, 4, 5, 6], json!(3)),
            _ => (&[7, 8], json!({ "1": 0 })),
        };
        let state = if draw(2) == 0 { Map::new() } else { Map::from_iter([("key".to_owned(), before)]) };
        let writes = (0..draw(8)).map(|_| {
            let which = kinds[draw(kinds.len() as u64) as usize];
            StateWrite { key: "key".to_owned(), op: op(which, draw(9)) }
        });
        (state, writes.collect())
    }

    #[test]
    fn a_log_comes_to_what_its_writes_came_to() {
        for seed in 0..20_000 {
            let (state, writes) = drawn(seed);
            let mut log = WriteLog::default();
            log.extend(&writes).unwrap();
            let (mut one_by_one, mut together) = (state.clone(), state);
            fold_into(&mut one_by_one, &writes).unwrap();
            fold_into(&mut together, &log.writes()).unwrap();
            assert_eq!(one_by_one, together, "{writes:?} as {log:?}");
        }
    }

    #[test]
    fn a_sum_that_is_written_again_and_again_is_one_write() {
        let mut log = WriteLog::default();
        for _ in 0..1000 {
            log.extend(&[StateWrite { key: "sum".to_owned(), op: StateOp::Add(1.into()) }]).unwrap();
        }
        assert_eq!(log.writes(), [StateWrite { key: "sum".to_owned(), op: StateOp::Add(1000.into()) }]);
    }
}
