//! The turn of an agent in a session: those that come at the same time have it one after another.
//!
//! It is the bakery algorithm (Lamport, "A new solution of Dijkstra's concurrent programming problem", 1974) with the log as the
//! dispenser of numbers: an agent adds `Opened`, and has its turn when all that came before it have ended.

use std::pin::pin;
use std::time::{Duration, SystemTime};

use futures::future::select;
use graphweft::store::{LogAppended, LogStore, NewLogEntry};
use graphweft::{CancelError, Context, Engine, Json, RunError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::Changes;
use super::conversation::Conversation;
use super::entry::{SessionEntry, TurnId};
use super::error::SessionError;
use super::presence::{Presence, is_inside};

/// What an agent does when another run is in its session, in this process or in another one.
///
/// A run that waits takes no place under [`max_concurrency`](graphweft::EngineBuilder::max_concurrency), and may be unloaded from memory. It is woken at
/// once when an agent of the same process leaves the session, and within a quarter of a second when one of another process does, or when a run that was there is
/// cancelled. A run that is not in memory, since it was [unloaded](graphweft::EngineBuilder::max_resident_waiting) or the process was started anew, is
/// resumed by the agent that leaves. What is recorded of the wait is a timer of 30 seconds: that is what wakes such a run if the one that it waits for was cancelled.
///
/// A run is in a session from the time when its agent comes until the agent ends, or the run does. While a person is asked, for an
/// approval, the agent is at work. An agent that has failed has left, and so has one that was dropped with its node or with the call of it, such as by a time limit: if its node or the run is retried, it comes again, behind those that came meanwhile. One that a node runs in its own body, by [`Agent::run`](crate::Agent::run), and drops there, is in the session until that attempt of the node ends.
///
/// A user who writes a second line before the answer to the first wants an answer to both:
///
/// ```
/// use graphweft::prelude::*;
/// use graphweft_agents::{Agent, Memory, Models, Overlap, SESSION, Scripted};
///
/// workflow! {
///     #[given(SESSION)]
///     pub chat(String) -> String {
///         let agent: Agent<String, String> = Agent::new("You talk.").memory(Memory::session("chat").overlap(Overlap::CancelEarlier));
///         START => agent;
///     }
/// }
///
/// # graphweft::block_on(async {
/// let engine = Engine::builder().resource(Models::new(Scripted::text("Good day."))).build()?;
/// let run = engine.start::<chat>("Hi".into()).state(SESSION, "ada".to_owned()).await?;
/// assert_eq!(run.result().await?, "Good day.");
/// assert_eq!(Overlap::default(), Overlap::Queue);
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Overlap {
    /// It waits. Agents have their turns in the order in which they came.
    ///
    /// A tool must not await a run in the session of its own agent, whatever has started it: that run waits until the agent has ended, and the agent
    /// waits for its tool, so neither ever ends. See [`Memory::session`](crate::Memory::session).
    #[default]
    Queue,
    /// It fails with [`SessionError::Busy`], before any model is called.
    Reject,
    /// The runs that came before are cancelled, and then it has its turn. They add nothing. It waits for an agent of its own run.
    CancelEarlier,
}

/// A turn that has come. This is what is recorded of the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) struct OpenTurn {
    pub(super) turn: TurnId,
    /// How far the session is read.
    pub(super) until: u64,
}

/// Takes a number for an agent, if it has none, and looks whether its turn has come. It may be called again.
pub(super) async fn look(
    ctx: &Context,
    logs: &dyn LogStore,
    engine: &Engine,
    log: &str,
    path: &str,
    overlap: Overlap,
) -> Result<Option<OpenTurn>, SessionError> {
    let run = ctx.run_id();
    let mut seen = Conversation::read(logs, log, u64::MAX).await?;
    loop {
        let mine = seen.open.iter().position(|open| open.is_of(run, path));
        let turn = match mine.and_then(|mine| seen.open.get(mine)) {
            Some(mine) => mine.clone(),
            None => next_turn(logs, log, &seen, run, path).await?,
        };
        let open = seen.open.get(..mine.unwrap_or(seen.open.len())).unwrap_or_default();
        let may_have_ended = !open.is_empty();
        let before = match at_work(engine, open, run, path).await {
            Ok(before) => before,
            Err(error) => return Err(unless_away(ctx, error).await),
        };
        if let Some(around) = before.iter().find(|open| open.run == run && is_inside(path, &open.path)) {
            return Err(SessionError::Nested { session: log.to_owned(), around: around.path.clone() });
        }
        let open = SessionEntry::Opened { turn: turn.clone() };
        match (before.first(), mine) {
            (None, Some(_)) => {
                let until = seen.end;
                if may_have_ended {
                    // A run that has ended since the session was read has added its turn before that.
                    seen.catch_up(logs, log).await?;
                }
                if seen.end == until && !may_have_ended {
                    return Ok(Some(OpenTurn { turn, until }));
                }
                if seen.end == until {
                    // They say nothing more: otherwise each later turn would ask for each of them.
                    for over in seen.open.iter().take_while(|open| **open != turn) {
                        let closed = SessionEntry::Closed { turn: over.clone() };
                        append(logs, log, &over.key("close"), &closed, None).await?;
                    }
                    seen.catch_up(logs, log).await?;
                }
                continue;
            }
            // Only if no other one comes meanwhile: the store decides.
            (None, None) => drop(append(logs, log, &turn.key("open"), &open, Some(seen.end)).await?),
            (Some(other), None) if overlap == Overlap::Reject => {
                return Err(SessionError::Busy { session: log.to_owned(), run: other.run.clone() });
            }
            (Some(_), None) => {
                if overlap == Overlap::Queue {
                    warn_if_started_within(engine, log, run, &before).await;
                }
                append(logs, log, &turn.key("open"), &open, None).await?;
            }
            (Some(_), Some(_)) => {
                if overlap == Overlap::CancelEarlier {
                    for other in before.iter().filter(|other| other.run != run) {
                        match engine.cancel(&other.run).await {
                            // It was deleted meanwhile.
                            Ok(()) | Err(CancelError::UnknownRun { .. }) => {}
                            Err(CancelError::Store(error)) => return Err(unless_away(ctx, error.into()).await),
                            Err(error) => return Err(SessionError::Store { message: error.to_string() }),
                        }
                    }
                }
                return Ok(None);
            }
        }
        seen.catch_up(logs, log).await?;
    }
}

