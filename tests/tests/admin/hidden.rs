//! What is marked `#[event(sensitive)]` is dots, but for whoever may reveal it and is noted.

use axum::http::StatusCode;
use evento_runtime::admin::{self, Access};
use evento_runtime::event::DOTS;
use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, NewEvent, Running};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::shop::{Client, append, settled, stop};

#[derive(Event, Serialize, Deserialize)]
struct Paid {
    order: u64,
    #[event(sensitive)]
    card: u64,
}

#[derive(Default)]
struct Payments;

#[projector(version = 1)]
impl Payments {
    #[event_handler(retry = 0)]
    async fn paid(&self, event: Paid) -> Result<(), BoxError> {
        Err(format!("order {} is unknown", event.order).into())
    }
}

const LETTERS: &str = "consumers/Payments/1/*/letters";

/// One payment that was given up.
async fn paid() -> Running {
    let bundle = Bundle::builder("orders").register::<Payments>().store(MemoryStore::new()).build().unwrap();
    let running = bundle.start().await.unwrap();
    let last = append(&running, vec![NewEvent::from(Paid { order: 7, card: 471_147 })]).await;
    settled(&running, &last).await;
    running
}

/// Seen by whoever may, one event at a time, as an answer to a `POST`, and the audit keeps who it was and what. It is
/// on no other answer, and whoever only acts is refused.
#[tokio::test]
async fn a_sensitive_value_is_revealed_to_whoever_may_and_noted() {
    let running = paid().await;
    let local = Client::local(&running);
    let may = Client { router: admin::router(&running, Access::loopback_revealing()), ..local.clone() };
    let id = may.ask("/api/events/1").await["id"].clone();
    let reveals = [
        ("/api/events/1/reveal".to_owned(), "the log"),
        ("/events/1/reveal".to_owned(), "the log"),
        (format!("/api/{LETTERS}/1/reveal"), "orders/Payments v1"),
        (format!("/{LETTERS}/1/reveal"), "orders/Payments v1"),
    ];
    for (path, target) in reveals {
        let refused = local.press(&path, "").await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        assert!(!refused.text().contains("471147"), "{path}");
        // A link that is followed reveals nothing, whoever follows it.
        assert!(!may.get(&path).await.text().contains("471147"), "{path}");
        let before = may.ask("/api/audit").await["audit"].as_array().unwrap().len();
        let seen = may.press(&path, "").await;
        assert_eq!((seen.status, &seen.headers["cache-control"]), (StatusCode::OK, &"no-store".parse().unwrap()));
        assert!(seen.text().contains("471147") && !seen.text().contains(DOTS), "{path}: {}", seen.text());
        let audit = may.ask("/api/audit").await;
        assert_eq!(audit["audit"].as_array().unwrap().len(), before + 1, "{path}");
        let row = &audit["audit"][0];
        assert_eq!((&row["who"], &row["origin"]), (&json!("this machine"), &json!("127.0.0.1")));
        assert_eq!(
            (&row["action"], &row["target"], &row["result"]),
            (&json!("reveal"), &json!(target), &json!("done"))
        );
        let detail: serde_json::Value = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
        assert_eq!(detail, json!({ "position": "1", "event": id, "name": "Paid" }));
        assert!(!audit.to_string().contains("471147"));
    }
    // The button is there for whoever may press it.
    for page in ["/events/1".to_owned(), format!("/{LETTERS}/1")] {
        for (client, there) in [(&may, true), (&local, false)] {
            let text = client.get(&page).await.text();
            assert!(text.contains(DOTS) && text.contains("/reveal\"") == there, "{page}: {text}");
        }
    }
    // What is not there is neither shown nor noted.
    let before = may.ask("/api/audit").await;
    assert_eq!(may.press("/api/events/99/reveal", "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(may.ask("/api/audit").await, before);
    stop(running).await;
}

#[tokio::test]
async fn a_sensitive_value_is_on_no_page_and_in_no_answer() {
    let running = paid().await;
    let client = Client::local(&running);
    let mut shown = 0;
    for path in [
        "/api/events".to_owned(),
        "/api/events/1".to_owned(),
        "/api/events/1/payload".to_owned(),
        "/events".to_owned(),
        "/events/1".to_owned(),
        format!("/api/{LETTERS}"),
        format!("/api/{LETTERS}/1"),
        format!("/api/{LETTERS}/1/payload"),
        format!("/{LETTERS}"),
        format!("/{LETTERS}/1"),
        "/api/overview".to_owned(),
    ] {
        let answer = client.get(&path).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.status);
        let text = answer.text();
        assert!(!text.contains("471147"), "{path}: {text}");
        shown += usize::from(text.contains(DOTS));
    }
    assert!(shown >= 8, "{shown} of the answers show the event");
    stop(running).await;
}
