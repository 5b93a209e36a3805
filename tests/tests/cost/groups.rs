//! What a group of events that share a transaction takes of PostgreSQL beside what its handlers do.

use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::Postgres;
use evento_runtime::{Bundle, ConsumerExecutors, Expected};
use evento_tests::servers::{Schema, reach};
use serde::{Deserialize, Serialize};

use crate::traced::Statements;

const EVENTS: u64 = 2_000;

#[derive(Debug, Serialize, Deserialize, Event)]
struct Put {
    n: i64,
}

#[derive(Default)]
struct OnLanes;

#[projector(version = 1)]
impl OnLanes {
    #[event_handler(executor = "lanes")]
    async fn put(&self, event: Put, tx: &mut Tx<Postgres>) -> Result<(), sqlx::Error> {
        sqlx::query("SELECT $1").bind(event.n).execute(&mut **tx).await.map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_settled_by_one_statement_and_a_checkpoint_removes_by_one() {
    let url = match reach("EVENTO_TEST_POSTGRES_URL") {
        Ok(url) => url,
        Err(reason) => return evento_tests::skip(&reason),
    };
    let (counted, schema) = (Statements::new(), Schema::new());
    let store = Postgres::url(&url).schema(schema.name()).open().await.unwrap();
    let events = (0..EVENTS).map(|n| NewEvent::from(Put { n: 0 }).key(format!("k{}", n % 100)));
    let last = store.append(None::<String>, Expected::Any, events).await.unwrap().last;
    counted.take();
    let builder = Bundle::builder("cost").register::<OnLanes>().store(store.clone());
    let running = builder.executor(ConsumerExecutors::partitioned("lanes", 4)).build().unwrap().start().await.unwrap();
    for cell in running.supervisor().status_cells() {
        let mut status = cell.subscribe();
        let _ = status.wait_for(|status| status.watermark.as_ref() >= Some(&last)).await.unwrap();
    }
    running.stop(Duration::from_secs(10)).await.unwrap();
    store.close().await;

    let told = counted.take();
    let count =
        |begin: &str, within: &str| told.iter().filter(|sql| sql.starts_with(begin) && sql.contains(within)).count();
    let (groups, removals) = (count("WITH held", "evento_completion"), count("DELETE", "evento_completion WHERE"));
    let checkpoints = count("INSERT INTO", "evento_checkpoint AS t (consumer, epoch, watermark");
    assert!(groups > 0 && removals > 0, "{told:#?}");
    assert!(removals <= checkpoints, "{removals} removals for {checkpoints} checkpoints");
    // Neither the mark of a transaction, nor its fence, nor its completions take one more.
    assert_eq!((count("SELECT", "evento.transaction"), count("INSERT INTO", "evento_completion")), (0, 0));
}
