//! What is shown is what is there.

use std::time::Duration;

use axum::http::StatusCode;
use evento_runtime::admin::routes;
use evento_runtime::store::{MemoryStore, Sqlite};
use futures_util::StreamExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use crate::shop::{COUNT, Client, Healed, VIEW, append, event, settled, started, stop};

#[tokio::test]
async fn consumers_components_executors_and_instances_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let running = started(Sqlite::file(folder.path().join("orders.db")), &Healed::default()).await;
    let client = Client::local(&running);
    let last = append(&running, vec![event("Placed", "1"), event("Placed", "bad one"), event("Placed", "3")]).await;
    settled(&running, &last).await;
    let bundle = client.ask("/api/bundle").await;
    assert_eq!((&bundle["bundle"], &bundle["head"]), (&json!("orders"), &json!("3")));
    let view = client.ask(&format!("/api/consumers/{VIEW}")).await;
    assert_eq!((&view["consumer"], &view["kind"]), (&json!("orders/View v1"), &json!("projector")));
    assert_eq!((&view["last_settled"], &view["last_started"]), (&json!("3"), &json!("3")));
    assert_eq!((&view["status"], &view["here"], &view["dead_letters"]), (&json!("caught up"), &json!(true), &json!(1)));
    assert_eq!(view["lag"], json!({ "events": 0, "more": false, "seconds": 0.0 }));
    assert_eq!(view["parallel"]["executors"], json!(["read-model"]));
    assert_eq!(view["errors"][0]["error"], "bad one");
    assert_eq!((&view["errors"][0]["position"], &view["errors"][0]["handler"]), (&json!("2"), &json!("seen")));
    let times = &view["handler_times"][0];
    assert_eq!((&times["handler"], &times["attempts"], &times["failed"]), (&json!("View::seen"), &json!(3), &json!(1)));
    let counts: u64 = times["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((counts, times["bounds"].as_array().unwrap().len()), (3, 17));
    assert!(times["seconds"].as_f64() > Some(0.0));
    let page = client.get("/consumers/View/1/%2A").await.text();
    assert!(page.contains("95 % within") && page.contains("<svg class=\"bars\" viewBox=\"0 0 108 24\""), "{page}");
    assert_eq!(page.matches("<rect ").count(), 18);
    // No executor, no line about executors.
    assert!(client.ask(&format!("/api/consumers/{COUNT}")).await["parallel"].is_null());
    assert_eq!(client.ask("/api/consumers").await["consumers"].as_array().unwrap().len(), 2);
    let components = client.ask("/api/components").await;
    assert_eq!(components["components"].as_array().unwrap().len(), 2);
    let executors = client.ask("/api/executors").await;
    assert_eq!(
        (&executors["executors"][0]["name"], &executors["executors"][0]["capacity"]),
        (&json!("read-model"), &json!(4))
    );
    assert_eq!(executors["executors"][0]["handlers"], json!(["View::seen"]));
    let instances = client.ask("/api/instances").await;
    assert_eq!(
        (instances["instances"].as_array().unwrap().len(), &instances["instances"][0]["here"]),
        (1, &json!(true))
    );
    assert_eq!(instances["instances"][0]["consumers"], json!(["orders/Count v2", "orders/View v1"]));
    for unknown in ["View/2/*", "View/1/x", "View/1/a*b", "Vie/1/*", "View/x/*", "View/99999999999/*"] {
        let status = client.get(&format!("/api/consumers/{unknown}")).await.status;
        assert!(matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST), "{unknown}: {status}");
    }
    let letter = client.ask(&format!("/api/consumers/{VIEW}/letters/2")).await;
    assert_eq!(
        (&letter["error"], &letter["class"], &letter["attempts"]),
        (&json!("bad one"), &json!("ordinary"), &json!(1))
    );
    let payload = client.get(&format!("/api/consumers/{VIEW}/letters/2/payload")).await;
    assert_eq!(
        (&*payload.body, &payload.headers["content-type"]),
        (&b"bad one"[..], &"application/octet-stream".parse().unwrap())
    );
    assert_eq!(client.get(&format!("/api/consumers/{VIEW}/letters/3")).await.status, StatusCode::NOT_FOUND);
    stop(running).await;
}

