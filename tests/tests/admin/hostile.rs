//! Stored texts and addresses that mean harm: nothing of them becomes markup, and nothing fails for them.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::{Next, from_fn};
use evento_runtime::admin::{self, Access, Caller, Rights, routes};
use evento_runtime::store::{MemoryStore, Sqlite, StoreConfig};
use evento_runtime::{NewEvent, Running};

use crate::shop::{Answer, Client, Healed, VIEW, append, event, settled, started, stop};

/// Begins markup, ends an attribute, is a template, is no character at all.
const TEXTS: [&str; 7] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "{{7*7}} ${7*7} <%= 7*7 %>",
    "javascript:alert(1)",
    "\u{202e}\u{0007}\u{fffd}\u{1F980}",
    "</pre><iframe src=//evil.example>",
];

fn events() -> Vec<NewEvent> {
    let mut events = Vec::new();
    for text in TEXTS {
        // Every part of an event that takes such a text, in the log and among the dead letters.
        let payload = format!("bad {text}");
        events.push(event("Placed", payload).key(text).context(text).metadata("user", text).metadata(text, 1));
        let json = serde_json::to_vec(&serde_json::json!({ text: [text, { "deep": text }] })).unwrap();
        events.push(event("Placed", json).key(text));
        events.push(NewEvent::raw("Placed", text, text.as_bytes().to_vec()));
    }
    events.push(event("Placed", b"bad \xff\xfe\x00<script>".to_vec()));
    events.push(event("Placed", b"bad \x00 NUL".to_vec()));
    events.push(event("Placed", [b"bad ".to_vec(), vec![b'<'; 5 * 1_024 * 1_024]].concat()));
    events.push(event("Unknown.type_-9", vec![b'['; 300_000]));
    events
}

/// The elements and attributes of our pages: everything else came out of a stored text.
const ELEMENTS: &str = " !DOCTYPE html head meta title link script body a header p nav form button main h1 h2 div section \
    table thead tbody tr th td span b dl dt dd figure figcaption pre code label input select option svg rect ";
const ATTRIBUTES: &str = " html lang charset name content rel href src defer data-live class aria-label aria-current method \
    action type id role tabindex scope data-consumer data-field data-chart data-total data-executor value required \
    autocomplete placeholder selected download viewBox x y width height ";

/// Reads a page as a browser does: no element, no attribute and no address in it is of others.
fn assert_harmless(what: &str, page: &str) {
    assert!(page.len() < 2_000_000, "{what}: {} bytes", page.len());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let whole = &rest[at + 1..];
        let name = whole.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '>').next().unwrap();
        assert!(ELEMENTS.contains(&format!(" {name} ")), "{what}: <{name}");
        let mut tag = whole[whole.find(name).unwrap() + name.len()..].trim_start();
        while !tag.starts_with('>') {
            let end = tag.find(|c: char| c.is_whitespace() || c == '=' || c == '>').unwrap();
            let (attribute, after) = tag.split_at(end);
            assert!(ATTRIBUTES.contains(&format!(" {attribute} ")), "{what}: <{name} {attribute}");
            tag = after.trim_start();
            if let Some(quoted) = after.strip_prefix("=\"") {
                let end = quoted.find('"').unwrap();
                let ours = quoted[..end].starts_with('/') && !quoted.starts_with("//") || quoted.starts_with('#');
                assert!(ours || !matches!(attribute, "href" | "src" | "action"), "{what}: {}", &quoted[..end]);
                tag = quoted[end + 1..].trim_start();
            } else {
                assert!(!after.starts_with('='), "{what}: <{name} {attribute} without quotes");
            }
        }
        assert!(
            name != "script" || whole.starts_with('/') || tag.starts_with("></script>"),
            "{what}: a script within the page"
        );
        rest = tag;
    }
}

fn is_page(answer: &Answer) -> bool {
    answer.headers.get("content-type").is_some_and(|kind| kind.to_str().unwrap().starts_with("text/html"))
}

fn links(page: &str) -> impl Iterator<Item = String> {
    let attributes = ["href=\"", "action=\""];
    attributes.into_iter().flat_map(move |attribute| {
        page.match_indices(attribute).map(move |(at, _)| {
            let rest = &page[at + attribute.len()..];
            rest[..rest.find('"').unwrap()].replace("&amp;", "&")
        })
    })
}

