//! A map by path, in which everything below a path can be removed at once.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::HashMap;
use serde::{Deserialize, Serialize};

/// The entry of a path is found in one step. Iterating over the entries below a path takes as many steps as there are.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Slots<T>")]
pub(super) struct Tree<T> {
    /// The slots of paths that have an entry, or have one below.
    #[serde(skip)]
    by_path: HashMap<Arc<str>, usize>,
    slots: Vec<Slot<T>>,
    /// Slots that are not in use.
    free: Vec<usize>,
    /// How many things there are.
    #[serde(skip)]
    things: usize,
}

#[derive(Debug, Serialize, Deserialize)]
struct Slot<T> {
    path: Arc<str>,
    thing: Option<T>,
    /// The slots of the paths right below.
    below: Vec<usize>,
}

/// What is written of a tree; the rest follows from it.
#[derive(Deserialize)]
struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
}

impl<T> TryFrom<Slots<T>> for Tree<T> {
    type Error = &'static str;

    fn try_from(Slots { slots, free }: Slots<T>) -> Result<Self, Self::Error> {
        let unused: HashSet<usize> = free.iter().copied().collect();
        let in_use = || slots.iter().enumerate().filter(|(at, _)| !unused.contains(at));
        if free.iter().chain(slots.iter().flat_map(|slot| &slot.below)).any(|at| *at >= slots.len()) {
            return Err("a tree of paths without one of its slots");
        }
        let by_path: HashMap<Arc<str>, usize> = in_use().map(|(at, slot)| (Arc::clone(&slot.path), at)).collect();
        if by_path.len() + unused.len() != slots.len() {
            return Err("a tree of paths with a path twice");
        }
        let things = slots.iter().filter(|slot| slot.thing.is_some()).count();
        Ok(Tree { by_path, slots, free, things })
    }
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree { by_path: HashMap::default(), slots: Vec::new(), free: Vec::new(), things: 0 }
    }
}

impl<T> Tree<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.things == 0
    }

    pub(super) fn get(&self, path: &str) -> Option<&T> {
        self.slots[*self.by_path.get(path)?].thing.as_ref()
    }

    pub(super) fn get_mut(&mut self, path: &str) -> Option<&mut T> {
        self.slots[*self.by_path.get(path)?].thing.as_mut()
    }

    /// The entries below a path, in no order.
    pub(super) fn below<'t>(&'t self, path: &str) -> impl Iterator<Item = &'t T> {
        self.all_below(path).map(|(_, thing)| thing)
    }

    /// The same, with the paths.
    pub(super) fn all_below<'t>(&'t self, path: &str) -> impl Iterator<Item = (&'t str, &'t T)> {
        let mut left: Vec<usize> = self.slots_right_below(path).to_vec();
        std::iter::from_fn(move || {
            let slot = &self.slots[left.pop()?];
            left.extend(&slot.below);
            Some(slot.thing.as_ref().map(|thing| (&*slot.path, thing)))
        })
        .flatten()
    }

    /// All entries.
    #[cfg(test)]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.slots.iter().filter_map(|slot| Some((&*slot.path, slot.thing.as_ref()?)))
    }

    /// The entries right below a path, with their paths.
    pub(super) fn right_below(&self, path: &str) -> impl Iterator<Item = (&str, &T)> {
        self.slots_right_below(path).iter().filter_map(|at| {
            let slot = &self.slots[*at];
            Some((&*slot.path, slot.thing.as_ref()?))
        })
    }

    /// Changes every entry below a path.
    pub(super) fn change_below(&mut self, path: &str, change: &mut impl FnMut(&mut T)) {
        let mut left: Vec<usize> = self.slots_right_below(path).to_vec();
        while let Some(at) = left.pop() {
            let slot = &mut self.slots[at];
            left.extend(&slot.below);
            slot.thing.as_mut().into_iter().for_each(&mut *change);
        }
    }

    /// Removes all entries below a path, but not the entry of the path itself.
    pub(super) fn remove_below(&mut self, path: &str) {
        let Some(at) = self.by_path.get(path).copied() else { return };
        let mut left = std::mem::take(&mut self.slots[at].below);
        while let Some(at) = left.pop() {
            left.append(&mut self.slots[at].below);
            self.release(at);
        }
        self.unlink(at);
    }

    fn slots_right_below(&self, path: &str) -> &[usize] {
        self.by_path.get(path).map_or(&[], |at| &self.slots[*at].below)
    }

    /// Removes the slot of a path that has no entry and none below, and those of the paths above for which that holds
    /// too.
    fn unlink(&mut self, mut at: usize) {
        while self.slots[at].thing.is_none() && self.slots[at].below.is_empty() {
            let path = self.release(at);
            let above = path.rsplit_once('/').and_then(|(above, _)| self.by_path.get(above).copied());
            let Some(above) = above else { return };
            self.slots[above].below.retain(|below| *below != at);
            at = above;
        }
    }

    /// Frees a slot. Returns its path.
    fn release(&mut self, at: usize) -> Arc<str> {
        let Slot { path, thing, .. } = &mut self.slots[at];
        self.things -= usize::from(thing.take().is_some());
        let path = std::mem::take(path);
        self.by_path.remove(&path);
        self.free.push(at);
        path
    }

    /// The slot of a path; a new one if it has none.
    fn slot(&mut self, path: &str) -> usize {
        if let Some(at) = self.by_path.get(path) {
            return *at;
        }
        let slot = self.add(path);
        let (mut path, mut at) = (path, slot);
        while let Some((above, _)) = path.rsplit_once('/') {
            let known = self.by_path.get(above).copied();
            let parent = known.unwrap_or_else(|| self.add(above));
            self.slots[parent].below.push(at);
            if known.is_some() {
                break;
            }
            (path, at) = (above, parent);
        }
        slot
    }

    fn add(&mut self, path: &str) -> usize {
        let path: Arc<str> = path.into();
        let slot = Slot { path: Arc::clone(&path), thing: None, below: Vec::new() };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at] = slot;
                at
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.by_path.insert(path, at);
        at
    }
}

