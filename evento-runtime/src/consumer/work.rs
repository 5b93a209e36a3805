//! A delivery on its way through an executor: attempts, and the report of how each ended.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::attempt::{AttemptEnd, Caller};
use super::delivery::{DeliveryNo, REDRIVEN};
use crate::context::{ConsumerScope, HandlerContext};
use crate::event::StoredEvent;
use crate::executor::Work;

/// What a delivery tells its consumer.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) number: DeliveryNo,
    /// `None`: the executor dropped the work, because its runtime ends. Nothing is known.
    pub(crate) end: Option<AttemptEnd>,
}

/// Keeps the permit of a delivery between its attempts and until its dead letter is stored (`OnStart`). A number
/// sent is the attempt to make next; dropping it lets the permit go.
pub(crate) type Hold = mpsc::Sender<u32>;

/// One delivery that was admitted.
pub(crate) struct Job {
    pub(crate) number: DeliveryNo,
    pub(crate) event: Arc<StoredEvent>,
    pub(crate) scope: Arc<ConsumerScope>,
    pub(crate) caller: Arc<Caller>,
    pub(crate) attempt: u32,
    pub(crate) reports: mpsc::Sender<Report>,
    /// Counted until it ends, also by a loop that died meanwhile.
    pub(crate) _running: TaskTrackerToken,
}

impl Job {
    /// With `held`, further attempts run under the same permit.
    pub(crate) fn into_work(self, held: Option<mpsc::Receiver<u32>>) -> Work {
        let blocking = self.caller.is_blocking();
        Work { future: Box::pin(self.run(held)), blocking }
    }

    async fn run(self, mut held: Option<mpsc::Receiver<u32>>) {
        let mut unreported = Unreported { reports: &self.reports, number: self.number, armed: true };
        let mut attempt = self.attempt;
        loop {
            let redriven = self.number >= REDRIVEN;
            let context =
                HandlerContext::of_delivery(Arc::clone(&self.scope), Arc::clone(&self.event), attempt, redriven);
            let end = self.caller.call(context).await;
            unreported.armed = false;
            // The consumer is gone only after an abandoned stop: then nobody records an outcome.
            let _ = self.reports.send(Report { number: self.number, end: Some(end) }).await;
            let Some(next) = &mut held else { return };
            let Some(number) = next.recv().await else { return };
            unreported.armed = true;
            attempt = number;
        }
    }
}

/// Reports work that was dropped instead of run to its end.
struct Unreported<'a> {
    reports: &'a mpsc::Sender<Report>,
    number: DeliveryNo,
    armed: bool,
}

impl Drop for Unreported<'_> {
    fn drop(&mut self) {
        if self.armed {
            // A full channel means that the consumer is not reading any more; it finds the delivery open.
            let _ = self.reports.try_send(Report { number: self.number, end: None });
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
    use crate::context::Stop;
    use crate::deps::Deps;
    use crate::event::{EventId, Position, Timestamp};
    use crate::identity::{ConsumerId, ContextPattern};
    use crate::policy::{CheckpointMode, LoopSettings, RetryPolicy, StartFrom};

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
            retry: RetryPolicy::default(),
            executor: None,
        };
        let scope = scope();
        let plan = ConsumerPlan {
            id: Arc::clone(&scope.consumer),
            component: Arc::clone(&scope.component),
            engine: Arc::new(Plain),
            start: StartFrom::Beginning,
            interceptors: Arc::new([]),
            mode: CheckpointMode::Watermark,
            wait_for_head: false,
            on_start: None,
            on_reset: None,
            handlers: vec![handler.clone()],
            settings: LoopSettings::default(),
        };
        Caller::new(&plan, &handler, Arc::new([]), Arc::new(SystemClock))
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
    async fn dropped_work_is_reported_as_unknown() {
        let (reports, mut received) = mpsc::channel(1);
        let caller = Arc::new(caller(Invoke::Async(|_| Box::pin(std::future::pending()))));
        let job = Job {
            number: 3,
            event: event(1),
            scope: scope(),
            caller,
            attempt: 1,
            reports,
            _running: TaskTracker::new().token(),
        };
        let mut work = job.into_work(None);
        assert!(futures_util::poll!(&mut work.future).is_pending());
        drop(work);
        let report = received.recv().await.unwrap();
        assert_eq!(report.number, 3);
        assert!(report.end.is_none());
    }
}
