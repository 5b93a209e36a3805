//! What errors of sqlx mean that no database has caused.

use std::io;

use crate::error::StoreErrorKind;

/// The kind of an error that came over the network, or from sqlx itself.
pub(crate) fn kind(error: &sqlx::Error) -> StoreErrorKind {
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
