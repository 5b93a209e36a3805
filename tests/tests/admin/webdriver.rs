//! A real browser, where Debian's `chromium-driver` is installed, and a server for it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use axum::Router;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Why a test of pages did not run.
pub(crate) const NONE: &str = "browser: chromedriver is not installed (Debian: chromium-driver)";

/// A driver, and the way to ask it.
pub(crate) struct Driver {
    process: Child,
    port: u16,
}

/// One window.
pub(crate) struct Browser<'a> {
    driver: &'a Driver,
    session: String,
}

impl Driver {
    /// `None`: there is none.
    pub(crate) fn start() -> Option<Self> {
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

    pub(crate) fn open(&self, width: u32) -> Browser<'_> {
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

    pub(crate) fn go(&self, url: &str) {
        self.ask("POST", "/url", &json!({ "url": url }));
    }

    /// The value of an expression on the page.
    pub(crate) fn value(&self, expression: &str) -> Value {
        self.ask("POST", "/execute/sync", &json!({ "script": format!("return {expression}"), "args": [] }))
    }

    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.value(&format!("document.querySelector({}).textContent", json!(selector)));
        text.as_str().unwrap().to_owned()
    }

    pub(crate) fn click(&self, selector: &str) {
        let found = self.ask("POST", "/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().unwrap().values().next().unwrap().as_str().unwrap().to_owned();
        self.ask("POST", &format!("/element/{id}/click"), &json!({}));
    }

    pub(crate) fn eventually(&self, expression: &str) {
        for _ in 0..600 {
            if self.value(expression) == true {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("not within half a minute: {expression}: {}", self.value("document.body.innerText"));
    }

    /// What a script says that calls its last argument once it is ready.
    pub(crate) fn later(&self, script: &str) -> Value {
        self.ask("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script on the page, whatever the page allows its own.
    pub(crate) fn run(&self, script: &str) {
        self.ask("POST", "/execute/sync", &json!({ "script": script, "args": [] }));
    }

    /// As somebody sees it whose machine is dark, or light.
    pub(crate) fn prefer(&self, scheme: &str) {
        let features = [json!({ "name": "prefers-color-scheme", "value": scheme })];
        let command = json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        self.ask("POST", "/goog/cdp/execute", &command);
    }

    /// What the browser itself had to say: a broken policy, a script that failed.
    pub(crate) fn assert_content(&self) {
        let log = self.ask("POST", "/se/log", &json!({ "type": "browser" }));
        let severe = log.as_array().unwrap().iter().filter(|entry| entry["level"] == "SEVERE").collect::<Vec<_>>();
        assert!(severe.is_empty(), "{severe:#?}");
    }

    pub(crate) fn close(self) {
        self.ask("DELETE", "", &json!({}));
    }
}

/// Serves a router of the admin below `/admin`.
pub(crate) async fn serve(admin: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let app = Router::new().nest("/admin", admin).into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    address
}
