//! Places in a run, and how they are written.
//!
//! - `checkout/charge`: node `charge` of workflow `checkout`.
//! - `checkout/draft#2`: in the second turn of its loop; the first is unmarked. `checkout/draft#2.3`: in the third turn
//!   of an inner loop, in the second of the outer one.
//! - `checkout/delivery/pack`: node `pack` of the workflow that runs as node `delivery`.
//! - `digest/search[3]`: the fourth item in node `search` of `[search]` or `[search => summarise]`; `search[3]#2` in
//!   the second turn of a loop inside the brackets, `search#2[3]` if the brackets are in a loop.

use std::borrow::Cow;
use std::fmt::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::freeze;
use super::program::{Layout, Program};

/// A node in a scope, in a turn. Cheap to make and to copy; it becomes a string only when it is read.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Place {
    #[serde(with = "freeze::shared")]
    pub(crate) scope: Arc<ScopePath>,
    pub(crate) node: u32,
    pub(crate) turns: Turns,
}

/// A node of the graph in which an attempt began.
#[derive(Clone, Copy)]
pub(crate) struct Stand {
    pub(crate) node: u32,
    /// In the innermost loop; 0 for the turn in which the attempt began.
    pub(crate) turn: u64,
}

/// The place of a scope in its run.
#[derive(Serialize, Deserialize)]
pub(crate) struct ScopePath {
    #[serde(with = "freeze::layout")]
    pub(crate) layout: Arc<Layout>,
    /// The node that the scope is inside of; `None` for the workflow that was started.
    pub(crate) around: Option<Place>,
    /// The prefix of all paths of a workflow that a node has started, in place of the workflow's own name.
    pub(crate) prefix: Option<String>,
    /// For an item of `[..]`, which one.
    pub(crate) item: Option<usize>,
}

/// The number of the turn in each loop around a node, from 1, the outermost first. Two levels go without allocation.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Turns {
    Outside,
    One(u64),
    Two(u64, u64),
    More(Arc<[u64]>),
}

impl Turns {
    /// The numbers, the outermost first.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        match self {
            Turns::Outside => Vec::new(),
            Turns::One(turn) => vec![*turn],
            Turns::Two(outer, inner) => vec![*outer, *inner],
            Turns::More(turns) => turns.to_vec(),
        }
    }

    /// The turn of the loop that has so many loops around it.
    pub(crate) fn at(&self, level: usize) -> Option<u64> {
        match (self, level) {
            (Turns::One(turn) | Turns::Two(turn, _), 0) | (Turns::Two(_, turn), 1) => Some(*turn),
            (Turns::More(turns), level) => turns.get(level).copied(),
            _ => None,
        }
    }

    /// The same in another turn of the innermost loop.
    pub(crate) fn with_innermost(&self, turn: u64) -> Turns {
        match self {
            Turns::Outside => Turns::Outside,
            Turns::One(_) => Turns::One(turn),
            Turns::Two(outer, _) => Turns::Two(*outer, turn),
            Turns::More(turns) => {
                let outer = turns.iter().take(turns.len().saturating_sub(1)).copied();
                Turns::More(outer.chain([turn]).collect())
            }
        }
    }

    pub(super) fn write_to(&self, to: &mut impl Write) -> fmt::Result {
        let pair;
        let turns: &[u64] = match self {
            Turns::Outside => &[],
            Turns::One(turn) => std::slice::from_ref(turn),
            Turns::Two(outer, inner) => {
                pair = [*outer, *inner];
                &pair
            }
            Turns::More(turns) => turns,
        };
        if turns.iter().all(|turn| *turn == 1) {
            return Ok(());
        }
        for (at, turn) in turns.iter().enumerate() {
            to.write_char(if at == 0 { '#' } else { '.' })?;
            write_number(*turn, to)?;
        }
        Ok(())
    }
}

impl ScopePath {
    /// The path of another item of the same node.
    pub(crate) fn with_item(&self, item: usize) -> ScopePath {
        let (layout, around, prefix) = (Arc::clone(&self.layout), self.around.clone(), self.prefix.clone());
        ScopePath { layout, around, prefix, item: Some(item) }
    }

    /// Whether it is a graph of the run itself, and not of a workflow that a node has started.
    pub(crate) fn is_of_run(&self) -> bool {
        let mut scope = self;
        while let Some(around) = &scope.around {
            scope = &around.scope;
        }
        scope.prefix.is_none()
    }

    /// The number of names before that of each node of this scope.
    fn depth(&self) -> usize {
        let (mut scope, mut depth) = (self, 1);
        while let Some(around) = &scope.around {
            depth += usize::from(scope.item.is_none());
            scope = &around.scope;
        }
        depth + scope.prefix.as_ref().map_or(0, |prefix| prefix.matches('/').count())
    }

    /// Writes the part of a path before the name of each node of this scope.
    fn write_before(&self, to: &mut impl Write) -> fmt::Result {
        match (&self.around, self.item) {
            (None, _) => to.write_str(self.prefix.as_ref().unwrap_or(&self.layout.name)),
            (Some(around), None) => around.write_to(to),
            (Some(around), Some(_)) => around.scope.write_before(to),
        }
    }

