//! What errors of sqlx mean that no database has caused, and the class of those that one has.

use std::error::Error as StdError;
use std::io;

use crate::error::StoreErrorKind;
use crate::outcome::ErrorClass;

/// The class of an error of sqlx; `None` where it is none, or where trying again would not help.
///
/// Transient: a lost connection, a serialisation failure, a deadlock, a lock time-out, a server without connections,
/// space or memory, one that is shutting down or takes no writes, a pool without a free connection.
#[must_use]
pub fn classify(error: &(dyn StdError + 'static)) -> Option<ErrorClass> {
    let error = error.downcast_ref::<sqlx::Error>()?;
    if error.as_database_error().is_some() {
        let by_driver: [Option<ErrorClass>; 3] = [
            #[cfg(feature = "sqlite")]
            super::sqlite::class(error),
            #[cfg(not(feature = "sqlite"))]
            None,
            #[cfg(feature = "postgres")]
            super::postgres::class(error),
            #[cfg(not(feature = "postgres"))]
            None,
            #[cfg(feature = "mysql")]
            super::mysql::class(error),
            #[cfg(not(feature = "mysql"))]
            None,
        ];
        return by_driver.into_iter().flatten().next();
    }
    let transient = matches!(
        error,
        sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed | sqlx::Error::Io(_)
    );
    transient.then_some(ErrorClass::Transient)
}

/// The kind of an error that came over the network, or from sqlx itself.
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub(super) fn kind(error: &sqlx::Error) -> StoreErrorKind {
    match error {
        sqlx::Error::PoolTimedOut => StoreErrorKind::Busy,
        sqlx::Error::PoolClosed => StoreErrorKind::Closed,
        sqlx::Error::WorkerCrashed | sqlx::Error::BeginFailed | sqlx::Error::Protocol(_) => StoreErrorKind::Connection,
        sqlx::Error::Configuration(_) | sqlx::Error::InvalidArgument(_) | sqlx::Error::Tls(_) => StoreErrorKind::Config,
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) => StoreErrorKind::Corrupt,
        sqlx::Error::Io(error) => kind_of_io(error),
        _ => StoreErrorKind::Other,
    }
}

#[cfg(any(feature = "postgres", feature = "mysql"))]
fn kind_of_io(error: &io::Error) -> StoreErrorKind {
    match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::NotFound => StoreErrorKind::Unreachable,
        io::ErrorKind::PermissionDenied => StoreErrorKind::Denied,
        _ => StoreErrorKind::Connection,
    }
}
