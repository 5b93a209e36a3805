//! One call of a handler: panics caught, time watched, the error classified and put into words.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use tracing::Instrument as _;

use super::chain::chain;
use super::engine::{BindError, Binding, Bound};
use super::plan::{ConsumerPlan, HandlerPlan};
use super::standing::Standing;
use super::telemetry::{AttemptInfo, AttemptOutcome, DispatchContext};
use super::transaction::Transactions;
use crate::clock::{self, SharedClock};
use crate::cluster::Validity;
use crate::component::{Invoke, Kind};
use crate::context::HandlerContext;
use crate::error::{BoxError, StoreError, StoreErrorKind};
use crate::identity::ConsumerId;
use crate::interceptor::Invocation;
use crate::outcome::{Classifier, ErrorClass, Flow, HandlerError, HandlerResult, classify};
use crate::policy::HandlerTimeout;
use crate::source::PreparedEvent;
use crate::store::{Lease, MAX_ERROR_TEXT, ParkedKey, SagaChange, Timer, error_text};
use crate::task::take_panic;

/// A poll longer than this holds up everything else on its thread.
const SLOW_POLL: Duration = Duration::from_millis(100);

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) struct AttemptError {
    pub(crate) class: ErrorClass,
    /// With its causes.
    pub(crate) text: String,
}

/// Why an event was not handled.
#[derive(Debug)]
pub(crate) enum Failed {
    /// An attempt failed.
    Attempt(AttemptError),
    /// The framework's own work did: no attempt.
    Store(StoreError),
    /// What it belongs to stands: it queues behind that, and its handler was not called.
    Behind(ParkedKey),
    /// Its handler was not called, or what it did was undone for the sake of others: its turn comes again.
    NotBegun,
}

/// What a handler leaves to be stored with the checkpoint that passes its event, or before it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects {
    pub(crate) emitted: Vec<PreparedEvent>,
    pub(crate) scheduled: Vec<Timer>,
    /// Boxed: most attempts have none, and all of them are passed on.
    pub(crate) saga: Option<Box<SagaChange>>,
}

impl Effects {
    pub(crate) const fn is_empty(&self) -> bool {
        self.emitted.is_empty() && self.scheduled.is_empty() && self.saga.is_none()
    }
}

/// An attempt that did not fail.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) flow: Flow,
    pub(crate) effects: Effects,
    pub(crate) committed: Committed,
}

/// Whether all that an attempt left is stored already, and that the event was handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Committed {
    /// Nothing of it.
    No,
    /// With a row that says so until a checkpoint covers the event.
    Noted,
    /// With the checkpoint that covers the event.
    Covered,
}

/// How an attempt ended.
pub(crate) type AttemptEnd = Result<Done, Failed>;

/// Calls one handler.
pub(crate) struct Caller {
    consumer: Arc<ConsumerId>,
    kind: Kind,
    executor: Option<String>,
    invoke: Invoke,
    label: String,
    binding: Option<Arc<dyn Binding>>,
    standing: Option<Arc<Standing>>,
    transactions: Option<Transactions>,
    timeout: Option<HandlerTimeout>,
    /// Whether it takes many events at once.
    is_batch: bool,
    dispatch: Arc<DispatchContext>,
    /// Of the ownership it calls under.
    owned: Option<Validity>,
    classifiers: Arc<[Classifier]>,
    clock: SharedClock,
    warned: AtomicBool,
}

impl Caller {
    pub(crate) fn new(
        plan: &ConsumerPlan,
        handler: &HandlerPlan,
        lease: &Lease,
        classifiers: Arc<[Classifier]>,
        clock: SharedClock,
    ) -> Self {
        Self {
            consumer: Arc::clone(&plan.id),
            kind: plan.engine.kind(),
            executor: handler.executor.as_ref().map(|executor| executor.name().to_owned()),
            invoke: handler.invoke,
            label: handler.label.clone(),
            binding: plan.engine.binding(handler),
            standing: None,
            transactions: handler.transactions.clone().map(|store| Transactions { store, lease: lease.clone() }),
            timeout: handler.timeout,
            is_batch: handler.batch.is_some(),
            dispatch: Arc::clone(&plan.dispatch),
            owned: None,
            classifiers,
            clock,
            warned: AtomicBool::new(false),
        }
    }

