//! How far from the limit: each scenario is run by the framework and by the best written by hand, in turn, on the same
//! data and at the same durability. What is printed are ratios, which hold on any machine.
//!
//! `cargo bench -p evento-runtime --features postgres --bench limits`, with `-- --quick` for a first look, `-- --long`
//! for ten million events, and `-- catchup append` for some of the scenarios. PostgreSQL is measured where
//! `EVENTO_TEST_POSTGRES_URL` names one. It asserts that both sides have done the same work, and nothing about time.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program that is run by hand, and is wrong if it cannot go on"
)]

mod appending;
mod appending_by_hand;
mod dispatching;
mod events;
mod growing;
mod idling;
mod lanes;
mod latency;
mod machine;
mod macros;
mod many;
mod places;
mod plot;
mod projecting;
mod projecting_by_hand;
mod reading;
mod reading_by_hand;
mod report;
mod statements;
mod turns;
mod waiting;

use report::Report;

/// What was asked for.
pub(crate) struct Options {
    quick: bool,
    long: bool,
    names: Vec<String>,
}

impl Options {
    fn from_arguments() -> Self {
        let mut options = Self { quick: false, long: false, names: Vec::new() };
        for argument in std::env::args().skip(1) {
            match &*argument {
                "--quick" => options.quick = true,
                "--long" => options.long = true,
                // What cargo says to every benchmark.
                "--bench" => {}
                name if SCENARIOS.contains(&name) => options.names.push(argument),
                other => {
                    eprintln!("`{other}` is not a scenario; there are: {}", SCENARIOS.join(", "));
                    std::process::exit(2);
                }
            }
        }
        options
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }

    /// How much to do.
    pub(crate) const fn events(&self, full: u64, quick: u64) -> u64 {
        if self.quick { quick } else { full }
    }
}

const SCENARIOS: [&str; 16] = [
    "catchup",
    "catchup-stream",
    "catchup-json",
    "project-tx",
    "project-batch",
    "project-tx-lanes",
    "io-2ms",
    "hot-key",
    "append",
    "append-concurrent",
    "dispatch",
    "latency",
    "growth",
    "idle",
    "many",
    "macro",
];

fn main() {
    let options = Options::from_arguments();
    let counted = statements::count();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut report = Report::default();
    runtime.block_on(async {
        for name in SCENARIOS.into_iter().filter(|name| options.wants(name)) {
            match name {
                "catchup" => reading::untyped(&options, &mut report).await,
                "catchup-stream" => reading::beside_a_stream(&options, &mut report).await,
                "catchup-json" => reading::typed(&options, &mut report).await,
                "project-tx" => projecting::one_by_one(&options, &mut report).await,
                "project-batch" => projecting::in_batches(&options, &mut report).await,
                "project-tx-lanes" => lanes::on_lanes(&options, &mut report).await,
                "io-2ms" => waiting::on_timers(&options, &mut report).await,
                "hot-key" => waiting::hot_key(&options, &mut report).await,
                "append" => appending::alone(&options, &mut report).await,
                "append-concurrent" => appending::together(&options, &mut report).await,
                "dispatch" => dispatching::run(&options, &mut report).await,
                "latency" => latency::run(&options, &mut report).await,
                "growth" => growing::run(&options, &mut report).await,
                "idle" => idling::run(&options, &mut report, &counted).await,
                "many" => many::run(&options, &mut report).await,
                _ => macros::run(&options, &mut report),
            }
        }
    });
    report.write();
}
