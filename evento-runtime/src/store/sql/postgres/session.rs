//! [`Session`] over a connection of PostgreSQL.

use std::sync::Arc;

use async_trait::async_trait;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgArguments, PgConnection, PgRow, PgTypeInfo};
use sqlx::query::Query;
use sqlx::{Encode, Row as _, Type, TypeInfo as _, ValueRef as _};

use super::errors::failed;
use crate::error::{StoreError, StoreErrorKind};
use crate::store::sql::session::{Cell, Row, Session, Value, tell};

/// A connection at work for the store `name`.
pub(crate) struct PostgresSession<'c> {
    connection: &'c mut PgConnection,
    name: &'c Arc<str>,
    prepared: bool,
}

impl<'c> PostgresSession<'c> {
    /// `prepared`: whether statements may be kept by the session.
    pub(crate) const fn new(connection: &'c mut PgConnection, name: &'c Arc<str>, prepared: bool) -> Self {
        Self { connection, name, prepared }
    }

    /// A statement without values.
    pub(crate) async fn run(&mut self, sql: &'static str) -> Result<(), StoreError> {
        tell!(self.name, sql);
        let done = sqlx::raw_sql(sql).execute(&mut *self.connection).await;
        done.map(drop).map_err(|error| failed(self.name, error))
    }

    fn bind<'q>(&self, sql: &'static str, values: &[Value<'_>]) -> Query<'q, sqlx::Postgres, PgArguments> {
        let query = sqlx::query(sql).persistent(self.prepared);
        values.iter().fold(query, |query, value| match value {
            Value::Null => query.bind(Null),
            Value::Int(number) => query.bind(*number),
            Value::Text(text) => query.bind((*text).to_owned()),
            Value::Blob(bytes) => query.bind(bytes.to_vec()),
        })
    }
}

#[async_trait]
impl Session for PostgresSession<'_> {
    fn error(&self, kind: StoreErrorKind) -> StoreError {
        StoreError::new(kind, &**self.name)
    }

    async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        tell!(self.name, sql);
        let done = self.bind(sql, values).execute(&mut *self.connection).await;
        done.map(|done| done.rows_affected()).map_err(|error| failed(self.name, error))
    }

    async fn fetch(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError> {
        tell!(self.name, sql);
        let rows = self.bind(sql, values).fetch_all(&mut *self.connection).await;
        let rows = rows.map_err(|error| failed(self.name, error))?;
        let row = |row: &PgRow| cells(row).map(|cells| Row::new(cells, Arc::clone(self.name)));
        rows.iter().map(row).collect::<Result<_, _>>().map_err(|error| failed(self.name, error))
    }
}

/// A null of whatever type the statement wants.
struct Null;

impl Type<sqlx::Postgres> for Null {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(Oid(0))
    }
}

impl Encode<'_, sqlx::Postgres> for Null {
    fn encode_by_ref(&self, _: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        Ok(IsNull::Yes)
    }
}

fn cells(row: &PgRow) -> Result<Vec<Cell>, sqlx::Error> {
    let cell = |column: usize| {
        let value = row.try_get_raw(column)?;
        if value.is_null() {
            return Ok(Cell::Null);
        }
        match value.type_info().name() {
            "TEXT" => row.try_get_unchecked(column).map(Cell::Text),
            "BYTEA" => row.try_get_unchecked(column).map(Cell::Blob),
            "BOOL" => row.try_get_unchecked(column).map(|flag: bool| Cell::Int(flag.into())),
            "INT4" => row.try_get_unchecked(column).map(|number: i32| Cell::Int(number.into())),
            _ => row.try_get(column).map(Cell::Int),
        }
    };
    (0..row.len()).map(cell).collect()
}
