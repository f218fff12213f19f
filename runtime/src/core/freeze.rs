//! States as text, for snapshots of them.
//!
//! The types of a state are `Serialize` and `Deserialize` themselves, so no field can be forgotten. Two things go beyond
//! what serde gives to derived code, and are found in [`CONTEXT`] instead: what several parts of a state share is written
//! once, and a graph is not written at all but found in the program.
//!
//! The text has a line for each shared thing, those that it needs itself before it, and last the state.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::program::{Layout, Program};

thread_local! {
    /// That of the state which is being written or read in this thread.
    static CONTEXT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

enum Context {
    Writes(Written),
    Reads { program: Arc<Program>, lines: Vec<Line> },
}

/// The shared things so far.
#[derive(Default)]
struct Written {
    lines: Vec<String>,
    /// By address and type: the number of the line. A thing stays alive meanwhile, so that no other has its address.
    numbers: HashMap<(usize, TypeId), (usize, Arc<dyn Any + Send + Sync>)>,
}

/// A shared thing, as it is written or, once it is needed, as it was read.
enum Line {
    Text(String),
    Thing(Arc<dyn Any + Send + Sync>),
}

/// Ends the context, whatever happens.
struct Within;

impl Within {
    fn enter(context: Context) -> Within {
        CONTEXT.set(Some(context));
        Within
    }
}

impl Drop for Within {
    fn drop(&mut self) {
        CONTEXT.set(None);
    }
}

/// Writes a state.
///
/// # Errors
/// If a value in it cannot be written.
pub(crate) fn freeze(state: &impl Serialize) -> serde_json::Result<String> {
    let within = Within::enter(Context::Writes(Written::default()));
    let state = serde_json::to_string(state)?;
    let Some(Context::Writes(written)) = CONTEXT.take() else { return Err(without_context()) };
    drop(within);
    let mut lines = written.lines;
    lines.push(state);
    Ok(lines.join("\n"))
}

/// Reads a state of a run of this program.
///
/// # Errors
/// If the text is not one that [`freeze`] has written for this program.
pub(crate) fn thaw<T: DeserializeOwned>(program: &Arc<Program>, text: &str) -> serde_json::Result<T> {
    let mut lines: Vec<Line> = text.split('\n').map(|line| Line::Text(line.to_owned())).collect();
    let Some(Line::Text(state)) = lines.pop() else { return Err(without_context()) };
    let _within = Within::enter(Context::Reads { program: Arc::clone(program), lines });
    serde_json::from_str(&state)
}

fn without_context<E: serde::de::Error>() -> E {
    E::custom("a state is written by `freeze` and read by `thaw`")
}

/// What several parts of a state may share: written once.
pub(crate) mod shared {
    use super::{
        Any, Arc, CONTEXT, Context, Deserialize, DeserializeOwned, Deserializer, Line, Serialize, Serializer, TypeId,
        without_context,
    };

    pub(crate) fn serialize<T, S>(thing: &Arc<T>, to: S) -> Result<S::Ok, S::Error>
    where
        T: Serialize + Send + Sync + 'static,
        S: Serializer,
    {
        let key = (Arc::as_ptr(thing) as usize, TypeId::of::<T>());
        let known = CONTEXT.with_borrow(|context| match context {
            Some(Context::Writes(written)) => Ok(written.numbers.get(&key).map(|(number, _)| *number)),
            _ => Err(serde::ser::Error::custom("a state is written by `freeze`")),
        })?;
        if let Some(number) = known {
            return to.serialize_u64(number as u64);
        }
        // Before it is added itself: what it shares with others comes first.
        let text = serde_json::to_string(&**thing).map_err(serde::ser::Error::custom)?;
        let number = CONTEXT.with_borrow_mut(|context| {
            let Some(Context::Writes(written)) = context else { return None };
            let number = written.lines.len();
            written.lines.push(text);
            written.numbers.insert(key, (number, Arc::clone(thing) as Arc<dyn Any + Send + Sync>));
            Some(number)
        });
        match number {
            Some(number) => to.serialize_u64(number as u64),
            None => Err(serde::ser::Error::custom("a state is written by `freeze`")),
        }
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<Arc<T>, D::Error>
    where
        T: DeserializeOwned + Send + Sync + 'static,
        D: Deserializer<'de>,
    {
        let number = usize::deserialize(from)?;
        // A line is empty while it is being read, so that none contains itself.
        let line = CONTEXT.with_borrow_mut(|context| match context {
            Some(Context::Reads { lines, .. }) => match lines.get_mut(number) {
                Some(Line::Text(text)) => Ok(Line::Text(std::mem::take(text))),
                Some(Line::Thing(thing)) => Ok(Line::Thing(Arc::clone(thing))),
                None => Err(serde::de::Error::custom(format_args!("there is no shared thing {number}"))),
            },
            _ => Err(without_context()),
        })?;
        let thing = match line {
            Line::Thing(thing) => {
                let other = |_| serde::de::Error::custom(format_args!("{number} is a shared thing of another type"));
                return thing.downcast::<T>().map_err(other);
            }
            Line::Text(text) => Arc::new(serde_json::from_str::<T>(&text).map_err(serde::de::Error::custom)?),
        };
        CONTEXT.with_borrow_mut(|context| {
            if let Some(Context::Reads { lines, .. }) = context {
                lines[number] = Line::Thing(Arc::clone(&thing) as Arc<dyn Any + Send + Sync>);
            }
        });
        Ok(thing)
    }
}

/// A graph: written as its place in the program.
pub(super) mod layout {
    use super::{Arc, CONTEXT, Context, Deserialize, Deserializer, Layout, Serializer, without_context};

    pub(crate) fn serialize<S: Serializer>(layout: &Arc<Layout>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(layout.index as u64)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<Layout>, D::Error> {
        let index = usize::deserialize(from)?;
        CONTEXT.with_borrow(|context| match context {
            Some(Context::Reads { program, .. }) => {
                let layout = program.layouts.get(index).cloned();
                layout.ok_or_else(|| serde::de::Error::custom(format_args!("the program has no graph {index}")))
            }
            _ => Err(without_context()),
        })
    }
}

/// Maps the keys of which are no texts: written as pairs.
pub(crate) mod pairs {
    use std::collections::{BTreeMap, HashMap};

    use serde::de::Error;

    use super::{Deserialize, Deserializer, Serialize, Serializer};
    use crate::sorted::SortedMap;

    pub(crate) fn serialize<M, K, V, S>(map: &M, to: S) -> Result<S::Ok, S::Error>
    where
        M: Pairs<K, V>,
        K: Serialize,
        V: Serialize,
        S: Serializer,
    {
        to.collect_seq(map.in_order())
    }

    pub(crate) fn deserialize<'de, M, K, V, D>(from: D) -> Result<M, D::Error>
    where
        M: FromIterator<(K, V)> + Pairs<K, V>,
        K: Deserialize<'de>,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        let pairs = Vec::<(K, V)>::deserialize(from)?;
        let written = pairs.len();
        let map: M = pairs.into_iter().collect();
        if map.pairs() == written { Ok(map) } else { Err(D::Error::custom("a key is written twice")) }
    }

    /// A map from `K` to `V`, which names both for the compiler.
    pub(crate) trait Pairs<K, V> {
        fn pairs(&self) -> usize;

        /// By their keys: equal states have equal texts.
        fn in_order(&self) -> Vec<(&K, &V)>;
    }

    impl<K: Ord, V, H> Pairs<K, V> for HashMap<K, V, H> {
        fn pairs(&self) -> usize {
            self.len()
        }

        fn in_order(&self) -> Vec<(&K, &V)> {
            let mut pairs: Vec<_> = self.iter().collect();
            pairs.sort_unstable_by(|one, other| one.0.cmp(other.0));
            pairs
        }
    }

    impl<K, V> Pairs<K, V> for BTreeMap<K, V> {
        fn pairs(&self) -> usize {
            self.len()
        }

        fn in_order(&self) -> Vec<(&K, &V)> {
            self.iter().collect()
        }
    }

    impl<K, V> Pairs<K, V> for SortedMap<K, V> {
        fn pairs(&self) -> usize {
            self.len()
        }

        fn in_order(&self) -> Vec<(&K, &V)> {
            self.iter().collect()
        }
    }
}
