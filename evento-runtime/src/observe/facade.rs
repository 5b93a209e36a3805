//! Metrics for people who export through the `metrics` facade: the recorder is theirs, the names are those of
//! the Prometheus text of the feature `metrics`, so that the same dashboards fit.
//!
//! ```no_run
//! use std::time::Duration;
//! use evento_runtime::Bundle;
//! use evento_runtime::observe::facade::AttemptTimes;
//!
//! # async fn f() -> evento_runtime::Result {
//! // Once a recorder is installed:
//! let running = Bundle::builder("orders").discover().telemetry(AttemptTimes::new()).build()?.start().await?;
//! let facade = running.facade();
//! tokio::select! {
//!     () = facade.publish_every(Duration::from_secs(10)) => {}
//!     () = evento_runtime::shutdown_signal() => {}
//! }
//! running.stop(Duration::from_secs(30)).await?;
//! facade.publish();
//! # Ok(()) }
//! ```
//!
//! Counters end in `_total`. A recorder never forgets: a gauge whose figure is not known any more (the lag of a consumer that
//! another instance owns now, everything of a bundle that has stopped) is set to 0. What was counted until the stop is handed
//! over as well, but for executors, which are gone with the bundle.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Gauge, Histogram, Label, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

use super::snapshot::{
    ASYNC, CONSUMERS, EXECUTORS, Family, Figure, HANDLERS, OUTCOMES, STALLED, Seen, SeenConsumer, SeenExecutor,
    Snapshots, place,
};
use crate::bundle::Running;
use crate::consumer::{AttemptInfo, AttemptOutcome, StallReason, Telemetry};
use crate::identity::{ConsumerId, instance_name};
use crate::sync::{Mutex, lock};

/// Publishes the figures of one running bundle through the facade. Cheap to clone.
#[derive(Clone)]
pub struct Facade {
    snapshots: Arc<Snapshots>,
    /// Every gauge that was ever set, and whether the last publishing did.
    gauges: Arc<Mutex<BTreeMap<Series, (Gauge, bool)>>>,
}

/// A name and the values of its labels.
type Series = (String, Vec<String>);

impl Running {
    /// The metrics of this bundle for the `metrics` facade. Keep the value: it remembers what it has set.
    #[must_use]
    pub fn facade(&self) -> Facade {
        Facade { snapshots: Arc::new(Snapshots::of(self)), gauges: Arc::default() }
    }
}

impl Facade {
    /// Hands what is known now to the recorder, without asking the store: the lag in events and the number of dead letters
    /// are as of the last [`measure`](Self::measure).
    pub fn publish(&self) {
        let mut gauges = lock(&self.gauges);
        for (_, fresh) in gauges.values_mut() {
            *fresh = false;
        }
        describe();
        let mut publishing = Publishing { snapshots: &self.snapshots, gauges: &mut gauges };
        match self.snapshots.seen() {
            Some(seen) => publishing.all(&seen),
            None => publishing.last(&self.snapshots.seen_consumers()),
        }
        for (gauge, _) in gauges.values().filter(|(_, fresh)| !fresh) {
            gauge.set(0.0);
        }
    }

    /// Asks the store for the lag in events and the number of dead letters of each consumer that this instance owns, for
    /// at most two seconds. What the store does not answer is not known until the next time.
    ///
    /// # Cancel safety
    /// Dropping the future leaves what was asked to end by itself.
    pub async fn measure(&self) {
        self.snapshots.measure().await;
    }

    /// Measures and publishes, now and after each `period`; ends when the bundle has stopped.
    ///
    /// # Cancel safety
    /// Dropping the future ends it; what was published stays.
    pub async fn publish_every(&self, period: Duration) {
        while self.snapshots.is_there() {
            self.measure().await;
            self.publish();
            tokio::time::sleep(period).await;
        }
        self.publish();
    }
}

impl fmt::Debug for Facade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Facade").field("of", &self.snapshots).finish_non_exhaustive()
    }
}

/// As the text format writes it.
fn counted(name: &str) -> String {
    format!("{name}_total")
}

/// Recorders take it any number of times.
fn describe() {
    fn all<T>(families: &[Family<T>]) {
        for family in families {
            if family.counts {
                describe_counter!(counted(family.name), family.help);
            } else {
                describe_gauge!(family.name, family.help);
            }
        }
    }
    all(EXECUTORS);
    all(ASYNC);
    all(CONSUMERS);
    describe_gauge!(STALLED.0, STALLED.1);
}

struct Publishing<'a> {
    snapshots: &'a Snapshots,
    gauges: &'a mut BTreeMap<Series, (Gauge, bool)>,
}

