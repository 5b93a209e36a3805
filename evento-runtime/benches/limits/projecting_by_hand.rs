//! The same read models by hand: a page is read while the one before is written, a thousand events a transaction, with
//! the position in the same transaction.

use crate::places::Place;
use crate::reading::timed;
use crate::turns::{Check, Run};

/// One event.
pub(crate) const UPSERT: &str = "INSERT INTO limits_total (account, events, amount) VALUES ($1, 1, $2) ON CONFLICT (account) \
     DO UPDATE SET events = limits_total.events + 1, amount = limits_total.amount + excluded.amount";

/// Events of one statement.
pub(crate) const BATCH: usize = 500;

const CHECKPOINT: &str = "INSERT INTO limits_checkpoint (name, position) VALUES ('by hand', $1) ON CONFLICT (name) \
     DO UPDATE SET position = excluded.position";

const RESULT: &str =
    "SELECT CAST(coalesce(sum(events), 0) AS BIGINT), CAST(coalesce(sum(amount), 0) AS BIGINT) FROM limits_total";

/// What the read model holds.
pub(crate) async fn result(place: &Place) -> Check {
    let (count, sum): (i64, i64) = match place {
        Place::Memory(_) => (0, 0),
        Place::Sqlite(place) => sqlx::query_as(RESULT).fetch_one(&mut place.connect().await).await.unwrap(),
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => sqlx::query_as(RESULT).fetch_one(&mut place.connect().await).await.unwrap(),
    };
    Check::new(count.unsigned_abs(), sum.unsigned_abs())
}

pub(crate) async fn one_by_one(place: &Place, events: u64) -> Run {
    let run = match place {
        Place::Memory(_) => return Run::new(std::time::Duration::ZERO, 0, Check::default()),
        Place::Sqlite(place) => {
            let (mut reader, mut writer) = (place.connect().await, place.connect().await);
            timed(events, sqlite::one_by_one(&mut reader, &mut writer)).await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => {
            let (mut reader, mut writer) = (place.connect().await, place.connect().await);
            timed(events, postgres::one_by_one(&mut reader, &mut writer)).await
        }
    };
    let check = result(place).await;
    run.with(|| check)
}

pub(crate) async fn in_batches(place: &Place, events: u64) -> Run {
    let run = match place {
        Place::Memory(_) => return Run::new(std::time::Duration::ZERO, 0, Check::default()),
        Place::Sqlite(place) => {
            let (mut reader, mut writer) = (place.connect().await, place.connect().await);
            timed(events, sqlite::in_batches(&mut reader, &mut writer)).await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => {
            let (mut reader, mut writer) = (place.connect().await, place.connect().await);
            timed(events, postgres::in_batches(&mut reader, &mut writer)).await
        }
    };
    let check = result(place).await;
    run.with(|| check)
}

/// The same text for two drivers.
macro_rules! driver {
    ($connection:ty, $begin:literal) => {
        use futures_util::TryStreamExt as _;
        use sqlx::Row as _;

        use super::{BATCH, CHECKPOINT, UPSERT};
        use crate::events::Measured;
        use crate::reading_by_hand::{SELECT, decoded};
        use crate::turns::Check;

        /// The next page, typed, and where it ends.
        pub(crate) async fn page(reader: &mut $connection, after: i64) -> (Vec<Measured>, i64) {
            let mut rows = sqlx::query(SELECT).bind(after).fetch(reader);
            let (mut events, mut last) = (Vec::with_capacity(1_000), after);
            while let Some(row) = rows.try_next().await.unwrap() {
                let (position, payload) = decoded!(&row);
                events.push(serde_json::from_slice(payload).unwrap());
                last = position;
            }
            (events, last)
        }

        pub(crate) async fn upsert(writer: &mut $connection, event: &Measured) {
            sqlx::query(UPSERT).bind(&*event.account).bind(event.amount).execute(writer).await.unwrap();
        }

        async fn write_one_by_one(writer: &mut $connection, events: &[Measured], last: i64) {
            sqlx::raw_sql($begin).execute(&mut *writer).await.unwrap();
            for event in events {
                upsert(writer, event).await;
            }
            sqlx::query(CHECKPOINT).bind(last).execute(&mut *writer).await.unwrap();
            sqlx::raw_sql("COMMIT").execute(&mut *writer).await.unwrap();
        }

        async fn write_in_batches(writer: &mut $connection, events: &[Measured], last: i64) {
            sqlx::raw_sql($begin).execute(&mut *writer).await.unwrap();
            for events in events.chunks(BATCH) {
                upsert_many(writer, events).await.unwrap();
            }
            sqlx::query(CHECKPOINT).bind(last).execute(&mut *writer).await.unwrap();
            sqlx::raw_sql("COMMIT").execute(&mut *writer).await.unwrap();
        }

        pub(super) async fn one_by_one(reader: &mut $connection, writer: &mut $connection) -> Check {
            let (mut events, mut last) = page(reader, 0).await;
            while !events.is_empty() {
                ((events, last), ()) = tokio::join!(page(reader, last), write_one_by_one(writer, &events, last));
            }
            Check::default()
        }

        pub(super) async fn in_batches(reader: &mut $connection, writer: &mut $connection) -> Check {
            let (mut events, mut last) = page(reader, 0).await;
            while !events.is_empty() {
                ((events, last), ()) = tokio::join!(page(reader, last), write_in_batches(writer, &events, last));
            }
            Check::default()
        }
    };
}

pub(crate) mod sqlite {
    use sqlx::sqlite::SqliteConnection;

    driver!(SqliteConnection, "BEGIN IMMEDIATE");

    const MANY: &str = "INSERT INTO limits_total (account, events, amount) SELECT value ->> 0, count(*), sum(value ->> 1) \
         FROM json_each($1) WHERE true GROUP BY 1 ON CONFLICT (account) \
         DO UPDATE SET events = limits_total.events + excluded.events, amount = limits_total.amount + excluded.amount";

    /// All of them in one statement.
    pub(crate) async fn upsert_many(writer: &mut SqliteConnection, events: &[Measured]) -> Result<(), sqlx::Error> {
        let rows: Vec<_> = events.iter().map(|event| (&*event.account, event.amount)).collect();
        let rows = serde_json::to_string(&rows).unwrap();
        sqlx::query(MANY).bind(rows).execute(writer).await.map(drop)
    }
}

#[cfg(feature = "postgres")]
pub(crate) mod postgres {
    use sqlx::PgConnection;

    driver!(PgConnection, "BEGIN");

    const MANY: &str = "INSERT INTO limits_total (account, events, amount) SELECT account, count(*), sum(amount) \
         FROM unnest($1::text[], $2::bigint[]) AS n (account, amount) GROUP BY account ON CONFLICT (account) \
         DO UPDATE SET events = limits_total.events + excluded.events, amount = limits_total.amount + excluded.amount";

    /// All of them in one statement.
    pub(crate) async fn upsert_many(writer: &mut PgConnection, events: &[Measured]) -> Result<(), sqlx::Error> {
        let (accounts, amounts): (Vec<&str>, Vec<i64>) =
            events.iter().map(|event| (&*event.account, event.amount)).unzip();
        sqlx::query(MANY).bind(accounts).bind(amounts).execute(writer).await.map(drop)
    }
}
