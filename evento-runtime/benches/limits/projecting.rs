//! `project-tx` and `project-batch`: a read model that is written within transactions.

use evento_runtime::prelude::*;
use evento_runtime::store::Sqlite;

use crate::Options;
use crate::events::{Measured, added};
use crate::places::{Kind, Place, consume};
use crate::projecting_by_hand::{self as by_hand, UPSERT};
use crate::reading::{Tally, last};
use crate::report::Report;
use crate::turns::{Run, alternate};

/// What both sides write: how many events an account has, and their amounts together.
const TABLE: &str = "CREATE TABLE limits_total (account TEXT PRIMARY KEY, events BIGINT NOT NULL, amount BIGINT NOT NULL); \
     CREATE TABLE limits_checkpoint (name TEXT PRIMARY KEY, position BIGINT NOT NULL)";

const EMPTY: &str = "DELETE FROM limits_total; DELETE FROM limits_checkpoint";

struct OneByOne(Tally);

#[projector(version = 1)]
impl OneByOne {
    #[event_handler]
    async fn measured(&self, event: Measured, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        sqlx::query(UPSERT).bind(event.account).bind(event.amount).execute(&mut **tx).await?;
        self.0.add(event.amount.unsigned_abs());
        Ok(())
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

struct InBatches(Tally);

#[projector(version = 1)]
impl InBatches {
    #[event_handler(batch = 500)]
    async fn measured(&self, events: Vec<Measured>, tx: &mut Tx<Sqlite>) -> Result<(), BoxError> {
        by_hand::sqlite::upsert_many(tx, &events).await?;
        events.iter().for_each(|event| self.0.add(event.amount.unsigned_abs()));
        Ok(())
    }

    #[inject]
    fn new(tally: Tally) -> Self {
        Self(tally)
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use evento_runtime::store::Postgres;

    use super::*;

    pub(super) struct OneByOne(pub(super) Tally);

    #[projector(version = 1)]
    impl OneByOne {
        #[event_handler]
        async fn measured(&self, event: Measured, tx: &mut Tx<Postgres>) -> Result<(), BoxError> {
            sqlx::query(UPSERT).bind(event.account).bind(event.amount).execute(&mut **tx).await?;
            self.0.add(event.amount.unsigned_abs());
            Ok(())
        }

        #[inject]
        fn new(tally: Tally) -> Self {
            Self(tally)
        }
    }

    pub(super) struct InBatches(pub(super) Tally);

    #[projector(version = 1)]
    impl InBatches {
        #[event_handler(batch = 500)]
        async fn measured(&self, events: Vec<Measured>, tx: &mut Tx<Postgres>) -> Result<(), BoxError> {
            by_hand::postgres::upsert_many(tx, &events).await?;
            events.iter().for_each(|event| self.0.add(event.amount.unsigned_abs()));
            Ok(())
        }

        #[inject]
        fn new(tally: Tally) -> Self {
            Self(tally)
        }
    }
}

/// A log of so many events, and tables for the read model.
pub(crate) async fn prepare(place: &Place, events: u64) {
    place.fill(1, events).await;
    place.run(TABLE).await;
}

/// The read model is empty again.
pub(crate) async fn empty(place: &Place) {
    place.run(EMPTY).await;
}

pub(crate) async fn one_by_one(options: &Options, report: &mut Report) {
    for kind in Kind::DATABASES {
        let Some(place) = kind.open().await else { continue };
        let events = match place.name() {
            "postgres" => options.events(20_000, 2_000),
            _ => options.events(40_000, 8_000),
        };
        prepare(&place, events).await;
        let ours = async || ours(&place, events, false).await;
        let limit = async || {
            empty(&place).await;
            by_hand::one_by_one(&place, events).await
        };
        assert!(limit().await.check == added(events));
        alternate(report, "project-tx", place.name(), 0.75, ours, limit).await;
        place.close().await;
    }
}

pub(crate) async fn in_batches(options: &Options, report: &mut Report) {
    for kind in Kind::DATABASES {
        let Some(place) = kind.open().await else { continue };
        let events = options.events(40_000, 8_000);
        prepare(&place, events).await;
        let ours = async || ours(&place, events, true).await;
        let limit = async || {
            empty(&place).await;
            by_hand::in_batches(&place, events).await
        };
        assert!(limit().await.check == added(events));
        alternate(report, "project-batch", place.name(), 0.8, ours, limit).await;
        place.close().await;
    }
}

async fn ours(place: &Place, events: u64, in_batches: bool) -> Run {
    empty(place).await;
    let tally = Tally::new(events);
    let (last, all) = (last(events), tally.all());
    let took = match (place, in_batches) {
        #[cfg(feature = "postgres")]
        (Place::Postgres(_), false) => {
            consume(place, postgres::OneByOne(tally.clone()), |builder| builder, all, &last).await
        }
        #[cfg(feature = "postgres")]
        (Place::Postgres(_), true) => {
            consume(place, postgres::InBatches(tally.clone()), |builder| builder, all, &last).await
        }
        (_, false) => consume(place, OneByOne(tally.clone()), |builder| builder, all, &last).await,
        (_, true) => consume(place, InBatches(tally.clone()), |builder| builder, all, &last).await,
    };
    Run::new(took, events, by_hand::result(place).await)
}
