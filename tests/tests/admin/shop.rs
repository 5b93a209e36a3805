//! A small bundle, and a way to ask its router.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use evento_runtime::admin::{self, Access};
use evento_runtime::executor::ConsumerExecutors;
use evento_runtime::observe::metrics::HandlerTimes;
use evento_runtime::prelude::*;
use evento_runtime::store::StoreConfig;
use evento_runtime::{Bundle, CheckpointMode, Expected, NewEvent, Position, RawEvent, Running};
use evento_tests::eventually;
use serde_json::Value;
use tower::ServiceExt as _;

/// Whether handlers can do today what they could not yesterday.
#[derive(Clone, Default)]
pub(crate) struct Healed(Arc<AtomicBool>);

impl Healed {
    pub(crate) fn heal(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Handles everything beside its loop; gives up what begins with `bad`, and says so with the whole payload.
#[derive(Default)]
pub(crate) struct View;

#[projector(version = 1)]
impl View {
    /// Every <b>event</b>.
    #[event_handler(executor = "read-model", retry = 0)]
    async fn seen(&self, event: RawEvent, Dep(healed): Dep<Healed>) -> Result<(), BoxError> {
        if event.payload.starts_with(b"bad") && !healed.0.load(Ordering::SeqCst) {
            return Err(String::from_utf8_lossy(&event.payload).into());
        }
        Ok(())
    }
}

/// Handles everything in order.
#[derive(Default)]
pub(crate) struct Count;

#[projector(version = 2)]
impl Count {
    #[event_handler]
    async fn counted(&self, _event: RawEvent) {}
}

pub(crate) const VIEW: &str = "View/1/*";
pub(crate) const COUNT: &str = "Count/2/*";

pub(crate) async fn started(store: impl StoreConfig, healed: &Healed) -> Running {
    Bundle::builder("orders")
        .register::<View>()
        .register::<Count>()
        .provide(healed.clone())
        .telemetry(HandlerTimes::new())
        .store(store)
        .executor(ConsumerExecutors::partitioned("read-model", 4))
        .checkpoint_mode(CheckpointMode::Watermark)
        .build()
        .unwrap()
        .start()
        .await
        .unwrap()
}

pub(crate) fn event(name: &str, payload: impl Into<Vec<u8>>) -> NewEvent {
    NewEvent::raw(name, "application/json", payload.into())
}

pub(crate) async fn append(running: &Running, events: Vec<NewEvent>) -> Position {
    running.store().append(None::<String>, Expected::Any, events).await.unwrap().last
}

/// Waits until everything is settled.
pub(crate) async fn settled(running: &Running, last: &Position) {
    eventually("everything is settled", || {
        running.status().iter().all(|status| status.watermark.as_ref() >= Some(last))
    })
    .await;
}

pub(crate) async fn stop(running: Running) {
    running.stop(Duration::from_secs(10)).await.unwrap();
}

/// A router, and from where it is asked.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) router: Router,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) address: Option<SocketAddr>,
}

/// What it answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Client {
    /// From this machine, as a program asks.
    pub(crate) fn local(running: &Running) -> Self {
        Self {
            router: admin::router(running, Access::loopback_only()),
            headers: vec![("host", "127.0.0.1:8080".to_owned())],
            address: Some(([127, 0, 0, 1], 50_000).into()),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(known, _)| *known != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) async fn send(&self, method: Method, path: &str, body: impl Into<Body>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut request = request.body(body.into()).unwrap();
        if let Some(address) = self.address {
            request.extensions_mut().insert(ConnectInfo(address));
        }
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, Body::empty()).await
    }

    /// Asks the API for something that it has.
    pub(crate) async fn ask(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.text());
        answer.json()
    }

    /// Asks the API to do something.
    pub(crate) async fn act(&self, path: &str, body: Value) -> Answer {
        self.clone().with("content-type", "application/json").send(Method::POST, path, body.to_string()).await
    }

    /// Presses a button of a page.
    pub(crate) async fn press(&self, path: &str, form: &str) -> Answer {
        let form = form.to_owned();
        self.clone().with("content-type", "application/x-www-form-urlencoded").send(Method::POST, path, form).await
    }
}
