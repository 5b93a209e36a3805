//! Who may do what: the table is made of the router's own list.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn};
use evento_runtime::admin::{self, Access, Caller, Right, Rights, routes};
use evento_runtime::store::MemoryStore;

use crate::shop::{Client, Healed, VIEW, started, stop};

const READ: &str = "the-token-for-reading";
const ACT: &str = "the-token-for-acting!";
const REVEAL: &str = "the-token-for-revealing";

fn tokens() -> Access {
    Access::token(READ, ACT).unwrap().reveal_token(REVEAL).unwrap()
}

/// A path with something in place of its parameters.
fn filled(path: &str) -> String {
    let id = "/0190a0b0-0000-7000-8000-000000000000";
    let path = path.replace("{component}/{version}/{context}", VIEW).replace("/{id}", id);
    path.replace("{position}", "1")
}

/// Each route, with nothing, with a wrong token, and with each right.
#[tokio::test]
async fn no_route_answers_without_its_right() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client { router: admin::router(&running, tokens()), ..Client::local(&running) };
    let table = routes();
    assert!(table.len() > 30);
    for right in [Right::Read, Right::Act, Right::Reveal] {
        assert!(table.iter().any(|route| route.right == right), "{right:?}");
    }
    for route in table {
        let (path, changes) = (filled(route.path), route.method != Method::GET);
        if path == "/api/live" {
            // Has no end; what it answers to the others counts.
            assert_eq!(client.get(&path).await.status, StatusCode::UNAUTHORIZED);
            continue;
        }
        // Looking changes nothing, and acting is never a matter of following a link.
        assert!(route.right == Right::Open || changes == (route.right != Right::Read), "{path}");
        for (token, rights) in [
            ("", &[][..]),
            ("wrong-token-wrong-token", &[]),
            (READ, &[Right::Read]),
            (ACT, &[Right::Read, Right::Act]),
            (REVEAL, &[Right::Read, Right::Reveal]),
        ] {
            let may = route.right == Right::Open || rights.contains(&route.right);
            for as_cookie in [false, true] {
                let client = match (token, as_cookie) {
                    ("", _) => client.clone(),
                    (token, false) => client.clone().with("authorization", &format!("Bearer {token}")),
                    (token, true) => client
                        .clone()
                        .with("cookie", &format!("other=1; evento_admin={token}"))
                        .with("sec-fetch-site", "same-origin"),
                };
                let answer = client.send(route.method.clone(), &path, Body::empty()).await;
                let refused = matches!(answer.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
                // Signing in without a token is refused for a reason of its own.
                let refused = refused && path != "/login";
                let what = format!("{} {path} with {token:?}: {}", route.method, answer.status);
                assert_eq!(refused, !may, "{what}");
                assert!(!answer.status.is_server_error(), "{what}");
                let header = |name: &str| answer.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
                assert_eq!(header("x-content-type-options"), "nosniff", "{what}");
                let policy = header("content-security-policy");
                assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{what}");
                assert!(!policy.contains("unsafe"), "{what}");
                // With less a browser does not say that a form of ours is ours.
                assert_eq!(header("referrer-policy"), "same-origin", "{what}");
                assert!([READ, ACT, REVEAL].iter().all(|token| !answer.text().contains(token)), "{what}");
            }
        }
    }
    // What is not there is not told to everybody either.
    assert_eq!(client.get("/nothing").await.status, StatusCode::UNAUTHORIZED);
    // A token in an address is no token.
    assert_eq!(client.get(&format!("/api/bundle?token={ACT}")).await.status, StatusCode::UNAUTHORIZED);
    stop(running).await;
}

/// The same request from a page of this router, of another one, and of nobody.
#[tokio::test]
async fn another_page_changes_nothing() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let local = Client::local(&running);
    let path = format!("/api/consumers/{VIEW}/pause");
    let foreign: [&[(&str, &str)]; 6] = [
        &[("origin", "https://evil.example")],
        &[("origin", "null")],
        &[("origin", "http://127.0.0.1:8081")],
        &[("sec-fetch-site", "cross-site")],
        &[("sec-fetch-site", "same-site")],
        &[("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "cross-site")],
    ];
    for headers in foreign {
        let client = headers.iter().fold(local.clone(), |client, (name, value)| client.with(name, value));
        for path in [path.clone(), format!("/consumers/{VIEW}/act"), "/login".to_owned(), "/logout".to_owned()] {
            let answer = client.press(&path, "action=pause").await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN, "{path} {headers:?}");
        }
    }
    assert!(running.stores_enabled().await);
    for headers in [vec![], vec![("origin", "http://127.0.0.1:8080")], vec![("sec-fetch-site", "same-origin")]] {
        let client = headers.iter().fold(local.clone(), |client, (name, value)| client.with(name, value));
        assert_eq!(client.act(&path, serde_json::json!({})).await.status, StatusCode::OK, "{headers:?}");
    }
    assert!(!running.stores_enabled().await);
    // With a cookie, which every request of a browser carries, a page has to be named.
    let router = admin::router(&running, Access::token(READ, ACT).unwrap());
    let client = Client { router, ..local }.with("cookie", &format!("evento_admin={ACT}"));
    assert_eq!(client.act(&path, serde_json::json!({})).await.status, StatusCode::FORBIDDEN);
    stop(running).await;
}

