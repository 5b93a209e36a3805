//! Deliveries that one task handles one after the other, under one permit, as long as none of them waits for anything:
//! a task for each would cost more than they do.
//!
//! Whatever such a series holds is given back as soon as a handler waits, or takes its time: nothing stands behind it
//! that could run elsewhere.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::task_tracker::TaskTrackerToken;

use super::attempt::{AttemptEnd, Caller};
use super::delivery::DeliveryNo;
use super::group::{Gate, GroupSize};
use super::work::Report;
use crate::context::{ConsumerScope, HandlerContext};
use crate::event::StoredEvent;
use crate::executor::Work;

/// The most deliveries of a series, and the time after which no further one begins: what may delay one of them that
/// could have begun at once on another permit.
pub(crate) const LONGEST: (usize, Duration) = (64, Duration::from_micros(100));

/// One delivery of a series.
pub(crate) struct Member {
    pub(crate) number: DeliveryNo,
    pub(crate) event: Arc<StoredEvent>,
    pub(crate) caller: Arc<Caller>,
}

/// Deliveries on their first attempts.
pub(crate) struct Series {
    pub(crate) scope: Arc<ConsumerScope>,
    /// How many go together well.
    pub(crate) size: Arc<GroupSize>,
    /// Closed once nothing more may begin.
    pub(crate) gate: Arc<Gate>,
    pub(crate) members: Members,
    /// Counted until it ends, also by a loop that died meanwhile.
    pub(crate) _running: TaskTrackerToken,
}

impl Series {
    pub(crate) fn into_work(self, blocking: bool) -> Work {
        Work { future: Box::pin(self.run()), blocking }
    }

    async fn run(mut self) {
        let began = Instant::now();
        let mut handled = 0;
        let mut waited = false;
        while let Some(Member { number, event, caller }) = self.members.begin() {
            let context = HandlerContext::of_delivery(Arc::clone(&self.scope), event, 1, false);
            let mut call = pin!(caller.call(context));
            let (members, size) = (&mut self.members, &self.size);
            let end = poll_fn(|cx| {
                let polled = call.as_mut().poll(cx);
                if polled.is_pending() && !waited {
                    waited = true;
                    size.halve(1);
                    members.give_back();
                }
                polled
            });
            let end = end.await;
            handled += 1;
            self.members.ended(number, end);
            if self.members.are_waiting() && (self.size.is_over(began.elapsed()) || !self.gate.is_open()) {
                self.members.give_back();
            }
        }
        if !waited {
            self.size.note(handled, began.elapsed());
        }
        self.members.over().await;
    }
}

/// The deliveries of a series, and what there is to tell of them. If they are dropped instead of run to their end, that
/// is told.
pub(crate) struct Members {
    /// The next one last.
    waiting: Vec<Member>,
    running: Option<DeliveryNo>,
    /// Not told yet.
    ended: Vec<Report>,
    to: mpsc::Sender<Vec<Report>>,
    over: bool,
}

impl Members {
    /// In the order in which they begin.
    pub(crate) fn new(mut members: Vec<Member>, to: mpsc::Sender<Vec<Report>>) -> Self {
        let ended = Vec::with_capacity(members.len());
        members.reverse();
        Self { waiting: members, running: None, ended, to, over: false }
    }

    /// The next one.
    fn begin(&mut self) -> Option<Member> {
        let next = self.waiting.pop()?;
        self.running = Some(next.number);
        Some(next)
    }

    fn ended(&mut self, number: DeliveryNo, end: AttemptEnd) {
        self.running = None;
        self.ended.push(Report { number, end: Some(end), over: false });
    }

    const fn are_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Nothing more of it begins here.
    fn give_back(&mut self) {
        let waiting = std::mem::take(&mut self.waiting).into_iter().rev();
        self.ended.extend(waiting.map(|member| Report::not_begun(member.number)));
        if self.running.is_some() && !self.ended.is_empty() {
            // There is room for a report of everything that was begun. Without the consumer nobody records an outcome.
            let _ = self.to.try_send(std::mem::take(&mut self.ended));
        }
    }

    /// All have ended.
    async fn over(&mut self) {
        self.over = true;
        let mut ended = std::mem::take(&mut self.ended);
        if let Some(last) = ended.last_mut() {
            last.over = true;
        }
        // The consumer is gone only after an abandoned stop: then nobody records an outcome.
        let _ = self.to.send(ended).await;
    }
}

impl Drop for Members {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        // Nothing is known of the one that ran, or would have been the first to; the others wait for it, or for a turn
        // of their own.
        let first = self.running.take().or_else(|| self.waiting.pop().map(|first| first.number));
        self.ended.extend(first.map(|number| Report { number, end: None, over: false }));
        let waiting = std::mem::take(&mut self.waiting).into_iter().rev();
        self.ended.extend(waiting.map(|member| Report::not_begun(member.number)));
        if let Some(last) = self.ended.last_mut() {
            last.over = true;
        }
        // A full channel means that the consumer is not reading any more; it finds the deliveries open.
        let _ = self.to.try_send(std::mem::take(&mut self.ended));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tokio::sync::Notify;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::component::Invoke;
    use crate::consumer::attempt::{Done, Failed};
    use crate::consumer::work::tests::{caller, event, scope};
    use crate::context::HandlerContext;
    use crate::outcome::Flow;

