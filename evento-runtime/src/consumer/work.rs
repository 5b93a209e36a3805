//! A delivery on its way through an executor: attempts, and the report of how each ended.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::attempt::{AttemptEnd, Caller, Failed};
use super::delivery::{DeliveryNo, REDRIVEN};

use crate::context::{ConsumerScope, HandlerContext, Stop};
use crate::event::StoredEvent;
use crate::executor::Work;

/// What a delivery tells its consumer.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) number: DeliveryNo,
    /// `None`: the executor dropped the work, because its runtime ends. Nothing is known.
    pub(crate) end: Option<AttemptEnd>,
    /// Whether nothing else runs that was begun together with it.
    pub(crate) over: bool,
}

impl Report {
    /// Its handler was not called, while others that were begun together with it go on.
    pub(crate) const fn not_begun(number: DeliveryNo) -> Self {
        Self { number, end: Some(Err(Failed::NotBegun)), over: false }
    }
}

/// Keeps the permit of a delivery between its attempts and until its dead letter is stored (`OnStart`). Dropping it lets
/// the permit go.
pub(crate) type Hold = oneshot::Sender<Next>;

/// The attempt to make next.
#[derive(Debug)]
pub(crate) struct Next {
    pub(crate) attempt: u32,
    /// Its own, if its time is limited.
    pub(crate) stop: Option<Stop>,
    /// Fires when it is to be dropped.
    pub(crate) abandon: Option<oneshot::Receiver<()>>,
    /// Under the same permit the one after it comes from here.
    pub(crate) held: Option<oneshot::Receiver<Next>>,
}

impl Next {
    /// Has the permit kept after the attempt.
    pub(crate) fn hold(&mut self) -> Hold {
        let (hold, held) = oneshot::channel();
        self.held = Some(held);
        hold
    }
}

/// One delivery that was admitted.
pub(crate) struct Job {
    pub(crate) event: Arc<StoredEvent>,
    pub(crate) scope: Arc<ConsumerScope>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) first: Next,
    pub(crate) reports: Reports,
    /// Counted until it ends, also by a loop that died meanwhile.
    pub(crate) _running: TaskTrackerToken,
}

impl Job {
    pub(crate) fn into_work(self) -> Work {
        let blocking = self.caller.is_blocking();
        Work { future: Box::pin(self.run()), blocking }
    }

    async fn run(mut self) {
        let mut next = self.first;
        loop {
            let (scope, event) = (Arc::clone(&self.scope), Arc::clone(&self.event));
            let redriven = self.reports.number >= REDRIVEN;
            let context =
                HandlerContext::of_delivery(scope, event, next.attempt, redriven).limited(next.stop, next.abandon);
            let end = self.caller.call(context).await;
            self.reports.send(end).await;
            let Some(held) = next.held else { return };
            let Ok(further) = held.await else { return };
            self.reports.armed = true;
            next = further;
        }
    }
}

/// The way back to the consumer. Work that is dropped instead of run to its end reports that, begun or not.
pub(crate) struct Reports {
    number: DeliveryNo,
    to: mpsc::Sender<Vec<Report>>,
    armed: bool,
}

impl Reports {
    pub(crate) const fn new(number: DeliveryNo, to: mpsc::Sender<Vec<Report>>) -> Self {
        Self { number, to, armed: true }
    }

    async fn send(&mut self, end: AttemptEnd) {
        self.armed = false;
        // The consumer is gone only after an abandoned stop: then nobody records an outcome.
        let _ = self.to.send(vec![Report { number: self.number, end: Some(end), over: true }]).await;
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        if self.armed {
            // A full channel means that the consumer is not reading any more; it finds the delivery open.
            let _ = self.to.try_send(vec![Report { number: self.number, end: None, over: true }]);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use bytes::Bytes;
    use tokio::sync::watch;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::clock::SystemClock;
    use crate::component::{Invoke, Kind};
    use crate::consumer::engine::ConsumerEngine;
    use crate::consumer::plan::{ConsumerPlan, HandlerPlan};
    use crate::deps::Deps;
    use crate::event::{EventId, Position, Timestamp};
    use crate::identity::{ConsumerId, ContextPattern};
    use crate::policy::{CheckpointMode, DeadLetterPolicy, LoopSettings, RetryPolicy, StartFrom};
    use crate::store::Lease;

    pub(crate) fn event(position: u64) -> Arc<StoredEvent> {
        Arc::new(StoredEvent {
            position: Position::from_u64(position),
            id: EventId::generate(),
            name: "Made".into(),
            context: "default".into(),
            key: None,
            version: None,
            recorded_at: Timestamp::default(),
            content_type: crate::event::JSON.into(),
            payload: Bytes::from_static(b"{}"),
            metadata: Bytes::new(),
        })
    }

    pub(crate) fn scope() -> Arc<ConsumerScope> {
        let consumer =
            ConsumerId { bundle: "b".into(), component: "C".into(), version: 1, context: ContextPattern::All };
        let stop = Stop::new(watch::channel(false).1);
        Arc::new(ConsumerScope::new(Arc::new(consumer), Arc::new(()), Deps::default(), stop))
    }

    pub(crate) fn caller(invoke: Invoke) -> Caller {
        let handler = HandlerPlan {
            label: "T::h".into(),
            method: "h",
            names: None,
            invoke,
            saga: None,
            key: None,
            transactions: None,
            timeout: None,
            batch: None,
            retry: RetryPolicy::default(),
            executor: None,
        };
        let scope = scope();
        let plan = ConsumerPlan {
            id: Arc::clone(&scope.consumer),
            component: Arc::clone(&scope.component),
            engine: Arc::new(Plain),
            start: StartFrom::Beginning,
            dispatch: Arc::default(),
            mode: CheckpointMode::Watermark,
            dead_letter: DeadLetterPolicy::Skip,
            redrive_transient: None,
            wait_for_head: false,
            on_start: None,
            on_reset: None,
            handlers: vec![handler.clone()],
            settings: LoopSettings::default(),
        };
        Caller::new(&plan, &handler, &lease(), Arc::new([]), Arc::new(SystemClock))
    }

    pub(crate) fn lease() -> Lease {
        Lease {
            consumer: (*scope().consumer).clone(),
            owner: crate::identity::OwnerId::generate(),
            epoch: crate::identity::Epoch(1),
        }
    }

    struct Plain;

    impl ConsumerEngine for Plain {
        fn kind(&self) -> Kind {
            Kind::Projector
        }
    }

    pub(crate) fn context() -> HandlerContext {
        HandlerContext::new(scope(), event(1), 1)
    }

    #[tokio::test]
    async fn dropped_work_is_reported_as_unknown_whether_or_not_it_had_begun() {
        for begun in [true, false] {
            let (reports, mut received) = mpsc::channel(1);
            let job = Job {
                event: event(1),
                scope: scope(),
                caller: Arc::new(caller(Invoke::Async(|_| Box::pin(std::future::pending())))),
                first: Next { attempt: 1, stop: None, abandon: None, held: None },
                reports: Reports::new(3, reports),
                _running: TaskTracker::new().token(),
            };
            let mut work = job.into_work();
            if begun {
                assert!(futures_util::poll!(&mut work.future).is_pending());
            }
            drop(work);
            let reports = received.recv().await.unwrap();
            assert!(matches!(reports[..], [Report { number: 3, end: None, over: true }]));
        }
    }
}
