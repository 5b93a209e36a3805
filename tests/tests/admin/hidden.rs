//! What is marked `#[event(sensitive)]` leaves the process nowhere.

use evento_runtime::event::DOTS;
use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, NewEvent};
use serde::{Deserialize, Serialize};

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

#[tokio::test]
async fn a_sensitive_value_is_on_no_page_and_in_no_answer() {
    let bundle = Bundle::builder("orders").register::<Payments>().store(MemoryStore::new()).build().unwrap();
    let running = bundle.start().await.unwrap();
    let last = append(&running, vec![NewEvent::from(Paid { order: 7, card: 471_147 })]).await;
    settled(&running, &last).await;
    let client = Client::local(&running);
    let letters = "consumers/Payments/1/*/letters";
    let mut shown = 0;
    for path in [
        "/api/events".to_owned(),
        "/api/events/1".to_owned(),
        "/api/events/1/payload".to_owned(),
        "/events".to_owned(),
        "/events/1".to_owned(),
        format!("/api/{letters}"),
        format!("/api/{letters}/1"),
        format!("/api/{letters}/1/payload"),
        format!("/{letters}"),
        format!("/{letters}/1"),
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
