//! Claims: an observer's event is claimed, under a permit, before its handler starts; the claim is renewed while it is
//! open, and says in the end that it was handled, or that nobody has to wait for it.

use tokio::time::Instant;

use super::delivery::Claim;
use super::suspecting::Recording;
use super::{ConsumerProcessor, Lane, Stage};
use crate::consumer::delivery::{DeliveryNo, REDRIVEN};
use crate::event::StoredEvent;
use crate::executor::Permit;
use crate::store::ClaimState;

impl ConsumerProcessor {
    /// Settles what was handled before.
    pub(super) fn pass(&mut self, number: DeliveryNo, event: &StoredEvent) {
        self.log.settle(number);
        self.plan.dispatch.tell(|telemetry| telemetry.settled(&self.plan.id, event));
        self.counters.settled += 1;
        self.counters.skipped += 1;
    }

    /// Another process may be at it; what this one had begun has ended with its ownership.
    pub(super) fn note_claim(&mut self, number: DeliveryNo, claim: Option<&ClaimState>) {
        let (Some(ClaimState::Held { owner, remaining }), Some(claiming)) = (claim, &self.claiming) else { return };
        if *owner == claiming.owner || remaining.is_zero() {
            return;
        }
        if let Some(delivery) = self.deliveries.get_mut(number) {
            tracing::debug!(consumer = %self.plan.id, position = %delivery.event.position, %owner, ?remaining,
                "event is claimed by another process; it waits until that claim expires");
            delivery.held_until = Some(Instant::now() + *remaining);
        }
    }

    /// Has it wait, if another's claim has not expired. `true`: it does.
    pub(super) fn waits_for_claim(&mut self, number: DeliveryNo) -> bool {
        let held = self.deliveries.get(number).and_then(|delivery| delivery.held_until);
        let held = held.filter(|until| *until > Instant::now());
        let Some(until) = held else { return false };
        self.leave_pending(number);
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.stage = Stage::Waiting;
        }
        self.retries.insert((until, number));
        true
    }

    /// Has it claimed, or its attempt recorded, if it must be and is not. `Ok`: it may start.
    pub(super) fn claim_first(
        &mut self,
        number: DeliveryNo,
        permit: Option<Permit>,
    ) -> Result<Option<Permit>, Claimed> {
        let recorded = match self.record_first(number) {
            Recording::Done => true,
            Recording::UnderWay => false,
            Recording::NotItsTurn => return Err(Claimed),
        };
        let claims = self.claiming.is_some() && number < REDRIVEN;
        let Some(delivery) = self.deliveries.get_mut(number) else { return Ok(permit) };
        let claims = claims && delivery.claim == Claim::Free;
        if recorded && !claims {
            return Ok(permit);
        }
        if claims {
            delivery.claim = Claim::Asked;
            self.settler.claim(number, delivery.event.id);
        }
        self.leave_pending(number);
        if let Some(delivery) = self.deliveries.get_mut(number) {
            delivery.stage = Stage::Claiming;
            delivery.admitted = permit;
            // What has begun before is in the window already.
            self.claimed_not_begun += usize::from(delivery.began.is_none());
        }
        Err(Claimed)
    }

    /// Its claim is stored.
    pub(super) fn claim_stored(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(number).filter(|delivery| delivery.claim == Claim::Asked) {
            delivery.claim = Claim::Held;
        }
        self.begin_stored(number);
    }

    /// What had to be stored first is stored: it starts, unless the loop must not begin anything any more.
    pub(super) fn begin_stored(&mut self, number: DeliveryNo) {
        let may_begin = self.may_begin() && self.lease.is_valid();
        let Some(delivery) = self.deliveries.get_mut(number) else { return };
        if delivery.stage != Stage::Claiming || delivery.claim == Claim::Asked || self.suspects.is_asked(number) {
            return;
        }
        self.claimed_not_begun -= usize::from(delivery.began.is_none());
        let permit = delivery.admitted.take();
        if delivery.skip {
            return self.settle_skipped(number);
        }
        if !may_begin {
            delivery.stage = Stage::Waiting;
            self.retries.insert((Instant::now(), number));
            return;
        }
        let handler = delivery.handler;
        match (self.lanes[handler], permit) {
            (Lane::Executor(lane), Some(permit)) => self.run_on(lane, number, permit),
            (Lane::Executor(lane), None) => self.dispatch.make_ready(number, lane),
            (Lane::Inline, _) => self.begin_inline(number),
        }
    }

    /// Nothing more begins: what is claimed and does not run is free for whoever comes next.
    pub(super) fn release_claims(&mut self) {
        for (number, delivery) in self.deliveries.iter_mut() {
            if delivery.stage == Stage::Claiming {
                delivery.stage = Stage::Left;
                delivery.admitted = None;
                self.claimed_not_begun -= usize::from(delivery.began.is_none());
            }
            if delivery.stage != Stage::Running && delivery.claim != Claim::Free {
                delivery.claim = Claim::Free;
                self.settler.release(number, delivery.event.id);
            }
        }
    }

    /// Its handler has ended without an outcome.
    pub(super) fn release_claim(&mut self, number: DeliveryNo) {
        if let Some(delivery) = self.deliveries.get_mut(number).filter(|delivery| delivery.claim != Claim::Free) {
            delivery.claim = Claim::Free;
            self.settler.release(number, delivery.event.id);
        }
    }

    /// What is open and claimed stays so, however long it takes.
    pub(super) fn renew_claims(&mut self, now: Instant) {
        let Some(claiming) = &self.claiming else { return };
        if now < self.claims_due {
            return;
        }
        self.claims_due = now + claiming.expiry / 3;
        for (number, delivery) in self.deliveries.iter().filter(|(_, delivery)| delivery.claim == Claim::Held) {
            self.settler.claim(number, delivery.event.id);
        }
    }
}

/// It does not start now.
pub(super) struct Claimed;