/// Over how many runs it is looked for the one that has started a run: each in between is a run that a tool of another one has started.
const STARTERS: usize = 16;

/// A run that a tool of an agent has started, and that waits for the turn of that agent, can never end before the tool does. Whether the tool
/// awaits it is not recorded anywhere: if not, both end, so this is no error.
async fn warn_if_started_within(engine: &Engine, log: &str, run: &str, before: &[TurnId]) {
    if let Some((holder, tool)) = started_within(engine, run, before).await {
        tracing::warn!(
            session = log,
            run,
            waits_for = holder.run,
            agent = holder.path,
            started_by = tool,
            "a run waits for its turn in the session until the agent whose tool has started it has ended; if that tool awaits this run, \
             neither of them ends: start it with another `SESSION`, give its agent another memory, `Overlap::Reject` or none, or do not await it"
        );
    }
}

/// Of these turns the one whose agent has started a run, itself or by runs in between, and the path of that start. `None` also if that cannot be read.
async fn started_within<'t>(engine: &Engine, run: &str, before: &'t [TurnId]) -> Option<(&'t TurnId, String)> {
    let mut run = run.to_owned();
    for _ in 0..STARTERS {
        let by = engine.get_run(&run).await.ok()??.info().await.ok()?.started_by?;
        if let Some(holder) = before.iter().find(|open| open.run == by.run && is_inside(&by.path, &open.path)) {
            return Some((holder, by.path));
        }
        run = by.run;
    }
    None
}

/// A turn of an agent that has none: with a number that none of those has that have ended.
async fn next_turn(
    logs: &dyn LogStore,
    log: &str,
    seen: &Conversation,
    run: &str,
    path: &str,
) -> Result<TurnId, SessionError> {
    let mut turn = TurnId { run: run.to_owned(), path: path.to_owned(), again: seen.next_turn(run, path) };
    // What has ended before the checkpoint is known by the keys of the entries.
    let mut skipped = 1;
    while !seen.is_whole() && has_ended(logs, log, &turn).await? {
        turn.again = turn.again.saturating_add(skipped);
        skipped = skipped.saturating_mul(2);
    }
    Ok(turn)
}

async fn has_ended(logs: &dyn LogStore, log: &str, turn: &TurnId) -> Result<bool, SessionError> {
    Ok(has_key(logs, log, turn.key("turn")).await? || has_key(logs, log, turn.key("close")).await?)
}

/// Whether a log has an entry with this key, without reading it. It adds nothing: no log ends at the last of all positions, and an entry that
/// is there already counts before that.
async fn has_key(logs: &dyn LogStore, log: &str, key: String) -> Result<bool, SessionError> {
    let nothing = NewLogEntry::new(log, key, Json::Null, SystemTime::now()).behind(u64::MAX);
    Ok(matches!(logs.append(nothing).await?, LogAppended::Existing { .. }))
}

/// How long an agent that waits relies on those of its process, at first and at most: others, and runs that are cancelled, tell it nothing.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(250));

/// Resolves when the turn of an agent that waits may have come. It reads only, and may be dropped at any time.
pub(super) async fn may_have_come(engine: Engine, log: String, run: String, path: String) {
    let changes = Changes::of(&log);
    let mut ahead = None;
    let mut pause = LOOKS.0;
    loop {
        let changed = changes.next();
        // The agent itself reports what is wrong with the store, when it looks the next time.
        if let Ok(false) = is_ahead(&engine, &log, &run, &path, &mut ahead).await {
            return;
        }
        select(pin!(changed), pin!(tokio::time::sleep(pause))).await;
        pause = (pause * 2).min(LOOKS.1);
    }
}