    /// Writes the part of a path behind that name.
    fn write_behind(&self, to: &mut impl Write) -> fmt::Result {
        match (&self.around, self.item) {
            (Some(around), Some(item)) => {
                around.scope.write_behind(to)?;
                around.turns.write_to(to)?;
                to.write_char('[')?;
                write_number(item as u64, to)?;
                to.write_char(']')
            }
            _ => Ok(()),
        }
    }
}

/// Writes a number in decimal. Paths are written so often that the cost of [`fmt::Formatter`] is measurable.
fn write_number(mut number: u64, to: &mut impl Write) -> fmt::Result {
    let mut digits = [0; 20];
    let mut first = digits.len();
    while number > 0 || first == digits.len() {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    to.write_str(std::str::from_utf8(&digits[first..]).map_err(|_| fmt::Error)?)
}

impl Place {
    /// The path as text. `Display` writes the same, and takes three times as long.
    pub(crate) fn path(&self) -> String {
        let mut path = String::with_capacity(40);
        // Writing to a string never fails.
        let _ = self.write_to(&mut path);
        path
    }

    fn write_to(&self, to: &mut impl Write) -> fmt::Result {
        self.write_with(self.node, &self.turns, to)
    }

    fn write_with(&self, node: u32, turns: &Turns, to: &mut impl Write) -> fmt::Result {
        self.scope.write_before(to)?;
        to.write_char('/')?;
        to.write_str(self.scope.layout.nodes.get(node as usize).map_or("?", |node| node.name.as_str()))?;
        self.scope.write_behind(to)?;
        turns.write_to(to)
    }

    /// Adds the path of an attempt that began here and is now at another node.
    pub(crate) fn write_path_at(&self, Stand { node, turn }: Stand, path: &mut String) {
        let turns = (turn != 0).then(|| self.turns.with_innermost(turn));
        // Writing to a string never fails.
        let _ = self.write_with(node, turns.as_ref().unwrap_or(&self.turns), path);
    }

    /// The workflow, or the one that a node has called, whose graph this is in, the hash of that if it is known, and the names that lead
    /// here from it.
    pub(crate) fn address(&self) -> (String, Option<u64>, Vec<String>) {
        let (mut at, mut names) = (self, Vec::new());
        loop {
            names.extend(at.scope.layout.nodes.get(at.node as usize).map(|node| node.name.clone()));
            match &at.scope.around {
                Some(around) => at = around,
                None => break,
            }
        }
        names.reverse();
        let layout = &at.scope.layout;
        (layout.name.clone(), layout.hash.get().copied(), names)
    }

    /// Where an attempt that began here is now.
    pub(crate) fn moved_to(self, Stand { node, turn }: Stand) -> Place {
        let Place { scope, turns, .. } = self;
        let turns = if turn == 0 { turns } else { turns.with_innermost(turn) };
        Place { scope, node, turns }
    }

    /// The number of names before its own in its path.
    pub(crate) fn depth(&self) -> usize {
        self.scope.depth()
    }

    /// The paths of the nodes of `[..]` around it, in its own workflow, the innermost first.
    pub(crate) fn items_around(&self) -> Vec<String> {
        let (mut scope, mut paths) = (&self.scope, Vec::new());
        while let Some(around) = &scope.around {
            if scope.item.is_some() {
                paths.push(around.path());
            }
            scope = &around.scope;
        }
        paths
    }

    /// How many edges go live under a choice.
    pub(crate) fn edges(&self, choice: usize) -> usize {
        self.scope.layout.edges_of(self.node as usize, choice)
    }

    /// How many edges of START of the graph inside the node go live under a choice.
    pub(crate) fn edges_inside(&self, program: &Program, choice: usize) -> usize {
        program.edges_inside(&self.scope.layout, self.node as usize, choice)
    }

    /// Whether the node has a graph inside.
    pub(crate) fn is_scope(&self) -> bool {
        self.scope.layout.is_scope(self.node as usize)
    }
}

impl fmt::Display for ScopePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_before(f)?;
        self.write_behind(f)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_to(f)
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

/// A name or a key as a part of a path: characters with a meaning in paths are percent-encoded.
pub(crate) fn escaped(part: &str) -> Cow<'_, str> {
    if !part.contains(['/', '#', '[', ']', ':', '%']) && !part.contains(char::is_control) {
        return part.into();
    }
    let mut text = String::with_capacity(part.len() + 8);
    for char in part.chars() {
        if matches!(char, '/' | '#' | '[' | ']' | ':' | '%') || char.is_control() {
            let mut bytes = [0; 4];
            for byte in char.encode_utf8(&mut bytes).bytes() {
                text.push_str(&format!("%{byte:02X}"));
            }
        } else {
            text.push(char);
        }
    }
    text.into()
}

/// The reverse of [`escaped`].
pub(crate) fn unescaped(part: &str) -> Cow<'_, str> {
    let mut pieces = part.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'%');
                bytes.extend_from_slice(piece.as_bytes());
            }
        }
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(part), Cow::Owned)
}
