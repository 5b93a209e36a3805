//! What runs beside the events: spans around attempts, and whoever counts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use evento_runtime::consumer::{AttemptInfo, AttemptOutcome, DispatchContext, Telemetry, Tracer};
use evento_runtime::event::StoredEvent;
use evento_runtime::identity::ConsumerId;
use evento_runtime::interceptor::Interceptor;
use evento_runtime::{CheckpointMode, Flow, HandlerError, NewEvent, StoreError};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::scripted::{
    Journal, Limited, Made, MemoryStore, Pooled, Script, append, append_all, bundle, settled, stop, tasks,
};

/// Counts every method, and panics in each where told to.
#[derive(Default, Clone)]
struct Counting {
    counts: Arc<Mutex<BTreeMap<String, usize>>>,
    panics: bool,
}

impl Counting {
    fn count(&self, what: &str) {
        *self.counts.lock().unwrap().entry(what.to_owned()).or_default() += 1;
        assert!(!self.panics, "a telemetry's own trouble");
    }

    fn counted(&self) -> Vec<(String, usize)> {
        self.counts.lock().unwrap().clone().into_iter().collect()
    }
}

impl Telemetry for Counting {
    fn attempt_started(&self, attempt: &AttemptInfo<'_>) {
        self.count(&format!("started {} {} {:?}", attempt.handler, attempt.attempt, attempt.executor));
    }

    fn attempt_ended(&self, attempt: &AttemptInfo<'_>, took: Duration, outcome: AttemptOutcome) {
        assert!(took < Duration::from_secs(60));
        self.count(&format!("{outcome:?} of {}", attempt.kind));
    }

    fn retry_planned(&self, _: &Arc<ConsumerId>, handler: &str, _: &StoredEvent, _: Duration) {
        self.count(&format!("retry of {handler}"));
    }

    fn settled(&self, _: &Arc<ConsumerId>, _: &StoredEvent) {
        self.count("settled");
    }

    fn dead_lettered(&self, _: &Arc<ConsumerId>, handler: &str, _: &StoredEvent) {
        self.count(&format!("dead letter of {handler}"));
    }

    fn permit_awaited(&self, _: &Arc<ConsumerId>, executor: &str, _: Duration, admitted: bool) {
        self.count(&format!("permit of {executor} {admitted}"));
    }

    fn page_read(&self, _: &Arc<ConsumerId>, events: usize) {
        if events > 0 {
            self.count("page");
        }
    }

    fn checkpoint_written(&self, _: &Arc<ConsumerId>, _: Duration, result: Result<(), &StoreError>) {
        if !self.counted().iter().any(|(what, _)| what == "checkpoint") {
            self.count(if result.is_ok() { "checkpoint" } else { "no checkpoint" });
        }
    }
}

/// 0 succeeds, 1 fails once, 2 is skipped, 3 is hopeless.
fn script() -> Script {
    Script::new(|call| async move {
        match (call.n, call.attempt) {
            (1, 1) => Err("once".into()),
            (2, _) => Ok(Flow::Skip),
            (3, _) => Err(HandlerError::permanent("never").into()),
            _ => Ok(Flow::Continue),
        }
    })
}

/// The same whether its methods panic or not.
#[tokio::test]
async fn the_telemetry_is_told_of_everything_and_disturbs_nothing() {
    for panics in [false, true] {
        let store = MemoryStore::new();
        let last = append(&store, 0..4, 1).await;
        let counting = Counting { panics, ..Counting::default() };
        let builder = bundle(&store)
            .component(Pooled(script()))
            .executor(tasks(4))
            .checkpoint_mode(CheckpointMode::Watermark)
            .telemetry(counting.clone());
        let running = builder.build().unwrap().start().await.unwrap();
        settled(&running, &last).await;
        stop(running).await;
        let expected = [
            ("Failed(Ordinary) of projector", 1),
            ("Failed(Permanent) of projector", 1),
            ("Handled of projector", 2),
            ("Skipped of projector", 1),
            ("checkpoint", 1),
            ("dead letter of Pooled::made", 1),
            ("page", 1),
            ("permit of pool true", 5),
            ("retry of Pooled::made", 1),
            ("settled", 4),
            ("started Pooled::made 1 Some(\"pool\")", 4),
            ("started Pooled::made 2 Some(\"pool\")", 1),
        ];
        assert_eq!(counting.counted(), expected.map(|(what, times)| (what.to_owned(), times)), "panics: {panics}");
    }
}

