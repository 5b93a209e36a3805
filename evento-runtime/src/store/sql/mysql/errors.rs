//! What the errors of MySQL, MariaDB and sqlx mean: by number and io kind, never by text.

use sqlx::mysql::MySqlDatabaseError;

use crate::error::{StoreError, StoreErrorKind};
use crate::outcome::ErrorClass;
use crate::store::sql::server::network;

/// A wait for a lock that took too long.
const LOCK_WAIT: u16 = 1205;

/// The typed error of a failed call on the store `name`.
pub(crate) fn failed(name: &str, error: sqlx::Error) -> StoreError {
    let Some(number) = number(&error) else { return StoreError::new(network::kind(&error), name).caused_by(error) };
    let failed = StoreError::new(kind_of_number(number), name);
    let failed = match number {
        1040 | 1203 | 1226 => failed.detail("the server has no connection left for this user"),
        1049 => failed.detail("there is no such database on the server"),
        LOCK_WAIT => failed.detail("another transaction holds a row for too long"),
        _ => failed,
    };
    failed.caused_by(error)
}

/// The class of an error of MySQL or MariaDB; `None` where it is none, or where trying again would not help.
pub(in crate::store::sql) fn class(error: &sqlx::Error) -> Option<ErrorClass> {
    let transient = matches!(
        kind_of_number(number(error)?),
        StoreErrorKind::Connection | StoreErrorKind::Busy | StoreErrorKind::Full | StoreErrorKind::ReadOnly
    );
    transient.then_some(ErrorClass::Transient)
}

/// Whether a wait for a lock took too long.
pub(super) fn is_lock_wait(error: &StoreError) -> bool {
    number_behind(error) == Some(LOCK_WAIT)
}

/// Whether a savepoint is not there.
pub(super) fn is_no_savepoint(error: &StoreError) -> bool {
    number_behind(error) == Some(1305)
}

fn number_behind(error: &StoreError) -> Option<u16> {
    number(std::error::Error::source(error)?.downcast_ref::<sqlx::Error>()?)
}

/// <https://mariadb.com/kb/en/mariadb-error-code-reference/>
const fn kind_of_number(number: u16) -> StoreErrorKind {
    match number {
        // Lock time-out, deadlock, connections, memory, time-outs of statements, a query that was killed.
        LOCK_WAIT | 1213 | 1040 | 1203 | 1226 | 1037 | 1038 | 1041 | 1317 | 1969 | 3024 => StoreErrorKind::Busy,
        // Shutdown, a killed session, an idle transaction's limit, a lost connection.
        1053 | 1077 | 1079 | 1927 | 1158..=1161 | 1152 | 1184 | 4031 => StoreErrorKind::Connection,
        1021 | 1114 => StoreErrorKind::Full,
        1290 | 1792 | 1836 => StoreErrorKind::ReadOnly,
        1045 | 1698 | 1251 => StoreErrorKind::Credentials,
        1049 | 1146 => StoreErrorKind::Missing,
        1044 | 1142 | 1143 | 1227 | 1370 => StoreErrorKind::Denied,
        1130 => StoreErrorKind::Denied,
        _ => StoreErrorKind::Other,
    }
}

fn number(error: &sqlx::Error) -> Option<u16> {
    Some(error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>()?.number())
}