/// The latest first, on from a position, a time, a name, a key; each page leads to the next.
#[tokio::test]
async fn the_log_is_browsed() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client::local(&running);
    let made =
        |n: usize| event(if n.is_multiple_of(5) { "Fifth" } else { "Other" }, "{\"a\":1}").key(format!("k-{}", n % 2));
    append(&running, (1..=20).map(made).collect()).await;
    let positions = async |query: &str| {
        let page = client.ask(&format!("/api/events{query}")).await;
        let events =
            page["events"].as_array().unwrap().iter().map(|event| event["position"].as_str().unwrap().to_owned());
        (events.collect::<Vec<_>>().join(" "), page["next"].clone())
    };
    assert_eq!(positions("?limit=3").await, ("20 19 18".to_owned(), json!({ "before": "18" })));
    assert_eq!(positions("?limit=3&before=18").await.0, "17 16 15");
    assert_eq!(positions("?limit=3&before=2").await, ("1".to_owned(), json!(null)));
    assert_eq!(positions("?after=17").await, ("18 19 20".to_owned(), json!(null)));
    assert_eq!(positions("?name=Fifth&limit=2").await, ("5 10".to_owned(), json!({ "after": "10" })));
    assert_eq!(positions("?name=Fifth&after=10").await.0, "15 20");
    assert_eq!(positions("?key=k-1&limit=2").await, ("1 3".to_owned(), json!({ "after": "3" })));
    assert_eq!(positions("?key=k-1&after=17&name=Other").await.0, "19");
    assert_eq!(positions("?key=k-1&context=other").await.0, "");
    assert_eq!(positions("?context=default&limit=1").await.0, "1");
    assert_eq!(positions("?since=2020-01-01&limit=1").await.0, "1");
    assert_eq!(positions("?since=2200-01-01").await.0, "");
    assert_eq!(positions("?name=&key=&context=&after=&before=&since=&limit=1").await.0, "20");
    assert_eq!(positions("?after=5&before=8").await, ("6 7".to_owned(), json!(null)));
    assert_eq!(positions("?name=Fifth&before=11&limit=1").await, ("5".to_owned(), json!({ "after": "5" })));
    assert_eq!(positions("?key=k-1&before=4").await, ("1 3".to_owned(), json!(null)));
    // Also what is of no use beside the rest.
    let alone = ["?after=x", "?before=-1", "?since=tomorrow", "?context=a*b", "?limit=x"];
    for wrong in
        alone.into_iter().chain(["?after=3&before=x", "?after=3&since=x", "?key=k&before=x", "?name=n&before=x"])
    {
        assert_eq!(client.get(&format!("/api/events{wrong}")).await.status, StatusCode::BAD_REQUEST, "{wrong}");
    }
    let one = client.ask("/api/events/5").await;
    assert_eq!((&one["name"], &one["payload"]["text"]), (&json!("Fifth"), &json!("{\n  \"a\": 1\n}")));
    assert_eq!(client.get("/api/events/21").await.status, StatusCode::NOT_FOUND);
    assert_eq!(client.get("/api/events/x").await.status, StatusCode::BAD_REQUEST);
    stop(running).await;
}

/// What machines ask that watch machines.
#[tokio::test]
async fn health_and_metrics_are_there() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client::local(&running);
    for path in ["/health/live", "/health/ready"] {
        let health = client.ask(path).await;
        assert_eq!((&health["live"], &health["ready"]), (&json!(true), &json!(true)));
    }
    for path in ["/metrics", "/actuator/prometheus"] {
        let scraped = client.get(path).await;
        assert_eq!(scraped.status, StatusCode::OK);
        assert!(scraped.headers["content-type"].to_str().unwrap().contains("text"), "{:?}", scraped.headers);
        assert!(scraped.text().contains("evento_consumer_executor_capacity{bundle=\"orders\""), "{}", scraped.text());
    }
    stop(running).await;
}

/// Every route of the API is in the description, and nothing else.
#[tokio::test]
async fn the_description_is_the_list_of_routes() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let description = Client::local(&running).ask("/api/openapi.json").await;
    let mut described = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            assert!(operation["responses"]["200"].is_object(), "{path}");
            let named =
                operation["parameters"].as_array().unwrap().iter().filter(|parameter| parameter["in"] == "path");
            assert_eq!(named.count(), path.matches('{').count(), "{path}");
            described.push((method.to_uppercase(), path.clone()));
        }
    }
    let api = routes().into_iter().filter(|route| route.path.starts_with("/api/"));
    let mut there: Vec<_> = api.map(|route| (route.method.to_string(), route.path.to_owned())).collect();
    there.sort();
    described.sort();
    assert_eq!(described, there);
    stop(running).await;
}

/// Each second, and to the end: which is when the bundle stops.
#[tokio::test]
async fn live_pages_end_with_the_bundle() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client::local(&running);
    let mut request = axum::http::Request::builder()
        .uri("/api/live")
        .header("host", "localhost")
        .body(axum::body::Body::empty())
        .unwrap();
    request.extensions_mut().insert(axum::extract::ConnectInfo(client.address.unwrap()));
    let response = client.router.clone().oneshot(request).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body().into_data_stream();
    let first = body.next().await.unwrap().unwrap();
    let first = std::str::from_utf8(&first).unwrap();
    assert!(first.starts_with("event: overview\ndata: {") && first.contains("orders/View v1"), "{first}");
    let rest = tokio::spawn(async move { while body.next().await.is_some() {} });
    // Nothing in the admin router delays a stop.
    stop(running).await;
    tokio::time::timeout(Duration::from_secs(60), rest).await.unwrap().unwrap();
    // It is still there, and says what is the case.
    assert!(client.get("/api/openapi.json").await.status.is_success());
}
