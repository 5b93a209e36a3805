//! The pages in a real browser: what is clicked is done, what happens is seen without a reload, and no policy is broken.

use evento_runtime::admin::{self, Access};
use evento_runtime::store::MemoryStore;
use serde_json::json;

use crate::shop::{Healed, append, event, settled, started, stop};
use crate::webdriver::{Driver, NONE, serve};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_and_act() {
    let Some(driver) = tokio::task::spawn_blocking(Driver::start).await.unwrap() else {
        return evento_tests::skip(NONE);
    };
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let bad = |n: u32| event("Placed", format!("bad {n} <script>alert(1)</script>")).key(format!("k-{n}"));
    let last = append(&running, (1..=3).map(bad).collect()).await;
    settled(&running, &last).await;
    let admin = admin::router(&running, Access::loopback_only());
    let root = format!("http://{}/admin", serve(admin).await);
    let store = running.store().clone();
    let runtime = tokio::runtime::Handle::current();
    let browse = move || {
        let (one, two) = (driver.open(1_200), driver.open(360));
        // Charts are drawn, and what happens is seen without a reload.
        one.go(&root);
        one.eventually("document.querySelectorAll('figure.drawn').length === 3");
        let settled = "tr[data-consumer='orders/View v1'] [data-field=last_settled]";
        assert_eq!(one.text(settled), "3");
        let more = store.append(None::<String>, evento_runtime::Expected::Any, [event("Placed", "4")]);
        runtime.block_on(more).unwrap();
        one.eventually(&format!("document.querySelector({}).textContent === '4'", json!(settled)));
        // Somebody pauses on a wide screen; somebody else sees it on a phone.
        two.go(&root);
        one.go(&format!("{root}/consumers/View/1/%2A"));
        one.click("button[value=pause]");
        one.eventually("document.querySelector('.outcome')?.textContent.includes('pause of orders/View v1: done')");
        let status = "document.querySelector(\"tr[data-consumer='orders/View v1'] [data-field=status]\")?.textContent";
        two.eventually(&format!("{status}.includes('paused')"));
        one.click("button[value=resume]");
        two.eventually(&format!("{status}.includes('paused') === false"));
        // A dead letter is opened by its link, and tried again.
        one.go(&format!("{root}/consumers/View/1/%2A/letters"));
        one.click("tbody a.position");
        assert!(one.text("pre.payload").contains("<script>"));
        one.click("button[value=redrive]");
        one.eventually("document.querySelector('.outcome')?.textContent.includes('redrive of orders/View v1: done')");
        // Every screen, on both: nothing wider than the window, nothing the browser has to complain of.
        let screens = ["", "/consumers/View/1/%2A", "/consumers/View/1/%2A/letters", "/consumers/View/1/%2A/letters/1"];
        let others =
            ["/catalogue", "/executors", "/instances", "/events", "/events/1", "/prune?before=2200-01-01", "/audit"];
        for screen in screens.into_iter().chain(others) {
            for browser in [&one, &two] {
                browser.go(&format!("{root}{screen}"));
                let wide = browser.value("document.documentElement.scrollWidth - document.documentElement.clientWidth");
                assert_eq!(wide, 0, "{screen} is wider than the window");
                assert_eq!(browser.value("document.querySelectorAll('h1').length"), 1, "{screen}");
                // The first step by keyboard leads to the content.
                assert_eq!(browser.value("document.querySelector('a').getAttribute('href')"), "#content", "{screen}");
                browser.assert_content();
            }
        }
        one.close();
        two.close();
    };
    tokio::task::spawn_blocking(browse).await.unwrap();
    stop(running).await;
}
