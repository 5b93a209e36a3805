//! The pages for people who see less, or not: judged by axe-core on every screen, in a light and in a dark room, on a wide
//! window and on a phone.

use evento_runtime::admin::{self, Access};
use evento_runtime::prelude::*;
use evento_runtime::store::MemoryStore;
use evento_runtime::{Bundle, NewEvent};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::shop::{Healed, append, event, settled, started, stop};
use crate::webdriver::{Browser, Driver, NONE, serve};

#[derive(Event, Serialize, Deserialize)]
struct Paid {
    #[event(sensitive)]
    card: u64,
}

#[derive(Default)]
struct Payments;

#[projector(version = 1)]
impl Payments {
    #[event_handler]
    async fn paid(&self, _event: Paid) {}
}

/// What is wrong with a page, but for what hardly anybody notices.
fn findings(browser: &Browser<'_>, axe: &str, what: &str) -> Vec<String> {
    browser.run(axe);
    let found = browser.later(
        "const done = arguments[arguments.length - 1]; \
         axe.run(document, { resultTypes: ['violations'] }).then((found) => done(found), (error) => done(String(error)));",
    );
    let violations = found["violations"].as_array().unwrap_or_else(|| panic!("{what}: {found}"));
    assert!(
        found["passes"].as_array().is_some_and(|passes| passes.len() > 10),
        "{what}: it has judged hardly anything"
    );
    let serious = violations.iter().filter(|one| !matches!(one["impact"].as_str(), Some("minor" | "moderate")));
    let told = |one: &Value| {
        let node = &one["nodes"][0];
        format!("{what}: {} ({}): {} {}", one["id"], one["impact"], node["html"], node["failureSummary"])
    };
    serious.map(told).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_screen_keeps_anybody_out() {
    let Some(axe) = std::env::var_os("EVENTO_TEST_AXE") else {
        return evento_tests::skip(
            "accessibility: EVENTO_TEST_AXE names no axe.min.js (tests/services fetches it from npm)",
        );
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    let Some(driver) = tokio::task::spawn_blocking(Driver::start).await.unwrap() else {
        return evento_tests::skip(NONE);
    };
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let bad = |n: u32| event("Placed", format!("bad {n}")).key(format!("k-{n}")).metadata("user", "ada");
    let last = append(&running, (1..=3).map(bad).collect()).await;
    settled(&running, &last).await;
    let bundle = Bundle::builder("payments").register::<Payments>().store(MemoryStore::new()).build().unwrap();
    let payments = bundle.start().await.unwrap();
    let last = append(&payments, vec![NewEvent::from(Paid { card: 471_147 })]).await;
    settled(&payments, &last).await;
    let (read, act) = ("the-token-for-reading", "the-token-for-acting!");
    let root = async |admin| format!("http://{}/admin", serve(admin).await);
    let orders = root(admin::router(&running, Access::loopback_only())).await;
    let guarded = root(admin::router(&running, Access::token(read, act).unwrap())).await;
    let revealing = root(admin::router(&payments, Access::loopback_revealing())).await;
    let browse = move || {
        let screens = [
            "",
            "/consumers/View/1/%2A",
            "/consumers/View/1/%2A/letters",
            "/consumers/View/1/%2A/letters/1",
            "/catalogue",
            "/executors",
            "/instances",
            "/events",
            "/events/1",
            "/prune?before=2200-01-01",
            "/audit",
            "/nothing",
        ];
        let screens = screens.map(|screen| format!("{orders}{screen}"));
        let others = [guarded.clone(), format!("{guarded}/login"), format!("{revealing}/events/1")];
        let mut found = Vec::new();
        for width in [1_200, 360] {
            let browser = driver.open(width);
            // A consumer that is paused, an outcome that is told, and something in the audit.
            browser.go(&format!("{orders}/consumers/Count/2/%2A"));
            if browser.value("document.querySelector('button[value=pause]') !== null") == json!(true) {
                browser.click("button[value=pause]");
                let told = "document.querySelector('.outcome')?.textContent.includes('done')";
                browser.eventually(told);
                found.extend(findings(&browser, &axe, "what was done"));
            }
            for scheme in ["light", "dark"] {
                browser.prefer(scheme);
                for screen in screens.iter().chain(&others) {
                    browser.go(screen);
                    if screen.ends_with("%2A") || *screen == orders {
                        browser.eventually("document.querySelectorAll('figure.drawn').length > 1");
                    }
                    found.extend(findings(&browser, &axe, &format!("{screen} {scheme} {width}")));
                }
                browser.click("form[action$=reveal] button");
                browser.eventually("document.querySelector('pre.payload').textContent.includes('471147')");
                found.extend(findings(&browser, &axe, &format!("revealed {scheme} {width}")));
            }
            browser.close();
        }
        assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n"));
    };
    tokio::task::spawn_blocking(browse).await.unwrap();
    stop(running).await;
    stop(payments).await;
}