impl Publishing<'_> {
    fn all(&mut self, seen: &Seen) {
        let executor = |of: &SeenExecutor| vec![Label::new("executor", of.name.clone())];
        let all: Vec<&SeenConsumer> = seen.consumers.iter().collect();
        let parallel = parallel(&all);
        self.families(EXECUTORS, &seen.executors.iter().collect::<Vec<_>>(), executor);
        self.families(ASYNC, &parallel, labels);
        self.families(CONSUMERS, &all, labels);
        for of in &seen.consumers {
            let holds = of.status.reason.as_ref().map(StallReason::name);
            for reason in StallReason::NAMES {
                let mut labels = labels(of);
                labels.push(Label::new("reason", *reason));
                self.level(STALLED.0, labels, if holds == Some(reason) { 1.0 } else { 0.0 });
            }
        }
    }

    /// What was counted until the bundle stopped.
    fn last(&mut self, seen: &[SeenConsumer]) {
        let all: Vec<&SeenConsumer> = seen.iter().collect();
        self.counts(ASYNC, &parallel(&all));
        self.counts(CONSUMERS, &all);
    }

    fn counts(&mut self, families: &[Family<SeenConsumer>], seen: &[&SeenConsumer]) {
        for family in families.iter().filter(|family| family.counts) {
            self.family(family, seen, labels);
        }
    }

    fn families<T>(&mut self, families: &[Family<T>], seen: &[&T], labels: impl Fn(&T) -> Vec<Label>) {
        for family in families {
            self.family(family, seen, &labels);
        }
    }

    fn family<T>(&mut self, family: &Family<T>, seen: &[&T], labels: impl Fn(&T) -> Vec<Label>) {
        for of in seen.iter().copied() {
            match (family.figure)(of) {
                Some(Figure::Count(count)) => {
                    let labels = self.with_bundle(labels(of));
                    counter!(counted(family.name), labels).absolute(count);
                }
                Some(Figure::Level(level)) => self.level(family.name, labels(of), level),
                None => {}
            }
        }
    }

    fn level(&mut self, name: &'static str, labels: Vec<Label>, level: f64) {
        let labels = self.with_bundle(labels);
        let series = (name.to_owned(), labels.iter().map(|label| label.value().to_owned()).collect());
        let (gauge, fresh) = self.gauges.entry(series).or_insert_with(|| (gauge!(name, labels), true));
        gauge.set(level);
        *fresh = true;
    }

    fn with_bundle(&self, labels: Vec<Label>) -> Vec<Label> {
        with_bundle(&self.snapshots.bundle, &self.snapshots.instance, labels)
    }
}

fn with_bundle(bundle: &str, instance: &str, labels: Vec<Label>) -> Vec<Label> {
    let bundle = [Label::new("bundle", bundle.to_owned()), Label::new("instance", instance.to_owned())];
    bundle.into_iter().chain(labels).collect()
}

/// Those with a handler that names an executor.
fn parallel<'a>(consumers: &[&'a SeenConsumer]) -> Vec<&'a SeenConsumer> {
    consumers.iter().copied().filter(|of| of.is_async).collect()
}

fn labels(of: &SeenConsumer) -> Vec<Label> {
    vec![Label::new("consumer", of.name.clone()), Label::new("component", of.component.clone())]
}

/// Records how long attempts take: the histogram `evento_consumer_handler_seconds`, with the labels `handler` and
/// `outcome`. Give it to [`telemetry`](crate::BundleBuilder::telemetry) once a recorder is installed: what is recorded
/// before goes nowhere.
pub struct AttemptTimes {
    instance: String,
    histograms: Mutex<BTreeMap<(ConsumerId, String, usize), Histogram>>,
}

impl AttemptTimes {
    /// Nothing is recorded yet. The label `instance` is what the instance is called by itself.
    #[must_use]
    pub fn new() -> Self {
        Self { instance: instance_name(), histograms: Mutex::default() }
    }

    /// The label `instance`, where the bundle is given a name of its own by
    /// [`instance`](crate::BundleBuilder::instance).
    #[must_use]
    pub fn instance(mut self, name: impl Into<String>) -> Self {
        self.instance = name.into();
        self
    }

    fn histogram(&self, attempt: &AttemptInfo<'_>, outcome: usize) -> Histogram {
        let consumer = &**attempt.consumer;
        let key = (consumer.clone(), attempt.handler.to_owned(), outcome);
        let mut histograms = lock(&self.histograms);
        let made = histograms.entry(key).or_insert_with(|| {
            describe_histogram!(HANDLERS.0, HANDLERS.1);
            let labels = vec![
                Label::new("consumer", consumer.to_string()),
                Label::new("component", consumer.component.to_string()),
                Label::new("handler", attempt.handler.to_owned()),
                Label::new("outcome", OUTCOMES[outcome]),
            ];
            histogram!(HANDLERS.0, with_bundle(&consumer.bundle, &self.instance, labels))
        });
        made.clone()
    }
}

impl Default for AttemptTimes {
    fn default() -> Self {
        Self::new()
    }
}

impl Telemetry for AttemptTimes {
    fn attempt_ended(&self, attempt: &AttemptInfo<'_>, took: Duration, outcome: AttemptOutcome) {
        if let Some(outcome) = place(outcome) {
            self.histogram(attempt, outcome).record(took);
        }
    }
}

impl fmt::Debug for AttemptTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AttemptTimes").field("instance", &self.instance).finish_non_exhaustive()
    }
}
