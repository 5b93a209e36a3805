//! Consumers and the integers that stand for them.

use std::sync::Arc;

use super::session::{Session, Value};
use super::statements::Statements;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::{ConsumerId, ContextPattern};

/// The four values that name a consumer; the text of its pattern is owned here.
pub(super) struct Named<'a> {
    consumer: &'a ConsumerId,
    context: String,
}

impl<'a> Named<'a> {
    pub(super) fn new(consumer: &'a ConsumerId) -> Self {
        Self { consumer, context: consumer.context.to_string() }
    }

    pub(super) fn values(&self) -> [Value<'_>; 4] {
        let [bundle, component, version] =
            version_values(&self.consumer.bundle, &self.consumer.component, self.consumer.version);
        [bundle, component, version, Value::Text(&self.context)]
    }
}

pub(super) fn version_values<'a>(bundle: &'a str, component: &'a str, version: u32) -> [Value<'a>; 3] {
    [Value::Text(bundle), Value::Text(component), Value::Int(version.into())]
}

/// The integer of a consumer, made up now if it is new. Within a write transaction.
pub(crate) async fn ensure_id(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<i64, StoreError> {
    if let Some(id) = find_id(session, sql, consumer).await? {
        return Ok(id);
    }
    session.execute(sql.insert_consumer, &Named::new(consumer).values()).await?;
    let id = find_id(session, sql, consumer).await?;
    id.ok_or_else(|| session.error(StoreErrorKind::Other).detail("a row of evento_consumer vanished"))
}

/// The integer of a consumer, if it was ever stored.
pub(crate) async fn find_id(
    session: &mut dyn Session,
    sql: &Statements,
    consumer: &ConsumerId,
) -> Result<Option<i64>, StoreError> {
    let rows = session.fetch(sql.consumer_id, &Named::new(consumer).values()).await?;
    rows.first().map(|row| row.int(0)).transpose()
}

/// Consumers of a bundle, sorted: all stored and not forgotten ones, or those that `statement` picks of them.
pub(crate) async fn list(
    session: &mut dyn Session,
    statement: &'static str,
    bundle: &str,
) -> Result<Vec<ConsumerId>, StoreError> {
    let name: Arc<str> = bundle.into();
    let mut consumers = Vec::new();
    for row in session.fetch(statement, &[Value::Text(bundle)]).await? {
        consumers.push(ConsumerId {
            bundle: Arc::clone(&name),
            component: row.text(0)?.into(),
            version: u32::try_from(row.int(1)?).map_err(|_| row.damaged(1))?,
            context: ContextPattern::parse(row.text(2)?).map_err(|reason| row.damaged(2).caused_by(reason))?,
        });
    }
    consumers.sort();
    Ok(consumers)
}