    /// With what stands of the consumer.
    pub(crate) fn with_standing(mut self, standing: Option<Arc<Standing>>) -> Self {
        self.standing = standing;
        self
    }

    /// Nothing begins once the ownership is over.
    pub(crate) fn owning(self, owned: Validity) -> Self {
        Self { owned: Some(owned), ..self }
    }

    pub(crate) const fn is_blocking(&self) -> bool {
        matches!(self.invoke, Invoke::Blocking(_))
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    #[cfg(test)]
    pub(super) fn set_transactions(&mut self, store: Arc<dyn crate::store::TransactionStore>, lease: Lease) {
        self.transactions = Some(Transactions { store, lease });
    }

    /// What its attempts are made in, if they are made in transactions.
    pub(super) const fn transactions(&self) -> Option<&Transactions> {
        self.transactions.as_ref()
    }

    /// One attempt. A plain `fn` handler runs within the poll: the caller chose a thread that may block.
    pub(crate) async fn call(&self, context: HandlerContext) -> AttemptEnd {
        let watched = self.watch(&context);
        let end = self.attempt(context).instrument(watched.span).await;
        self.watched(watched.told.as_ref(), outcome(&end));
        end
    }

    /// A span for an attempt that begins now, and the telemetry's knowledge of it.
    pub(super) fn watch(&self, context: &HandlerContext) -> Watched {
        let span = self.dispatch.span(&self.info(context));
        let told = self.dispatch.telemetry.is_some().then(|| (context.clone(), Instant::now()));
        if told.is_some() {
            self.dispatch.tell(|telemetry| telemetry.attempt_started(&self.info(context)));
        }
        Watched { span, told }
    }

    /// The attempt has ended.
    pub(super) fn watched(&self, told: Option<&(HandlerContext, Instant)>, outcome: AttemptOutcome) {
        if let Some((context, began)) = told {
            let took = began.elapsed();
            self.dispatch.tell(|telemetry| telemetry.attempt_ended(&self.info(context), took, outcome));
        }
    }

    fn info<'a>(&'a self, context: &'a HandlerContext) -> AttemptInfo<'a> {
        AttemptInfo {
            consumer: &self.consumer,
            kind: self.kind,
            handler: &self.label,
            executor: self.executor.as_deref(),
            event: context.event(),
            events: context.events().len(),
            attempt: context.attempt(),
            redriven: context.is_redriven(),
        }
    }

    async fn attempt(&self, context: HandlerContext) -> AttemptEnd {
        if let Some(binding) = &self.binding
            && !self.bind(binding.as_ref(), &context).await?
        {
            return Ok(Done { flow: Flow::Skip, effects: Effects::default(), committed: Committed::No });
        }
        if self.binding.is_some() {
            self.still_begins(&context)?;
        }
        if let Some(within) = &self.transactions {
            return self.call_within(within, context).await;
        }
        let left = context.clone();
        match self.run_limited(context).await {
            Some(Ok(Ok(flow))) => self.done(&left, flow).await,
            Some(Ok(Err(error))) => Err(Failed::Attempt(self.explain(error))),
            Some(Err(panic)) => Err(Failed::Attempt(panicked(panic))),
            None => Err(Failed::Attempt(self.abandoned(&left))),
        }
    }

    /// Whether the handler may begin, after the store had to be waited for: neither after a stop nor after the end of
    /// the ownership, which may have come meanwhile.
    pub(super) fn still_begins(&self, context: &HandlerContext) -> Result<(), Failed> {
        if !context.stop().is_stopping() && self.owned.as_ref().is_none_or(Validity::is_valid) {
            return Ok(());
        }
        let detail = format!("`{}` stopped, or its ownership ended, before the handler began", context.consumer());
        Err(Failed::Store(StoreError::new(StoreErrorKind::Busy, "store").detail(detail)))
    }

    /// The handler, and nothing of what is stored for it, may be dropped when its time is over. `None`: it was.
    pub(super) async fn run_limited(
        &self,
        context: HandlerContext,
    ) -> Option<Result<HandlerResult, Box<dyn Any + Send>>> {
        let Some(abandon) = context.take_abandon() else { return Some(self.run(context).await) };
        tokio::select! {
            biased;
            result = self.run(context) => Some(result),
            // Without an answer, whoever could have asked for it is gone: then it runs to its end.
            Ok(()) = abandon => None,
        }
    }

    /// The failure of an attempt that was dropped.
    pub(super) fn abandoned(&self, left: &HandlerContext) -> AttemptError {
        tracing::debug!(handler = self.label, position = %left.event().position, "abandoned");
        let after = self.timeout.map(|timeout| timeout.after).unwrap_or_default();
        AttemptError { class: ErrorClass::Ordinary, text: format!("the handler was abandoned after {after:?}") }
    }

    async fn run(&self, context: HandlerContext) -> Result<HandlerResult, Box<dyn Any + Send>> {
        match self.invoke {
            _ if !self.dispatch.interceptors.is_empty() => self.intercepted(context).await,
            Invoke::Async(invoke) => match catch_unwind(AssertUnwindSafe(|| invoke(context))) {
                Ok(future) => Guarded { future: Some(future), caller: self }.await,
                Err(panic) => Err(panic),
            },
            Invoke::Blocking(invoke) => catch_unwind(AssertUnwindSafe(|| invoke(context))),
        }
    }

    pub(super) async fn done(&self, left: &HandlerContext, flow: Flow) -> AttemptEnd {
        let emitted = left.take_emitted(|| self.clock.now());
        let (emitted, scheduled) = emitted.map_err(|error| Failed::Attempt(self.explain(error)))?;
        if self.is_batch && self.transactions.is_none() && !emitted.is_empty() {
            return Err(Failed::Attempt(self.explain(HandlerError::permanent(LooseOutbox).into())));
        }
        let saga = match &self.binding {
            Some(binding) => self.bound(binding.leave(left, &flow)).await?.map(Box::new),
            None if flow == Flow::Complete => return Err(Failed::Attempt(self.explain(no_saga()))),
            None => None,
        };
        Ok(Done { flow, effects: Effects { emitted, scheduled, saga }, committed: Committed::No })
    }

    /// Whether the handler runs.
    async fn bind(&self, binding: &dyn Binding, context: &HandlerContext) -> Result<bool, Failed> {
        let Some(standing) = &self.standing else {
            return Ok(self.bound(binding.bind(context)).await? == Bound::Ready);
        };
        standing.begin();
        let bound = self.bound(binding.bind(context)).await?;
        // What was applied before has its place behind nothing.
        if bound != Bound::Applied
            && let Some(by) = self.bound(async { Ok(binding.ordered_by(context)) }).await?
            && let Some(key) = standing.enter(context, &by)
        {
            return Err(Failed::Behind(key));
        }
        Ok(bound == Bound::Ready)
    }

    /// The engine's part of an attempt, which decodes and prints what is the user's.
    async fn bound<T>(&self, work: impl Future<Output = Result<T, BindError>> + Send) -> Result<T, Failed> {
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(BindError::Store(error))) => Err(Failed::Store(error)),
            Ok(Err(BindError::Attempt(error))) => Err(Failed::Attempt(self.explain(error))),
            Err(panic) => Err(Failed::Attempt(panicked(panic))),
        }
    }

    async fn intercepted(&self, context: HandlerContext) -> Result<HandlerResult, Box<dyn Any + Send>> {
        let call = Invocation::new(context.clone(), self.kind, self.label.clone());
        let invoke = self.invoke;
        let handler = Box::pin(async move {
            match invoke {
                Invoke::Async(invoke) => invoke(context).await,
                Invoke::Blocking(invoke) => invoke(context),
            }
        });
        let future = chain(&self.dispatch.interceptors, &call, handler);
        Guarded { future: Some(future), caller: self }.await
    }

    /// The error's `Display`, `source` and `Drop` are the user's code as well.
    pub(super) fn explain(&self, error: BoxError) -> AttemptError {
        let explained = catch_unwind(AssertUnwindSafe(|| {
            let class = classify(error.as_ref(), &self.classifiers);
            let text = error_text(error.as_ref(), MAX_ERROR_TEXT);
            drop(error);
            AttemptError { class, text }
        }));
        explained.unwrap_or_else(panicked)
    }

    fn note_poll(&self, took: Duration) {
        if took > SLOW_POLL && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                handler = self.label,
                millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                "handler blocks its thread between awaits; make it a plain `fn` on a `pooled` executor, or await more often"
            );
        }
    }
}

