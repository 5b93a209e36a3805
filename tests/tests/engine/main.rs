//! The laws of the engine, through the public API, over the store in memory: real tasks, real time, no sleeps that
//! a result depends on.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
#![allow(clippy::needless_pass_by_value, reason = "a handler owns its event")]
#![allow(clippy::disallowed_methods, reason = "tests spawn and wait as they like")]

mod barrier;
mod batches;
mod checkpoint;
mod deaths;
mod embedded;
mod exactly_once;
mod expired;
mod failures;
mod fairness;
mod free;
mod groups;
mod head;
mod interceptors;
mod keyed;
mod kinds;
mod long_open;
mod met;
mod observers;
mod order;
mod outages;
mod outbox;
mod over_time;
mod own_work;
mod ownership;
mod parked;
mod parked_bound;
mod parked_together;
mod recovered;
mod redriven;
mod regained;
mod reported;
mod resets;
mod sagas;
mod saturation;
mod scripted;
mod series;
mod sharing;
mod standing;
mod standing_sagas;
mod steered;
mod stop;
mod suspects;
mod telemetry;
mod told;
mod transacted;
mod versions;
mod waited;
mod window;
