//! A log that is held: the consumer says so, and by whom.

use std::time::Duration;

use evento_runtime::consumer::{Happening, StallReason};
use evento_runtime::prelude::*;
use evento_runtime::source::Held;
use evento_runtime::store::Postgres;
use evento_runtime::{Bundle, Expected, Running};
use sqlx::{AssertSqlSafe, PgConnection};

use crate::postgres::Corner;

#[derive(Default)]
struct Reader;

#[projector(version = 1)]
impl Reader {
    #[event_handler]
    async fn any(&self, _event: RawEvent) {}
}

async fn run(connection: &mut PgConnection, sql: impl Into<String>) {
    sqlx::raw_sql(AssertSqlSafe(sql.into())).execute(connection).await.unwrap();
}

async fn held(running: &Running) -> Held {
    let mut status = running.supervisor().status_cells().remove(0).subscribe();
    let holds = status.wait_for(|status| matches!(status.reason, Some(StallReason::GapHold { .. })));
    let status = tokio::time::timeout(Duration::from_secs(30), holds).await.expect("it is held").unwrap().clone();
    match status.reason {
        Some(StallReason::GapHold { held }) => held,
        other => panic!("{other:?}"),
    }
}

/// Told to the owner of the database with everything the server knows, and to a plain user with what that may see.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_says_which_session_holds_it() {
    let Some(corner) = Corner::new() else { return };
    let (store, spis) = corner.open().await;
    let event = || NewEvent::raw("E", "text/plain", "x");
    spis.append(None::<String>, Expected::Any, [event()]).await.unwrap();
    let (mut slow, mut admin) = (corner.stranger().await, corner.stranger().await);
    run(&mut slow, "SET application_name = 'nightly report'; BEGIN").await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut slow).await.unwrap();

    let (user, schema) = (evento_tests::servers::unique("u_"), corner.schema.name());
    let grants = format!(
        "CREATE ROLE {user} LOGIN PASSWORD 'p'; GRANT ALL ON SCHEMA \"{schema}\" TO {user}; \
         GRANT ALL ON ALL TABLES IN SCHEMA \"{schema}\" TO {user}; \
         GRANT ALL ON ALL SEQUENCES IN SCHEMA \"{schema}\" TO {user}"
    );
    run(&mut admin, grants).await;
    let (_, address) = corner.url.rsplit_once('@').unwrap();
    let plain = Postgres::url(&format!("postgres://{user}:p@{address}")).schema(schema);

    let bundle = Bundle::builder("b").register::<Reader>().store(store.clone()).build().unwrap();
    let mut events = bundle.events();
    let running = bundle.start().await.unwrap();
    let beside = Bundle::builder("c").register::<Reader>().store(plain).build().unwrap().start().await.unwrap();

    store.append_in(&mut slow, None::<String>, Expected::Any, [event()]).await.unwrap();
    let last = spis.append(None::<String>, Expected::Any, [event()]).await.unwrap().last;
    let (seen, seen_plain) = (held(&running).await, held(&beside).await);
    assert_eq!((seen.at.as_u64(), seen_plain.at.as_u64()), (Some(2), Some(2)));
    let begun = format!("process {pid} (nightly report, idle in transaction, begun ");
    assert!(matches!(&seen.by[..], [one] if one.starts_with(&begun)), "{seen}");
    assert_eq!(seen_plain.by, [format!("process {pid} (nightly report; the right pg_read_all_stats would show more)")]);
    run(&mut slow, "COMMIT").await;
    for running in [&running, &beside] {
        let mut status = running.supervisor().status_cells().remove(0).subscribe();
        let through = status.wait_for(|status| {
            status.reason == Some(StallReason::CaughtUp) && status.watermark.as_ref() == Some(&last)
        });
        tokio::time::timeout(Duration::from_secs(30), through).await.expect("it goes on").unwrap();
    }
    running.stop(Duration::from_secs(10)).await.unwrap();
    beside.stop(Duration::from_secs(10)).await.unwrap();
    store.close().await;
    let mut told = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event.what {
            Happening::Stalled { reason: StallReason::GapHold { held } } => told.push(format!("held at {}", held.at)),
            Happening::Resumed => told.push("resumed".to_owned()),
            _ => {}
        }
    }
    assert_eq!(told, ["held at 2", "resumed"]);
    run(&mut admin, format!("DROP OWNED BY {user}; DROP ROLE {user}")).await;
}
