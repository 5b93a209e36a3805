//! What a consumer shows of itself to other instances: its status without what belongs to this process.

use serde::{Deserialize, Serialize};

use super::ConsumerStatus;

/// Live figures of a consumer, by the instance that owns it. A figure that another version does not know is 0.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ConsumerFigures {
    /// Component name.
    pub component: String,
    /// Component version.
    pub version: u32,
    /// The pattern of its contexts.
    pub context: String,
    /// The ownership; 0 while another instance has it.
    pub epoch: u64,
    /// Why it does not move; `None`: it moves.
    pub reason: Option<String>,
    /// Everything up to here is settled.
    pub watermark: Option<String>,
    /// The highest position started.
    pub reach: Option<String>,
    /// Handlers that run.
    pub in_flight: usize,
    /// Deliveries read and not settled.
    pub open: usize,
    /// Deliveries that would run again if the process died now.
    pub exposure: usize,
    /// Keys that are parked.
    pub parked_keys: usize,
    /// Events in their queues.
    pub parked_events: usize,
    /// Handlers begun since the process began.
    pub started: u64,
    /// Deliveries settled.
    pub settled: u64,
    /// Of those: skipped.
    pub skipped: u64,
    /// Of those: dead letters stored.
    pub dead_lettered: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Of those: for want of something outside.
    pub transient: u64,
    /// Waits for a permit that ended without one.
    pub rejected: u64,
    /// Checkpoints stored.
    pub checkpoints: u64,
}

impl ConsumerStatus {
    /// As it is shown to other instances.
    #[must_use]
    pub fn figures(&self) -> ConsumerFigures {
        let counters = &self.counters;
        ConsumerFigures {
            component: self.consumer.component.to_string(),
            version: self.consumer.version,
            context: self.consumer.context.to_string(),
            epoch: self.epoch.0,
            reason: self.reason.as_ref().map(ToString::to_string),
            watermark: self.watermark.as_ref().map(crate::event::Position::to_text),
            reach: self.reach.as_ref().map(crate::event::Position::to_text),
            in_flight: self.in_flight,
            open: self.open,
            exposure: self.exposure,
            parked_keys: self.parked_keys,
            parked_events: self.parked_events,
            started: counters.started,
            settled: counters.settled,
            skipped: counters.skipped,
            dead_lettered: counters.dead_lettered,
            failed: counters.failed,
            transient: counters.transient,
            rejected: counters.rejected,
            checkpoints: counters.checkpoints,
        }
    }
}