/// Who follows an attempt.
pub(super) struct Watched {
    pub(super) span: tracing::Span,
    pub(super) told: Option<(HandlerContext, Instant)>,
}

pub(super) const fn outcome(end: &AttemptEnd) -> AttemptOutcome {
    match end {
        Ok(Done { flow: Flow::Continue | Flow::Complete, .. }) => AttemptOutcome::Handled,
        Ok(Done { flow: Flow::Skip, .. }) => AttemptOutcome::Skipped,
        Ok(Done { flow: Flow::DeadLetter(_), .. }) => AttemptOutcome::Failed(ErrorClass::Permanent),
        Ok(Done { flow: Flow::RetryAfter(_), .. }) => AttemptOutcome::Failed(ErrorClass::Ordinary),
        Err(Failed::Attempt(error)) => AttemptOutcome::Failed(error.class),
        Err(Failed::Store(_) | Failed::Behind(_) | Failed::NotBegun) => AttemptOutcome::NotMade,
    }
}

/// What is emitted for many events has to be stored with all of them.
#[derive(Debug, thiserror::Error)]
#[error("a batch handler emits within the framework's transaction only: take `&mut Tx<..>` beside `Outbox`")]
struct LooseOutbox;

fn no_saga() -> BoxError {
    HandlerError::permanent("`Flow::Complete` ends an instance of a saga, and this is none").into()
}