async fn crawl(store: impl StoreConfig, hostile_caller: bool) {
    let running: Running = started(store, &Healed::default()).await;
    let last = append(&running, events()).await;
    settled(&running, &last).await;
    let named = from_fn(|mut request: Request, next: Next| async move {
        request.extensions_mut().insert(Caller::new(TEXTS[1], Rights::ACT));
        next.run(request).await
    });
    let local = Client::local(&running);
    let client = match hostile_caller {
        true => Client { router: admin::router(&running, Access::layer(named)), ..local },
        false => local,
    };
    // The audit is hostile as well.
    for text in TEXTS {
        let form = format!("action=redrive&key={}&error={}", encoded(text), encoded(text));
        client.press(&format!("/consumers/{VIEW}/act"), &form).await;
    }
    let mut seen = BTreeSet::new();
    let mut next = vec!["/".to_owned(), format!("/consumers/{VIEW}/letters?limit=100"), "/events?limit=100".to_owned()];
    while let Some(path) = next.pop() {
        if !seen.insert(path.clone()) || path == "/logout" {
            continue;
        }
        let answer = client.get(&path).await;
        let is_form = path.ends_with("/act");
        assert!(answer.status.is_success() || is_form, "{path}: {}", answer.status);
        if !is_page(&answer) {
            continue;
        }
        let page = String::from_utf8(answer.body).unwrap();
        assert_harmless(&path, &page);
        for link in links(&page) {
            if link.starts_with('/') {
                next.push(link);
            }
        }
    }
    // Every letter, every event, every key.
    assert!(seen.iter().filter(|path| path.contains("/letters/")).count() >= 2 * (TEXTS.len() + 3), "{}", seen.len());
    assert!(seen.iter().filter(|path| path.starts_with("/events?key=")).count() >= TEXTS.len(), "{}", seen.len());
    stop(running).await;
}

#[tokio::test]
async fn every_page_is_harmless() {
    crawl(MemoryStore::new(), true).await;
}

#[tokio::test]
async fn every_page_is_harmless_over_a_database() {
    let folder = tempfile::tempdir().unwrap();
    crawl(Sqlite::file(folder.path().join("orders.db")), false).await;
}

fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Every parameter of every route, and queries and bodies beside them.
#[tokio::test]
async fn no_address_and_no_body_makes_it_fail() {
    let folder = tempfile::tempdir().unwrap();
    let running = started(Sqlite::file(folder.path().join("orders.db")), &Healed::default()).await;
    let last = append(&running, vec![event("Placed", "bad")]).await;
    settled(&running, &last).await;
    let client = Client::local(&running);
    let mut segments: Vec<String> = TEXTS.iter().map(|text| encoded(text)).collect();
    segments.extend(
        ["%00", "%FF%FE", "..%2F..", "18446744073709551616", "-1", "0x", "0xzz", "%2A", "0x00"].map(str::to_owned),
    );
    segments.push("9".repeat(2_000));
    for route in routes() {
        if route.path == "/api/live" {
            continue;
        }
        let parameters: Vec<&str> = route.path.split('/').filter(|part| part.starts_with('{')).collect();
        let right = route.path.replace("{component}/{version}/{context}", VIEW).replace("{position}", "1");
        let odd = [encoded(TEXTS[1]), "%00".to_owned(), "%FF%FE".to_owned(), "0x00".to_owned(), "-1".to_owned()];
        for segment in &segments {
            let with = |meant: &str, fill: &str| route.path.replace(meant, fill);
            let mut paths: Vec<String> = parameters.iter().map(|meant| with(meant, segment)).collect();
            let asks = ["letters", "/events", "/audit"].iter().any(|part| route.path.ends_with(part));
            if asks && odd.contains(segment) {
                let fields = "after before since name key context error handler class limit outcome";
                paths.extend(fields.split(' ').map(|field| format!("{right}?{field}={segment}")));
            }
            for path in paths.into_iter().map(|path| path.replace('{', "%7B").replace('}', "%7D")) {
                let answer = client.send(route.method.clone(), &path, Body::empty()).await;
                assert!(answer.status.as_u16() < 500, "{} {path}: {} {}", route.method, answer.status, answer.text());
                if is_page(&answer) {
                    assert_harmless(&path, &answer.text());
                }
            }
            if route.method == Method::POST && odd.contains(segment) {
                let form = format!("action={segment}&position={segment}&key={segment}&to={segment}&token={segment}");
                let answer = client.press(&right, &form).await;
                assert!(answer.status.as_u16() < 500, "{right} {form}: {}", answer.status);
                for body in [
                    "{",
                    "[]",
                    "null",
                    "{\"position\":{}}",
                    "{\"key\":\"\\u0000\"}",
                    "\u{1F980}",
                    "{\"to\":\"time:\\u0000\"}",
                ] {
                    let json = client.clone().with("content-type", "application/json");
                    let answer = json.send(Method::POST, &right, body).await;
                    assert!(answer.status.as_u16() < 500, "{right} {body}: {} {}", answer.status, answer.text());
                }
            }
        }
    }
    stop(running).await;
}
