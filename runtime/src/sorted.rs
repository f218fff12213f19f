//! A map and a set in the order of their keys.
//!
//! As `BTreeMap` and `BTreeSet` are, but the tree has places for values: so the compiler builds it, some thousand lines of code, once for
//! each type of keys, and not for each pair of types.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::collections::btree_map::{self, Entry};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, RangeBounds};

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use slab::Slab;

/// A map in the order of its keys.
#[derive(Clone)]
pub(crate) struct SortedMap<K, V> {
    places: BTreeMap<K, usize>,
    values: Slab<V>,
}

impl<K, V> SortedMap<K, V> {
    pub(crate) const fn new() -> Self {
        SortedMap { places: BTreeMap::new(), values: Slab::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.places.keys()
    }

    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// The values, in no order.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut().map(|(_, value)| value)
    }

    pub(crate) fn clear(&mut self) {
        self.places.clear();
        self.values.clear();
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.places.iter().map(|(key, place)| (key, &self.values[*place]))
    }
}

impl<K: Ord, V> SortedMap<K, V> {
    pub(crate) fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.values.get(*self.places.get(key)?)
    }

    pub(crate) fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.values.get_mut(*self.places.get(key)?)
    }

    pub(crate) fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.places.contains_key(key)
    }

    /// Returns the value that the key had.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.places.entry(key) {
            Entry::Occupied(place) => Some(std::mem::replace(&mut self.values[*place.get()], value)),
            Entry::Vacant(place) => {
                place.insert(self.values.insert(value));
                None
            }
        }
    }

    /// The value of the key, which is a new one if it had none.
    pub(crate) fn get_or_insert_with(&mut self, key: K, new: impl FnOnce() -> V) -> &mut V {
        let place = *self.places.entry(key).or_insert_with(|| self.values.insert(new()));
        &mut self.values[place]
    }

    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.places.remove(key).map(|place| self.values.remove(place))
    }

    pub(crate) fn pop_first(&mut self) -> Option<(K, V)> {
        self.places.pop_first().map(|(key, place)| (key, self.values.remove(place)))
    }

    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&K, &mut V) -> bool) {
        let SortedMap { places, values } = self;
        places.retain(|key, place| {
            let stays = keeps(key, &mut values[*place]);
            if !stays {
                values.remove(*place);
            }
            stays
        });
    }

    pub(crate) fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> impl DoubleEndedIterator<Item = (&K, &V)>
    where
        K: Borrow<Q>,
    {
        self.places.range(range).map(|(key, place)| (key, &self.values[*place]))
    }

    pub(crate) fn into_pairs(mut self) -> impl Iterator<Item = (K, V)> {
        self.places.into_iter().map(move |(key, place)| (key, self.values.remove(place)))
    }
}

impl<K: Ord, V> Index<&K> for SortedMap<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        &self.values[self.places[key]]
    }
}

impl<K, V> Default for SortedMap<K, V> {
    fn default() -> Self {
        SortedMap::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for SortedMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for SortedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Ord, V> Extend<(K, V)> for SortedMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, pairs: I) {
        for (key, value) in pairs {
            self.insert(key, value);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for SortedMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut map = SortedMap::new();
        map.extend(pairs);
        map
    }
}

impl<K: Serialize, V: Serialize> Serialize for SortedMap<K, V> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter())
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for SortedMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Pairs<K, V>(PhantomData<(K, V)>);

        impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Visitor<'de> for Pairs<K, V> {
            type Value = SortedMap<K, V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
                let mut map = SortedMap::new();
                while let Some((key, value)) = pairs.next_entry()? {
                    map.insert(key, value);
                }
                Ok(map)
            }
        }

        from.deserialize_map(Pairs(PhantomData))
    }
}

/// A set in the order of its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SortedSet<K>(BTreeMap<K, usize>);

impl<K> SortedSet<K> {
    pub(crate) const fn new() -> Self {
        SortedSet(BTreeMap::new())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> btree_map::Keys<'_, K, usize> {
        self.0.keys()
    }
}

impl<K: Ord> SortedSet<K> {
    /// Returns whether it is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        self.0.insert(key, 0).is_none()
    }

    /// Returns whether it was there.
    pub(crate) fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.remove(key).is_some()
    }

    pub(crate) fn contains<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.0.contains_key(key)
    }

    pub(crate) fn retain(&mut self, mut keeps: impl FnMut(&K) -> bool) {
        self.0.retain(|key, _| keeps(key));
    }

    pub(crate) fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> impl Iterator<Item = &K>
    where
        K: Borrow<Q>,
    {
        self.0.range(range).map(|(key, _)| key)
    }
}

impl<K> Default for SortedSet<K> {
    fn default() -> Self {
        SortedSet::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for SortedSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl<K> IntoIterator for SortedSet<K> {
    type Item = K;
    type IntoIter = btree_map::IntoKeys<K, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_keys()
    }
}

impl<'s, K> IntoIterator for &'s SortedSet<K> {
    type Item = &'s K;
    type IntoIter = btree_map::Keys<'s, K, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<K: Ord> Extend<K> for SortedSet<K> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key);
        }
    }
}

impl<K: Ord> FromIterator<K> for SortedSet<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = SortedSet::new();
        set.extend(keys);
        set
    }
}

impl<K: Serialize> Serialize for SortedSet<K> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self)
    }
}

impl<'de, K: Deserialize<'de> + Ord> Deserialize<'de> for SortedSet<K> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(from)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use super::*;

    #[test]
    fn a_map_is_as_one_of_the_standard_library() {
        let random = RandomState::new();
        let (mut map, mut other) = (SortedMap::new(), BTreeMap::new());
        for step in 0..20_000_u32 {
            let bits = random.hash_one(step);
            let key = (bits >> 8) % 40;
            match bits % 8 {
                0..=2 => assert_eq!(map.insert(key, step), other.insert(key, step)),
                3 | 4 => assert_eq!(map.remove(&key), other.remove(&key)),
                5 => assert_eq!(map.get_or_insert_with(key, || step), other.entry(key).or_insert(step)),
                6 if bits % 64 == 6 => assert_eq!(map.pop_first(), other.pop_first()),
                7 if bits % 512 == 7 => {
                    map.retain(|key, value| *key != 3 && *value % 3 > 0);
                    other.retain(|key, value| *key != 3 && *value % 3 > 0);
                }
                _ => assert_eq!(map.get(&key), other.get(&key)),
            }
            assert_eq!(map.len(), other.len());
            assert!(map.iter().eq(other.iter()) && map.range(key..).eq(other.range(key..)), "after step {step}");
        }
        let (text, wanted) = (serde_json::to_string(&map).unwrap(), serde_json::to_string(&other).unwrap());
        assert_eq!(text, wanted);
        assert_eq!(serde_json::from_str::<SortedMap<u64, u32>>(&text).unwrap(), map);
        assert_eq!(map.clone().into_pairs().collect::<Vec<_>>(), other.into_iter().collect::<Vec<_>>());
        map.clear();
        assert!(map.is_empty() && map.iter().next().is_none());
    }

    #[test]
    fn a_set_has_each_key_once_and_in_order() {
        let mut set: SortedSet<u32> = [3, 1, 2, 3].into_iter().collect();
        assert!(!set.insert(1) && set.insert(0) && set.remove(&2) && !set.remove(&2));
        assert_eq!(serde_json::to_string(&set).unwrap(), "[0,1,3]");
        assert_eq!(serde_json::from_str::<SortedSet<u32>>("[3,0,1]").unwrap(), set);
        assert!(set.range(1..).eq(&[1, 3]) && set.into_iter().eq([0, 1, 3]));
    }
}
