//! Reading the log of MySQL and MariaDB: rows straight from sqlx into events.

use std::sync::Arc;

use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use sqlx::mysql::{MySqlConnection, MySqlRow};

use crate::error::StoreError;
use crate::event::StoredEvent;
use crate::identity::ContextPattern;
use crate::source::sql::position_of;
use crate::source::sql::texts::{Columns, Texts};
use crate::source::{Batch, EventFilter, FetchLimits};
use crate::store::sql::mysql::failed;
use crate::store::sql::names::Names;
use crate::store::sql::session::tell;

macro_rules! columns {
    () => {
        "SELECT position, id, name, context, `key`, version, recorded_at, content_type, metadata, payload FROM @event"
    };
}

/// One range of positions, whatever else is asked for.
macro_rules! page {
    ($names:literal, $context:literal) => {
        concat!(columns!(), " WHERE position > ?", $names, $context, " ORDER BY position LIMIT ?")
    };
    ($names:literal) => {
        [page!($names, ""), page!($names, " AND context = ?"), page!($names, " AND LEFT(context, ?) = ?")]
    };
}

/// By names, which have no commas, then by context pattern.
const PAGES: [[&str; 3]; 2] = [page!(""), page!(" AND FIND_IN_SET(name, ?)")];

/// The statements of reading.
pub(crate) struct PageSql {
    pages: [[&'static str; 3]; 2],
    exact: &'static str,
    pub(crate) head: &'static str,
}

impl PageSql {
    pub(crate) fn rendered(names: &Names) -> Self {
        Self {
            pages: PAGES.map(|by_context| by_context.map(|template| names.render(template))),
            exact: names.render(concat!(columns!(), " WHERE position = ?")),
            head: names.render("SELECT COALESCE(MAX(position), 0) FROM @event"),
        }
    }
}

/// A page to be read.
pub(crate) struct Page {
    pub(crate) after: i64,
    pub(crate) limits: FetchLimits,
    pub(crate) filter: EventFilter,
}

impl Page {
    /// With the page comes whether rows were left on the connection, which then takes longer than a new one.
    pub(crate) async fn read(
        self,
        connection: &mut MySqlConnection,
        name: &Arc<str>,
        sql: &PageSql,
    ) -> Result<(Batch, bool), StoreError> {
        // The head first: positions are given out in the order of commits, so a page read after it has everything up
        // to it.
        tell!(name, sql.head);
        let head: i64 =
            sqlx::query_scalar(sql.head).fetch_one(&mut *connection).await.map_err(|error| failed(name, error))?;
        let (by_context, context) = match self.filter.context() {
            ContextPattern::Exact(context) => (1, Some(&**context)),
            ContextPattern::Prefix(prefix) if !prefix.is_empty() => (2, Some(&**prefix)),
            ContextPattern::Prefix(_) | ContextPattern::All => (0, None),
        };
        let names = self.filter.names();
        let text = sql.pages[usize::from(names.is_some())][by_context];
        tell!(name, text);
        let mut query = sqlx::query(text).bind(self.after);
        if let Some(names) = names {
            query = query.bind(names.iter().map(String::as_str).collect::<Vec<_>>().join(",").into_bytes());
        }
        if let Some(context) = context {
            if by_context == 2 {
                query = query.bind(i64::try_from(context.len()).unwrap_or(i64::MAX));
            }
            query = query.bind(context.as_bytes());
        }
        let mut rows = query.bind(i64::try_from(self.limits.events).unwrap_or(i64::MAX)).fetch(&mut *connection);
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
        // What was committed between the two looks may stand above the head.
        let read_to = if full { last } else { last.max(position_of(head.max(self.after))) };
        Ok((Batch { events, read_to, more: full }, cut))
    }
}

/// The events at these positions, ascending.
pub(crate) async fn read_exact(
    connection: &mut MySqlConnection,
    name: &Arc<str>,
    sql: &PageSql,
    positions: Vec<i64>,
) -> Result<Vec<StoredEvent>, StoreError> {
    let mut texts = Texts::default();
    let mut events = Vec::with_capacity(positions.len());
    for position in positions {
        tell!(name, sql.exact);
        let row = sqlx::query(sql.exact).bind(position).fetch_optional(&mut *connection).await;
        if let Some(row) = row.map_err(|error| failed(name, error))? {
            events.push(event(&mut texts, &row).map_err(|error| failed(name, error))?);
        }
    }
    Ok(events)
}

fn event(texts: &mut Texts, row: &MySqlRow) -> Result<StoredEvent, sqlx::Error> {
    let columns = Columns {
        position: row.try_get_unchecked(0)?,
        id: row.try_get_unchecked(1)?,
        name: text(row.try_get_unchecked(2)?)?,
        context: text(row.try_get_unchecked(3)?)?,
        key: row.try_get_unchecked::<Option<&[u8]>, _>(4)?.map(text).transpose()?,
        version: row.try_get_unchecked(5)?,
        recorded_at: row.try_get_unchecked(6)?,
        content_type: text(row.try_get_unchecked(7)?)?,
        metadata: row.try_get_unchecked(8)?,
        payload: row.try_get_unchecked(9)?,
    };
    texts.event(columns).map_err(sqlx::Error::Decode)
}

/// Text is kept as bytes, which compare as such.
fn text(bytes: &[u8]) -> Result<&str, sqlx::Error> {
    std::str::from_utf8(bytes).map_err(|error| sqlx::Error::Decode(error.into()))
}
