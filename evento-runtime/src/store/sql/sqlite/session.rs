//! [`Session`] over a connection of SQLite.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{Row as _, Sqlite, TypeInfo as _, ValueRef as _};

use super::errors::failed;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::session::{Cell, Row, Session, Value, again, tell};

/// A connection at work for the store `name`.
pub(crate) struct SqliteSession<'c> {
    connection: &'c mut SqliteConnection,
    name: &'c Arc<str>,
    last_error: Option<StoreError>,
}

impl<'c> SqliteSession<'c> {
    pub(crate) const fn new(connection: &'c mut SqliteConnection, name: &'c Arc<str>) -> Self {
        Self { connection, name, last_error: None }
    }

    /// What handlers and the caller of `append_in` see.
    pub(crate) const fn connection(&mut self) -> &mut SqliteConnection {
        self.connection
    }

    /// The last failure of a statement since this was asked last.
    pub(super) fn last_error(&mut self) -> Option<StoreError> {
        self.last_error.take()
    }

    fn failed(&mut self, error: sqlx::Error) -> StoreError {
        let error = failed(self.name, error);
        self.last_error = Some(again(&error));
        error
    }

    /// A statement without values: transactions, pragmas.
    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        tell!(self.name, sql);
        let done = sqlx::raw_sql(sql).execute(&mut *self.connection).await;
        done.map(drop).map_err(|error| self.failed(error))
    }
}

#[async_trait]
impl Session for SqliteSession<'_> {
    fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, &**self.name)
    }

    async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        tell!(self.name, sql);
        let done = bind(sql, values).execute(&mut *self.connection).await;
        done.map(|done| done.rows_affected()).map_err(|error| self.failed(error))
    }

    async fn fetch(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        tell!(self.name, sql);
        let rows = bind(sql, values).fetch_all(&mut *self.connection).await;
        let rows = rows.map_err(|error| self.failed(error))?;
        let row = |row: &SqliteRow| cells(row).map(|cells| Row::new(cells, Arc::clone(self.name)));
        rows.iter().map(row).collect::<Result<_, _>>().map_err(|error| failed(self.name, error))
    }
}

fn bind<'q>(sql: &'static str, values: &[Value<'_>]) -> Query<'q, Sqlite, SqliteArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(number) => query.bind(*number),
        Value::Text(text) => query.bind((*text).to_owned()),
        Value::Blob(bytes) => query.bind(bytes.to_vec()),
    })
}

fn cells(row: &SqliteRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        match value.type_info().name() {
            "TEXT" => row.try_get_unchecked(column).map(Cell::Text),
            "BLOB" => row.try_get_unchecked(column).map(Cell::Blob),
            _ => row.try_get_unchecked(column).map(Cell::Int),
        }
    };
    (0..row.len()).map(cell).collect()
}
