//! The pages in a real browser, where Debian's `chromium-driver` is installed: what is clicked is done, what happens is
//! seen without a reload, and no policy is broken.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use evento_runtime::Running;
use evento_runtime::admin::{self, Access};
use evento_runtime::store::MemoryStore;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::shop::{Healed, append, event, settled, started, stop};

/// A driver, and the way to ask it.
struct Driver {
    process: Child,
    port: u16,
}

/// One window.
struct Browser<'a> {
    driver: &'a Driver,
    session: String,
}

impl Driver {
    /// `None`: there is none.
    fn start() -> Option<Self> {
        let started = Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut process = started.ok()?;
        let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut ports = lines
            .filter_map(|line| line.split("started successfully on port ").nth(1)?.trim_end_matches('.').parse().ok());
        let port = ports.next();
        if port.is_none() {
            process.kill().ok();
        }
        Some(Self { process, port: port? })
    }

    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        connection.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = "Host: localhost\r\nContent-Type: application/json\r\nConnection: close";
        let length = body.len();
        write!(connection, "{method} {path} HTTP/1.1\r\n{head}\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = BufReader::new(connection);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(said) = line.strip_prefix("content-length:") {
                length = said.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        answer.read_exact(&mut body).unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        assert!(answer["value"]["error"].is_null(), "{method} {path}: {answer:#}");
        answer["value"].clone()
    }

    fn open(&self, width: u32) -> Browser<'_> {
        let size = format!("--window-size={width},900");
        let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &size];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let session = self.ask("POST", "/session", &wanted)["sessionId"].as_str().unwrap().to_owned();
        Browser { driver: self, session }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Browser<'_> {
    fn ask(&self, method: &str, what: &str, body: &Value) -> Value {
        self.driver.ask(method, &format!("/session/{}{what}", self.session), body)
    }

    fn go(&self, url: &str) {
        self.ask("POST", "/url", &json!({ "url": url }));
    }

    /// The value of an expression on the page.
    fn value(&self, expression: &str) -> Value {
        self.ask("POST", "/execute/sync", &json!({ "script": format!("return {expression}"), "args": [] }))
    }

    fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap().to_owned()
    }

    fn click(&self, selector: &str) {
        let found = self.ask("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.ask("POST", &format!("/element/{id}/click"), &json!({}));
    }

    fn eventually(&self, expression: &str) {
        for _ in 0..600 {
            if self.value(expression) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not within half a minute: {expression}: {}", self.value("document.body.innerText"));
    }

    /// What the browser itself had to say: a broken policy, a script that failed.
    fn assert_content(&self) {
        let log = self.ask("POST", "/se/log", &json!({ "type": "browser" }));
        let severe = log.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE").collect::<Vec<_>>();
        assert!(severe.is_empty(), "{severe:#?}");
    }

    fn close(self) {
        self.ask("DELETE", "", &json!({}));
    }
}

async fn serve(running: &Running) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = axum::Router::new().nest("/admin", admin::router(running, Access::loopback_only()));
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn people_see_and_act() {
    let Some(driver) = tokio::task::spawn_blocking(Driver::start).await.unwrap() else {
        return evento_tests::skip("browser: chromedriver is not installed (Debian: chromium-driver)");
    };
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let bad = |n: u32| event("Placed", format!("bad {n} <script>alert(1)</script>")).key(format!("k-{n}"));
    let last = append(&running, (1..=3).map(bad).collect()).await;
    settled(&running, &last).await;
    let root = format!("http://{}/admin", serve(&running).await);
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
        let others = ["/catalogue", "/executors", "/instances", "/events", "/events/1", "/audit"];
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
