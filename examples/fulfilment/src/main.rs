//! Orders that are paid, or cancelled when nobody pays in time.
//!
//! ```text
//! OrderPlaced ─▶ Fulfilment (saga) ─▶ PaymentRequested ─▶ PaymentDesk (observer) ─▶ the provider
//!                  │     ▲                                                             │
//!                  │     ├───────────────────────── PaymentReceived ◀──────────────────┘  … or silence
//!                  │     └── PaymentOverdue (timer)
//!                  └──▶ OrderShipped | OrderCancelled ─▶ Mailer (observer) ─▶ a mail
//! ```
//!
//! `cargo run -p fulfilment`, and `-- --help` for what else it can do. What leaves the system (charges and mails) goes
//! into a file, one line each, so that one can look at what was done twice after a crash: nothing, since each line
//! carries the id of its event, which stays the same, and the world outside knows it.
#![warn(unused_crate_dependencies)]
#![allow(clippy::print_stdout, reason = "this program talks to a person")]

mod events;
mod fulfilment;
mod mailer;
mod payment_desk;
mod world;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use evento_runtime::store::{Postgres, Sqlite};
use evento_runtime::{
    Bundle, BundleBuilder, ConsumerExecutors, EventId, Expected, Running, StallReason, shutdown_signal,
};

use crate::events::OrderPlaced;
use crate::fulfilment::{Fulfilment, Patience};
use crate::world::World;

/// Orders are placed, paid or not, and shipped or cancelled.
#[derive(Debug, Parser)]
#[command(name = "fulfilment")]
struct Arguments {
    /// Where everything is kept: a file, or `postgres://user@host/database` [default: a new file in the temporary
    /// folder]
    #[arg(long, value_name = "URL")]
    database: Option<String>,
    /// The schema, on PostgreSQL.
    #[arg(long, default_value = "public", value_name = "NAME")]
    schema: String,
    /// The file that stands for the world outside [default: a new one in the temporary folder]
    #[arg(long, value_name = "FILE")]
    world: Option<PathBuf>,
    /// How many orders there are to be. Orders that are there already are not placed again.
    #[arg(long, default_value_t = 200, value_name = "N")]
    orders: u64,
    /// How long the saga waits for a payment, in milliseconds.
    #[arg(long, default_value_t = 500, value_name = "MS")]
    patience: u64,
}

/// No charge and no mail takes as long.
const CLAIM_EXPIRY: Duration = Duration::from_secs(2);
/// How long running handlers may take at a stop.
const DEADLINE: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> evento_runtime::Result {
    let arguments = Arguments::parse();
    let new = |ending: &str| std::env::temp_dir().join(format!("fulfilment-{}.{ending}", EventId::generate()));
    let database = arguments.database.clone().unwrap_or_else(|| new("db").display().to_string());
    let world = arguments.world.clone().unwrap_or_else(|| new("txt"));
    let builder = Bundle::builder("fulfilment")
        .discover()
        .provide(World::open(&world).await?)
        .provide(Patience(Duration::from_millis(arguments.patience)))
        .executor(ConsumerExecutors::tasks("payments", 16))
        .executor(ConsumerExecutors::tasks("mail", 4))
        // What ran when a process was killed is left alone for so long: somebody might still be at it.
        .claim_expiry(CLAIM_EXPIRY);
    let running = stored(builder, &database, &arguments.schema).build()?.start().await?;
    let done = tokio::select! {
        placed = place(&running, arguments.orders) => {
            placed?;
            tokio::select! {
                () = quiet(&running) => true,
                () = shutdown_signal() => false,
            }
        }
        () = shutdown_signal() => false,
    };
    let waiting = running.store().stores.sagas.instances(&saga(&running), None, usize::MAX).await?.len();
    running.stop(DEADLINE).await?;
    let told = world::read(&world).await?;
    println!(
        "{} charged, {} shipped, {} cancelled, {} orders still wait; done twice: {}",
        told.count("charge"),
        told.count("shipped"),
        told.count("cancelled"),
        waiting,
        told.repeated()
    );
    let state = if done { "finished" } else { "stopped" };
    println!("{state}: database {}, world outside {}", harmless(&database), world.display());
    Ok(())
}

fn stored(builder: BundleBuilder, database: &str, schema: &str) -> BundleBuilder {
    if database.starts_with("postgres://") || database.starts_with("postgresql://") {
        return builder.store(Postgres::url(database).schema(schema));
    }
    builder.store(Sqlite::file(database))
}

/// A URL without its password.
fn harmless(database: &str) -> String {
    match database.rsplit_once('@') {
        Some((_, host)) if database.contains("://") => format!("at {host}"),
        _ => database.to_owned(),
    }
}

/// The same order has the same id in every run: what is there already is known.
async fn place(running: &Running, orders: u64) -> evento_runtime::Result {
    for n in 0..orders {
        let order_id = format!("order-{n}");
        let id = EventId::foreign("shop", &order_id);
        let placed = OrderPlaced { order_id, customer: format!("customer-{}", n % 17), cents: 1_000 + n };
        running.store().append(None::<String>, Expected::Any, [evento_runtime::NewEvent::from(placed).id(id)]).await?;
    }
    println!("{orders} orders are placed");
    Ok(())
}

/// Waits until nothing is under way any more: no order waits, and nobody has anything to do.
async fn quiet(running: &Running) {
    let saga = saga(running);
    loop {
        let idle = running.status().iter().all(|consumer| consumer.reason == Some(StallReason::CaughtUp));
        let waiting = running.store().stores.sagas.instances(&saga, None, 1).await;
        if idle && waiting.is_ok_and(|waiting| waiting.is_empty()) && caught_up(running).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Whether everybody has settled everything that is in the log now.
async fn caught_up(running: &Running) -> bool {
    let Ok(head) = running.store().events.head().await else { return false };
    running.status().iter().all(|consumer| consumer.watermark >= head)
}

fn saga(running: &Running) -> evento_runtime::identity::ConsumerId {
    let of_saga = running.consumers_of::<Fulfilment>().into_iter().next();
    // `discover` has found it: it is in this crate.
    of_saga.map_or_else(|| running.consumers()[0].id().clone(), |consumer| consumer.id().clone())
}