trait Enabled {
    async fn stores_enabled(&self) -> bool;
}

impl Enabled for evento_runtime::Running {
    async fn stores_enabled(&self) -> bool {
        self.store().stores.state.paused("orders").await.unwrap().is_empty()
    }
}

/// Another machine, a proxy, a name that was made to point here, a server that does not say who asks.
#[tokio::test]
async fn only_this_machine_is_answered() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let local = Client::local(&running);
    assert_eq!(local.get("/api/bundle").await.status, StatusCode::OK);
    assert_eq!(local.clone().with("host", "[::1]").get("/api/bundle").await.status, StatusCode::OK);
    let from = |address: Option<std::net::SocketAddr>| Client { address, ..local.clone() };
    let refused = [
        from(Some(([10, 0, 0, 1], 1).into())),
        from(None),
        local.clone().with("host", "evil.example"),
        local.clone().with("x-forwarded-for", "127.0.0.1"),
        local.clone().with("forwarded", "for=127.0.0.1"),
        Client { headers: Vec::new(), ..local.clone() },
    ];
    for client in refused {
        for path in ["/api/bundle", "/", "/audit"] {
            assert_eq!(client.get(path).await.status, StatusCode::FORBIDDEN, "{path} {:?}", client.headers);
        }
    }
    stop(running).await;
}

/// A layer that lets a request pass says who it is from; one that forgets lets nobody pass.
#[tokio::test]
async fn a_layer_says_who_it_is() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let named = from_fn(|mut request: Request, next: Next| async move {
        let who = request.headers().get("x-user").and_then(|user| user.to_str().ok()).map(str::to_owned);
        if let Some(who) = who {
            let rights = if who == "ada" { Rights::ACT } else { Rights::READ };
            request.extensions_mut().insert(Caller::new(who, rights));
        }
        next.run(request).await
    });
    let router = admin::router(&running, Access::layer(named));
    let client = Client { router, ..Client::local(&running) };
    let pause = format!("/api/consumers/{VIEW}/pause");
    assert_eq!(client.get("/").await.status, StatusCode::UNAUTHORIZED);
    let bob = client.clone().with("x-user", "bob <b>");
    assert_eq!(bob.get("/").await.status, StatusCode::OK);
    assert_eq!(bob.act(&pause, serde_json::json!({})).await.status, StatusCode::FORBIDDEN);
    let ada = client.with("x-user", "ada");
    assert_eq!(ada.act(&pause, serde_json::json!({})).await.status, StatusCode::OK);
    let audit = ada.ask("/api/audit").await;
    assert_eq!((&audit["audit"][0]["who"], &audit["audit"][0]["action"]), (&"ada".into(), &"pause".into()));
    stop(running).await;
}

/// Typed in once, kept where no script reads it, given back.
#[tokio::test]
async fn people_sign_in() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let router = axum::Router::new().nest("/admin", admin::router(&running, Access::token(READ, ACT).unwrap()));
    let client = Client { router, ..Client::local(&running) }.with("origin", "http://127.0.0.1:8080");
    let asked = client.get("/admin").await;
    assert_eq!(asked.status, StatusCode::UNAUTHORIZED);
    assert!(asked.text().contains("href=\"/admin/login\""));
    assert_eq!(client.press("/admin/login", "token=wrong-wrong-wrong-wrong").await.status, StatusCode::UNAUTHORIZED);
    let entered = client.press("/admin/login", &format!("token={READ}")).await;
    assert_eq!((entered.status, &entered.headers["location"]), (StatusCode::SEE_OTHER, &"/admin".parse().unwrap()));
    let cookie = entered.headers["set-cookie"].to_str().unwrap().to_owned();
    for part in ["; HttpOnly", "; SameSite=Strict", "; Path=/admin;"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let signed_in = client.clone().with("cookie", cookie.split(';').next().unwrap());
    let page = signed_in.get("/admin").await;
    assert_eq!(page.status, StatusCode::OK);
    // Everything on a page is below where the router is.
    assert!(!page.text().contains("href=\"/c") && page.text().contains("action=\"/admin/logout\""));
    assert!(!page.text().contains("Pause"));
    let left = signed_in.press("/admin/logout", "").await;
    assert!(left.headers["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
    stop(running).await;
}

/// 64 KiB, and not a byte more.
#[tokio::test]
async fn large_bodies_are_refused() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let client = Client::local(&running);
    let large = format!("{{\"error\":\"{}\"}}", "x".repeat(admin::MAX_BODY));
    for path in [format!("/api/consumers/{VIEW}/redrive"), format!("/api/consumers/{VIEW}/seek")] {
        let json = client.clone().with("content-type", "application/json");
        assert_eq!(json.send(Method::POST, &path, large.clone()).await.status, StatusCode::PAYLOAD_TOO_LARGE);
    }
    let form = format!("action=redrive&error={}", "x".repeat(admin::MAX_BODY));
    let answer = client.press(&format!("/consumers/{VIEW}/act"), &form).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    stop(running).await;
}
