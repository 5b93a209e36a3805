//! Appending by hand into a table of the same shape: the versions of keys are kept in memory, and nobody asks whether an
//! id is known, what version is expected, or whether a reader could miss a row.

use std::collections::HashMap;

use evento_runtime::EventId;
use sqlx::{AssertSqlSafe, Row as _};

use crate::appending::{WRITERS, in_a_task};
use crate::events::Measured;
use crate::places::Place;
use crate::reading::timed;
use crate::turns::{Check, Run};

const SQLITE: &str = "CREATE TABLE limits_event (position INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, \
     name TEXT NOT NULL, context TEXT NOT NULL, key TEXT, version INTEGER, slice INTEGER NOT NULL, \
     recorded_at INTEGER NOT NULL, content_type TEXT NOT NULL, metadata BLOB, payload BLOB NOT NULL) STRICT; \
     CREATE UNIQUE INDEX limits_event_id ON limits_event (id); \
     CREATE UNIQUE INDEX limits_event_stream ON limits_event (context, key, version) WHERE key IS NOT NULL";

const POSTGRES: &str = "CREATE SEQUENCE limits_position AS BIGINT; \
     CREATE TABLE limits_event (position BIGINT PRIMARY KEY DEFAULT nextval('limits_position'), id BYTEA NOT NULL, \
     name TEXT COLLATE \"C\" NOT NULL, context TEXT COLLATE \"C\" NOT NULL, key TEXT COLLATE \"C\", version BIGINT, \
     slice BIGINT NOT NULL, recorded_at BIGINT NOT NULL, content_type TEXT COLLATE \"C\" NOT NULL, metadata BYTEA, \
     payload BYTEA NOT NULL); CREATE UNIQUE INDEX limits_event_id ON limits_event (id); \
     CREATE UNIQUE INDEX limits_event_stream ON limits_event (context, key, version) WHERE key IS NOT NULL";

/// The table, as the log of the store has it.
pub(crate) const fn table(place: &Place) -> &'static str {
    match place {
        Place::Memory(_) | Place::Sqlite(_) => SQLITE,
        #[cfg(feature = "postgres")]
        Place::Postgres(_) => POSTGRES,
    }
}

/// Rows of a table.
pub(crate) async fn stored(place: &Place, table: &str) -> u64 {
    let sql = format!("SELECT count(*) FROM {table}");
    let sql = AssertSqlSafe(sql);
    let count: i64 = match place {
        Place::Memory(_) => 0,
        Place::Sqlite(place) => sqlx::query(sql).fetch_one(&mut place.connect().await).await.unwrap().get(0),
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => sqlx::query(sql).fetch_one(&mut place.connect().await).await.unwrap().get(0),
    };
    count.unsigned_abs()
}

/// A row.
pub(crate) struct Row {
    id: EventId,
    key: String,
    version: i64,
    payload: Vec<u8>,
}

/// The last versions of keys, going on from what is stored.
#[derive(Default)]
pub(crate) struct Versions(HashMap<String, i64>);

impl Versions {
    pub(crate) async fn of(place: &Place) -> Self {
        const SQL: &str = "SELECT key, max(version) FROM limits_event GROUP BY key";
        let rows: Vec<(String, i64)> = match place {
            Place::Memory(_) => Vec::new(),
            Place::Sqlite(place) => sqlx::query_as(SQL).fetch_all(&mut place.connect().await).await.unwrap(),
            #[cfg(feature = "postgres")]
            Place::Postgres(place) => sqlx::query_as(SQL).fetch_all(&mut place.connect().await).await.unwrap(),
        };
        Self(rows.into_iter().collect())
    }

    /// The next row of an event, under its account or a key of its own.
    pub(crate) fn row(&mut self, n: u64, key: Option<&str>) -> Row {
        let event = Measured::new(n);
        let key = key.unwrap_or(&event.account).to_owned();
        let version = self.0.entry(key.clone()).or_default();
        *version += 1;
        Row { id: EventId::generate(), key, version: *version, payload: serde_json::to_vec(&event).unwrap() }
    }
}

pub(crate) async fn alone(place: &Place, events: u64, batch: u64) -> Run {
    let before = stored(place, "limits_event").await;
    let mut versions = Versions::of(place).await;
    let batches = (1..=events).step_by(usize::try_from(batch).unwrap()).map(move |first| {
        let rows: Vec<Row> = (first..first + batch).map(|n| versions.row(n, None)).collect();
        rows
    });
    let run = match place {
        Place::Memory(_) => return Run::new(std::time::Duration::ZERO, 0, Check::default()),
        Place::Sqlite(place) => {
            let mut connection = place.connect().await;
            let statement = sqlite::insert(usize::try_from(batch).unwrap());
            let work = async move {
                for rows in batches {
                    sqlite::bind(&statement, &rows).execute(&mut connection).await.unwrap();
                }
            };
            timed(events, in_a_task(work)).await
        }
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => {
            let mut connection = place.connect().await;
            let work = async move {
                for rows in batches {
                    postgres::insert(&mut connection, &rows).await;
                }
            };
            timed(events, in_a_task(work)).await
        }
    };
    let stored = stored(place, "limits_event").await - before;
    run.with(|| Check::count(stored))
}

