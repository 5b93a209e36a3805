//! Paging through the log with sqlx, 1,000 rows a page, in two ways.
//!
//! `catchup` and `catchup-json` are compared with what everybody writes, `query_as(..).fetch_all(..)`: the columns are
//! owned, as those of an event are that a handler gets. `catchup-stream` is compared with the most that sqlx can do: rows
//! are looked at while they arrive, nothing of them is copied, and nothing is left of them. No program that hands its
//! events on can be written so; it is here so that nothing is hidden.

use std::hint::black_box;
use std::sync::Arc;

use crate::events::Measured;
use crate::places::Place;
use crate::reading::timed;
use crate::turns::{Check, Run};
use evento_runtime::StoredEvent;
use evento_runtime::source::{EventFilter, FetchLimits};

/// Rows of a page.
const PAGE: usize = 1_000;

pub(crate) const SELECT: &str = "SELECT position, id, name, context, key, version, recorded_at, content_type, \
     metadata, payload FROM evento_event WHERE position > $1 ORDER BY position LIMIT 1000";

/// Columns, borrowed from the row where that is possible.
macro_rules! decoded {
    ($row:expr) => {{
        let row = $row;
        std::hint::black_box((
            row.get_unchecked::<&[u8], _>(1),
            row.get_unchecked::<&str, _>(2),
            row.get_unchecked::<&str, _>(3),
            row.get_unchecked::<Option<&str>, _>(4),
            row.get_unchecked::<Option<i64>, _>(5),
            row.get_unchecked::<i64, _>(6),
            row.get_unchecked::<&str, _>(7),
            row.get_unchecked::<Option<&[u8]>, _>(8),
        ));
        (row.get_unchecked::<i64, _>(0), row.get_unchecked::<&[u8], _>(9))
    }};
}
pub(crate) use decoded;

/// What is read of an event: the columns of [`SELECT`].
type Owned = (i64, Vec<u8>, String, String, Option<String>, Option<i64>, i64, String, Option<Vec<u8>>, Vec<u8>);

/// Both ways of paging, the same text for two drivers.
macro_rules! driver {
    ($connection:ty) => {
        use futures_util::TryStreamExt as _;

        use super::{Owned, PAGE, SELECT, black_box};

        pub(super) async fn owned(connection: &mut $connection, mut each: impl FnMut(&[u8])) {
            let mut after = 0;
            loop {
                let rows = sqlx::query_as::<_, Owned>(SELECT).bind(after).fetch_all(&mut *connection).await.unwrap();
                for row in &rows {
                    each(&black_box(row).9);
                }
                match rows.last() {
                    Some(last) if rows.len() == PAGE => after = last.0,
                    _ => return,
                }
            }
        }

        pub(super) async fn streamed(connection: &mut $connection, mut each: impl FnMut(&[u8])) {
            let mut after = 0;
            loop {
                let mut rows = sqlx::query(SELECT).bind(after).fetch(&mut *connection);
                let mut read = 0;
                while let Some(row) = rows.try_next().await.unwrap() {
                    let (position, payload) = decoded!(&row);
                    after = position;
                    read += 1;
                    each(payload);
                }
                if read < PAGE {
                    return;
                }
            }
        }
    };
}

mod sqlite {
    use sqlx::Row as _;
    use sqlx::sqlite::SqliteConnection;

    driver!(SqliteConnection);
}

#[cfg(feature = "postgres")]
mod postgres {
    use sqlx::PgConnection;
    use sqlx::Row as _;

    driver!(PgConnection);
}

/// How pages are read.
#[derive(Clone, Copy)]
enum Way {
    Owned,
    Streamed,
}

/// Counts payloads of rows that are owned.
pub(crate) async fn page(place: &Place, events: u64) -> Run {
    counted(place, events, Way::Owned).await
}

/// Counts payloads of rows that pass by.
pub(crate) async fn stream(place: &Place, events: u64) -> Run {
    counted(place, events, Way::Streamed).await
}

async fn counted(place: &Place, events: u64, way: Way) -> Run {
    let mut check = Check::default();
    let count = |payload: &[u8]| {
        check.count += 1;
        check.sum += payload.len() as u64;
    };
    over(place, events, way, count).await.with(|| check)
}

/// Reads payloads of rows that are owned into the type.
pub(crate) async fn page_typed(place: &Place, events: u64) -> Run {
    let mut check = Check::default();
    let add = |payload: &[u8]| {
        let event: Measured = serde_json::from_slice(payload).unwrap();
        check.count += 1;
        check.sum += event.amount.unsigned_abs();
    };
    over(place, events, Way::Owned, add).await.with(|| check)
}

async fn over(place: &Place, events: u64, way: Way, each: impl FnMut(&[u8])) -> Run {
    match place {
        Place::Memory(_) => over_memory(place, events, each).await,
        Place::Sqlite(place) => {
            let mut connection = place.connect().await;
            timed(events, async {
                match way {
                    Way::Owned => sqlite::owned(&mut connection, each).await,
                    Way::Streamed => sqlite::streamed(&mut connection, each).await,
                }
                Check::default()
            })
            .await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => {
            let mut connection = place.connect().await;
            timed(events, async {
                match way {
                    Way::Owned => postgres::owned(&mut connection, each).await,
                    Way::Streamed => postgres::streamed(&mut connection, each).await,
                }
                Check::default()
            })
            .await
        }
    }
}

/// In memory there is nothing to page through: the events themselves, in a loop.
async fn over_memory(place: &Place, events: u64, mut each: impl FnMut(&[u8])) -> Run {
    let log = vector(place).await;
    timed(events, async {
        for event in &log {
            each(&black_box(event).payload);
        }
        Check::default()
    })
    .await
}

/// Everything in the log.
pub(crate) async fn vector(place: &Place) -> Vec<Arc<StoredEvent>> {
    let limits = FetchLimits { events: usize::MAX, bytes: usize::MAX };
    let batch = place.store().await.events.fetch(None, limits, &EventFilter::all()).await.unwrap();
    batch.events.into_iter().map(Arc::new).collect()
}