    static RELEASED: Notify = Notify::const_new();

    /// Of each number a handler of this kind.
    fn series(kinds: &[Invoke]) -> (Series, mpsc::Receiver<Vec<Report>>) {
        let (to, reports) = mpsc::channel(kinds.len());
        let member =
            |(number, kind): (u64, &Invoke)| Member { number, event: event(number), caller: Arc::new(caller(*kind)) };
        let members = Members::new((1..).zip(kinds).map(member).collect(), to);
        let size = Arc::new(GroupSize::timed(64, Duration::from_secs(60)));
        let gate = Arc::new(Gate::default());
        gate.set_open(true);
        (Series { scope: scope(), size, gate, members, _running: TaskTracker::new().token() }, reports)
    }

    fn at_once() -> Invoke {
        Invoke::Async(|_: HandlerContext| async { Ok(Flow::Continue) }.boxed())
    }

    fn waits() -> Invoke {
        Invoke::Async(|_: HandlerContext| async { RELEASED.notified().map(|()| Ok(Flow::Continue)).await }.boxed())
    }

    /// Number and how it ended, and whether that was all.
    fn told(reports: Vec<Report>) -> (Vec<(DeliveryNo, &'static str)>, bool) {
        let over = reports.last().is_some_and(|report| report.over);
        assert!(reports.iter().rev().skip(1).all(|report| !report.over), "one of them was the last");
        let each = reports.into_iter().map(|report| {
            let end = match report.end {
                Some(Ok(Done { .. })) => "handled",
                Some(Err(Failed::NotBegun)) => "not begun",
                Some(Err(_)) => "failed",
                None => "unknown",
            };
            (report.number, end)
        });
        (each.collect(), over)
    }

    #[tokio::test]
    async fn what_takes_no_time_is_told_of_together() {
        let (series, mut reports) = series(&[at_once(), at_once(), at_once()]);
        let size = Arc::clone(&series.size);
        let before = size.now();
        series.run().await;
        assert_eq!(told(reports.recv().await.unwrap()), (vec![(1, "handled"), (2, "handled"), (3, "handled")], true));
        assert!(size.now() >= before);
    }

    #[tokio::test]
    async fn one_that_waits_gives_the_others_back_at_once() {
        let (series, mut reports) = series(&[at_once(), waits(), at_once(), at_once()]);
        let size = Arc::clone(&series.size);
        let mut work = series.into_work(false);
        assert!(futures_util::poll!(&mut work.future).is_pending());
        let first = reports.try_recv().unwrap();
        assert_eq!(told(first), (vec![(1, "handled"), (3, "not begun"), (4, "not begun")], false));
        assert_eq!(size.now(), 1, "it is known to wait");
        RELEASED.notify_one();
        work.future.await;
        assert_eq!(told(reports.recv().await.unwrap()), (vec![(2, "handled")], true));
    }

    #[tokio::test]
    async fn nothing_begins_once_the_gate_is_closed() {
        let (series, mut reports) = series(&[at_once(), at_once(), at_once()]);
        series.gate.set_open(false);
        series.run().await;
        // The first one's start was for the consumer to decide.
        assert_eq!(
            told(reports.recv().await.unwrap()),
            (vec![(1, "handled"), (2, "not begun"), (3, "not begun")], true)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_begins_once_its_time_is_over() {
        let slow = Invoke::Async(|_| {
            async {
                tokio::time::advance(Duration::from_secs(61)).now_or_never();
                Ok(Flow::Continue)
            }
            .boxed()
        });
        let (series, mut reports) = series(&[slow, at_once(), at_once()]);
        series.run().await;
        assert_eq!(
            told(reports.recv().await.unwrap()),
            (vec![(1, "handled"), (2, "not begun"), (3, "not begun")], true)
        );
    }

    #[tokio::test]
    async fn what_is_dropped_is_told_as_far_as_it_is_known() {
        let (not_begun, mut reports) = series(&[at_once(), at_once()]);
        drop(not_begun.into_work(false));
        assert_eq!(told(reports.recv().await.unwrap()), (vec![(1, "unknown"), (2, "not begun")], true));
        let (series, mut reports) = series(&[waits(), at_once()]);
        let mut work = series.into_work(false);
        assert!(futures_util::poll!(&mut work.future).is_pending());
        drop(work);
        assert_eq!(told(reports.recv().await.unwrap()), (vec![(2, "not begun")], false));
        assert_eq!(told(reports.recv().await.unwrap()), (vec![(1, "unknown")], true));
    }
}