/// Notes the fields of new spans, and in which span a handler runs.
struct Spans(Journal<(String, BTreeMap<String, String>)>);

struct Fields<'a>(&'a mut BTreeMap<String, String>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        attributes.record(&mut Fields(&mut fields));
        self.0.push((attributes.metadata().name().to_owned(), fields));
    }

    fn on_record(&self, _: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut fields = BTreeMap::new();
        values.record(&mut Fields(&mut fields));
        self.0.push(("recorded".to_owned(), fields));
    }
}

struct Own;

impl Tracer for Own {
    fn span(&self, attempt: &AttemptInfo<'_>) -> tracing::Span {
        assert!(attempt.attempt < 3, "a tracer's own trouble");
        tracing::info_span!("own", key = attempt.event.key.as_deref())
    }
}

struct Noting(Journal<String>);

#[evento_runtime::async_trait]
impl Interceptor for Noting {
    async fn before(&self, call: &evento_runtime::interceptor::Invocation) -> Result<(), evento_runtime::BoxError> {
        let name = tracing::Span::current().metadata().map(|span| span.name());
        self.0.push(format!("{} in {name:?}", call.attempt()));
        Ok(())
    }
}

#[tokio::test]
async fn an_attempt_runs_in_its_span_with_the_trace_of_its_event() {
    let spans = Journal::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Spans(spans.clone())));
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let store = MemoryStore::new();
    let last = append_all(&store, [NewEvent::from(Made { n: 0 }).metadata("traceparent", PARENT)]).await;
    let within = Journal::default();
    let builder = bundle(&store).component(Limited(script())).interceptor(Noting(within.clone()));
    let running = builder.build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    let told = |(name, fields): &(String, BTreeMap<String, String>)| {
        name == "attempt" || (name == "recorded" && fields.contains_key("traceparent"))
    };
    let attempts: Vec<_> = spans.all().into_iter().filter(told).collect();
    let [(_, fields), (_, recorded)] = &attempts[..] else { panic!("{attempts:?}") };
    let shown: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.trim_matches('"'))).collect();
    let position = last.to_string();
    let expected =
        [("attempt", "1"), ("consumer", "b/Limited v1"), ("handler", "Limited::made"), ("position", &position)];
    assert_eq!(shown, expected);
    assert_eq!(recorded["traceparent"].trim_matches('"'), PARENT);
    assert_eq!(within.all(), ["1 in Some(\"attempt\")"]);
}

#[tokio::test]
async fn a_tracer_of_ones_own_makes_the_spans_and_its_panic_is_none_of_the_events() {
    let spans = Journal::default();
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Spans(spans.clone())));
    let store = MemoryStore::new();
    let last = append(&store, [7], 1).await;
    let within = Journal::default();
    let fails =
        Script::new(|call| async move { if call.attempt < 3 { Err("again".into()) } else { Ok(Flow::Continue) } });
    let context = DispatchContext {
        tracer: Some(Arc::new(Own)),
        telemetry: None,
        interceptors: vec![Arc::new(Noting(within.clone()))],
    };
    let running = bundle(&store).component(Limited(fails)).dispatch(context).build().unwrap().start().await.unwrap();
    settled(&running, &last).await;
    stop(running).await;
    assert_eq!(within.all(), ["1 in Some(\"own\")", "2 in Some(\"own\")", "3 in None"]);
    let own = spans.all().into_iter().filter(|(name, _)| name == "own").count();
    assert_eq!(own, 2);
}
