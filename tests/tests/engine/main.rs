//! The laws of the engine, through the public API, over the store in memory: real tasks, real time, no sleeps that
//! a result depends on.

mod barrier;
mod checkpoint;
mod failures;
mod free;
mod head;
mod order;
mod ownership;
mod saturation;
mod scripted;
mod stop;
mod versions;
