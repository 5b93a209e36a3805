//! A page in one row. Rows of SQLite reach this process one by one through a channel from the thread of the connection,
//! each value in memory of its own; that costs more than reading the page does. So SQLite puts the page together: the
//! numbers of all its events as one text, their bytes as another.

use std::collections::BTreeMap;

use bytes::Bytes;
use futures_util::TryStreamExt as _;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::error::{BoxError, StoreError, StoreErrorKind};
use crate::event::StoredEvent;
use crate::source::FetchLimits;
use crate::source::sql::number_of;
use crate::source::sql::texts::{Columns, Texts};
use crate::store::sql::session::{Session as _, tell};
use crate::store::sql::{SqliteSession, failed};

/// Payloads with metadata of more bytes than this are not packed but fetched by themselves, as far as they are wanted:
/// SQLite does not even read them to put a page together.
const SMALL: usize = 4_096;

/// What comes before the condition. The first column tells whether lengths are those of UTF-8.
macro_rules! select {
    () => {
        "SELECT octet_length('a'), CAST(group_concat(format('%d %d %d %d %d %d %d %d %d,', position, \
         coalesce(version, -1), recorded_at, octet_length(name), octet_length(context), \
         coalesce(octet_length(key), -1), octet_length(content_type), of_metadata, of_payload), '') AS BLOB), \
         CAST(group_concat(concat(id, name, context, key, content_type, metadata, payload), '') AS BLOB) FROM \
         (SELECT position, id, name, context, key, version, recorded_at, content_type, \
         coalesce(octet_length(metadata), -1) AS of_metadata, octet_length(payload) AS of_payload, \
         CASE WHEN coalesce(octet_length(metadata), 0) + octet_length(payload) <= 4096 THEN metadata END AS metadata, \
         CASE WHEN coalesce(octet_length(metadata), 0) + octet_length(payload) <= 4096 THEN payload END AS payload \
         FROM evento_event"
    };
}
pub(super) use select;

/// The bytes of an id.
const ID: usize = 16;

/// A page as it comes.
pub(super) struct Page<'r> {
    numbers: &'r str,
    bytes: &'r [u8],
}

/// An event whose payload is still to be fetched, by its place in the page.
pub(super) struct Large {
    index: usize,
    position: i64,
}

impl<'r> Page<'r> {
    /// `None`: texts of this file are not UTF-8, and the page says nothing.
    pub(super) fn of(row: &'r SqliteRow) -> Result<Option<Self>, sqlx::Error> {
        if row.try_get::<i64, _>(0)? != 1 {
            return Ok(None);
        }
        let numbers = row.try_get_unchecked::<Option<&[u8]>, _>(1)?.unwrap_or_default();
        let numbers = std::str::from_utf8(numbers).map_err(|error| sqlx::Error::Decode(error.into()))?;
        Ok(Some(Self { numbers, bytes: row.try_get_unchecked::<Option<&[u8]>, _>(2)?.unwrap_or_default() }))
    }

    /// Its events as far as there is room, those among them that are still without payload, and whether there was no
    /// room for more.
    pub(super) fn events(mut self, limits: FetchLimits) -> Result<(Vec<StoredEvent>, Vec<Large>, bool), BoxError> {
        let (mut texts, mut events, mut large) =
            (Texts::default(), Vec::with_capacity(limits.events.min(1_024)), Vec::new());
        let (mut bytes, mut full) = (0, false);
        while !full && !self.numbers.is_empty() {
            let numbers = self.next_numbers()?;
            let [position, version, recorded_at, name, context, key, content_type, metadata, payload] = numbers;
            let size = length(metadata).unwrap_or(0) + length(payload).unwrap_or(0);
            let is_small = size <= SMALL;
            let columns = Columns {
                position,
                id: self.take(ID)?,
                name: self.text(name)?.unwrap_or_default(),
                context: self.text(context)?.unwrap_or_default(),
                key: self.text(key)?,
                version: (version >= 0).then_some(version),
                recorded_at,
                content_type: self.text(content_type)?.unwrap_or_default(),
                metadata: if is_small { self.blob(metadata)? } else { None },
                payload: if is_small { self.blob(payload)?.unwrap_or_default() } else { &[] },
            };
            if !is_small {
                large.push(Large { index: events.len(), position });
            }
            bytes += size;
            events.push(texts.event(columns)?);
            full = events.len() >= limits.events || bytes >= limits.bytes;
        }
        Ok((events, large, full))
    }

    /// The numbers of the next event.
    fn next_numbers(&mut self) -> Result<[i64; 9], BoxError> {
        let (line, rest) = self.numbers.split_once(',').ok_or("a page of the log is cut short")?;
        self.numbers = rest;
        let mut numbers = [0; 9];
        let mut fields = line.split(' ');
        for number in &mut numbers {
            *number = fields.next().ok_or("a page of the log has too few numbers")?.parse()?;
        }
        Ok(numbers)
    }

    fn take(&mut self, length: usize) -> Result<&'r [u8], BoxError> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or("a page of the log has too few bytes")?;
        self.bytes = rest;
        Ok(taken)
    }

    fn blob(&mut self, number: i64) -> Result<Option<&'r [u8]>, BoxError> {
        length(number).map(|length| self.take(length)).transpose()
    }

    fn text(&mut self, number: i64) -> Result<Option<&'r str>, BoxError> {
        Ok(self.blob(number)?.map(std::str::from_utf8).transpose()?)
    }
}

/// `None` for a value that is absent.
fn length(number: i64) -> Option<usize> {
    usize::try_from(number).ok()
}

/// Gives large events their payloads.
pub(super) async fn add_large(
    session: &mut SqliteSession<'_>,
    events: &mut Vec<StoredEvent>,
    large: &[Large],
) -> Result<(), StoreError> {
    const SQL: &str = "SELECT position, metadata, payload FROM evento_event \
         WHERE position IN (SELECT value FROM json_each(?)) ORDER BY position";
    let corrupt = session.error(StoreErrorKind::Corrupt);
    let name = corrupt.store();
    let positions: Vec<i64> = large.iter().map(|large| large.position).collect();
    tell!(&name, SQL);
    let positions = serde_json::to_string(&positions).unwrap_or_default();
    let mut rows = sqlx::query(SQL).bind(positions).fetch(session.connection());
    let mut missing: BTreeMap<i64, usize> = large.iter().map(|large| (large.position, large.index)).collect();
    while let Some(row) = rows.try_next().await.map_err(|error| failed(name, error))? {
        let read = || Ok((row.try_get::<i64, _>(0)?, row.try_get_unchecked(1)?, row.try_get_unchecked(2)?));
        let (position, metadata, payload): (_, Option<&[u8]>, &[u8]) = read().map_err(|error| failed(name, error))?;
        let Some(event) = missing.remove(&position).and_then(|index| events.get_mut(index)) else { continue };
        event.metadata = metadata.map(Bytes::copy_from_slice).unwrap_or_default();
        event.payload = Bytes::copy_from_slice(payload);
    }
    drop(rows);
    // Deleted by somebody in between: then it is not there.
    events.retain(|event| number_of(&event.position).is_none_or(|position| !missing.contains_key(&position)));
    Ok(())
}
