//! What an agent has remembered, and where what it says is added.

use std::sync::Arc;
use std::time::Duration;

use graphweft::state::Append;
use graphweft::store::LogStore;
use graphweft::{ChildError, Context, Engine, Fault, RetryPolicy, StateKey};

use super::SESSION;
use super::changes::has_changed;
use super::checkpoint;
use super::compaction::Compaction;
use super::conversation::Conversation;
use super::entry::{SessionEntry, TurnId};
use super::error::SessionError;
use super::session::{check_id, log_of};
use super::turn::{self, OpenTurn, Overlap};
use crate::agent_error::{AgentError, CallOf, SUMMARY, fault_of};
use crate::chat::Chat;
use crate::message::Message;
use crate::model_call::{FailedCall, ModelCall};
use crate::usage::{MODEL, ModelUsage};

/// How long an agent that waits for its turn sleeps, unless [it comes](turn::may_have_come) or its run is [woken](turn::wake_next).
const PAUSE: Duration = Duration::from_secs(30);

/// Under which name an agent records what it does about its session, each as a step.
const STEP: &str = "session";
/// The key of the step that there is if the model has refused to write a summary, or its summary was cut off.
const WITHOUT_SUMMARY: &str = "without_summary";

/// What an agent has remembered.
pub(crate) struct Remembered {
    /// What was said.
    messages: Vec<Message>,
    /// What that has cost: a summary is a model call.
    spent: ModelUsage,
    place: Place,
}

enum Place {
    State(StateKey<Vec<Message>, Append>),
    Session(Box<InSession>),
}

/// A turn in a session, and what its end needs.
struct InSession {
    engine: Engine,
    /// Not those of the run: what is done behind its end is done later by others if the store is away.
    logs: Arc<dyn LogStore>,
    log: String,
    turn: TurnId,
    /// The turns that were open when this one began, up to a position.
    open: Vec<TurnId>,
    until: u64,
}

impl InSession {
    /// Others may have their turn now: those in the memory of this process, and the run that is next, wherever it is.
    async fn has_ended(&self) {
        has_changed(&self.log);
        let next = turn::wake_next(&self.engine, &*self.logs, &self.log, &self.turn, &self.open, self.until);
        if let Err(error) = next.await {
            tracing::warn!(session = self.log, %error, "the next run in the session was not woken, and looks later");
        }
    }
}

impl Remembered {
    pub(super) fn in_state(key: StateKey<Vec<Message>, Append>, ctx: &Context) -> Result<Self, AgentError> {
        let messages = ctx.state().get(key)?.unwrap_or_default();
        Ok(Remembered { messages, spent: ModelUsage::default(), place: Place::State(key) })
    }

    pub(super) async fn in_session<C>(
        name: &str,
        overlap: Overlap,
        compaction: Option<&Compaction>,
        ctx: &Context,
        chat: C,
    ) -> Result<Self, AgentError>
    where
        C: Fn(Option<&str>, &str, Vec<Message>) -> Result<Chat, AgentError>,
    {
        let session = ctx.state().get(SESSION)?.ok_or(SessionError::NoSession)?;
        check_id(&session)?;
        let engine = ctx.engine().ok_or(SessionError::NoEngine)?;
        let logs = ctx.__logs(&engine).map_err(SessionError::from)?;
        let log = log_of(name, &session);
        let Come { first, until, turn } = come(&engine, &*logs, &log, overlap, ctx).await?;
        let conversation = Conversation::read(&*logs, &log, until).await;
        let open = conversation.as_ref().map(|conversation| conversation.open.clone()).unwrap_or_default();
        let engine_logs = engine.logs().map_err(SessionError::from)?;
        let place = InSession { engine, logs: Arc::clone(&engine_logs), log: log.clone(), turn, open, until };
        let place = Place::Session(Box::new(place));
        let mut remembered = Remembered { messages: Vec::new(), spent: ModelUsage::default(), place };
        let recalled = match conversation {
            Ok(conversation) => {
                // Not by the logs of the run, which an outage would stop: it can do without.
                checkpoint::write_if_due(&*engine_logs, &log, &conversation).await;
                recall(&*logs, &log, &first, conversation, compaction, ctx, chat).await
            }
            Err(error) => Err(error.into()),
        };
        match recalled {
            Ok(recalled) => (remembered.messages, remembered.spent) = recalled,
            Err(error) => {
                remembered.close().await;
                return Err(error);
            }
        }
        Ok(remembered)
    }

