//! Reading the log of SQLite: a page at a time, packed, or row by row.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Either, Executor as _, Row as _, Sqlite};

use crate::error::{StoreError, StoreErrorKind};
use crate::event::{Position, StoredEvent};
use crate::identity::ContextPattern;
use crate::source::sql::position_of;
use crate::source::sql::texts::{Columns, Texts};
use crate::source::{Batch, EventFilter, FetchLimits};
use crate::store::sql::session::{Session as _, tell};
use crate::store::sql::{SqliteSession, failed};

mod packed;

macro_rules! columns {
    () => {
        "position, id, name, context, key, version, recorded_at, content_type, metadata, payload FROM evento_event"
    };
}

/// The same page in two shapes, row by row and packed.
#[derive(Clone, Copy)]
struct Statements {
    rows: &'static str,
    packed: &'static str,
}

/// The head first, then the page, in one round trip. Positions are given out in the order of commits here, so a page
/// read after the head has everything up to it; no transaction is needed.
macro_rules! page {
    ($names:literal, $context:literal) => {
        Statements {
            rows: concat!(
                "SELECT coalesce(max(position), 0) FROM evento_event; SELECT ",
                columns!(),
                " WHERE position > ?",
                $names,
                $context,
                " ORDER BY position LIMIT ?"
            ),
            packed: concat!(
                "SELECT coalesce(max(position), 0) FROM evento_event; ",
                packed::select!(),
                " WHERE position > ?",
                $names,
                $context,
                " ORDER BY position LIMIT ?)"
            ),
        }
    };
    ($names:literal) => {
        // Prefixes are compared as bytes; LIKE would fold case and read `%` and `_` in its own way.
        [
            page!($names, ""),
            page!($names, " AND context = ?"),
            page!($names, " AND CAST(context AS BLOB) >= ? AND CAST(context AS BLOB) < ?"),
        ]
    };
}

/// By names, then by context pattern.
const PAGES: [[Statements; 3]; 3] =
    [page!(""), page!(" AND name = ?"), page!(" AND name IN (SELECT value FROM json_each(?))")];

/// Events of a packed page at most: it is put together in memory.
const PACKED: usize = 4_096;

/// A page to be read.
pub(crate) struct Page {
    after: i64,
    limits: FetchLimits,
    filter: EventFilter,
}

impl Page {
    /// After a position; 0 for the beginning.
    pub(crate) fn new(after: i64, limits: FetchLimits, filter: &EventFilter) -> Self {
        Self { after, limits: FetchLimits { events: limits.events.max(1), ..limits }, filter: filter.clone() }
    }

    pub(crate) async fn read(self, session: &mut SqliteSession<'_>) -> Result<Batch, StoreError> {
        let packed = if self.limits.events <= PACKED { self.read_packed(session).await? } else { None };
        let (head, events, full) = match packed {
            Some(page) => page,
            None => self.read_rows(session).await?,
        };
        let last = events.last().map(|event| event.position.clone());
        // What was committed between the two looks may stand above the head.
        let read_to = if full { last } else { last.max(position_of(head)) };
        Ok(Batch { events, read_to, more: full })
    }

    /// Head, events, and whether there was no room for more. `None`: the text of this file is not UTF-8.
    async fn read_packed(
        &self,
        session: &mut SqliteSession<'_>,
    ) -> Result<Option<(i64, Vec<StoredEvent>, bool)>, StoreError> {
        let corrupt = session.error(StoreErrorKind::Corrupt);
        let name = corrupt.store();
        let sql = self.statements().packed;
        tell!(&name, sql);
        let mut rows = session.connection().fetch_many(self.bind(sqlx::query(sql)));
        let mut found = Vec::with_capacity(2);
        while let Some(row) = rows.try_next().await.map_err(|error| failed(name, error))? {
            found.extend(row.right());
        }
        drop(rows);
        let [head, page] = &found[..] else { return Err(corrupt) };
        let head = head.try_get::<i64, _>(0).map_err(|error| failed(name, error))?;
        let Some(page) = packed::Page::of(page).map_err(|error| failed(name, error))? else { return Ok(None) };
        let damaged = |error| failed(name, sqlx::Error::Decode(error));
        let (mut events, large, full) = page.events(self.limits).map_err(damaged)?;
        if !large.is_empty() {
            packed::add_large(session, &mut events, &large).await?;
        }
        Ok(Some((head, events, full)))
    }

