//! What the errors of SQLite and sqlx mean: by result code and io kind, never by text.

use std::io;

use crate::error::{StoreError, StoreErrorKind};
use crate::outcome::ErrorClass;

// https://www.sqlite.org/rescode.html; the low byte is the primary code.
const PERM: i32 = 3;
const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const NOMEM: i32 = 7;
const READONLY: i32 = 8;
const IOERR: i32 = 10;
const CORRUPT: i32 = 11;
const FULL: i32 = 13;
const CANTOPEN: i32 = 14;
const PROTOCOL: i32 = 15;
const AUTH: i32 = 23;
const NOTADB: i32 = 26;
const READONLY_DBMOVED: i32 = READONLY | (4 << 8);
const IOERR_NOMEM: i32 = IOERR | (12 << 8);

/// The typed error of a failed call on the store `name`.
pub(crate) fn failed(name: &str, error: sqlx::Error) -> StoreError {
    StoreError::new(kind(&error), name).caused_by(error)
}

/// The class of an error of SQLite; `None` where it is none, or where trying again would not help.
pub(in crate::store::sql) fn class(error: &sqlx::Error) -> Option<ErrorClass> {
    let transient = matches!(code(error)? & 0xff, BUSY | LOCKED | NOMEM | IOERR | FULL | PROTOCOL);
    transient.then_some(ErrorClass::Transient)
}

/// Whether the connection is of no further use.
pub(super) fn is_broken(error: &StoreError) -> bool {
    matches!(error.kind(), StoreErrorKind::Connection)
}

fn kind(error: &sqlx::Error) -> StoreErrorKind {
    if let Some(code) = code(error) {
        return kind_of_code(code);
    }
    match error {
        sqlx::Error::PoolTimedOut => StoreErrorKind::Busy,
        sqlx::Error::PoolClosed => StoreErrorKind::Closed,
        sqlx::Error::WorkerCrashed => StoreErrorKind::Connection,
        sqlx::Error::Configuration(_) | sqlx::Error::InvalidArgument(_) => StoreErrorKind::Config,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreErrorKind::Corrupt,
        sqlx::Error::Io(error) => kind_of_io(error),
        _ => StoreErrorKind::Other,
    }
}

const fn kind_of_code(code: i32) -> StoreErrorKind {
    match code {
        READONLY_DBMOVED => return StoreErrorKind::Missing,
        IOERR_NOMEM => return StoreErrorKind::Other,
        _ => {}
    }
    match code & 0xff {
        BUSY | LOCKED | PROTOCOL => StoreErrorKind::Busy,
        PERM | AUTH | CANTOPEN => StoreErrorKind::Denied,
        READONLY => StoreErrorKind::ReadOnly,
        IOERR => StoreErrorKind::Connection,
        CORRUPT => StoreErrorKind::Corrupt,
        FULL => StoreErrorKind::Full,
        NOTADB => StoreErrorKind::NotADatabase,
        _ => StoreErrorKind::Other,
    }
}

/// The kind of a failure of the file system.
pub(super) fn kind_of_io(error: &io::Error) -> StoreErrorKind {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StoreErrorKind::Missing,
        io::ErrorKind::PermissionDenied => StoreErrorKind::Denied,
        io::ErrorKind::ReadOnlyFilesystem => StoreErrorKind::ReadOnly,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Other,
    }
}

fn code(error: &sqlx::Error) -> Option<i32> {
    error.as_database_error()?.try_downcast_ref::<sqlx::sqlite::SqliteError>()?;
    error.as_database_error()?.code()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_codes_are_understood() {
        assert_eq!(kind_of_code(BUSY | (2 << 8)), StoreErrorKind::Busy, "BUSY_SNAPSHOT");
        assert_eq!(kind_of_code(IOERR | (3 << 8)), StoreErrorKind::Connection, "IOERR_WRITE");
        assert_eq!(kind_of_code(READONLY_DBMOVED), StoreErrorKind::Missing);
        assert_eq!(kind_of_code(19 | (8 << 8)), StoreErrorKind::Other, "CONSTRAINT_UNIQUE");
    }

    #[test]
    fn a_lost_pool_race_is_transient_and_a_closed_pool_is_not() {
        use crate::store::sql::classify;
        assert_eq!(classify(&sqlx::Error::PoolTimedOut), Some(ErrorClass::Transient));
        assert_eq!(classify(&sqlx::Error::PoolClosed), None);
        assert_eq!(classify(&io::Error::other("x")), None);
    }
}
