//! Operators change many dead letters at once while their consumer settles some: whom the server ends begins again.

use std::sync::Arc;

use evento_runtime::prelude::*;
use evento_runtime::store::LetterFilter;
use evento_runtime::{Bundle, Expected};
use sqlx::PgConnection;

use crate::postgres::Corner;

#[derive(Default)]
struct Refusing;

#[projector(version = 1)]
impl Refusing {
    #[event_handler]
    async fn any(&self, _event: RawEvent) -> Result<(), BoxError> {
        Err(HandlerError::permanent("never").into())
    }
}

async fn touch(corner: &Corner, session: &mut PgConnection, letter: &str) {
    let sql =
        format!("UPDATE @dead_letter SET attempts = attempts WHERE ctid = (SELECT {letter}(ctid) FROM @dead_letter)");
    sqlx::query(corner.sql(&sql)).execute(session).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_and_the_engine_may_cross() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let events = [1, 2].map(|n| NewEvent::raw("E", "text/plain", format!("{n}")));
    spis.append(None::<String>, Expected::Any, events).await.unwrap();
    let bundle = Bundle::builder("b").register::<Refusing>().store(store.clone()).build().unwrap();
    let running = bundle.start().await.unwrap();
    let (id, queue) = (running.consumers().remove(0).id().clone(), Arc::clone(&spis.stores.dead_letters));
    while queue.count(&id).await.unwrap() < 2 {
        tokio::task::yield_now().await;
    }
    running.stop(std::time::Duration::from_secs(10)).await.unwrap();

    // Both kinds of request take the rows from the first to the last; somebody else does it the other way.
    for discards in [false, true] {
        let (mut other, mut looks) = (corner.stranger().await, corner.stranger().await);
        sqlx::raw_sql("BEGIN").execute(&mut other).await.unwrap();
        touch(&corner, &mut other, "max").await;
        let asked = tokio::spawn({
            let (queue, id) = (Arc::clone(&queue), id.clone());
            async move {
                match discards {
                    false => queue.request(&id, &LetterFilter::all()).await,
                    true => queue.discard(&id, &LetterFilter::all()).await,
                }
            }
        });
        let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1)";
        let of_ours = format!("UPDATE \"{}\".evento_dead_letter%", corner.schema.name());
        while !sqlx::query_scalar::<_, bool>(waits).bind(&of_ours).fetch_one(&mut looks).await.unwrap() {
            tokio::task::yield_now().await;
        }
        // It has waited for longer, so that the server ends it.
        touch(&corner, &mut other, "min").await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
        assert_eq!(asked.await.unwrap().unwrap(), 2);
    }
    store.close().await;
}
