//! The rows of the tree.

use std::collections::{BTreeMap, BTreeSet};

use graphweft_inspector::view::{KINDS, Kind, State, ViewPart, What};

/// Something of the run, as a line.
pub(super) struct Row {
    /// Its name behind lines that lead to what it is in.
    pub(super) label: String,
    /// The lines below it.
    pub(super) lead: String,
    /// Its path; empty for the line of several.
    pub(super) path: String,
    /// Its state in words, with the attempt; for `[..]` with how many items of all are completed.
    pub(super) state: String,
    /// Its states with the numbers of the events.
    pub(super) moves: Vec<(u64, State, u32)>,
}

/// How many items of a `[..]` have a line of their own.
const ITEMS: usize = 20;

/// Everything that has been reached, below what it is in.
pub(super) fn rows(part: &ViewPart) -> Vec<Row> {
    let mut moves = part.moves_by_thing();
    let items = items(part, &moves);
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); part.things.path.len()];
    for (thing, within) in part.things.within.iter().enumerate() {
        if let Some(members) = usize::try_from(*within).ok().and_then(|within| below.get_mut(within)) {
            members.push(thing);
        }
    }
    let mut rows = Vec::new();
    let mut left: Vec<(usize, String, bool)> = Vec::new();
    let push = |left: &mut Vec<(usize, String, bool)>, of: usize, lead: &str| {
        let last = below[of].last().copied();
        let members = below[of].iter().rev();
        left.extend(members.map(|thing| (*thing, lead.to_owned(), Some(*thing) == last)));
    };
    push(&mut left, 0, "");
    let mut shown_in = vec![0; below.len()];
    while let Some((thing, lead, is_last)) = left.pop() {
        let (path, item) = (&part.things.path[thing], part.things.item[thing]);
        let branch = if is_last { "└─ " } else { "├─ " };
        if item >= 0 {
            let each = part.things.within[thing].unsigned_abs() as usize;
            shown_in[each] += 1;
            if shown_in[each] > ITEMS {
                if is_last {
                    let more = shown_in[each] - ITEMS;
                    rows.push(Row {
                        label: format!("{lead}{branch}{more} more"),
                        lead: String::new(),
                        path: String::new(),
                        state: String::new(),
                        moves: Vec::new(),
                    });
                }
                continue;
            }
        }
        let moves = moves.remove(&(thing as u32)).unwrap_or_default();
        let state = match moves.last() {
            Some((_, state, attempt)) if *attempt > 1 => format!("{} ({attempt})", word(*state)),
            Some((_, state, _)) => word(*state).to_owned(),
            None => word(State::NotReached).to_owned(),
        };
        let state = match items.get(&thing) {
            Some((completed, all)) => format!("{state} {completed}/{all}"),
            None => state,
        };
        let inner = format!("{lead}{}", if is_last { "   " } else { "│  " });
        push(&mut left, thing, &inner);
        let label = format!("{lead}{branch}{}", name(path));
        rows.push(Row { label, lead: inner, path: path.clone(), state, moves });
    }
    rows
}

/// By `[..]`, how many items are completed, and how many there are.
fn items(part: &ViewPart, moves: &BTreeMap<u32, Vec<(u64, State, u32)>>) -> BTreeMap<usize, (usize, u64)> {
    let is_each = |thing: usize| {
        part.things.kind.get(thing).is_some_and(|kind| KINDS.get(usize::from(*kind)) == Some(&Kind::Each))
    };
    let mut completed: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
    for (thing, moves) in moves {
        let thing = *thing as usize;
        let (Some(&item), Some(&within)) = (part.things.item.get(thing), part.things.within.get(thing)) else {
            continue;
        };
        if item >= 0 && matches!(moves.last(), Some((_, State::Completed, _))) {
            completed.entry(within.unsigned_abs() as usize).or_default().insert(item);
        }
    }
    let entered = part.details.iter().filter_map(|detail| match detail.what {
        What::Entered { items, .. } => Some((detail.thing as usize, items)),
        _ => None,
    });
    let each = entered.filter(|(thing, _)| is_each(*thing));
    each.map(|(thing, all)| (thing, (completed.get(&thing).map_or(0, BTreeSet::len), all))).collect()
}

fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn word(state: State) -> &'static str {
    match state {
        State::NotReached => "not reached",
        State::Queued => "queued",
        State::Running => "running",
        State::Waiting => "waiting",
        State::Sleeping => "sleeping",
        State::Collecting => "collecting",
        State::WaitsToRetry => "waits to retry",
        State::Completed => "completed",
        State::Failed => "failed",
        State::Cancelled => "cancelled",
        State::Skipped => "skipped",
        State::StartedOver => "started over",
    }
}
