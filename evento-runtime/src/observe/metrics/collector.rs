//! Reads the snapshots at a scrape.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use super::super::snapshot::{
    ASYNC, CONSUMERS, EXECUTORS, Family, Figure, HANDLERS, OUTCOMES, STALLED, Seen, SeenConsumer, Snapshots,
};
use super::times::{BOUNDS, HandlerTimes, Times};
use crate::consumer::StallReason;

type Labels<'a, const N: usize> = [(&'static str, &'a str); N];

/// The figures of a bundle for a registry.
#[derive(Debug)]
pub(super) struct Figures(pub(super) Arc<Snapshots>);

/// How long handlers take, if the bundle counts that.
pub(super) fn times(snapshots: &Snapshots) -> Option<&HandlerTimes> {
    let telemetry = snapshots.telemetry.as_deref().map(|telemetry| telemetry as &dyn Any);
    telemetry.and_then(|telemetry| telemetry.downcast_ref())
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Some(Seen { executors, consumers }) = self.0.seen() else { return Ok(()) };
        let bundle: Labels<'_, 2> = [("bundle", &self.0.bundle), ("instance", &self.0.instance)];
        write_all(&mut encoder, EXECUTORS, &executors, |of| (bundle, [("executor", &*of.name)]))?;
        let labels = labels_in(bundle);
        let (parallel, _): (Vec<_>, Vec<_>) = consumers.iter().partition(|of| of.is_async);
        write_all(&mut encoder, ASYNC, parallel, labels)?;
        write_all(&mut encoder, CONSUMERS, &consumers, labels)?;
        write_stalls(&mut encoder, &consumers, labels)?;
        match times(&self.0) {
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
        let mut metric = encoder.encode_descriptor(family.name, family.help, None, kind(family))?;
        for (of, figure) in figures {
            write_figure(&mut metric.encode_family(&labels(of))?, figure)?;
        }
    }
    Ok(())
}

const fn kind<T>(family: &Family<T>) -> MetricType {
    if family.counts { MetricType::Counter } else { MetricType::Gauge }
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
