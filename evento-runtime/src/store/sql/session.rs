//! The one thing the store code knows about a database: statements with bound values, and rows.

use std::error::Error as _;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::{StoreError, StoreErrorKind};
use crate::event::Position;

/// A connection, inside or outside of a transaction. One small implementation per driver.
#[async_trait]
pub(crate) trait Session: Send {
    /// An error that names the store.
    fn error(&self, kind: StoreErrorKind) -> StoreError;

    /// Runs a statement; answers how many rows it changed.
    async fn execute(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Runs a query and takes all its rows.
    async fn fetch(&mut self, sql: &'static str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError>;
}

/// The same error for one more caller.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn again(error: &StoreError) -> StoreError {
    let copy = StoreError::new(error.kind(), error.store());
    match error.source() {
        Some(cause) => copy.caused_by(cause.to_string()),
        None => copy,
    }
}

/// Says which statement a store is about to send: `evento_runtime::sql` at the level of traces.
macro_rules! tell {
    ($store:expr, $sql:expr) => {
        tracing::trace!(target: "evento_runtime::sql", store = &**$store, sql = $sql)
    };
}
pub(crate) use tell;

/// A value to bind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Null,
    Int(i64),
    Text(&'a str),
    Blob(&'a [u8]),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::Blob(bytes)
    }
}

impl<'a> From<&'a Position> for Value<'a> {
    fn from(position: &'a Position) -> Self {
        Self::Blob(position.as_bytes())
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

/// Numbers larger than a database can hold stay at the largest it can.
impl From<u64> for Value<'_> {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'a, T: Into<Self>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A value found.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

/// A row found; columns by their number, from 0.
#[derive(Debug)]
pub(crate) struct Row {
    cells: Vec<Cell>,
    store: Arc<str>,
}

impl Row {
    pub(crate) const fn new(cells: Vec<Cell>, store: Arc<str>) -> Self {
        Self { cells, store }
    }

    pub(crate) fn opt_int(&self, column: usize) -> Result<Option<i64>, StoreError> {
        match self.cells.get(column) {
            Some(Cell::Int(number)) => Ok(Some(*number)),
            Some(Cell::Null) => Ok(None),
            _ => Err(self.damaged(column)),
        }
    }

    pub(crate) fn int(&self, column: usize) -> Result<i64, StoreError> {
        self.opt_int(column)?.ok_or_else(|| self.damaged(column))
    }

    /// A number that is never negative.
    pub(crate) fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.int(column)?).map_err(|_| self.damaged(column))
    }

    pub(crate) fn flag(&self, column: usize) -> Result<bool, StoreError> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn opt_text(&self, column: usize) -> Result<Option<&str>, StoreError> {
        match self.cells.get(column) {
            Some(Cell::Text(text)) => Ok(Some(text)),
            // Where text is kept as bytes.
            Some(Cell::Blob(bytes)) => std::str::from_utf8(bytes).map(Some).map_err(|_| self.damaged(column)),
            Some(Cell::Null) => Ok(None),
            _ => Err(self.damaged(column)),
        }
    }

    pub(crate) fn text(&self, column: usize) -> Result<&str, StoreError> {
        self.opt_text(column)?.ok_or_else(|| self.damaged(column))
    }

    pub(crate) fn opt_blob(&self, column: usize) -> Result<Option<&[u8]>, StoreError> {
        match self.cells.get(column) {
            Some(Cell::Blob(bytes)) => Ok(Some(bytes)),
            Some(Cell::Null) => Ok(None),
            _ => Err(self.damaged(column)),
        }
    }

    pub(crate) fn blob(&self, column: usize) -> Result<&[u8], StoreError> {
        self.opt_blob(column)?.ok_or_else(|| self.damaged(column))
    }

    pub(crate) fn uuid(&self, column: usize) -> Result<uuid::Uuid, StoreError> {
        uuid::Uuid::from_slice(self.blob(column)?).map_err(|_| self.damaged(column))
    }

    pub(crate) fn opt_position(&self, column: usize) -> Result<Option<Position>, StoreError> {
        let bytes = self.opt_blob(column)?;
        bytes.map(Position::from_bytes).transpose().map_err(|error| self.damaged(column).caused_by(error))
    }

    /// The error of a column that holds what was never written.
    pub(crate) fn damaged(&self, column: usize) -> StoreError {
        StoreError::new(StoreErrorKind::Corrupt, &*self.store).detail(format!("column {column} of a row"))
    }
}