    /// What was said, and what it has cost to remember it.
    pub(crate) fn parts(&self) -> (Vec<Message>, ModelUsage) {
        (self.messages.clone(), self.spent)
    }

    /// Adds what was said. It may be called again: it is added once.
    pub(crate) async fn add(self, said: &[Message], ctx: &Context) -> Result<(), AgentError> {
        match self.place {
            Place::State(key) => ctx.state_writer(key).merge(said.to_vec()),
            Place::Session(session) => {
                let InSession { engine, log, turn, .. } = &*session;
                let logs = ctx.__logs(engine).map_err(SessionError::from)?;
                let entry = SessionEntry::Turn { turn: turn.clone(), messages: said.to_vec() };
                turn::append(&*logs, log, &turn.key("turn"), &entry, None).await?;
                session.has_ended().await;
            }
        }
        Ok(())
    }

    /// The agent has failed, and the run may go on: others need not wait for its end. If this cannot be written, they see by the records of
    /// the run that it has left.
    pub(crate) async fn close(self) {
        if let Place::Session(session) = self.place {
            let InSession { logs, log, turn, .. } = &*session;
            let closed = SessionEntry::Closed { turn: turn.clone() };
            match turn::append(&**logs, log, &turn.key("close"), &closed, None).await {
                Ok(_) => session.has_ended().await,
                Err(error) => tracing::warn!(session = log, %error, "a session could not be left"),
            }
        }
    }
}

/// An agent whose turn has come.
struct Come {
    /// Its turn in its first attempt.
    first: TurnId,
    /// How far the session is read, in each attempt: replies that are recorded are about that.
    until: u64,
    /// Its turn in this attempt.
    turn: TurnId,
}

/// Waits for the turn of an agent. An attempt that has failed has closed its turn, and others did not wait for the next attempt: it
/// takes a turn of its own, behind theirs. The steps of all of them are recorded and each attempt goes through them, so it finds the one
/// that is open, if there is one, as after a restart.
async fn come(
    engine: &Engine,
    logs: &dyn LogStore,
    log: &str,
    overlap: Overlap,
    ctx: &Context,
) -> Result<Come, AgentError> {
    let run = ctx.run_id();
    let OpenTurn { turn, until } = wait_for_turn(engine, logs, log, overlap, ctx, "").await?;
    // A run that was forked behind this step has the recorded turn of its origin, and adds one of its own.
    let first = TurnId { run: run.to_owned(), ..turn };
    let (mut turn, mut since) = (first.clone(), until);
    // Others see by the records of this run whether its agent is there, and close the turn of one that is not.
    ctx.__recorded().await;
    for again in 1_u32.. {
        // That of its origin is none that a fork has closed, or could use.
        if turn.run == run && !turn::is_closed(logs, log, &turn, since).await? {
            break;
        }
        let next = wait_for_turn(engine, logs, log, overlap, ctx, &format!("again-{again}.")).await?;
        (turn, since) = (next.turn, next.until);
    }
    Ok(Come { first, until, turn })
}