pub(super) fn panicked(panic: Box<dyn Any + Send>) -> AttemptError {
    let text = error_text(&Panicked(take_panic(panic)), MAX_ERROR_TEXT);
    AttemptError { class: ErrorClass::Permanent, text }
}

#[derive(Debug, thiserror::Error)]
#[error("the handler panicked: {0}")]
struct Panicked(String);

/// Catches panics of each poll and of the drop, without a task of its own.
struct Guarded<'a> {
    future: Option<BoxFuture<'a, HandlerResult>>,
    caller: &'a Caller,
}

impl Future for Guarded<'_> {
    type Output = Result<HandlerResult, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let began = clock::monotonic();
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        self.caller.note_poll(began.elapsed());
        let output = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(panic) => Err(panic),
        };
        let future = self.future.take();
        match catch_unwind(AssertUnwindSafe(|| drop(future))) {
            Ok(()) => Poll::Ready(output),
            Err(panic) => Poll::Ready(output.and(Err(panic))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;
    use crate::consumer::work::tests::context;

    use crate::consumer::work::tests::caller;

    async fn text_of(invoke: fn(HandlerContext) -> BoxFuture<'static, HandlerResult>) -> AttemptError {
        match caller(Invoke::Async(invoke)).call(context()).await.unwrap_err() {
            Failed::Attempt(error) => error,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_panic_anywhere_is_a_permanent_failure_of_that_event() {
        let before = text_of(|_| panic!("in the call")).await;
        let first = text_of(|_| Box::pin(async { panic!("first poll") })).await;
        let later = text_of(|_| {
            Box::pin(async {
                tokio::task::yield_now().await;
                panic!("number {}", 7)
            })
        })
        .await;
        for (error, text) in [(before, "in the call"), (first, "first poll"), (later, "number 7")] {
            assert_eq!(error.class, ErrorClass::Permanent);
            assert!(error.text.contains(text), "{}", error.text);
        }
    }

    #[tokio::test]
    async fn a_panic_in_drop_or_display_is_caught_as_well() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        #[derive(Debug)]
        struct Broken;
        impl fmt::Display for Broken {
            fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
                panic!("in display");
            }
        }
        impl std::error::Error for Broken {}
        let dropped = text_of(|_| {
            Box::pin(async {
                let _bomb = Bomb;
                Ok(Flow::Continue)
            })
        })
        .await;
        assert!(dropped.text.contains("in drop"));
        let shown = text_of(|_| Box::pin(async { Err(Broken.into()) })).await;
        assert!(shown.text.contains("in display"));
        assert_eq!(shown.class, ErrorClass::Permanent);
    }
}
