//! `project-tx-lanes`: the read model of `project-tx`, on eight connections at once.

use crate::Options;
use crate::report::Report;

#[cfg(not(feature = "postgres"))]
pub(crate) async fn on_lanes(_options: &Options, _report: &mut Report) {
    Report::left_out("project-tx-lanes", "postgres", "built without the feature `postgres`");
}

#[cfg(feature = "postgres")]
pub(crate) use postgres::on_lanes;

#[cfg(feature = "postgres")]
mod postgres {
    use evento_runtime::ConsumerExecutors;
    use evento_runtime::prelude::*;
    use evento_runtime::store::Postgres;
    use tokio::sync::mpsc;
    use tokio::task::JoinSet;

    use super::*;
    use crate::events::{KEYS, Measured, added};
    use crate::places::postgres::PostgresPlace;
    use crate::places::{Place, consume};
    use crate::projecting::{empty, prepare};
    use crate::projecting_by_hand::postgres::{page, upsert};
    use crate::projecting_by_hand::{UPSERT, result};
    use crate::reading::{Tally, last, timed};
    use crate::turns::{Check, Run, alternate};

    const LANES: usize = 8;
    /// Events a lane writes in one transaction.
    const TOGETHER: usize = 100;

    struct OnLanes(Tally);

    #[projector(version = 1)]
    impl OnLanes {
        #[event_handler(executor = "lanes")]
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

    pub(crate) async fn on_lanes(options: &Options, report: &mut Report) {
        let Some(place) = Place::postgres().await else {
            return Report::left_out("project-tx-lanes", "postgres", "`EVENTO_TEST_POSTGRES_URL` is not set");
        };
        let events = options.events(40_000, 3_000);
        prepare(&place, events).await;
        let Place::Postgres(at) = &place else { return };
        let ours = async || {
            empty(&place).await;
            let tally = Tally::new(events);
            let build = |builder: evento_runtime::bundle::BundleBuilder| {
                builder.executor(ConsumerExecutors::partitioned("lanes", LANES))
            };
            let took = consume(&place, OnLanes(tally.clone()), build, tally.all(), &last(events)).await;
            Run::new(took, events, result(&place).await)
        };
        let limit = async || {
            empty(&place).await;
            let run = by_hand(at, events).await;
            let check = result(&place).await;
            run.with(|| check)
        };
        assert!(limit().await.check == added(events));
        alternate(report, "project-tx-lanes", place.name(), 0.7, ours, limit).await;
        place.close().await;
    }

    /// A reader that deals events out by key, and eight writers that commit a hundred at a time. No position is kept:
    /// that would make it slower.
    async fn by_hand(place: &PostgresPlace, events: u64) -> Run {
        let mut reader = place.connect().await;
        let (mut lanes, mut writers) = (Vec::new(), JoinSet::new());
        for _ in 0..LANES {
            let (sender, mut events) = mpsc::channel::<Measured>(1_000);
            lanes.push(sender);
            let mut writer = place.connect().await;
            writers.spawn(async move {
                let mut some = Vec::with_capacity(TOGETHER);
                while events.recv_many(&mut some, TOGETHER).await > 0 {
                    sqlx::raw_sql("BEGIN").execute(&mut writer).await.unwrap();
                    for event in some.drain(..) {
                        upsert(&mut writer, &event).await;
                    }
                    sqlx::raw_sql("COMMIT").execute(&mut writer).await.unwrap();
                }
            });
        }
        timed(events, async {
            let mut after = 0;
            loop {
                let (events, last) = page(&mut reader, after).await;
                if events.is_empty() {
                    break;
                }
                after = last;
                for event in events {
                    let key: u64 = event.account["account-".len()..].parse().unwrap();
                    lanes[usize::try_from(key % KEYS).unwrap() % LANES].send(event).await.unwrap();
                }
            }
            lanes.clear();
            writers.join_all().await;
            Check::default()
        })
        .await
    }
}
