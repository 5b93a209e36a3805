//! Reads the snapshots at a scrape.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use tokio::time::Instant;

use super::families::{ASYNC, CONSUMERS, EXECUTORS, Family, Figure, HANDLERS, STALLED, SeenConsumer, SeenExecutor};
use super::times::{BOUNDS, HandlerTimes, OUTCOMES, Times};
use crate::bundle::Running;
use crate::clock::{Clock as _, SystemClock};
use crate::consumer::{StallReason, Telemetry};
use crate::engine::{ConsumerHandle, Lag};
use crate::executor::ConsumerExecutor;
use crate::sync::{Mutex, lock};

type Labels<'a, const N: usize> = [(&'static str, &'a str); N];

/// Where the figures of one bundle are.
pub(super) struct Snapshots {
    bundle: String,
    instance: Arc<str>,
    /// Gone with the bundle, and then nothing is shown.
    executors: Weak<[Arc<dyn ConsumerExecutor>]>,
    consumers: Vec<ConsumerHandle>,
    /// Of the bundle; its handlers' times are shown if it counts them.
    telemetry: Option<Arc<dyn Telemetry>>,
    /// Of each consumer; empty before the first answer.
    lags: Mutex<Vec<Option<Lag>>>,
}

impl Snapshots {
    pub(super) fn of(running: &Running) -> Self {
        Self {
            bundle: running.name().to_owned(),
            instance: Arc::clone(running.instance()),
            executors: Arc::downgrade(running.supervisor().executors()),
            consumers: running.consumers(),
            telemetry: running.telemetry().cloned(),
            lags: Mutex::default(),
        }
    }

    pub(super) fn consumers(&self) -> &[ConsumerHandle] {
        &self.consumers
    }

    /// What the store said.
    pub(super) fn note(&self, lags: Vec<Option<Lag>>) {
        *lock(&self.lags) = lags;
    }

    /// How long handlers take, if the bundle counts that.
    pub(super) fn times(&self) -> Option<&HandlerTimes> {
        let telemetry = self.telemetry.as_deref().map(|telemetry| telemetry as &dyn Any);
        telemetry.and_then(|telemetry| telemetry.downcast_ref())
    }

    fn seen_consumers(&self) -> Vec<SeenConsumer> {
        let (now, instant) = (SystemClock.now(), Instant::now());
        let lags = lock(&self.lags).clone();
        let seen = |(at, consumer): (usize, &ConsumerHandle)| SeenConsumer {
            name: consumer.id().to_string(),
            component: consumer.id().component.to_string(),
            status: consumer.status(),
            is_async: !consumer.executors().is_empty(),
            lag: lags.get(at).copied().flatten(),
            now,
            instant,
        };
        self.consumers.iter().enumerate().map(seen).collect()
    }

    fn seen_executors(executors: &[Arc<dyn ConsumerExecutor>]) -> Vec<SeenExecutor> {
        let seen = |executor: &Arc<dyn ConsumerExecutor>| SeenExecutor {
            name: executor.name().to_owned(),
            capacity: executor.capacity(),
            stats: executor.stats(),
        };
        executors.iter().map(seen).collect()
    }
}

impl Collector for Snapshots {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(executors) = self.executors.upgrade() else { return Ok(()) };
        let bundle: Labels<'_, 2> = [("bundle", &self.bundle), ("instance", &self.instance)];
        let executors = Self::seen_executors(&executors);
        write_all(&mut encoder, EXECUTORS, &executors, |of| (bundle, [("executor", &*of.name)]))?;
        let consumers = self.seen_consumers();
        let labels = labels_in(bundle);
        let (parallel, _): (Vec<_>, Vec<_>) = consumers.iter().partition(|of| of.is_async);
        write_all(&mut encoder, ASYNC, parallel, labels)?;
        write_all(&mut encoder, CONSUMERS, &consumers, labels)?;
        write_stalls(&mut encoder, &consumers, labels)?;
        match self.times() {
            Some(times) => write_times(&mut encoder, times, &consumers, labels),
            None => Ok(()),
        }
    }
}

/// What tells consumers of one bundle apart.
fn labels_in<'a>(bundle: Labels<'a, 2>) -> impl Fn(&'a SeenConsumer) -> (Labels<'a, 2>, Labels<'a, 2>) + Copy {
    move |of| (bundle, [("consumer", &of.name), ("component", &of.component)])
}

/// Each family with the figures of all that have one.
fn write_all<'a, T: 'a, L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    families: &[Family<T>],
    seen: impl IntoIterator<Item = &'a T, IntoIter: Clone>,
    labels: impl Fn(&'a T) -> L,
) -> fmt::Result {
    let seen = seen.into_iter();
    for family in families {
        let mut figures = seen.clone().filter_map(|of| Some((of, (family.figure)(of)?))).peekable();
        if figures.peek().is_none() {
            continue;
        }
        let mut metric = encoder.encode_descriptor(family.name, family.help, None, family.kind())?;
        for (of, figure) in figures {
            write_figure(&mut metric.encode_family(&labels(of))?, figure)?;
        }
    }
    Ok(())
}

fn write_figure(metric: &mut MetricEncoder<'_>, figure: Figure) -> fmt::Result {
    match figure {
        Figure::Count(count) => metric.encode_counter::<NoLabelSet, _, u64>(&count, None),
        Figure::Level(level) => metric.encode_gauge(&level),
    }
}

fn write_stalls<'a, L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    consumers: &'a [SeenConsumer],
    labels: impl Fn(&'a SeenConsumer) -> L,
) -> fmt::Result {
    if consumers.is_empty() {
        return Ok(());
    }
    let (name, help) = STALLED;
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for of in consumers {
        let holds = of.status.reason.as_ref().map(StallReason::name);
        for reason in StallReason::NAMES {
            let set = (labels(of), [("reason", *reason)]);
            metric.encode_family(&set)?.encode_gauge(&i64::from(holds == Some(reason)))?;
        }
    }
    Ok(())
}

fn write_times<'a, L: EncodeLabelSet>(
    encoder: &mut DescriptorEncoder<'_>,
    times: &HandlerTimes,
    consumers: &'a [SeenConsumer],
    labels: impl Fn(&'a SeenConsumer) -> L,
) -> fmt::Result {
    let seen: Vec<_> = consumers.iter().map(|of| (of, times.of(&of.status.consumer))).collect();
    if seen.iter().all(|(_, handlers)| handlers.is_empty()) {
        return Ok(());
    }
    let (name, help) = HANDLERS;
    let mut metric = encoder.encode_descriptor(name, help, None, MetricType::Histogram)?;
    for (of, handlers) in seen {
        for (handler, by_outcome) in &handlers {
            let seen = OUTCOMES.iter().zip(by_outcome).filter(|(_, times)| times.count() > 0);
            for (outcome, times) in seen {
                let set = (labels(of), [("handler", &**handler), ("outcome", outcome)]);
                write_histogram(&mut metric.encode_family(&set)?, times)?;
            }
        }
    }
    Ok(())
}

fn write_histogram(metric: &mut MetricEncoder<'_>, times: &Times) -> fmt::Result {
    let bounds = BOUNDS.into_iter().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(times.counts).collect();
    metric.encode_histogram::<NoLabelSet>(times.seconds, times.count(), &buckets, None)
}

impl fmt::Debug for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshots")
            .field("bundle", &self.bundle)
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}