/// Between two looks the run sleeps, so that it takes no place from the one that it waits for. What is recorded has keys that begin
/// with `which`.
async fn wait_for_turn(
    engine: &Engine,
    logs: &dyn LogStore,
    log: &str,
    overlap: Overlap,
    ctx: &Context,
    which: &str,
) -> Result<OpenTurn, AgentError> {
    let (run, path) = (ctx.run_id(), ctx.path());
    // As well as those of an agent that its run has dropped for this one.
    ctx.__recorded().await;
    let is_passing = |error: &SessionError| matches!(error, SessionError::Store { .. });
    for look in 1_u32.. {
        let turn = ctx.step(STEP, || turn::look(ctx, logs, engine, log, &path, overlap)).key(format!("{which}{look}"));
        let turn = turn.retry(RetryPolicy::with_max_attempts(3)).retry_when(is_passing).await;
        if let Some(turn) = turn.map_err(failed)? {
            return Ok(turn);
        }
        let comes = turn::may_have_come(engine.clone(), log.to_owned(), run.to_owned(), path.clone());
        ctx.sleep(PAUSE).key(format!("{STEP}:{which}{look}")).or_when(comes).await;
    }
    Err(AgentError::Fault(Fault::Context { message: format!("the turn in the session `{log}` does not come") }))
}

/// What was said, with a summary of the beginning if that is due.
async fn recall<C>(
    logs: &dyn LogStore,
    log: &str,
    turn: &TurnId,
    conversation: Conversation,
    compaction: Option<&Compaction>,
    ctx: &Context,
    chat: C,
) -> Result<(Vec<Message>, ModelUsage), AgentError>
where
    C: Fn(Option<&str>, &str, Vec<Message>) -> Result<Chat, AgentError>,
{
    let mut conversation = conversation.without(&turn.run, &turn.path);
    let messages = conversation.messages();
    let nothing = ModelUsage::default();
    let Some(compaction) = compaction.filter(|compaction| compaction.is_due(&messages)) else {
        return Ok((messages, nothing));
    };
    let Some((until, mut beginning)) = conversation.beginning(compaction.keep) else { return Ok((messages, nothing)) };
    // An earlier attempt has seen all that was said, and its replies are recorded.
    if ctx.__has_result(&format!("{STEP}:{WITHOUT_SUMMARY}")) {
        return Ok((messages, nothing));
    }
    beginning.push(Message::user("Summarize what was said so far."));
    let chat = chat(compaction.model.as_deref(), &compaction.instructions, beginning)?;
    let replied = match ctx.call_as(MODEL, chat, ()).key(SUMMARY).await {
        Err(ChildError::Error(FailedCall { error, .. })) if error.is_no_summary() => {
            tracing::warn!(session = log, run = turn.run, %error, "the model gave no summary of the session; the agent sees all that was said");
            note_without_summary(ctx, error.to_string()).await?;
            let spent = error.paid().map_or(nothing, |(_, usage)| ModelUsage { calls: 1, usage });
            return Ok((messages, spent));
        }
        replied => replied,
    };
    let ModelCall { message, usage, is_cut_off, .. } =
        replied.map_err(|error| AgentError::of_model_call(CallOf::Summary, error))?;
    let (Message::Assistant { text, .. } | Message::User { text } | Message::Tool { content: text, .. }) = message;
    // It would take the place of all that it is to be a summary of.
    if is_cut_off || text.trim().is_empty() {
        tracing::warn!(
            session = log,
            run = turn.run,
            is_cut_off,
            "the summary of the session has no text or no end, and is not used; the agent sees all that was said"
        );
        return Ok((messages, ModelUsage { calls: 1, usage }));
    }
    let summary = SessionEntry::Summary { until, text };
    turn::append(logs, log, &turn.key("summary"), &summary, None).await?;
    conversation.apply(conversation.end, summary);
    Ok((conversation.messages(), ModelUsage { calls: 1, usage }))
}

/// Records that the agent sees all that was said, and why, so that each of its attempts does.
async fn note_without_summary(ctx: &Context, why: String) -> Result<(), AgentError> {
    let note = || std::future::ready(Ok::<_, String>(format!("no summary: {why}")));
    ctx.step(STEP, note).key(WITHOUT_SUMMARY).await.map_err(fault_of)?;
    Ok(())
}

fn failed(error: ChildError<SessionError>) -> AgentError {
    match error {
        ChildError::Error(error) => AgentError::Session(error),
        ChildError::Fault(fault) => AgentError::Fault(fault),
        other => AgentError::Fault(Fault::Context { message: other.to_string() }),
    }
}
