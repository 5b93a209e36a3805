//! Paging through the log with sqlx: 1,000 rows a page, all columns decoded.

use std::hint::black_box;
use std::sync::Arc;

use evento_runtime::StoredEvent;
use evento_runtime::source::{EventFilter, FetchLimits};
use futures_util::TryStreamExt as _;
use sqlx::Row as _;

use crate::events::Measured;
use crate::places::Place;
use crate::reading::timed;
use crate::turns::{Check, Run};

/// Rows of a page.
pub(crate) const PAGE: i64 = 1_000;

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

macro_rules! pages {
    ($connection:expr, $each:expr) => {{
        let (connection, mut each) = ($connection, $each);
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
                break;
            }
        }
    }};
}

/// Counts payloads.
pub(crate) async fn page(place: &Place, events: u64) -> Run {
    let mut check = Check::default();
    let count = |payload: &[u8]| {
        check.count += 1;
        check.sum += payload.len() as u64;
    };
    over(place, events, count).await.with(|| check)
}

/// Reads payloads into the type.
pub(crate) async fn page_typed(place: &Place, events: u64) -> Run {
    let mut check = Check::default();
    let add = |payload: &[u8]| {
        let event: Measured = serde_json::from_slice(payload).unwrap();
        check.count += 1;
        check.sum += event.amount.unsigned_abs();
    };
    over(place, events, add).await.with(|| check)
}

async fn over(place: &Place, events: u64, each: impl FnMut(&[u8])) -> Run {
    match place {
        Place::Memory(_) => over_memory(place, events, each).await,
        Place::Sqlite(place) => {
            let mut connection = place.connect().await;
            timed(events, async {
                pages!(&mut connection, each);
                Check::default()
            })
            .await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => {
            let mut connection = place.connect().await;
            timed(events, async {
                pages!(&mut connection, each);
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