    /// As [`read_packed`](Self::read_packed), row by row.
    async fn read_rows(&self, session: &mut SqliteSession<'_>) -> Result<(i64, Vec<StoredEvent>, bool), StoreError> {
        let corrupt = session.error(StoreErrorKind::Corrupt);
        let name = corrupt.store();
        let sql = self.statements().rows;
        tell!(&name, sql);
        let mut rows = session.connection().fetch_many(self.bind(sqlx::query(sql)));
        let mut head = None;
        let mut texts = Texts::default();
        let mut events: Vec<StoredEvent> = Vec::with_capacity(self.limits.events.min(1_024));
        let (mut bytes, mut full) = (0, false);
        while let Some(row) = rows.try_next().await.map_err(|error| failed(name, error))? {
            let Either::Right(row) = row else { continue };
            if head.is_none() {
                head = Some(row.try_get::<i64, _>(0).map_err(|error| failed(name, error))?);
                continue;
            }
            let event = event(&mut texts, &row).map_err(|error| failed(name, error))?;
            bytes += event.payload.len() + event.metadata.len();
            events.push(event);
            full = events.len() >= self.limits.events || bytes >= self.limits.bytes;
            if full && bytes >= self.limits.bytes {
                break;
            }
        }
        Ok((head.unwrap_or(0), events, full))
    }

    fn statements(&self) -> Statements {
        let by_names = match self.filter.names().map(BTreeSet::len) {
            None => 0,
            Some(1) => 1,
            Some(_) => 2,
        };
        let by_context = match self.filter.context() {
            ContextPattern::Exact(_) => 1,
            ContextPattern::Prefix(prefix) if !prefix.is_empty() => 2,
            ContextPattern::Prefix(_) | ContextPattern::All => 0,
        };
        PAGES[by_names][by_context]
    }

    fn bind<'q>(&self, query: Query<'q, Sqlite, SqliteArguments>) -> Query<'q, Sqlite, SqliteArguments> {
        let mut query = query.bind(self.after);
        if let Some(names) = self.filter.names() {
            query = match names.first() {
                Some(name) if names.len() == 1 => query.bind(name.clone()),
                // Names are texts: nothing in them can refuse to be JSON.
                _ => query.bind(serde_json::to_string(names).unwrap_or_default()),
            };
        }
        query = match self.filter.context() {
            ContextPattern::Exact(context) => query.bind(context.to_string()),
            ContextPattern::Prefix(prefix) if !prefix.is_empty() => {
                query.bind(prefix.as_bytes().to_vec()).bind(after_prefix(prefix))
            }
            ContextPattern::Prefix(_) | ContextPattern::All => query,
        };
        query.bind(i64::try_from(self.limits.events).unwrap_or(i64::MAX))
    }
}

/// The first bytes after everything that begins so. The last byte of UTF-8 is never 255.
fn after_prefix(prefix: &str) -> Vec<u8> {
    let mut bytes = prefix.as_bytes().to_vec();
    if let Some(last) = bytes.last_mut() {
        *last = last.saturating_add(1);
    }
    bytes
}

/// The last position; `None` for an empty log.
pub(crate) async fn head(session: &mut SqliteSession<'_>) -> Result<Option<Position>, StoreError> {
    let rows = session.fetch("SELECT coalesce(max(position), 0) FROM evento_event", &[]).await?;
    Ok(position_of(rows.first().map_or(Ok(0), |row| row.int(0))?))
}

/// The events at these positions, ascending.
pub(crate) async fn read_exact(
    session: &mut SqliteSession<'_>,
    mut positions: Vec<i64>,
) -> Result<Vec<StoredEvent>, StoreError> {
    const SQL: &str =
        concat!("SELECT ", columns!(), " WHERE position IN (SELECT value FROM json_each(?)) ORDER BY position");
    positions.sort_unstable();
    positions.dedup();
    let corrupt = session.error(StoreErrorKind::Corrupt);
    let mut texts = Texts::default();
    let mut events = Vec::with_capacity(positions.len());
    for chunk in positions.chunks(512) {
        let json = serde_json::to_string(chunk).unwrap_or_default();
        tell!(&corrupt.store(), SQL);
        let rows = sqlx::query(SQL).bind(json).fetch_all(session.connection()).await;
        for row in rows.map_err(|error| failed(corrupt.store(), error))? {
            events.push(event(&mut texts, &row).map_err(|error| failed(corrupt.store(), error))?);
        }
    }
    Ok(events)
}

fn event(texts: &mut Texts, row: &SqliteRow) -> Result<StoredEvent, sqlx::Error> {
    let columns = Columns {
        position: row.try_get_unchecked(0)?,
        id: row.try_get_unchecked(1)?,
        name: row.try_get_unchecked(2)?,
        context: row.try_get_unchecked(3)?,
        key: row.try_get_unchecked(4)?,
        version: row.try_get_unchecked(5)?,
        recorded_at: row.try_get_unchecked(6)?,
        content_type: row.try_get_unchecked(7)?,
        metadata: row.try_get_unchecked(8)?,
        payload: row.try_get_unchecked(9)?,
    };
    texts.event(columns).map_err(sqlx::Error::Decode)
}
