//! Reading the log of PostgreSQL: rows straight from sqlx into events.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use crate::error::StoreError;
use crate::event::StoredEvent;
use crate::identity::ContextPattern;
use crate::source::sql::position_of;
use crate::source::sql::texts::{Columns, Texts};
use crate::source::{Batch, EventFilter, FetchLimits};
use crate::store::sql::names::Names;
use crate::store::sql::postgres::failed;
use crate::store::sql::session::tell;

macro_rules! columns {
    () => {
        "SELECT position, id, name, context, key, version, recorded_at, content_type, metadata, payload FROM @event"
    };
}

/// One range of positions, whatever else is asked for.
macro_rules! page {
    ($context:literal) => {
        concat!(
            columns!(),
            " WHERE position > ? AND position <= ? AND (?::text[] IS NULL OR name = ANY(?::text[]))",
            $context,
            " ORDER BY position LIMIT ?"
        )
    };
}

/// The statements of reading.
pub(crate) struct PageSql {
    all: &'static str,
    by_name: [&'static str; 3],
    exact: &'static str,
}

impl PageSql {
    pub(crate) fn rendered(names: &Names) -> Self {
        Self {
            all: names.render(concat!(columns!(), " WHERE position > ? AND position <= ? ORDER BY position LIMIT ?")),
            by_name: [
                names.render(page!("")),
                names.render(page!(" AND context = ?")),
                names.render(page!(" AND starts_with(context, ?)")),
            ],
            exact: names.render(concat!(columns!(), " WHERE position = ANY(?::bigint[]) ORDER BY position")),
        }
    }
}

/// A page to be read.
pub(crate) struct Page {
    pub(crate) after: i64,
    /// The safe head.
    pub(crate) upto: i64,
    pub(crate) limits: FetchLimits,
    pub(crate) filter: EventFilter,
}

impl Page {
    /// With the page comes whether rows were left on the connection, which then takes longer than a new one.
    pub(crate) async fn read(
        self,
        connection: &mut PgConnection,
        name: &Arc<str>,
        prepared: bool,
        sql: &PageSql,
    ) -> Result<(Batch, bool), StoreError> {
        let limit = i64::try_from(self.limits.events).unwrap_or(i64::MAX);
        let names: Option<Vec<&str>> = self.filter.names().map(|names| names.iter().map(String::as_str).collect());
        let (by_context, context) = match self.filter.context() {
            ContextPattern::Exact(context) => (1, Some(&**context)),
            ContextPattern::Prefix(prefix) if !prefix.is_empty() => (2, Some(&**prefix)),
            ContextPattern::Prefix(_) | ContextPattern::All => (0, None),
        };
        let everything = names.is_none() && context.is_none();
        let text = if everything { sql.all } else { sql.by_name[by_context] };
        tell!(name, text);
        let query = sqlx::query(text).bind(self.after).bind(self.upto);
        let query = if everything {
            query
        } else {
            let query = query.bind(names.clone()).bind(names);
            match context {
                Some(context) => query.bind(context),
                None => query,
            }
        };
        let mut rows = query.bind(limit).persistent(prepared).fetch(&mut *connection);
        let mut texts = Texts::default();
        let mut events: Vec<StoredEvent> = Vec::with_capacity(self.limits.events.min(1_024));
        let (mut bytes, mut full, mut cut) = (0, false, false);
        while let Some(row) = rows.try_next().await.map_err(|error| failed(name, error))? {
            let event = event(&mut texts, &row).map_err(|error| failed(name, error))?;
            bytes += event.payload.len() + event.metadata.len();
            events.push(event);
            full = events.len() >= self.limits.events || bytes >= self.limits.bytes;
            if bytes >= self.limits.bytes {
                cut = events.len() < self.limits.events;
                break;
            }
        }
        drop(rows);
        let last = events.last().map(|event| event.position.clone());
        // Below the safe head nothing can appear any more. What was read before may have come from further on.
        let read_to = if full { last } else { position_of(self.upto.max(self.after)) };
        Ok((Batch { events, read_to, more: full }, cut))
    }
}

/// The events at these positions, ascending.
pub(crate) async fn read_exact(
    connection: &mut PgConnection,
    name: &Arc<str>,
    prepared: bool,
    sql: &PageSql,
    positions: Vec<i64>,
) -> Result<Vec<StoredEvent>, StoreError> {
    tell!(name, sql.exact);
    let rows = sqlx::query(sql.exact).bind(positions).persistent(prepared).fetch_all(connection).await;
    let mut texts = Texts::default();
    let events = rows.map_err(|error| failed(name, error))?;
    let events: Result<_, _> = events.iter().map(|row| event(&mut texts, row)).collect();
    events.map_err(|error| failed(name, error))
}

fn event(texts: &mut Texts, row: &PgRow) -> Result<StoredEvent, sqlx::Error> {
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
