//! Against a running API.

use std::net::SocketAddr;

use crate::operated::Healed;
use evento_runtime::Running;
use evento_runtime::admin::{self, Access};
use evento_runtime::store::MemoryStore;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::shop::{Cli, append, paid, placed, settled, started, stop};

const READ: &str = "read-0123456789abcdef";
const ACT: &str = "act-0123456789abcdef";
const REVEAL: &str = "reveal-0123456789abcdef";

/// The router of a bundle below `/admin`, until it is ended.
struct Served {
    address: SocketAddr,
    end: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Served {
    async fn of(running: &Running, access: Access) -> Self {
        let app = axum::Router::new()
            .nest("/admin", admin::router(running, access))
            .route("/page", axum::routing::get(async || "<html>"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (end, wanted) = oneshot::channel::<()>();
        let app = app.into_make_service_with_connect_info::<SocketAddr>();
        let ended = tokio::spawn(async move {
            let wanted = async { wanted.await.unwrap_or_default() };
            axum::serve(listener, app).with_graceful_shutdown(wanted).await.unwrap();
        });
        Self { address, end, ended }
    }

    fn cli(&self) -> Cli {
        Cli::new().env("EVENTO_URL", format!("http://{}/admin/", self.address))
    }

    async fn end(self) {
        drop(self.end);
        self.ended.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_done_through_the_api() {
    let healed = Healed::default();
    let running = started(MemoryStore::new(), &healed).await;
    let served = Served::of(&running, Access::loopback_only()).await;
    let cli = served.cli();
    let last =
        append(&running, vec![placed("o-1", true), placed("o-2", true), paid(471_147), placed("o-3", false)]).await;
    settled(&running, &last).await;

    let status = cli.call("status").await.ended(0).out;
    for part in ["bundle orders, log up to 4", "View/1", "caught up", "read-model"] {
        assert!(status.contains(part), "{part}: {status}");
    }
    assert_eq!(cli.document("status View").await["kind"], "projector");
    assert!(cli.call("dead list").await.ended(0).out.contains("cannot place o-2"));
    assert_eq!(cli.document("dead list View --key o-2").await["consumers"][0]["letters"][0]["event"]["position"], "2");
    let shown = cli.call("dead show Payments 3").await.ended(0).out;
    assert!(shown.contains("•••") && !shown.contains("471147"), "{shown}");
    cli.call("dead show Payments 9").await.ended(1);
    assert_eq!(cli.document("dead discard View --position 1").await["letters"], 1);
    cli.call("dead redrive View --all").await.ended(1);
    healed.heal();
    assert_eq!(cli.document("dead redrive View --all").await["handled"], 1);
    assert_eq!(cli.document("dead purge View --before 2200-01-01").await["letters"], 2);

    assert_eq!(cli.call("pause Count").await.ended(0).out, "Count/2: paused\n");
    assert!(cli.call("status Count").await.ended(0).out.contains("paused"));
    cli.call("resume Count").await.ended(0);
    assert!(cli.call("seek Count start").await.ended(1).err.contains("#[on_reset]"));
    cli.call("seek Count start --keep").await.ended(0);
    cli.call("seek Count nowhere").await.ended(2);
    cli.call("skip Count 1").await.ended(1);
    assert_eq!(cli.document("prune --before 2020-01-01 --dry-run").await["events"], 0);
    cli.call("prune --before yesterday").await.ended(2);
    let plan = cli.call("plan").await.ended(0).out;
    for part in ["projector", "placed", "every other", "read-model", "shop-1"] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    assert!(cli.document("plan").await["components"].is_array());
    let audit = cli.document("audit --limit 3").await;
    assert_eq!(audit["audit"][0]["origin"], "127.0.0.1");
    let more = cli.call("audit --limit 3").await.ended(0).out;
    let more = more.lines().last().unwrap().strip_prefix("more: ").unwrap().to_owned();
    assert_ne!(cli.document(&more).await["audit"][0], audit["audit"][0]);
    cli.call("command 00000000-0000-7000-8000-000000000000").await.ended(1);
    served.end().await;
    stop(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_comes_from_the_environment_or_a_file_and_is_shown_nowhere() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let served = Served::of(&running, Access::token(READ, ACT).unwrap().reveal_token(REVEAL).unwrap()).await;
    let cli = served.cli();
    let without = cli.call("status").await.ended(1);
    assert!(without.err.contains("EVENTO_TOKEN"), "{without:?}");
    cli.clone().env("EVENTO_TOKEN", "wrong-0123456789abcdef").call("status").await.ended(1);
    cli.clone().env("EVENTO_TOKEN", "two\nlines").call("status").await.ended(2);
    let reader = cli.clone().env("EVENTO_TOKEN", READ);
    reader.call("status").await.ended(0);
    let refused = reader.call("pause Count").await.ended(1);
    assert!(refused.err.contains("acting is not") && !refused.err.contains(READ), "{refused:?}");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, format!("{ACT}\n")).unwrap();
    let actor = reader.with("--token-file").with(file.display().to_string());
    assert_eq!(actor.call("pause Count").await.ended(0).out, "Count/2: paused\n");
    assert_eq!(actor.document("audit").await["audit"][0]["who"], "token (act)");

    actor.call("resume Count").await.ended(0);
    // Seeing what is hidden is a right of its own, and is noted.
    let last = append(&running, vec![paid(471_147)]).await;
    settled(&running, &last).await;
    actor.call("dead show Payments 1 --raw").await.ended(1);
    std::fs::write(&file, REVEAL).unwrap();
    let shown = actor.call("dead show Payments 1 --raw").await.ended(0);
    assert!(shown.out.contains("471147"), "{shown:?}");
    assert_eq!(actor.document("audit").await["audit"][0]["action"], "reveal");
    std::fs::remove_file(&file).unwrap();
    actor.call("status").await.ended(2);
    served.end().await;
    stop(running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_not_the_api_is_told_so() {
    let running = started(MemoryStore::new(), &Healed::default()).await;
    let served = Served::of(&running, Access::loopback_only()).await;
    let at = |path: &str| Cli::new().env("EVENTO_URL", format!("http://{}{path}", served.address));
    for wrong in ["", "/page", "/nothing"] {
        let called = at(wrong).call("status").await.ended(3);
        assert!(called.err.contains("nested"), "{called:?}");
    }
    // The address in the arguments counts.
    at("/page").with("--url").with(format!("http://{}/admin", served.address)).call("status").await.ended(0);
    let address = served.address;
    served.end().await;
    let nobody = Cli::new().env("EVENTO_URL", format!("http://{address}/admin")).call("status --json").await.ended(3);
    let fault: serde_json::Value = serde_json::from_str(&nobody.err).unwrap();
    assert_eq!(fault["error"], "unreachable");
    stop(running).await;
}
