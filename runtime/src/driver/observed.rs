//! What a test sees of the core of a run: as it stands while the run goes on, and as its records alone have it.

use super::catch::caught;
use super::run::{Driver, Job};
use crate::core::{Core, Event};
use crate::engine::Halt;
use crate::table::{BoxValue, Token};

/// Looks at a core, that of the run or that of a child.
pub(crate) type Observer = dyn Fn(Observed<'_>) + Send + Sync;

/// A core all of whose commands are carried out and recorded.
pub(crate) struct Observed<'c> {
    pub(crate) core: &'c Core<Token>,
    /// How many records there are.
    pub(crate) records: u64,
    /// Whether the run waits.
    pub(crate) waits: bool,
}

impl Driver {
    pub(super) fn is_observed(&self) {
        if let (Some(observer), Some(journal)) = (&self.shared.env.observer, &self.shared.journal) {
            let waits = self.still_at == Some(self.shared.pulse.generation());
            observer(Observed { core: &self.core, records: journal.length(), waits });
        }
    }
}

impl Job {
    /// The core that its records lead to, where it would go on from in another process. Nothing is begun.
    pub(crate) fn replayed(mut self, input: BoxValue) -> Result<Core<Token>, Halt> {
        let history = std::mem::take(&mut self.history);
        let mut driver = self.driver();
        driver.core.replay();
        let broken = |fault| Halt::broken("replayed", &fault);
        let emitted = caught(|| (driver.definition.start)(input)).map_err(broken)?;
        driver.core.apply(Event::Begun(emitted));
        caught(|| driver.fold(history)).map_err(broken)??;
        driver.core.apply(Event::Replayed);
        Ok(driver.core)
    }
}
