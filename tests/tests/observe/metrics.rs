//! What a scrape says, and that it says it of the right bundle only.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::observe::metrics::HandlerTimes;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Running, StallReason};
use tokio::sync::Semaphore;

use crate::shop::{Gate, InOrder, Parallel, bundle, orders, place, settled};

/// Samples by name and labels.
type Samples = BTreeMap<String, BTreeMap<BTreeMap<String, String>, f64>>;

/// Reads the lines of the text format; no value here has a comma, a brace or a quote in it.
fn read(text: &str) -> Samples {
    let mut samples = Samples::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.trim_end_matches('}').split_once('{').unwrap();
        let label = |pair: &str| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), value.trim_matches('"').to_owned())
        };
        let labels = labels.split(',').map(label).collect();
        let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(samples.entry(name.to_owned()).or_default().insert(labels, value).is_none(), "twice: {line}");
    }
    samples
}

/// The one value of a metric, or that of the series with this label value.
fn value(samples: &Samples, name: &str, label: &str) -> f64 {
    let series = samples.get(name).unwrap_or_else(|| panic!("no {name}"));
    let mut fits = series.iter().filter(|(labels, _)| label.is_empty() || labels.values().any(|value| value == label));
    let (_, value) = fits.next().unwrap_or_else(|| panic!("no {name} of {label}"));
    assert!(fits.next().is_none(), "{name} of {label} is not one");
    *value
}

async fn stop(running: Running) {
    running.stop(Duration::from_secs(10)).await.unwrap();
}

#[tokio::test]
async fn a_scrape_shows_one_bundle_under_the_names_of_its_wiring_and_its_figures_move() {
    let (store, other) = (MemoryStore::new(), MemoryStore::new());
    let builder = bundle("shop", &store).component(InOrder(Gate::open())).component(Parallel(Gate::open()));
    let builder = builder.telemetry(HandlerTimes::new());
    let shop = builder.executor(ConsumerExecutors::tasks("pool", 3)).build().unwrap().start().await.unwrap();
    let plain = bundle("plain", &other).component(InOrder(Gate::open())).build().unwrap().start().await.unwrap();
    let (metrics, plainly) = (shop.metrics(), plain.metrics());
    let before = read(&metrics.scrape().await);
    assert_eq!(value(&before, "evento_consumer_executor_capacity", ""), 3.0);
    assert_eq!(value(&before, "evento_consumer_executor_admitted_total", ""), 0.0);

    // 10 at once, 5 with a further attempt, 1 for the dead letters, in both projectors.
    place(&shop, orders(10, 0)).await;
    place(&shop, orders(5, 1)).await;
    let last = place(&shop, orders(1, 9)).await;
    settled(&shop, &last).await;
    place(&plain, orders(1, 0)).await;
    let text = metrics.scrape().await;
    let after = read(&text);
    let (in_order, parallel) = ("shop/InOrder v1", "shop/Parallel v1");
    for consumer in [in_order, parallel] {
        let figure = |name: &str| value(&after, &format!("evento_consumer_{name}"), consumer);
        assert_eq!(figure("settled_total"), 16.0);
        assert_eq!(figure("started_total"), 10.0 + 5.0 * 2.0 + 3.0);
        assert_eq!(figure("failures_total"), 5.0 + 3.0);
        assert_eq!(figure("retries_total"), 5.0 + 2.0);
        assert_eq!((figure("dead_lettered_total"), figure("dead_letters")), (1.0, 1.0));
        assert_eq!((figure("lag_events"), figure("lag_seconds"), figure("watermark_lag_events")), (0.0, 0.0, 0.0));
        assert!(figure("checkpoints_total") > 0.0);
        assert!(figure("lease_epoch") > 0.0);
        let reasons = &after["evento_consumer_stalled"];
        let of = reasons.iter().filter(|(labels, _)| labels["consumer"] == consumer);
        let named: BTreeSet<&str> = of.map(|(labels, _)| &*labels["reason"]).collect();
        assert_eq!(named, StallReason::NAMES.iter().copied().collect(), "every reason is a series");
    }
    // Handlers that wait for nothing share a permit.
    let permits = value(&after, "evento_consumer_executor_completed_total", "pool");
    assert_eq!(value(&after, "evento_consumer_executor_admitted_total", "pool"), permits);
    assert!((3.0..=23.0).contains(&permits), "{permits}");
    // Also what has not happened yet is a series: an alert needs something to compare with.
    for name in
        ["parked_keys", "parked_events", "gap_holds", "error_streak", "checkpoint_age_seconds", "exposed_events"]
    {
        let is_there =
            |of: &str| of == format!("evento_consumer_{name}") || of == format!("evento_consumer_{name}_total");
        let of_both = after.iter().find(|(of, _)| is_there(of)).map(|(_, series)| series.len());
        assert_eq!(of_both, Some(2), "{name}");
    }
    let counted = |outcome: &str| {
        let counts = after["evento_consumer_handler_seconds_count"].iter();
        counts.filter(|(labels, _)| labels["outcome"] == outcome).map(|(labels, n)| (&*labels["handler"], *n)).collect()
    };
    let (handled, failed): (Vec<_>, Vec<_>) = (counted("handled"), counted("failed"));
    assert_eq!(handled, [("InOrder::placed", 15.0), ("Parallel::placed", 15.0)]);
    assert_eq!(failed, [("InOrder::placed", 8.0), ("Parallel::placed", 8.0)]);
    let endless = |(labels, _): &(&BTreeMap<String, String>, &f64)| labels["le"] == "+Inf";
    let all: f64 = after["evento_consumer_handler_seconds_bucket"].iter().filter(endless).map(|(_, n)| n).sum();
    assert_eq!(all, 46.0, "the buckets add up");
    assert_eq!(value(&after, "evento_consumer_async_in_flight", parallel), 0.0);

    let mut allowed: BTreeSet<&str> = ["shop", "shop-1", "pool", in_order, parallel, "InOrder", "Parallel"].into();
    allowed.extend(["InOrder::placed", "Parallel::placed", "handled", "failed"]);
    allowed.extend(StallReason::NAMES);
    for (name, series) in &after {
        for labels in series.keys() {
            let mut values = labels.iter().filter(|(name, _)| *name != "le").map(|(_, value)| value);
            let unexpected = values.find(|value| !allowed.contains(&***value));
            assert!(unexpected.is_none(), "{name} {labels:?}");
            assert_eq!((&*labels["bundle"], &*labels["instance"]), ("shop", "shop-1"));
        }
    }
    let plain_text = plainly.scrape().await;
    assert!(!plain_text.contains("_executor_") && !plain_text.contains("_async_"), "{plain_text}");
    assert!(!plain_text.contains("shop") && plain_text.contains("plain/InOrder v1"));

    judged_by_promtool(&text);
    judged_by_promtool(&plain_text);
    stop(shop).await;
    assert_eq!(metrics.scrape().await, "", "nothing outlives its bundle");
    assert_ne!(plainly.scrape().await, "");
    stop(plain).await;
}

