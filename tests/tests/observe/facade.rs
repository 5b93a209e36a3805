//! The same figures through the `metrics` facade.

use std::collections::BTreeMap;
use std::time::Duration;

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::observe::facade::{AttemptTimes, Facade};
use evento_runtime::store::MemoryStore;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

use crate::shop::{Gate, InOrder, Parallel, bundle, orders, place, settled};

/// Name and labels as the text format writes them.
fn recorded(snapshotter: &Snapshotter) -> BTreeMap<String, DebugValue> {
    let series = snapshotter.snapshot().into_vec().into_iter().map(|(key, _, _, value)| {
        let mut labels: Vec<String> =
            key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        labels.sort();
        (format!("{}{{{}}}", key.key().name(), labels.join(",")), value)
    });
    series.collect()
}

fn level(series: &BTreeMap<String, DebugValue>, name: &str) -> f64 {
    match series.get(name) {
        Some(DebugValue::Gauge(level)) => level.into_inner(),
        other => panic!("{name} is {other:?}"),
    }
}

fn count(series: &BTreeMap<String, DebugValue>, name: &str) -> u64 {
    match series.get(name) {
        Some(DebugValue::Counter(count)) => *count,
        other => panic!("{name} is {other:?}"),
    }
}

struct Recorder(DebuggingRecorder);

impl Recorder {
    fn hand(&self, facade: &Facade) {
        metrics::with_local_recorder(&self.0, || facade.publish());
    }

    /// What it has after two publishings. Everything is 0 then: its snapshots take what they show.
    fn publish(&self, facade: &Facade) -> BTreeMap<String, DebugValue> {
        self.hand(facade);
        self.hand(facade);
        recorded(&self.0.snapshotter())
    }
}

const OF_ORDER: &str = "bundle=shop,component=InOrder,consumer=shop/InOrder v1,instance=shop-1";

#[tokio::test]
async fn what_the_text_format_shows_the_recorder_is_given() {
    let recorder = Recorder(DebuggingRecorder::new());
    let store = MemoryStore::new();
    let running = bundle("shop", &store)
        .component(InOrder(Gate::open()))
        .component(Parallel(Gate::open()))
        .executor(ConsumerExecutors::tasks("pool", 3))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    let facade = running.facade();
    place(&running, orders(10, 0)).await;
    let last = place(&running, orders(2, 9)).await;
    settled(&running, &last).await;
    facade.measure().await;
    let series = recorder.publish(&facade);

    // Every series of the text is there under the same name, and no other.
    let text = running.metrics().scrape().await;
    let plain = |line: &str| {
        let (name, rest) = line.split_once('{').unwrap();
        let (labels, _) = rest.rsplit_once('}').unwrap();
        let mut labels: Vec<String> =
            labels.split("\",").map(|label| label.trim_end_matches('"').replacen("=\"", "=", 1)).collect();
        labels.sort();
        format!("{name}{{{}}}", labels.join(","))
    };
    let mut expected: Vec<String> = text.lines().filter(|line| !line.starts_with('#')).map(plain).collect();
    expected.sort();
    assert_eq!(series.keys().cloned().collect::<Vec<_>>(), expected);

    assert_eq!(level(&series, "evento_consumer_executor_capacity{bundle=shop,executor=pool,instance=shop-1}"), 3.0);
    assert_eq!(level(&series, &format!("evento_consumer_dead_letters{{{OF_ORDER}}}")), 2.0);
    // Counters are absolute: published again nothing is counted twice.
    let settled_total = format!("evento_consumer_settled_total{{{OF_ORDER}}}");
    assert_eq!(count(&series, &settled_total), 12);
    let last = place(&running, orders(1, 0)).await;
    settled(&running, &last).await;
    assert_eq!(count(&recorder.publish(&facade), &settled_total), 13);

    // The facade forgets nothing: what is not known any more is 0.
    recorder.hand(&facade);
    running.stop(Duration::from_secs(10)).await.unwrap();
    let series = recorder.publish(&facade);
    for gauge in series.iter().filter_map(|(name, value)| matches!(value, DebugValue::Gauge(_)).then_some(name)) {
        assert_eq!(level(&series, gauge), 0.0, "{gauge}");
    }
}

/// On one thread, so that the recorder of the thread is that of the handlers.
#[tokio::test]
async fn attempts_are_timed_by_handler_and_outcome_until_the_bundle_stops() {
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _recorder = metrics::set_default_local_recorder(&recorder);
    let store = MemoryStore::new();
    let times = AttemptTimes::new().instance("shop-1");
    let running = bundle("shop", &store)
        .telemetry(times)
        .component(InOrder(Gate::open()))
        .build()
        .unwrap()
        .start()
        .await
        .unwrap();
    let facade = running.facade();
    let published = async {
        facade.publish_every(Duration::from_millis(10)).await;
    };
    let worked = async {
        let last = place(&running, orders(3, 1)).await;
        settled(&running, &last).await;
        running.stop(Duration::from_secs(10)).await.unwrap();
    };
    tokio::join!(published, worked);
    let series = recorded(&snapshotter);
    let of = |outcome: &str| {
        let labels = "bundle=shop,component=InOrder,consumer=shop/InOrder v1,handler=InOrder::placed,instance=shop-1";
        match series.get(&format!("evento_consumer_handler_seconds{{{labels},outcome={outcome}}}")) {
            Some(DebugValue::Histogram(times)) => times.len(),
            other => panic!("{outcome}: {other:?}"),
        }
    };
    assert_eq!((of("failed"), of("handled")), (3, 3));
    assert_eq!(count(&series, &format!("evento_consumer_settled_total{{{OF_ORDER}}}")), 3);
}
