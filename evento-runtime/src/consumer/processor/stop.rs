//! The end of an ownership: drain, store, report.

use super::{ConsumerProcessor, Ended, Stage, StopPhase};
use crate::consumer::settle::Settled;

impl ConsumerProcessor {
    pub(super) fn note_phase(&mut self, phase: StopPhase) {
        if phase > self.phase {
            self.phase = phase;
            self.quiet();
        }
    }

    /// Nothing more begins. What waited for another attempt stays open: it is delivered again.
    pub(super) fn quiet(&mut self) {
        self.groups.gate.set_open(false);
        self.handlers_stop.send_replace(true);
        self.stop_limited();
        self.admissions.clear();
        self.asked.fill(0);
        self.retries.clear();
        for (_, delivery) in self.deliveries.iter_mut().filter(|(_, delivery)| delivery.stage == Stage::Waiting) {
            delivery.stage = Stage::Left;
            delivery.hold = None;
        }
        self.release_claims();
    }

    /// How it ended, once it has.
    pub(super) async fn ended(&mut self) -> Option<Ended> {
        match self.phase {
            StopPhase::Run if !self.lost && self.seek.is_none() => None,
            StopPhase::Abandon => Some(self.abandon().await),
            _ if self.in_flight > 0 => None,
            _ if self.lost => {
                // A write under way is refused by its epoch; it is waited for so that nothing outlives the ownership.
                if self.settler.is_writing() {
                    let _ = self.settler.finished().await;
                }
                // Anything else is open in what is stored, or settled by whoever owns it by then.
                Some(Ended::Lost { left: self.log.covered_by_start() })
            }
            _ if self.settler.is_writing() || self.has_final_news() => None,
            StopPhase::Run => {
                let (to, keep, reply) = self.seek.take()?;
                Some(Ended::Seek { to, keep, watermark: self.log.watermark().cloned(), reply })
            }
            _ => Some(Ended::Stopped { stragglers: Vec::new() }),
        }
    }

    /// The deadline is over. What still runs goes on without us; it stays open, so another ownership runs it again.
    async fn abandon(&mut self) -> Ended {
        let mut stragglers: Vec<String> = self
            .deliveries
            .values()
            // Of a group the first may have ended, while one that joined it runs.
            .filter(|delivery| matches!(delivery.stage, Stage::Running | Stage::Joined))
            .map(|delivery| format!("{} at {}", self.callers[delivery.handler].label(), delivery.event.position))
            .collect();
        if let Some(inline) = self.inline.take() {
            // Dropping it could lose what it has written so far.
            self.tasks.spawn(inline.future);
        }
        // What a group stores with its effects may stand by now, or later: an older checkpoint may not follow it.
        let covering = self.groups.covering;
        while !self.lost && !covering && (self.settler.is_writing() || self.has_final_news()) {
            if !self.settler.is_writing() {
                self.begin_final_write();
            }
            match self.settler.finished().await {
                Settled::Stored { mark, deliveries, ends, .. } => {
                    self.end_due &= !ends;
                    self.stored(mark, deliveries);
                }
                Settled::Failed(_) | Settled::Fenced(_) if self.only_end => break,
                // No time is left to try again. Whoever stopped has to know.
                Settled::Failed(error) | Settled::Fenced(error) => {
                    stragglers.push(format!("its last checkpoint was not stored: {error}"));
                    break;
                }
            }
        }
        Ended::Stopped { stragglers }
    }
}
