//! Things by their paths, where all that stands below a path can be let go of at once.

use foldhash::HashMap;

/// What a path has is found in one step, and what is below it in as many as there is.
#[derive(Debug)]
pub(super) struct Tree<T> {
    things: HashMap<String, T>,
    /// The paths right below a path: those that have something, or have something below.
    below: HashMap<String, Vec<String>>,
}

impl<T> Default for Tree<T> {
    fn default() -> Self {
        Tree { things: HashMap::default(), below: HashMap::default() }
    }
}

impl<T> Tree<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    pub(super) fn get(&self, path: &str) -> Option<&T> {
        self.things.get(path)
    }

    pub(super) fn get_mut(&mut self, path: &str) -> Option<&mut T> {
        self.things.get_mut(path)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.things.values()
    }

    /// What stands below a path, in no order.
    pub(super) fn below<'t>(&'t self, path: &str) -> impl Iterator<Item = &'t T> {
        let mut left: Vec<&String> = self.below.get(path).into_iter().flatten().collect();
        std::iter::from_fn(move || {
            let path = left.pop()?;
            left.extend(self.below.get(path).into_iter().flatten());
            Some(self.things.get(path))
        })
        .flatten()
    }

    /// Changes what stands below a path.
    pub(super) fn change_below(&mut self, path: &str, change: &mut impl FnMut(&mut T)) {
        let Tree { things, below } = self;
        let mut left: Vec<&String> = below.get(path).into_iter().flatten().collect();
        while let Some(path) = left.pop() {
            left.extend(below.get(path).into_iter().flatten());
            if let Some(thing) = things.get_mut(path) {
                change(thing);
            }
        }
    }

    /// Lets go of what stands below a path, and not of what that has itself.
    pub(super) fn remove_below(&mut self, path: &str) {
        if self.things.is_empty() {
            return;
        }
        let Some(mut left) = self.below.remove(path) else { return };
        while let Some(path) = left.pop() {
            self.things.remove(&path);
            left.extend(self.below.remove(&path).unwrap_or_default());
        }
        self.unlink(path);
    }

    /// A path that has nothing, and nothing below, is not remembered.
    fn unlink(&mut self, mut path: &str) {
        while !self.things.contains_key(path)
            && let Some((parent, _)) = path.rsplit_once('/')
            && let Some(siblings) = self.below.get_mut(parent)
        {
            siblings.retain(|sibling| sibling != path);
            if !siblings.is_empty() {
                return;
            }
            self.below.remove(parent);
            path = parent;
        }
    }

    fn link(&mut self, mut path: &str) {
        while let Some((parent, _)) = path.rsplit_once('/') {
            if let Some(siblings) = self.below.get_mut(parent) {
                return siblings.push(path.to_owned());
            }
            self.below.insert(parent.to_owned(), vec![path.to_owned()]);
            if self.things.contains_key(parent) {
                return;
            }
            path = parent;
        }
    }
}

impl<T: Default> Tree<T> {
    /// What a path has; the default where it had nothing.
    pub(super) fn get_or_insert(&mut self, path: &str) -> &mut T {
        if !self.things.contains_key(path) && !self.below.contains_key(path) {
            self.link(path);
        }
        self.things.entry(path.to_owned()).or_default()
    }
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
        assert!(tree.is_empty() && tree.below.is_empty(), "{tree:?}");
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
