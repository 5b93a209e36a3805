//! What is marked `#[event(sensitive)]` is not shown.

use std::time::Duration;

use evento_runtime::Expected;
use evento_runtime::event::{DOTS, JSON};
use evento_runtime::prelude::*;
use evento_runtime::store::{LetterFilter, MemoryStore};
use serde::{Deserialize, Serialize};

use crate::shop::bundle;

#[derive(Event, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Paid {
    order: u64,
    #[event(sensitive)]
    card_number: u64,
    #[event(sensitive)]
    #[serde(rename = "m")]
    mail: String,
}

struct Payments;

#[projector(version = 1)]
impl Payments {
    #[event_handler(retry = 0)]
    async fn paid(&self, event: Paid) -> Result<(), BoxError> {
        Err(format!("order {} is unknown", event.order).into())
    }
}

#[tokio::test]
async fn a_sensitive_value_is_dots_and_is_in_no_error() {
    let store = MemoryStore::new();
    let running = bundle("shop", &store).component(Payments).build().unwrap().start().await.unwrap();
    let whole = NewEvent::from(Paid { order: 1, card_number: 4711, mail: "ada@example.com".into() });
    let damaged = NewEvent::raw("Paid", JSON, r#"{"order":2,"cardNumber":"4711","m":"ada"}"#);
    assert!(!format!("{whole:?}").contains("4711"));
    let last = running.store().append(None::<String>, Expected::Any, [whole, damaged]).await.unwrap().last;
    crate::shop::settled(&running, &last).await;
    let letters = running.consumers()[0].dead_letters(LetterFilter::all(), None, 10).await.unwrap();
    let redaction = running.redaction();
    let shown = |at: usize| String::from_utf8(redaction.payload(&letters[at].letter.event).into_owned()).unwrap();
    assert_eq!(shown(0), format!(r#"{{"cardNumber":"{DOTS}","m":"{DOTS}","order":1}}"#));
    assert_eq!(shown(1), format!(r#"{{"cardNumber":"{DOTS}","m":"{DOTS}","order":2}}"#));
    let error = &letters[1].letter.error;
    assert!(!error.contains("4711") && error.contains("at line 1 column"), "{error}");
    assert!(!format!("{letters:?}").contains("example"));
    running.stop(Duration::from_secs(10)).await.unwrap();
}