/// Has the run resumed whose turn is next, if it waits outside of the memory, such as after a restart: there it would sleep to its time.
/// `open` are the turns that were open at the position `until`. One that is resumed too early sleeps again.
pub(super) async fn wake_next(
    engine: &Engine,
    logs: &dyn LogStore,
    log: &str,
    ended: &TurnId,
    open: &[TurnId],
    until: u64,
) -> Result<(), SessionError> {
    let mut open = open.to_vec();
    for entry in logs.read(log, until, u64::MAX).await? {
        match SessionEntry::read(log, &entry)? {
            SessionEntry::Opened { turn } => open.push(turn),
            SessionEntry::Turn { turn, .. } | SessionEntry::Closed { turn } => open.retain(|open| *open != turn),
            SessionEntry::Cleared | SessionEntry::Summary { .. } | SessionEntry::Forked { .. } => {}
        }
    }
    // The run of this turn is in memory. Those behind the next one wait for that.
    for next in open.iter().filter(|open| open.run != ended.run) {
        if is_at_work(engine, next, &mut Presence::of(next)).await.map_err(of_run)? {
            engine.wake(&next.run).await?;
            break;
        }
    }
    Ok(())
}

/// The turns that came before that of an agent and have not ended, up to a position.
struct Ahead {
    turns: Vec<(TurnId, Presence)>,
    until: u64,
}

/// Whether another agent is at work before this one. `ahead` is what was found before.
async fn is_ahead(
    engine: &Engine,
    log: &str,
    run: &str,
    path: &str,
    ahead: &mut Option<Ahead>,
) -> Result<bool, SessionError> {
    let logs = engine.logs()?;
    let Ahead { turns, until } = match ahead {
        Some(ahead) => ahead,
        None => {
            let seen = Conversation::read(&*logs, log, u64::MAX).await?;
            let before = seen.open.iter().take_while(|turn| !turn.is_of(run, path));
            let turns = before.map(|turn| (turn.clone(), Presence::of(turn))).collect();
            ahead.insert(Ahead { turns, until: seen.end })
        }
    };
    for entry in logs.read(log, *until, u64::MAX).await? {
        *until = entry.position;
        if let SessionEntry::Turn { turn, .. } | SessionEntry::Closed { turn } = SessionEntry::read(log, &entry)? {
            turns.retain(|(open, _)| *open != turn);
        }
    }
    // One that is at work is enough.
    while let Some((first, presence)) = turns.first_mut() {
        if is_at_work(engine, first, presence).await.map_err(of_run)? {
            return Ok(true);
        }
        turns.remove(0);
    }
    Ok(false)
}

/// Those turns whose agents are at work, and that are not of an earlier execution of this agent.
async fn at_work(engine: &Engine, open: &[TurnId], run: &str, path: &str) -> Result<Vec<TurnId>, RunError> {
    let mut at_work = Vec::new();
    for turn in open.iter().filter(|turn| !turn.is_of(run, path)) {
        if is_at_work(engine, turn, &mut Presence::of(turn)).await? {
            at_work.push(turn.clone());
        }
    }
    Ok(at_work)
}

/// Whether the run of a turn is not over, and its agent has not left.
async fn is_at_work(engine: &Engine, turn: &TurnId, presence: &mut Presence) -> Result<bool, RunError> {
    let Some(run) = engine.get_run(&turn.run).await? else { return Ok(false) };
    let has_left = match run.status().await {
        Ok(status) if status.is_over() => return Ok(false),
        Ok(_) => presence.has_left(&run).await,
        Err(error) => Err(error),
    };
    match has_left {
        Ok(has_left) => Ok(!has_left),
        // It was deleted meanwhile.
        Err(RunError::NotFound) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Why another run in the session cannot be seen. While the store is away it is not known, and the run stops.
async fn unless_away(ctx: &Context, error: RunError) -> SessionError {
    if let RunError::Store(error) = &error {
        ctx.__pending_if_away(error).await;
    }
    of_run(error)
}

fn of_run(error: RunError) -> SessionError {
    match error {
        RunError::Store(error) => error.into(),
        error => SessionError::Store { message: error.to_string() },
    }
}

/// Whether an agent has closed its turn, since it came.
pub(super) async fn is_closed(logs: &dyn LogStore, log: &str, turn: &TurnId, came: u64) -> Result<bool, SessionError> {
    for entry in logs.read(log, came, u64::MAX).await? {
        if let SessionEntry::Closed { turn: closed } = SessionEntry::read(log, &entry)?
            && closed == *turn
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Adds an entry. It is there afterwards, unless the log does not end where it should.
pub(super) async fn append(
    logs: &dyn LogStore,
    log: &str,
    key: &str,
    entry: &SessionEntry,
    behind: Option<u64>,
) -> Result<LogAppended, SessionError> {
    let value: Json =
        serde_json::to_value(entry).map_err(|error| SessionError::Store { message: error.to_string() })?;
    let mut new = NewLogEntry::new(log, key, value, SystemTime::now());
    new.behind = behind;
    Ok(logs.append(new).await?)
}
