//! What a handler costs `cargo check`: 100 projectors of 10 handlers each, against the same methods without attributes.
//!
//! `cargo bench -p evento-macros --bench check_cost`. Processor time, the median of three. It prints and asserts nothing: a time is a
//! property of a machine. The budget is 12 ms a handler.
#![allow(missing_docs, clippy::disallowed_methods, clippy::print_stdout, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const PROJECTORS: usize = 100;
const HANDLERS: usize = 10;
const BUDGET: f64 = 12.0;
const ROUNDS: usize = 3;

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("check-cost");
    let crates: Vec<PathBuf> = [("plain", false), ("annotated", true)]
        .map(|(name, annotated)| generate(&folder.join(name), workspace, name, annotated))
        .into();
    let target = folder.join("target");
    for package in &crates {
        // The runtime and its dependencies, which are not what is measured.
        check(package, &target);
    }
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (package, times) in crates.iter().zip(&mut times) {
            fs::OpenOptions::new().append(true).open(package.join("src/lib.rs")).unwrap().set_modified(now()).unwrap();
            times.push(check(package, &target));
        }
    }
    let [plain, annotated] = times.map(median);
    let handlers = PROJECTORS * HANDLERS;
    let each = (annotated - plain) / f64::from(u32::try_from(handlers).unwrap());
    println!("{PROJECTORS} projectors of {HANDLERS} handlers, cargo check, {}:", unit());
    println!("  plain methods  {plain:7.0} ms");
    println!("  with handlers  {annotated:7.0} ms");
    println!("  one handler    {each:7.2} ms (budget {BUDGET} ms{})", if each > BUDGET { ": OVER" } else { "" });
}

fn now() -> std::time::SystemTime {
    std::time::UNIX_EPOCH + std::time::UNIX_EPOCH.elapsed().unwrap()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Writes the package `name`; gives back its folder.
fn generate(folder: &Path, workspace: &Path, name: &str, annotated: bool) -> PathBuf {
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[workspace]\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n\
         evento-runtime = {{ path = {:?}, default-features = false, features = [\"macros\"] }}\n\
         serde = {{ version = \"1\", features = [\"derive\"] }}\n",
        workspace.join("evento-runtime")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(folder.join("src/lib.rs"), source(annotated)).unwrap();
    folder.to_owned()
}

/// Events are the same in both: what is measured is the handler.
fn source(annotated: bool) -> String {
    let on = |attribute| if annotated { attribute } else { "" };
    let mut text =
        "#![allow(dead_code)]\nuse evento_runtime::prelude::*;\nuse serde::{Deserialize, Serialize};\n".to_owned();
    for event in 0..HANDLERS {
        writeln!(text, "#[derive(Event, Serialize, Deserialize)]\npub struct Event{event} {{ id: u64 }}").unwrap();
    }
    for projector in 0..PROJECTORS {
        writeln!(text, "#[derive(Default)]\npub struct View{projector};").unwrap();
        writeln!(text, "{}impl View{projector} {{", on("#[projector(version = 1)]\n")).unwrap();
        for event in 0..HANDLERS {
            writeln!(
                text,
                "{}    async fn on{event}(&self, event: Event{event}, meta: Metadata) -> Result<(), std::io::Error> {{\n        \
                 std::future::ready((event.id, meta)).await;\n        Ok(())\n    }}",
                on("    #[event_handler(executor = \"read-model\", retry = 3)]\n")
            )
            .unwrap();
        }
        text.push_str("}\n");
    }
    text
}

/// Milliseconds of a `cargo check`.
fn check(package: &Path, target: &Path) -> f64 {
    let (cpu, clock) = (children(), Instant::now());
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["check", "--quiet", "--offline", "--target-dir"])
        .arg(target)
        .current_dir(package)
        .env("CARGO_INCREMENTAL", "0")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    match (cpu, children()) {
        (Some(before), Some(after)) => after - before,
        _ => clock.elapsed().as_secs_f64() * 1_000.0,
    }
}

/// Processor milliseconds of all children that have ended, where the system says it: fields 16 and 17 of `stat`, in ticks of 10 ms.
fn children() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks: f64 = fields[13].parse::<f64>().ok()? + fields[14].parse::<f64>().ok()?;
    Some(ticks * 10.0)
}

fn unit() -> &'static str {
    if children().is_some() { "processor time" } else { "elapsed time" }
}