pub(crate) async fn together(place: &Place, each: u64) -> Run {
    let before = stored(place, "limits_event").await;
    let versions = Versions::of(place).await;
    let run = match place {
        Place::Memory(_) => return Run::new(std::time::Duration::ZERO, 0, Check::default()),
        Place::Sqlite(place) => sqlite::together(place, versions, each).await,
        #[cfg(feature = "postgres")]
        Place::Postgres(place) => postgres::together(place, versions, each).await,
    };
    let stored = stored(place, "limits_event").await - before;
    run.with(|| Check::count(stored))
}

pub(crate) mod sqlite {
    use std::sync::Arc;

    use sqlx::Sqlite;
    use sqlx::query::Query;
    use sqlx::sqlite::SqliteArguments;
    use tokio::sync::{Mutex, mpsc, oneshot};
    use tokio::task::JoinSet;

    use super::*;
    use crate::places::SqlitePlace;

    /// So many rows in one statement.
    pub(crate) fn insert(rows: usize) -> String {
        let values = vec!["(?, ?, ?, ?, ?, ?, ?, ?, ?)"; rows].join(", ");
        format!(
            "INSERT INTO limits_event (id, name, context, key, version, slice, recorded_at, content_type, payload) \
             VALUES {values}"
        )
    }

    pub(crate) fn bind<'q>(statement: &str, rows: &[Row]) -> Query<'q, Sqlite, SqliteArguments> {
        let query = sqlx::query(AssertSqlSafe(statement.to_owned()));
        rows.iter().fold(query, |query, row| {
            query
                .bind(row.id.as_uuid().as_bytes().to_vec())
                .bind("Measured")
                .bind("default")
                .bind(row.key.clone())
                .bind(row.version)
                .bind(row.version % 1_024)
                .bind(row.version)
                .bind("application/json")
                .bind(row.payload.clone())
        })
    }

    /// One connection; rows that wait at the same time share a commit.
    pub(super) async fn together(place: &SqlitePlace, versions: Versions, each: u64) -> Run {
        let mut connection = place.connect().await;
        let statement = insert(1);
        let (send, mut waiting) = mpsc::channel::<(Row, oneshot::Sender<()>)>(1_024);
        let versions = Arc::new(Mutex::new(versions));
        timed(WRITERS * each, async {
            let mut writers = JoinSet::new();
            for writer in 0..WRITERS {
                let (send, versions) = (send.clone(), Arc::clone(&versions));
                writers.spawn(async move {
                    let key = format!("writer-{writer}");
                    for n in 1..=each {
                        let row = versions.lock().await.row(n, Some(&key));
                        let (done, stored) = oneshot::channel();
                        send.send((row, done)).await.unwrap();
                        stored.await.unwrap();
                    }
                });
            }
            drop(send);
            let mut some = Vec::new();
            while waiting.recv_many(&mut some, 64).await > 0 {
                sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut connection).await.unwrap();
                for (row, _) in &some {
                    bind(&statement, std::slice::from_ref(row)).execute(&mut connection).await.unwrap();
                }
                sqlx::raw_sql("COMMIT").execute(&mut connection).await.unwrap();
                some.drain(..).for_each(|(_, done)| done.send(()).unwrap());
            }
            writers.join_all().await;
            Check::default()
        })
        .await
    }
}

#[cfg(feature = "postgres")]
pub(crate) mod postgres {
    use sqlx::PgConnection;
    use tokio::task::JoinSet;

    use super::*;
    use crate::places::postgres::PostgresPlace;

    const INSERT: &str = "INSERT INTO limits_event (id, name, context, key, version, slice, recorded_at, content_type, \
         payload) SELECT id, 'Measured', 'default', key, version, version % 1024, version, 'application/json', payload \
         FROM unnest($1::bytea[], $2::text[], $3::bigint[], $4::bytea[]) AS n (id, key, version, payload)";

    const ONE: &str = "INSERT INTO limits_event (id, name, context, key, version, slice, recorded_at, content_type, \
         payload) VALUES ($1, 'Measured', 'default', $2, $3, $4, $5, 'application/json', $6)";

    pub(crate) async fn insert(connection: &mut PgConnection, rows: &[Row]) {
        let done = if let [row] = rows {
            let query = sqlx::query(ONE).bind(&row.id.as_uuid().as_bytes()[..]).bind(&*row.key).bind(row.version);
            query.bind(row.version % 1_024).bind(row.version).bind(&*row.payload).execute(connection).await
        } else {
            let ids: Vec<&[u8]> = rows.iter().map(|row| &row.id.as_uuid().as_bytes()[..]).collect();
            let keys: Vec<&str> = rows.iter().map(|row| &*row.key).collect();
            let versions: Vec<i64> = rows.iter().map(|row| row.version).collect();
            let payloads: Vec<&[u8]> = rows.iter().map(|row| &*row.payload).collect();
            sqlx::query(INSERT).bind(ids).bind(keys).bind(versions).bind(payloads).execute(connection).await
        };
        done.unwrap();
    }

    /// A connection each.
    pub(super) async fn together(place: &PostgresPlace, mut versions: Versions, each: u64) -> Run {
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let key = format!("writer-{writer}");
            let last = versions.0.remove(&key).unwrap_or_default();
            let versions = Versions(HashMap::from([(key.clone(), last)]));
            writers.push((key, versions, place.connect().await));
        }
        timed(WRITERS * each, async {
            let mut tasks = JoinSet::new();
            for (key, mut versions, mut connection) in writers {
                tasks.spawn(async move {
                    for n in 1..=each {
                        insert(&mut connection, &[versions.row(n, Some(&key))]).await;
                    }
                });
            }
            tasks.join_all().await;
            Check::default()
        })
        .await
    }
}
