//! [`Session`] over a connection of MySQL or MariaDB.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::mysql::{MySqlArguments, MySqlConnection, MySqlRow};
use sqlx::query::Query;
use sqlx::{Row as _, TypeInfo as _, ValueRef as _};

use super::errors::failed;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::session::{Cell, Row, Session, Value, tell};

/// A connection at work for the store `name`.
pub(crate) struct MySqlSession<'c> {
    connection: &'c mut MySqlConnection,
    name: &'c Arc<str>,
}

impl<'c> MySqlSession<'c> {
    pub(crate) const fn new(connection: &'c mut MySqlConnection, name: &'c Arc<str>) -> Self {
        Self { connection, name }
    }

    /// A statement without values.
    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        tell!(self.name, sql);
        let done = sqlx::raw_sql(sql).execute(&mut *self.connection).await;
        done.map(drop).map_err(|error| failed(self.name, error))
    }
}

#[async_trait]
impl Session for MySqlSession<'_> {
    fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, &**self.name)
    }

    async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        tell!(self.name, sql);
        let done = bind(sql, values).execute(&mut *self.connection).await;
        done.map(|done| done.rows_affected()).map_err(|error| failed(self.name, error))
    }

    async fn fetch(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        tell!(self.name, sql);
        let rows = bind(sql, values).fetch_all(&mut *self.connection).await;
        let rows = rows.map_err(|error| failed(self.name, error))?;
        let row = |row: &MySqlRow| cells(row).map(|cells| Row::new(cells, Arc::clone(self.name)));
        rows.iter().map(row).collect::<Result<_, _>>().map_err(|error| failed(self.name, error))
    }
}

fn bind<'q>(sql: &'static str, values: &[Value<'_>]) -> Query<'q, sqlx::MySql, MySqlArguments> {
    values.iter().fold(sqlx::query(sql), |query, value| match value {
        Value::Null => query.bind(None::<i64>),
        Value::Int(number) => query.bind(*number),
        Value::Text(text) => query.bind((*text).to_owned()),
        Value::Blob(bytes) => query.bind(bytes.to_vec()),
    })
}

fn cells(row: &MySqlRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        match value.type_info().name() {
            name if name.contains("BINARY") || name.ends_with("BLOB") => row.try_get_unchecked(column).map(Cell::Blob),
            name if name.contains("CHAR") || name.ends_with("TEXT") => row.try_get_unchecked(column).map(Cell::Text),
            _ => row.try_get_unchecked(column).map(Cell::Int),
        }
    };
    (0..row.len()).map(cell).collect()
}