#[tokio::test]
async fn lag_counts_what_is_read_and_what_is_not() {
    let (store, gate) = (MemoryStore::new(), Gate::shut());
    let builder = bundle("shop", &store).component(InOrder(gate.clone())).page(10).look_ahead(10);
    let running = builder.build().unwrap().start().await.unwrap();
    let metrics = running.metrics();
    let last = place(&running, orders(100, 0)).await;
    evento_tests::eventually("it has begun", || running.status()[0].in_flight == 1).await;
    let samples = read(&metrics.scrape().await);
    assert_eq!(value(&samples, "evento_consumer_lag_events", ""), 100.0);
    assert!(value(&samples, "evento_consumer_lag_seconds", "") > 0.0);
    assert_eq!(value(&samples, "evento_consumer_watermark_lag_events", ""), 1.0);
    assert!(value(&samples, "evento_consumer_open_events", "") < 50.0, "read ahead without end");
    gate.0.add_permits(Semaphore::MAX_PERMITS);
    settled(&running, &last).await;
    assert_eq!(value(&read(&metrics.exposition()), "evento_consumer_lag_seconds", ""), 0.0);
    assert_eq!(value(&read(&metrics.scrape().await), "evento_consumer_lag_events", ""), 0.0);
    stop(running).await;
}

#[tokio::test]
async fn the_dashboard_uses_only_names_there_are() {
    let store = MemoryStore::new();
    let builder = bundle("shop", &store).component(InOrder(Gate::open())).component(Parallel(Gate::open()));
    let builder = builder.telemetry(HandlerTimes::new());
    let running = builder.executor(ConsumerExecutors::tasks("pool", 3)).build().unwrap().start().await.unwrap();
    let last = place(&running, orders(3, 0)).await;
    settled(&running, &last).await;
    let samples = read(&running.metrics().scrape().await);
    stop(running).await;
    let dashboard = include_str!("../../../evento-runtime/dashboards/evento.json");
    let dashboard: serde_json::Value = serde_json::from_str(dashboard).unwrap();
    let mut used = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let expression = target["expr"].as_str().unwrap();
            let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            used.extend(words.filter(|word| word.starts_with("evento_")).map(str::to_owned));
        }
    }
    let unknown: Vec<_> = used.iter().filter(|name| !samples.contains_key(*name)).collect();
    assert!(unknown.is_empty(), "the dashboard asks for {unknown:?}");
    let alerted =
        ["evento_consumer_executor_rejected_total", "evento_consumer_dead_letters", "evento_consumer_stalled"];
    assert!(alerted.iter().all(|name| used.contains(*name)), "{used:?}");
}

/// Prometheus' own judgement of names, types and help texts, where it is installed.
fn judged_by_promtool(text: &str) {
    let judge = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut judge) = judge else {
        return evento_tests::skip("promtool is not installed (Debian package prometheus)");
    };
    judge.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let said = judge.wait_with_output().unwrap();
    let words = format!("{}{}", String::from_utf8_lossy(&said.stdout), String::from_utf8_lossy(&said.stderr));
    assert!(said.status.success() && words.trim().is_empty(), "promtool: {words}");
}
