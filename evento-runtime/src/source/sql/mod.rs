//! The log in a SQL database.

#[cfg(any(feature = "sqlite", feature = "mysql"))]
pub(crate) mod append;
pub(crate) mod known;
#[cfg(feature = "mysql")]
pub(crate) mod mysql;
#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;
mod texts;

use crate::event::Position;

/// The number of a position of a SQL log; `None` for one of another source, or beyond what a database can hold.
pub(crate) fn number_of(position: &Position) -> Option<i64> {
    i64::try_from(position.as_u64()?).ok()
}

/// The position of a number; `None` for an empty log.
pub(crate) fn position_of(number: i64) -> Option<Position> {
    u64::try_from(number).ok().filter(|number| *number > 0).map(Position::from_u64)
}
