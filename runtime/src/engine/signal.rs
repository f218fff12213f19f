//! Signals to runs of any process, and what runs wait for.

use std::sync::PoisonError;

use super::inner::Engine;
use super::run::Run;
use crate::halt::Halt;
use crate::schema::{IS_CHECKED, fits_schema};
use crate::shared::Signals;
use crate::signal::{AwaitedSignal, Sent, SignalError, Signalled, check_length};
use crate::store::{Append, Appended, HeaderChange, Records, RunHeader, StoreError};

/// What has become of a signal that was sent by way of the store.
enum By {
    Recorded(Signalled),
    /// The run has changed meanwhile: the caller has to look again.
    Changed,
    /// The run has started over, and this one follows it.
    StartedOver(String),
}

impl Engine {
    /// See [`signal`](Self::signal).
    pub(super) async fn send(&self, run: &str, sent: Sent) -> Result<Signalled, SignalError> {
        check_length("name", &sent.name)?;
        sent.id.as_deref().map_or(Ok(()), |id| check_length("id", id))?;
        sent.by.as_deref().map_or(Ok(()), |by| check_length("sender", by))?;
        let mut run = run.to_owned();
        loop {
            if let Some(live) = self.0.runs.get(&run) {
                live.journal.until_acknowledged().await;
                let checked = live.journal.desk.check_signal(&sent.name, &sent.payload, sent.plain);
                checked.map_err(|misfit| sent.invalid(misfit))?;
                match live.journal.signal(sent.clone()).await {
                    Ok(Some(signalled)) => return Ok(signalled),
                    // It has ended: the store knows how.
                    Ok(None) => Engine::until_gone(&live).await,
                    Err(halt) => {
                        Engine::until_gone(&live).await;
                        // The run is leaving this process, which is no reason to refuse a signal.
                        if let Halt::Store(error) = halt {
                            return Err(error.into());
                        }
                    }
                }
            }
            match self.send_by_the_store(&run, &sent).await? {
                By::Recorded(signalled) => return Ok(signalled),
                By::Changed => {}
                By::StartedOver(next) => run = next,
            }
        }
    }

    /// Adds a signal to the records of a run that is not driven here.
    async fn send_by_the_store(&self, run: &str, sent: &Sent) -> Result<By, SignalError> {
        let header = self.0.store.header(run).await?;
        let header = header.ok_or_else(|| SignalError::UnknownRun { run: run.to_owned() })?;
        if let Some(next) = header.next {
            return Ok(By::StartedOver(next));
        }
        let look = |signals: &Signals| {
            let is_known = sent.id.as_deref().is_some_and(|id| signals.knows(&sent.name, id));
            let is_awaited = signals.waits_for(&sent.name).next().is_some();
            // The recorded form of a value is not the one that its schema describes. Where the code is, the type may be
            // another one by now, and the node says so when it gets the signal.
            let is_checked = is_awaited && sent.plain && !self.0.workflows.contains_key(&header.workflow);
            let schema = signals.schema(&sent.name).filter(|_| is_checked);
            (is_known, is_awaited, schema.cloned())
        };
        let (next, (is_known, is_awaited, schema)) = self.look_at_signals(&header, look).await?;
        if is_known {
            return Ok(By::Recorded(Signalled::Duplicate));
        }
        // Records that were added since the header was read may have ended the run, and nothing is added behind its end.
        let header = match next == header.records {
            true => header,
            false => match self.0.store.header(run).await?.filter(|now| now.key == header.key) {
                Some(now) => now,
                None => return Ok(By::Changed),
            },
        };
        if let Some(next) = header.next {
            return Ok(By::StartedOver(next));
        }
        if header.status.is_over() {
            let (run, signal) = (run.to_owned(), sent.name.clone());
            return Err(SignalError::RunOver { run, status: header.status, signal });
        }
        if let Some(schema) = schema {
            if !IS_CHECKED {
                let (run, workflow, signal) = (run.to_owned(), header.workflow, sent.name.clone());
                return Err(SignalError::NotRegistered { run, workflow, signal });
            }
            fits_schema(&schema, &sent.payload).map_err(|misfit| sent.invalid(misfit))?;
        }
        let time = self.0.env.clock.now();
        let record = sent.clone().into_record(&header.workflow, time);
        // A run without an owner that does not wait for it is left as it is: it may not have begun.
        let nudge = is_awaited || header.owner.is_some();
        let append = Append {
            run: header.key,
            at: next,
            time,
            records: Records::from(vec![record]),
            header: HeaderChange { nudge, ..HeaderChange::default() },
        };
        if self.0.append(append).await? != Appended::Done {
            return Ok(By::Changed);
        }
        if is_awaited {
            self.adopt(&header).await;
        }
        Ok(By::Recorded(Signalled::New))
    }

    /// Looks at the signals of a run by its records, of which it also returns the number.
    async fn look_at_signals<T>(
        &self,
        header: &RunHeader,
        look: impl FnOnce(&Signals) -> T,
    ) -> Result<(u64, T), StoreError> {
        let log = self.0.signal_logs.of(header.key);
        let lock = || log.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let from = lock().next;
            let news = self.0.store.read(header.key, from, usize::MAX).await?;
            let mut log = lock();
            // Another caller may have been faster.
            if log.next == from && log.follow(news) {
                return Ok((log.next, look(&log.signals)));
            }
        }
    }

    /// The signals that a run waits for, by its records.
    pub(super) async fn awaited_by(&self, header: &RunHeader) -> Result<Vec<AwaitedSignal>, StoreError> {
        let look = |signals: &Signals| signals.open_waits().map(|(_, wait)| wait).collect();
        Ok(self.look_at_signals(header, look).await?.1)
    }
}

impl<T> Run<T> {
    /// The signals that nodes of the run wait for, by the names of the signals; none if the run has ended.
    ///
    /// ```
    /// # use graphweft::prelude::*;
    /// # use graphweft::Signal;
    /// # const PAID: Signal<u64> = Signal::new("paid");
    /// # #[node] async fn ship(order: u32, ctx: &Context) -> u64 { u64::from(order) + ctx.wait(PAID).await }
    /// # workflow! { pub checkout(u32) -> u64 { START => ship; } }
    /// # graphweft::block_on(async {
    /// # let engine = Engine::builder().build()?;
    /// let run = engine.start::<checkout>(7).id("order-7").await?;
    /// # run.outcome().await?;
    /// let awaited = run.awaited_signals().await?;
    /// assert_eq!((awaited[0].name.as_str(), awaited[0].path.as_str()), ("paid", "checkout/ship"));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn awaited_signals(&self) -> Result<Vec<AwaitedSignal>, StoreError> {
        if let Some(live) = self.live() {
            live.journal.catch_up_with_store().await;
            if live.journal.halted().is_none() {
                return Ok(live.journal.desk.awaited_signals());
            }
        }
        match self.engine().0.store.header(self.id()).await? {
            Some(header) if !header.status.is_over() => self.engine().awaited_by(&header).await,
            _ => Ok(Vec::new()),
        }
    }
}
