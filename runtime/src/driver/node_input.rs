//! The input of a node, as it was when the node started.

use serde_json::Value;

use super::job::Job;
use super::run::Driver;
use crate::catch::caught;
use crate::fault::Fault;
use crate::field::Unreadable;
use crate::halt::Halt;
use crate::table::{BoxValue, ScopeKind};

impl Job {
    /// The input of the node at `path`, which is the next one to start after the records of this job. Runs no node and
    /// records nothing; the conversions of the edges that lead to the node are called. `None` if there is no such node.
    ///
    /// # Errors
    /// If this program cannot read the records.
    pub(crate) fn input_of(mut self, input: BoxValue, path: &str) -> Result<Option<Value>, Halt> {
        let (limit, history) = (self.limit, std::mem::take(&mut self.history));
        let mut driver = Box::new(self.driver());
        let name = driver.definition.name.clone();
        let found = caught(|| {
            let started = (driver.definition.start)(input);
            driver.replay(started, limit, history)?;
            driver.input_at(path)
        });
        // The values of the user may panic when they are dropped.
        let _read_already = caught(|| drop(driver));
        found.unwrap_or_else(|fault| Err(Halt::broken(&name, &fault)))
    }
}

impl Driver {
    fn input_at(&mut self, path: &str) -> Result<Option<Value>, Halt> {
        let places = self.run.tasks().into_iter().filter_map(|task| Some((task, self.run.place_of(task)?)));
        let Some((task, place)) = places.into_iter().find(|(_, place)| place.path() == path) else { return Ok(None) };
        let broken =
            |what: &str| Halt::broken(&self.definition.name, &Fault::Context { message: format!("`{path}` {what}") });
        let Some(arrived) = self.run.take_input(task) else { return Err(broken("has started, and has no input")) };
        let arrived = self.read(arrived)?;
        let max = self.shared.env.max_value_size;
        let Some(entry) = self.executable.entry(&self.definition, &place) else { return Err(broken("has no body")) };
        let shown = match (&entry.scope, &entry.node) {
            (Some(scope), _) if place.is_scope() => scope.enter(arrived).and_then(|inputs| {
                let mut items = inputs.iter().map(|input| scope.show(input, max)).collect::<Result<Vec<_>, Fault>>()?;
                let is_one = scope.kind() == ScopeKind::Nested && items.len() == 1;
                Ok(if is_one { items.remove(0) } else { Value::Array(items) })
            }),
            (_, Some(node)) => node.prepare(arrived).and_then(|input| node.show(&input, max)),
            _ => return Err(broken("is no node")),
        };
        let message = |fault: Fault| Unreadable::whole(fault.to_string());
        shown.map(Some).map_err(|fault| super::event_codec::unreadable(&place, message(fault)))
    }
}
