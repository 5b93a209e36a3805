//! What is asked for is done, by whoever owns the consumer, and written down.

use axum::http::StatusCode;
use evento_runtime::store::{MemoryStore, Sqlite};
use evento_tests::eventually;
use serde_json::{Value, json};

use crate::shop::{COUNT, Client, Count, Healed, VIEW, append, event, settled, started, stop};

async fn letters(client: &Client, query: &str) -> Vec<String> {
    let page = client.ask(&format!("/api/consumers/{VIEW}/letters{query}")).await;
    let letters = page["letters"].as_array().unwrap();
    letters.iter().map(|letter| letter["event"]["position"].as_str().unwrap().to_owned()).collect()
}

/// One, some, all; what was discarded stays so, what was redriven is handled.
#[tokio::test]
async fn dead_letters_are_redriven_discarded_and_purged() {
    let folder = tempfile::tempdir().unwrap();
    let healed = Healed::default();
    let running = started(Sqlite::file(folder.path().join("orders.db")), &healed).await;
    let client = Client::local(&running);
    let bad =
        |n: u32| event(if n.is_multiple_of(2) { "Even" } else { "Odd" }, format!("bad {n}")).key(format!("o-{n}"));
    let last = append(&running, (1..=8).map(bad).collect()).await;
    settled(&running, &last).await;
    assert_eq!(letters(&client, "").await, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    assert_eq!(letters(&client, "?name=Even&limit=2").await, ["2", "4"]);
    assert_eq!(letters(&client, "?name=Even&after=4").await, ["6", "8"]);
    assert_eq!(letters(&client, "?error=bad%203").await, ["3"]);
    assert_eq!(letters(&client, "?class=transient").await, [""; 0]);
    assert_eq!(letters(&client, "?kind=parked").await, [""; 0]);
    assert_eq!(letters(&client, "?kind=dead&limit=1").await, ["1"]);
    assert_eq!(letters(&client, "?key=o-5&handler=seen").await, ["5"]);
    assert_eq!(letters(&client, "?since=2020-01-01&before=2020-01-02").await, [""; 0]);
    let page = client.ask(&format!("/api/consumers/{VIEW}/letters?limit=5")).await;
    assert_eq!(page["next"], "5");
    assert_eq!(
        client.ask(&format!("/api/consumers/{VIEW}/letters?limit=100000")).await["letters"].as_array().unwrap().len(),
        8
    );

    let path = |action: &str| format!("/api/consumers/{VIEW}/{action}");
    // Nobody means all by saying nothing.
    for nothing in
        [json!({}), json!({ "all": false }), json!({ "all": true, "name": "Even" }), json!({ "class": "bad" })]
    {
        assert_eq!(client.act(&path("discard"), nothing).await.status, StatusCode::BAD_REQUEST);
    }
    let one = client.act(&path("discard"), json!({ "position": 2 })).await;
    assert_eq!((one.status, &one.json()["letters"]), (StatusCode::OK, &json!(1)));
    healed.heal();
    let some = client.act(&path("redrive"), json!({ "name": "Odd" })).await;
    assert_eq!(some.json()["result"], "done: 4 dead letters");
    let open = async || letters(&client, "").await;
    for _ in 0..600 {
        if open().await.len() == 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(open().await, ["4", "6", "8"]);
    assert_eq!(client.act(&path("discard"), json!({ "all": true })).await.json()["letters"], 3);
    assert_eq!(client.act(&path("purge"), json!({ "before": "2020-01-01" })).await.json()["letters"], 0);
    assert_eq!(client.act(&path("purge"), json!({ "before": "2200-01-01" })).await.json()["letters"], 8);

    let audit = client.ask("/api/audit?limit=3").await;
    let told: Vec<_> = audit["audit"].as_array().unwrap().iter().map(|row| (&row["action"], &row["result"])).collect();
    let (purge, discard, done) = (json!("purge"), json!("discard"), json!("done: 8 dead letters"));
    assert_eq!(told[0], (&purge, &done));
    assert_eq!(told[2], (&discard, &json!("done: 3 dead letters")));
    let row = &audit["audit"][2];
    assert_eq!(
        (&row["who"], &row["origin"], &row["target"]),
        (&json!("this machine"), &json!("127.0.0.1"), &json!("orders/View v1"))
    );
    assert_eq!(row["detail"], "{\"all\":true}");
    let next = client.ask(&format!("/api/audit?after={}", audit["next"].as_str().unwrap())).await;
    assert_eq!(next["audit"].as_array().unwrap().len(), 2);
    stop(running).await;
}

/// Two instances over one store: the one that owns nothing is asked, the other one does it.
#[tokio::test]
async fn the_owner_does_what_another_instance_is_asked() {
    let store = MemoryStore::new();
    let owner = started(store.clone(), &Healed::default()).await;
    let last = append(&owner, (0..5).map(|n| event("Placed", format!("{n}"))).collect()).await;
    settled(&owner, &last).await;
    let standby = started(store, &Healed::default()).await;
    assert!(standby.status().iter().all(|status| status.epoch.0 == 0));
    let client = Client::local(&standby);

    let consumer = client.ask(&format!("/api/consumers/{VIEW}")).await;
    assert_eq!((&consumer["here"], &consumer["last_settled"]), (&json!(false), &json!("5")));
    assert!(consumer["owner"].is_string() && consumer["epoch"].as_u64() > Some(0));
    // Its live figures come with its row, which it has written at its start.
    assert_eq!(consumer["live"]["component"], "View", "{consumer:#}");

    let pause = client.act(&format!("/api/consumers/{COUNT}/pause"), json!({})).await;
    assert_eq!(pause.json()["result"], "done");
    eventually("the owner stands", || {
        owner.status().iter().any(|one| one.reason.as_ref().is_some_and(|reason| reason.to_string() == "paused"))
    })
    .await;
    assert_eq!(client.ask(&format!("/api/consumers/{COUNT}")).await["status"], "paused");
    client.act(&format!("/api/consumers/{COUNT}/resume"), json!({})).await;

    let seek = |body: Value| client.act_owned(format!("/api/consumers/{COUNT}/seek"), body);
    let back = seek(json!({ "to": "start" })).await;
    assert_eq!((back.status, &back.json()["error"]), (StatusCode::CONFLICT, &json!("refused")));
    assert!(back.json()["message"].as_str().unwrap().contains("#[on_reset]"));
    assert_eq!(seek(json!({ "to": "after:2", "keep": true })).await.json()["result"], "done");
    eventually("handled again", || owner.status().iter().any(|one| one.counters.settled >= 8)).await;
    assert_eq!(seek(json!({ "to": "after:99" })).await.status, StatusCode::CONFLICT);
    for wrong in [
        json!({}),
        json!({ "to": "nowhere" }),
        json!({ "to": "after:x" }),
        json!({ "to": 1 }),
        json!({ "to": ["start"] }),
    ] {
        assert_eq!(seek(wrong).await.status, StatusCode::BAD_REQUEST);
    }
    let skip = client.act(&format!("/api/consumers/{COUNT}/skip"), json!({ "position": "3" })).await;
    assert_eq!(skip.status, StatusCode::CONFLICT);

    // With nobody to do it, it waits; who takes the consumer over finds it.
    stop(owner).await;
    eventually("the other one owns", || standby.status().iter().all(|status| status.epoch.0 > 0)).await;
    assert_eq!(seek(json!({ "to": "head" })).await.json()["result"], "done");
    stop(standby).await;
}

impl Client {
    async fn act_owned(&self, path: String, body: Value) -> crate::shop::Answer {
        self.act(&path, body).await
    }
}

/// Nobody owns the consumer: after five seconds there is an id to ask by, and it is done later.
#[tokio::test(start_paused = true)]
async fn what_nobody_does_waits() {
    let store = MemoryStore::new();
    let running = started(store.clone(), &Healed::default()).await;
    let count = running.consumers().into_iter().find(|handle| &*handle.id().component == "Count").unwrap();
    // Somebody else holds it, and does nothing.
    let client = Client::local(&running);
    stop(running).await;
    let silent = store.store();
    let lease = silent.stores.lock.acquire(count.id(), evento_runtime::identity::Epoch(0)).await.unwrap().unwrap();
    let running = started(store.clone(), &Healed::default()).await;
    let client = Client { router: Client::local(&running).router, ..client };
    let waiting = client.act(&format!("/api/consumers/{COUNT}/seek"), json!({ "to": "head" })).await;
    assert_eq!(waiting.status, StatusCode::ACCEPTED, "{}", waiting.text());
    let id = waiting.json()["command"].as_str().unwrap().to_owned();
    assert_eq!(client.ask(&format!("/api/commands/{id}")).await["status"], "waiting");
    assert!(client.ask("/api/audit").await["audit"][0]["result"].as_str().unwrap().starts_with("waiting"));
    silent.stores.lock.release(&lease).await.unwrap();
    for _ in 0..600 {
        if client.ask(&format!("/api/commands/{id}")).await["status"] != "waiting" {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    let command = client.ask(&format!("/api/commands/{id}")).await;
    assert_eq!((&command["status"], &command["command"]), (&json!("done"), &json!({ "seek": "head", "keep": false })));
    stop(running).await;
}

/// The buttons of the pages do what the API does, and the page tells what became of it.
#[tokio::test]
async fn buttons_act() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client::local(&running);
    let last = append(&running, vec![event("Placed", "bad <b>"), event("Placed", "bad")]).await;
    settled(&running, &last).await;
    let consumer = format!("/consumers/{}", VIEW.replace('*', "%2A"));
    assert!(client.get(&consumer).await.text().contains("value=\"pause\""));
    for (form, becomes) in [
        ("action=pause", "pause of orders/View v1: done"),
        ("action=resume", "resume of orders/View v1: done"),
        ("action=skip&position=1", "skip of orders/View v1: refused"),
        ("action=seek&to=after&at=1&keep=on", "seek of orders/View v1: done"),
        ("action=discard&back=letters&position=1", "discard of orders/View v1: done"),
        ("action=redrive&back=letters&all=on", "redrive of orders/View v1: done"),
        ("action=purge&back=letters&before=1", "purge of orders/View v1: done"),
    ] {
        let pressed = client.press(&format!("{consumer}/act"), form).await;
        assert_eq!(pressed.status, StatusCode::SEE_OTHER, "{form}: {}", pressed.text());
        let back = pressed.headers["location"].to_str().unwrap().to_owned();
        assert_eq!(back.contains("/letters?"), form.contains("back=letters"), "{back}");
        let told = client.get(&back).await.text();
        assert!(told.contains(becomes), "{form}: {told}");
        // At once, whatever was looked at before.
        assert!(form != "action=pause" || told.contains("value=\"resume\""), "{told}");
    }
    for wrong in ["", "action=", "action=drop", "action=redrive", "action=seek", "action=skip&position=x"] {
        let answer = client.press(&format!("{consumer}/act"), wrong).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{wrong}");
        assert!(answer.text().contains("role=\"alert\""));
    }
    // An id that somebody made up tells nothing.
    let made_up = client.get(&format!("{consumer}?outcome=0190a0b0-0000-7000-8000-000000000000")).await;
    assert_eq!(made_up.status, StatusCode::OK);
    assert!(!made_up.text().contains("class=\"outcome\""));
    stop(running).await;
}

/// Counted by whoever looks, taken out by whoever acts, told by the page and the audit.
#[tokio::test]
async fn the_log_is_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let running = started(Sqlite::file(folder.path().join("orders.db")), &Healed::default()).await;
    let client = Client::local(&running);
    let last = append(&running, (0..9).map(|n| event("Placed", format!("{n}"))).collect()).await;
    settled(&running, &last).await;
    // A checkpoint is stored a moment after.
    let prunable = async |before: &str| client.ask(&format!("/api/log/prunable?before={before}")).await;
    for _ in 0..600 {
        if prunable("2200-01-01").await["events"] == 8 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let counted = prunable("2200-01-01").await;
    assert_eq!((&counted["events"], &counted["to"], &counted["more"]), (&json!(8), &json!("8"), &json!(false)));
    assert_eq!(counted["slowest"]["last_settled"], "9");
    assert_eq!(prunable("2020-01-01").await["events"], 0);
    assert_eq!(client.get("/api/log/prunable?before=soon").await.status, StatusCode::BAD_REQUEST);
    assert_eq!(client.act("/api/log/prune", json!({})).await.status, StatusCode::BAD_REQUEST);
    let page = client.get("/prune?before=2200-01-01").await.text();
    assert!(page.contains("<dd>8</dd>") && page.contains("yes, take them out"), "{page}");
    let none = client.act("/api/log/prune", json!({ "before": "2020-01-01" })).await.json();
    assert_eq!((&none["events"], &none["to"]), (&json!(0), &Value::Null));
    let pressed = client.press("/prune", "before=2200-01-01").await;
    assert_eq!(pressed.status, StatusCode::SEE_OTHER, "{}", pressed.text());
    let told = client.get(pressed.headers["location"].to_str().unwrap()).await.text();
    assert!(told.contains("prune of the log: done: 8 events, up to position 8"), "{told}");
    let left = client.ask("/api/events").await;
    assert_eq!(left["events"].as_array().unwrap().len(), 1);
    let audit = client.ask("/api/audit?limit=1").await;
    assert_eq!(audit["audit"][0]["detail"], "{\"before\":\"2200-01-01T00:00:00.000000Z\"}");
    let seek = client.act(&format!("/api/consumers/{COUNT}/seek"), json!({ "to": "start", "keep": true })).await;
    assert_eq!(seek.status, StatusCode::CONFLICT);
    assert!(seek.text().contains("after:8"), "{}", seek.text());
    stop(running).await;
}

mod newer {
    use evento_runtime::RawEvent;
    use evento_runtime::prelude::*;

    /// The next version of what the others run.
    #[derive(Default)]
    pub(super) struct View;

    #[projector(version = 2)]
    impl View {
        #[event_handler]
        async fn seen(&self, _event: RawEvent) {}
    }
}

/// In the middle of an update: an instance that has no component of a consumer any more steers it all the same.
#[tokio::test]
async fn what_another_version_runs_is_steered_from_here() {
    let (store, healed) = (MemoryStore::new(), Healed::default());
    let old = started(store.clone(), &healed).await;
    let last = append(&old, (0..5).map(|n| event("Placed", format!("bad {n}"))).collect()).await;
    settled(&old, &last).await;
    let new = evento_runtime::Bundle::builder("orders").register::<newer::View>().register::<Count>().store(store);
    let new = new.build().unwrap().start().await.unwrap();
    let client = Client::local(&new);
    let consumer = client.ask(&format!("/api/consumers/{VIEW}")).await;
    assert_eq!((&consumer["kind"], &consumer["here"]), (&Value::Null, &json!(false)));
    let act = async |action: &str, body: Value| client.act(&format!("/api/consumers/{VIEW}/{action}"), body).await;
    assert_eq!(act("pause", json!({})).await.json()["result"], "done");
    let is_paused = || old.status().iter().any(|one| one.reason.as_ref().is_some_and(|it| it.to_string() == "paused"));
    eventually("the owner stands", is_paused).await;
    assert_eq!(act("resume", json!({})).await.json()["result"], "done");
    eventually("the owner goes on", || !is_paused()).await;
    assert_eq!(act("discard", json!({ "position": 1 })).await.json()["letters"], 1);
    healed.heal();
    assert_eq!(act("redrive", json!({ "all": true })).await.json()["letters"], 4);
    for _ in 0..600 {
        if letters(&client, "").await.is_empty() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(letters(&client, "").await, [""; 0]);
    assert_eq!(act("purge", json!({ "before": "2200-01-01" })).await.json()["letters"], 5);
    let skip = act("skip", json!({ "position": 3 })).await;
    assert_eq!((skip.status, &skip.json()["error"]), (StatusCode::CONFLICT, &json!("refused")));
    let seek = act("seek", json!({ "to": "after:2", "keep": true })).await;
    assert_eq!((seek.status, &seek.json()["result"]), (StatusCode::OK, &json!("done")), "{}", seek.text());
    eventually("handled again by the owner", || old.status().iter().any(|one| one.counters.settled >= 8)).await;
    // The pages have the buttons as well.
    assert!(client.get("/consumers/View/1/%2A").await.text().contains("value=\"pause\""));
    assert!(client.get("/consumers/View/1/%2A/letters").await.text().contains("value=\"purge\""));
    stop(new).await;
    stop(old).await;
}
