//! What the errors of PostgreSQL and sqlx mean: by SQLSTATE and io kind, never by text.

use std::error::Error as _;

use crate::error::{StoreError, StoreErrorKind};
use crate::outcome::ErrorClass;
use crate::store::sql::server::network;

/// The typed error of a failed call on the store `name`.
pub(crate) fn failed(name: &str, error: sqlx::Error) -> StoreError {
    let Some(code) = code(&error) else { return StoreError::new(network::kind(&error), name).caused_by(error) };
    let kind = kind_of_code(&code);
    let failed = StoreError::new(kind, name);
    let failed = match &*code {
        "26000" | "42P05" => failed.detail(
            "a prepared statement belongs to another session: if a pooler in transaction mode stands in between, say \
             `.pooler(Pooler::Transaction)`",
        ),
        "3D000" => failed.detail("there is no such database on the server"),
        "53300" => failed.detail("the server has no connection left"),
        _ => failed,
    };
    failed.caused_by(error)
}

/// The class of an error of PostgreSQL; `None` where it is none, or where trying again would not help.
pub(in crate::store::sql) fn class(error: &sqlx::Error) -> Option<ErrorClass> {
    let code = code(error)?;
    let transient = matches!(
        kind_of_code(&code),
        StoreErrorKind::Connection | StoreErrorKind::Busy | StoreErrorKind::Full | StoreErrorKind::ReadOnly
    );
    // A transaction that idles for too long does so every time.
    (transient && code != "25P03").then_some(ErrorClass::Transient)
}

/// Whether a row was there already, and by which index.
pub(crate) fn is_duplicate(error: &sqlx::Error) -> Option<String> {
    if code(error).as_deref() != Some("23505") {
        return None;
    }
    Some(error.as_database_error()?.constraint().unwrap_or_default().to_owned())
}

/// Whether the session does not know the statement it was to run.
pub(crate) fn is_unknown_statement(error: &StoreError) -> bool {
    let cause = error.source().and_then(|cause| cause.downcast_ref::<sqlx::Error>());
    cause.and_then(code).as_deref() == Some("26000")
}

/// <https://www.postgresql.org/docs/current/errcodes-appendix.html>
fn kind_of_code(code: &str) -> StoreErrorKind {
    match code {
        // A statement of the transaction has failed before.
        "25P02" => StoreErrorKind::Aborted,
        // Serialisation, deadlock, lock and statement time-outs, connections, memory.
        "40001" | "40P01" | "55P03" | "57014" | "53000" | "53200" | "53300" => StoreErrorKind::Busy,
        // Ended by an administrator, a crash, a start-up, an idle transaction's or session's limit.
        "57P01" | "57P02" | "57P03" | "57P05" | "25P03" => StoreErrorKind::Connection,
        "53100" => StoreErrorKind::Full,
        "25006" => StoreErrorKind::ReadOnly,
        "28P01" | "28000" => StoreErrorKind::Credentials,
        "3D000" | "3F000" | "42P01" => StoreErrorKind::Missing,
        "42501" => StoreErrorKind::Denied,
        "26000" | "42P05" => StoreErrorKind::Config,
        "XX001" | "XX002" => StoreErrorKind::Corrupt,
        _ if code.starts_with("08") => StoreErrorKind::Connection,
        _ => StoreErrorKind::Other,
    }
}

fn code(error: &sqlx::Error) -> Option<String> {
    let error = error.as_database_error()?;
    error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>()?;
    Some(error.code()?.into_owned())
}