impl<T: Default> Tree<T> {
    /// The entry of a path; the default if it had none.
    pub(super) fn get_or_insert(&mut self, path: &str) -> &mut T {
        let at = self.slot(path);
        let thing = &mut self.slots[at].thing;
        self.things += usize::from(thing.is_none());
        thing.get_or_insert_default()
    }
}

/// Whether `path` is strictly below `above`.
pub(crate) fn below(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::Tree;

    fn tree(paths: &[&str]) -> Tree<String> {
        let mut tree = Tree::default();
        for path in paths {
            *tree.get_or_insert(path) = (*path).to_owned();
        }
        tree
    }

    fn below<'t>(tree: &'t Tree<String>, path: &str) -> Vec<&'t str> {
        let mut below: Vec<&str> = tree.below(path).map(String::as_str).collect();
        below.sort_unstable();
        below
    }

    #[test]
    fn what_stands_below_a_path_does_so_at_any_depth_and_in_any_order() {
        for paths in [["w/a/x", "w/a/x/y/z", "w/a2", "w/a"], ["w/a/x/y/z", "w/a", "w/a2", "w/a/x"]] {
            let tree = tree(&paths);
            assert_eq!(below(&tree, "w/a"), ["w/a/x", "w/a/x/y/z"]);
            assert_eq!(below(&tree, "w"), ["w/a", "w/a/x", "w/a/x/y/z", "w/a2"]);
            assert_eq!(below(&tree, "w/a/x/y"), ["w/a/x/y/z"]);
        }
    }

    #[test]
    fn what_is_let_go_of_leaves_nothing_behind() {
        let mut tree = tree(&["w/a/x", "w/a/x/y/z", "w/b"]);
        tree.remove_below("w/a");
        assert_eq!(below(&tree, "w"), ["w/b"]);
        tree.get_or_insert("w/a/x");
        tree.remove_below("w/a");
        tree.remove_below("w");
        assert!(tree.is_empty() && tree.by_path.is_empty(), "{tree:?}");
        assert_eq!(tree.free.len(), tree.slots.len(), "{tree:?}");
    }

    #[test]
    fn a_path_keeps_what_it_has_when_what_is_below_goes() {
        let mut tree = tree(&["w/a", "w/a/x"]);
        tree.remove_below("w/a");
        assert_eq!(below(&tree, "w"), ["w/a"]);
        tree.get_or_insert("w/a/y");
        assert_eq!(tree.below("w").count(), 2);
    }

    #[test]
    fn each_thing_below_is_changed_once() {
        let mut tree = tree(&["w/a", "w/a/x", "w/b/c/d"]);
        tree.remove_below("w/b");
        tree.get_or_insert("w/b/c/d").push_str("w/b/c/d");
        tree.change_below("w", &mut |thing| thing.push('!'));
        assert_eq!(below(&tree, "w"), ["w/a!", "w/a/x!", "w/b/c/d!"]);
    }
}
