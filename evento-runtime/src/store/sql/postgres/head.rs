//! One look for all who ask at the same time: the safe head of the log, kept for the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;

use super::gap::{Gap, Head, Island, Next};
use super::server::PostgresServer;
use crate::clock::monotonic;
use crate::error::StoreError;
use crate::source::Held;
use crate::source::sql::position_of;
use crate::store::sql::names::Names;
use crate::store::sql::server::{Inner, Server as _, Wrap};
use crate::store::sql::session::{Session, Value};
use crate::sync::{Mutex, lock};

/// Rows looked at in one go.
const AT_ONCE: i64 = 10_000;
/// A hole that holds is told of after this long, and at each doubling.
const TELLING: Duration = Duration::from_secs(1);

/// The statements of looking.
pub(super) struct HeadSql {
    look: &'static str,
    last: &'static str,
    writers: &'static str,
}

/// Everything above the safe head as stretches, and the lowest transaction id that runs, in one snapshot. Index only.
const LOOK: &str = "SELECT i.first, i.last, pg_snapshot_xmin(pg_current_snapshot())::text::bigint \
     FROM (SELECT 1) AS one LEFT JOIN (SELECT min(position) AS first, max(position) AS last FROM (SELECT position, \
     position - row_number() OVER (ORDER BY position) AS island FROM (SELECT position FROM @event WHERE position > ? \
     ORDER BY position LIMIT 10000) AS p) AS n GROUP BY island) AS i ON true ORDER BY i.first";

/// An id above all that were given out before.
const NEXT_ID: &str = "SELECT pg_current_xact_id()::text::bigint";

/// Every transaction that has written to the log and has not ended: it holds this lock from before its first number is
/// taken until after its rows can be seen.
const WRITERS: &str = "SELECT l.virtualtransaction, coalesce('process ' || l.pid, 'a prepared transaction'), \
     nullif(a.application_name, ''), a.state, extract(epoch FROM clock_timestamp() - a.xact_start)::bigint \
     FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid \
     WHERE l.locktype = 'relation' AND l.relation = '@event'::regclass AND l.mode = 'RowExclusiveLock' \
     AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";

impl HeadSql {
    pub(super) fn rendered(names: &Names) -> Self {
        Self {
            look: names.render(LOOK),
            last: names.render("SELECT coalesce(max(position), 0) FROM @event"),
            writers: names.render(WRITERS),
        }
    }
}

/// The head of the log as this process knows it.
#[derive(Default)]
pub(super) struct Tracker {
    safe: AtomicI64,
    /// Looks that were asked for.
    asked: AtomicU64,
    state: Arc<AsyncMutex<State>>,
    waits: AtomicBool,
    /// As the last look has left it.
    gap: Mutex<Option<Gap>>,
}

#[derive(Default)]
struct State {
    head: Head,
    /// Looks that need not be made: an answer began after they were asked for.
    answered: u64,
    begun: bool,
    /// Whether a hole holds the head.
    waits: bool,
    /// Who wrote when the fence was made, and still does: nobody else can fill a hole below it.
    writers: Vec<Writer>,
    told: Option<Duration>,
}

/// A transaction that has written to the log.
struct Writer {
    transaction: String,
    description: String,
}

impl Tracker {
    pub(super) fn waits(&self) -> bool {
        self.waits.load(Ordering::Relaxed)
    }

    pub(super) fn safe(&self) -> i64 {
        self.safe.load(Ordering::Acquire)
    }

    /// What has held the head for long enough to be told of: holes of a moment are everywhere.
    pub(super) fn held(&self) -> Option<Held> {
        let gap = lock(&self.gap);
        let gap = gap.as_ref().filter(|gap| monotonic().saturating_duration_since(gap.since) >= TELLING)?;
        Some(Held::new(position_of(gap.from)?, gap.sessions.clone()))
    }
}

/// The safe head, looked for after this was called.
pub(super) async fn refresh(inner: &Arc<Inner<PostgresServer>>) -> Result<i64, StoreError> {
    inner.check_open()?;
    let tracker = &inner.server.tracker;
    let asked = tracker.asked.fetch_add(1, Ordering::SeqCst) + 1;
    let mut state = Arc::clone(&tracker.state).lock_owned().await;
    if state.answered >= asked {
        return Ok(tracker.safe());
    }
    let answers = tracker.asked.load(Ordering::SeqCst);
    let look = inner.readers.run(Wrap::Bare, move |server, connection| {
        Box::pin(async move {
            look(&mut state, server, &mut *server.session(connection)).await?;
            server.tracker.safe.store(state.head.safe(), Ordering::Release);
            server.tracker.waits.store(state.waits, Ordering::Relaxed);
            *lock(&server.tracker.gap) = gap_of(&state);
            state.answered = state.answered.max(answers);
            Ok::<_, StoreError>(state.head.safe())
        })
    });
    look.await
}

