//! The process that `tests/crash` kills: it appends, it handles, and it writes what it handled into the database that
//! holds the log, so that plain SQL can tell afterwards what was lost and what is there twice.
//!
//! What runs is put together from the environment: which components, on which store, on which executor.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test program")]

mod components;
mod effects;
mod settings;
mod transacted;

use std::sync::Arc;
use std::time::Duration;

use components::{Counted, Counts, Functions, Loop, Pool, Watching};
use effects::{Db, Effects};
use evento_runtime::executor::{ConsumerExecutor, ConsumerExecutors};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, Sqlite, Synchronous};
use evento_runtime::{Bundle, BundleBuilder, CheckpointMode, DeadLetterPolicy, Expected, Running, StoreError};
use settings::Settings;

#[tokio::main]
async fn main() -> evento_runtime::Result {
    let settings = Settings::read();
    let builder = Bundle::builder("crash");
    let (builder, db) = match &settings.schema {
        None => {
            let store = Sqlite::file(&settings.db).synchronous(Synchronous::Normal).open().await?;
            let db = Db::Sqlite(store.writer());
            (builder.store(store), db)
        }
        #[cfg(feature = "postgres")]
        Some(schema) => {
            let lease = settings.lease;
            let config =
                evento_runtime::store::Postgres::url(&settings.db).schema(schema).lease(lease).renew(lease / 5);
            let store = config.open().await?;
            let db = Db::Postgres { pool: sqlx::PgPool::connect(&settings.db).await?, schema: schema.clone() };
            (builder.store(store), db)
        }
        #[cfg(not(feature = "postgres"))]
        Some(schema) => unreachable!("a schema, {schema}, and no server"),
    };
    let effects = Effects::over(db, &settings).await?;
    let running = put_together(builder, &effects, &settings).build()?.start().await?;
    println!("ready");
    append(&running, &settings).await?;
    println!("appended");
    let head = running.store().events.head().await?;
    loop {
        if settings.parks {
            try_again(&running).await?;
        }
        let behind = running.status().iter().any(|consumer| consumer.watermark < head);
        if settings.drain && !behind && !(settings.parks && has_letters(&running).await?) {
            break;
        }
        if settings.feed && room(&running, settings.ahead).await? {
            append_some(&running, &settings, settings.ahead).await?;
        } else {
            tokio::time::sleep(Duration::from_millis(if settings.parks { 20 } else { 5 })).await;
        }
    }
    let dead: u64 = running.status().iter().map(|consumer| consumer.counters.dead_lettered).sum();
    running.stop(Duration::from_secs(20)).await?;
    println!("drained, {dead} dead letters");
    Ok(())
}

fn put_together(builder: BundleBuilder, effects: &Effects, settings: &Settings) -> BundleBuilder {
    let mode = if settings.on_start { CheckpointMode::OnStart } else { CheckpointMode::Watermark };
    // A claim of the dead is waited for no longer than a round takes.
    let claims = Duration::from_millis(300);
    let builder = builder.checkpoint_mode(mode).window(settings.window).claim_expiry(claims);
    let builder = match settings.checkpoint_every {
        Some(events) => builder.checkpoint_every(events),
        None => builder,
    };
    // Where a process lives for a tenth of a second, a kill hits the same innocent event several times in a row.
    let builder = builder.unclean_ends(settings.unclean_ends.unwrap_or(1_000));
    let executor: Option<Arc<dyn ConsumerExecutor>> = settings.executor.as_ref().map(|(kind, n)| match &**kind {
        "tasks" => ConsumerExecutors::tasks("pool", *n) as Arc<dyn ConsumerExecutor>,
        "partitioned" => ConsumerExecutors::partitioned("pool", *n),
        other => unreachable!("no executor {other}"),
    });
    let builder = match executor {
        Some(executor) => builder.executor(executor),
        None => builder,
    };
    settings.components.split(',').fold(builder, |builder, component| join(builder, component, effects, settings))
}

fn join(builder: BundleBuilder, component: &str, effects: &Effects, settings: &Settings) -> BundleBuilder {
    let effects = effects.clone();
    if let Some(transacted) = component.strip_suffix("-tx") {
        return match &settings.schema {
            None => transacted::sqlite::join(builder, transacted, effects, settings.parks),
            #[cfg(feature = "postgres")]
            Some(_) => transacted::postgres::join(builder, transacted, effects, settings.parks),
            #[cfg(not(feature = "postgres"))]
            Some(_) => unreachable!("no server"),
        };
    }
    let builder = match component {
        "loop" => builder.component(Loop(effects)),
        "pool" => builder.component(Pool(effects)),
        "functions" => builder.register::<Functions>().provide(effects),
        "saga" => builder.component(Counts),
        "observer" => builder.component(Watching(effects)),
        other => unreachable!("no component {other}"),
    };
    match component {
        "loop" if settings.parks => builder.dead_letter::<Loop>(DeadLetterPolicy::Park),
        "pool" if settings.parks => builder.dead_letter::<Pool>(DeadLetterPolicy::Park),
        _ => builder,
    }
}

async fn append(running: &Running, settings: &Settings) -> evento_runtime::Result {
    let Some(file) = &settings.data else { return append_some(running, settings, settings.append).await };
    let events: Vec<NewEvent> = std::fs::read_to_string(file)?.lines().map(webhook).collect();
    append_all(running, events).await
}

async fn append_some(running: &Running, settings: &Settings, count: u64) -> evento_runtime::Result {
    let keys = settings.keys;
    let event = |n| {
        if settings.components.contains("saga") {
            return Counted { order: format!("o{}", n % 7) }.into();
        }
        NewEvent::raw("crash.made", "text/plain", format!("payload {n}\0\u{ff}")).key(format!("k{}", n % keys))
    };
    append_all(running, (0..count).map(event).collect()).await
}

async fn append_all(running: &Running, events: Vec<NewEvent>) -> evento_runtime::Result {
    for batch in events.chunks(200) {
        running.store().append(None::<String>, Expected::Any, batch.to_vec()).await?;
    }
    Ok(())
}

/// A line of the file, whole, under a fresh id.
fn webhook(line: &str) -> NewEvent {
    let fields: serde_json::Value = serde_json::from_str(line).unwrap();
    let event = NewEvent::raw(fields["type"].as_str().unwrap(), "application/json", line.to_owned());
    match fields["subject"].as_str() {
        Some(subject) => event.key(subject),
        None => event,
    }
}

/// Whether fewer events wait than are to. Positions of both stores are numbers with few holes.
async fn room(running: &Running, ahead: u64) -> Result<bool, StoreError> {
    let number = |position: Option<Position>| position.and_then(|position| position.as_u64()).unwrap_or_default();
    let head = number(running.store().events.head().await?);
    let watermark = running.status().into_iter().map(|consumer| number(consumer.watermark)).min();
    Ok(head.saturating_sub(watermark.unwrap_or_default()) < ahead)
}

async fn try_again(running: &Running) -> Result<(), StoreError> {
    for consumer in running.consumers() {
        consumer.redrive(LetterFilter::all()).await?;
    }
    Ok(())
}

async fn has_letters(running: &Running) -> Result<bool, StoreError> {
    let letters = &running.store().stores.dead_letters;
    for consumer in running.consumers() {
        if letters.count(consumer.id()).await? > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
