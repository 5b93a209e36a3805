//! The API is what its description says: schemathesis makes requests of the description, sound ones and others, and judges the
//! answers by it.

use std::process::Command;

use evento_runtime::admin::{self, Access};
use evento_runtime::store::Sqlite;

use crate::shop::{Healed, append, event, settled, started, stop};
use crate::webdriver::serve;

const READ: &str = "the-token-for-reading";
const ACT: &str = "the-token-for-acting!";
const REVEAL: &str = "the-token-for-revealing";

/// Of those that come into question: a text that fits its pattern may still be none that is meant, such as `all` beside a
/// key, and is answered 400.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,negative_data_rejection,unsupported_method,ignored_auth";

fn judge(program: &std::ffi::OsStr, description: &str, token: &str, more: &[&str]) {
    let examples = if evento_tests::long() { "100" } else { "5" };
    let ran = Command::new(program)
        .args(["run", description, "--header", &format!("Authorization: Bearer {token}"), "--checks", CHECKS])
        .args(["--max-examples", examples, "--seed", "1", "--workers", "1", "--request-timeout", "20", "--no-color"])
        .args(["--suppress-health-check", "all", "--exclude-path", "/api/live"])
        .args(more)
        .current_dir(std::env::temp_dir())
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("passed"), "it has asked nothing: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_as_described() {
    let Some(program) = std::env::var_os("EVENTO_TEST_SCHEMATHESIS") else {
        let reason = "schemathesis: EVENTO_TEST_SCHEMATHESIS names no program (tests/services fetches it from PyPI)";
        return evento_tests::skip(reason);
    };
    let folder = tempfile::tempdir().unwrap();
    let running = started(Sqlite::file(folder.path().join("orders.db")), &Healed::default()).await;
    let bad = |n: u32| event("Placed", format!("bad {n}")).key(format!("k-{n}"));
    let last = append(&running, (1..=20).map(bad).collect()).await;
    settled(&running, &last).await;
    let access = Access::token(READ, ACT).unwrap().reveal_token(REVEAL).unwrap();
    let address = serve(admin::router(&running, access)).await;
    let description = format!("http://{address}/admin/api/openapi.json");
    let judged = tokio::task::spawn_blocking(move || {
        judge(&program, &description, ACT, &["--exclude-path-regex", "reveal$"]);
        judge(&program, &description, REVEAL, &["--include-path-regex", "reveal$"]);
    });
    judged.await.unwrap();
    stop(running).await;
}
