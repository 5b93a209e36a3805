//! The transaction of an attempt, lent to a handler.

use crate::context::{HandlerContext, MissingDependency};
use crate::error::BoxError;
use crate::store::{Database, Tx};

/// The transaction of this attempt.
///
/// # Errors
/// The engine has begun none of this database; a launched bundle has ruled that out.
pub fn transaction<D: Database>(context: &HandlerContext) -> Result<Tx<D>, BoxError> {
    let open = context.take_transaction().and_then(Tx::of);
    open.ok_or_else(|| MissingDependency(std::any::type_name::<Tx<D>>()).into())
}

/// Back to the engine, which commits it or undoes it.
pub fn give_back<D: Database>(context: &HandlerContext, tx: Tx<D>) {
    context.put_transaction(tx.into_open());
}
