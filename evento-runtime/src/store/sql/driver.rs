//! The class of an error of sqlx, whichever driver it came from.

use std::error::Error as StdError;

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
