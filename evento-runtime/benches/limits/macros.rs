//! `macro`: what a handler costs the compiler. The benchmark of the macros measures it.

use std::process::Command;

use serde_json::json;

use crate::Options;
use crate::report::Report;

pub(crate) fn run(options: &Options, report: &mut Report) {
    if options.quick {
        return Report::left_out("macro", "-", "it compiles the runtime; not with `--quick`");
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(["bench", "-p", "evento-macros", "--bench", "check_cost"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let each =
        text.lines().find_map(|line| line.trim().strip_prefix("one handler")?.split_whitespace().next()?.parse().ok());
    let Some(each): Option<f64> = each else { return Report::left_out("macro", "-", "its benchmark failed") };
    report.figure("macro", "-", &json!({ "check_ms_per_handler": each, "aim_ms": 12.0 }));
}
