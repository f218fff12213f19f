//! The values that a run holds for nodes that are still to run.

use super::event::RunEnd;
use super::frame::Frame;
use super::run::Run;
use super::task::Task;
use super::token::{Arrived, Emitted, Tokens};

impl<V> Run<V> {
    /// Replaces the values that tasks under way need: those that have fired a node, and those that wait for others to
    /// arrive. Of the items of a node that have not begun, only the next one: all of them may be more than fits in
    /// memory.
    ///
    /// # Errors
    /// The first error of `replace`. The run cannot be used any more then.
    pub(crate) fn replace_values<E>(&mut self, mut replace: impl FnMut(V) -> Result<V, E>) -> Result<(), E> {
        let state = &mut self.state;
        let is_closing = |scope: &usize| {
            state.scopes.get(*scope).and_then(Option::as_ref).is_none_or(|scope| scope.closing.is_some())
        };
        let tasks = state.tasks.ids();
        let is_needed = |task: &Task<V>| task.stopping.is_none() && !is_closing(&task.scope);
        let needed: Vec<_> = tasks.into_iter().filter(|id| state.tasks.get(*id).is_some_and(is_needed)).collect();
        for id in needed {
            let Some(task) = state.tasks.get_mut(id) else { continue };
            replace_arrived(&mut task.input, &mut replace)?;
            if let Some(items) = task.items_mut() {
                if let Some((_, next)) = items.pending.front_mut() {
                    replace_emitted(next, &mut replace)?;
                }
                for end in &mut items.ends {
                    replace_arrived(end, &mut replace)?;
                }
            }
        }
        for scope in state.scopes.iter_mut().flatten().filter(|scope| scope.closing.is_none()) {
            let free = &scope.free_frames;
            for (_, frame) in scope.frames.iter_mut().enumerate().filter(|(at, _)| !free.contains(at)) {
                replace_in_frame(frame, &mut replace)?;
            }
            replace_arrived(&mut scope.output, &mut replace)?;
        }
        if let Some(RunEnd::Completed(_)) = &state.end
            && let Some(RunEnd::Completed(arrived)) = state.end.take()
        {
            let mut arrived = Some(arrived);
            replace_arrived(&mut arrived, &mut replace)?;
            state.end = arrived.map(RunEnd::Completed);
        }
        Ok(())
    }
}

fn replace_in_frame<V, E>(frame: &mut Frame<V>, replace: &mut impl FnMut(V) -> Result<V, E>) -> Result<(), E> {
    // The values at a group that has had all its tokens were passed on, or are not needed.
    for group in frame.groups.iter_mut().filter(|group| group.open > 0) {
        for place in &mut group.places {
            replace_one(place, replace)?;
        }
    }
    for waiting in frame.collectors.iter_mut().map(|collector| &mut collector.waiting) {
        *waiting = std::mem::take(waiting).into_iter().map(&mut *replace).collect::<Result<_, _>>()?;
    }
    Ok(())
}

fn replace_one<V, E>(place: &mut Option<V>, replace: &mut impl FnMut(V) -> Result<V, E>) -> Result<(), E> {
    *place = place.take().map(replace).transpose()?;
    Ok(())
}

fn replace_arrived<V, E>(
    arrived: &mut Option<Arrived<V>>,
    replace: &mut impl FnMut(V) -> Result<V, E>,
) -> Result<(), E> {
    *arrived = match arrived.take() {
        None => None,
        Some(Arrived::One(value)) => Some(Arrived::One(replace(value)?)),
        Some(Arrived::Join { way, mut places }) => {
            for place in &mut places {
                replace_one(place, replace)?;
            }
            Some(Arrived::Join { way, places })
        }
    };
    Ok(())
}

fn replace_emitted<V, E>(emitted: &mut Emitted<V>, replace: &mut impl FnMut(V) -> Result<V, E>) -> Result<(), E> {
    emitted.tokens = match std::mem::replace(&mut emitted.tokens, Tokens::None) {
        Tokens::None => Tokens::None,
        Tokens::One(value) => Tokens::One(replace(value)?),
        Tokens::Many(values) => Tokens::Many(values.into_iter().map(replace).collect::<Result<_, _>>()?),
    };
    Ok(())
}