async fn look(state: &mut State, server: &PostgresServer, session: &mut dyn Session) -> Result<(), StoreError> {
    if !state.begun {
        // Whoever took a number up to this one has an id below the next.
        let last = session.fetch(server.head_sql.last, &[]).await?.first().map_or(Ok(0), |row| row.int(0))?;
        if last > 0 {
            fence(state, server, session, last).await?;
        }
        state.begun = true;
    }
    let mut proved = false;
    loop {
        let rows = session.fetch(server.head_sql.look, &[Value::Int(state.head.safe())]).await?;
        let mut islands: Vec<Island> = Vec::with_capacity(rows.len());
        let mut lowest = 0;
        for row in &rows {
            lowest = row.count(2)?;
            if let (Some(first), Some(last)) = (row.opt_int(0)?, row.opt_int(1)?) {
                islands.push((first, last));
            }
        }
        let seen: i64 = islands.iter().map(|(first, last)| last - first + 1).sum();
        // Proved before this look: its snapshot shows what the last of them has done.
        match state.head.look(&islands, if proved { u64::MAX } else { lowest }) {
            Next::Nothing => {
                state.waits = false;
                state.told = None;
                if seen < AT_ONCE {
                    return Ok(());
                }
            }
            Next::Fence(upto) => fence(state, server, session, upto).await?,
            Next::Wait => {
                // Something runs with an older id. Perhaps it has nothing to do with this log.
                let mut now = writers(server, session).await?;
                now.retain(|now| state.writers.iter().any(|writer| now.transaction == writer.transaction));
                state.writers = now;
                proved = state.writers.is_empty();
                if !proved {
                    state.waits = true;
                    tell(state, server);
                    return Ok(());
                }
                continue;
            }
        }
        proved = false;
    }
}

/// Everything up to `upto` has been seen. From now on, whoever is to fill a hole below it is known.
async fn fence(
    state: &mut State,
    server: &PostgresServer,
    session: &mut dyn Session,
    upto: i64,
) -> Result<(), StoreError> {
    let id = next_id(session).await?;
    state.writers = writers(server, session).await?;
    state.head.fence(upto, id);
    Ok(())
}

async fn writers(server: &PostgresServer, session: &mut dyn Session) -> Result<Vec<Writer>, StoreError> {
    let mut writers = Vec::new();
    for row in session.fetch(server.head_sql.writers, &[]).await? {
        let description = describe(row.text(1)?, row.opt_text(2)?, row.opt_text(3)?, row.opt_int(4)?);
        writers.push(Writer { transaction: row.text(0)?.to_owned(), description });
    }
    Ok(writers)
}

/// `process 4711 (psql, idle in transaction, begun 40 s ago)`. What another user's session does is not for everybody.
fn describe(who: &str, application: Option<&str>, state: Option<&str>, seconds: Option<i64>) -> String {
    let application = application.unwrap_or("unnamed");
    match (state, seconds) {
        (Some(state), Some(seconds)) => format!("{who} ({application}, {state}, begun {seconds} s ago)"),
        _ => format!("{who} ({application}; the right pg_read_all_stats would show more)"),
    }
}

async fn next_id(session: &mut dyn Session) -> Result<u64, StoreError> {
    session.fetch(NEXT_ID, &[]).await?.first().map_or(Ok(u64::MAX), |row| row.count(0))
}

/// A hole that holds is told of, with whoever holds it.
fn tell(state: &mut State, server: &PostgresServer) {
    let Some(gap) = gap_of(state) else { return };
    let age = monotonic().saturating_duration_since(gap.since);
    if age >= state.told.map_or(TELLING, |told| told * 2) {
        state.told = Some(age);
        tracing::warn!(store = %server.name(), %gap, "the log is held");
    }
}

fn gap_of(state: &State) -> Option<Gap> {
    let (from, since) = state.head.hole().filter(|_| state.waits)?;
    let sessions = state.writers.iter().map(|writer| writer.description.clone()).collect();
    Some(Gap { from, since, sessions })
}

/// The hole that holds the head, if one does.
pub(super) async fn gap(inner: &Arc<Inner<PostgresServer>>) -> Result<Option<Gap>, StoreError> {
    refresh(inner).await?;
    Ok(gap_of(&*inner.server.tracker.state.lock().await))
}

/// The highest position that is there.
pub(super) async fn last(inner: &Arc<Inner<PostgresServer>>) -> Result<i64, StoreError> {
    let ask = inner.readers.run(Wrap::Bare, move |server, connection| {
        Box::pin(async move {
            let rows = server.session(connection).fetch(server.head_sql.last, &[]).await?;
            rows.first().map_or(Ok(0), |row| row.int(0))
        })
    });
    ask.await
}
