//! Who may import whom: the layers of the house, read off the `use crate::` lines.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules by layer; a module may name those of its own layer and below.
const LAYERS: [&[&str]; 8] = [
    &["error", "event", "outcome", "policy", "clock", "deps", "task", "sync", "identity"],
    &["context", "component", "interceptor", "source", "store", "executor"],
    &["consumer", "cluster"],
    &["engine"],
    &["bundle"],
    &["observe", "view"],
    &["admin"],
    &["cli"],
];

/// What stands beside the layers: re-exports, the crate's face, the suite.
const BESIDE: [&str; 8] = ["lib", "prelude", "macros", "link", "__private", "conformance", "testing", "bin"];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|modules| modules.contains(&module))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// (path below `src`, its top module, its text without tests).
fn files() -> Vec<(String, String, String)> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../evento-runtime/src"));
    let mut found = Vec::new();
    sources(root, &mut found);
    found.sort();
    let file = |path: PathBuf| {
        let below = path.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let module = below.split(['/', '.']).next().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let code = code.join("\n");
        (below, module, code.split("#[cfg(test)]\nmod tests").next().unwrap().to_owned())
    };
    found.into_iter().map(file).collect()
}

fn names_of<'a>(code: &'a str, prefix: &'a str) -> impl Iterator<Item = &'a str> {
    let names = code.match_indices(prefix).map(move |(at, _)| &code[at + prefix.len()..]);
    names.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default())
}

#[test]
fn no_module_reaches_back_up() {
    let mut wrong = Vec::new();
    for (file, module, code) in files() {
        if BESIDE.contains(&&*module) {
            continue;
        }
        let own = layer(&module).unwrap_or_else(|| panic!("{file}: in which layer is `{module}`?"));
        for named in names_of(&code, "crate::") {
            if layer(named).is_some_and(|other| other > own) {
                wrong.push(format!("{file} names `{named}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn each_driver_is_named_in_its_own_folder() {
    let mut wrong = Vec::new();
    for (file, module, code) in files() {
        let is_sql = file.starts_with("store/sql/") || file.starts_with("source/sql");
        if !is_sql && module != "conformance" && names_of(&code, "sqlx::").next().is_some() {
            wrong.push(format!("{file} names sqlx"));
        }
        if module != "admin" && ["axum::", "maud::"].iter().any(|name| names_of(&code, name).next().is_some()) {
            wrong.push(format!("{file} names what the admin router is made of"));
        }
        if module != "cli" && ["clap::", "ureq::"].iter().any(|name| names_of(&code, name).next().is_some()) {
            wrong.push(format!("{file} names what the command line is made of"));
        }
        // The engines know stores by their traits.
        let engine = layer(&module).is_some_and(|layer| layer == 2 || layer == 3);
        if engine
            && names_of(&code, "crate::store::").any(|name| matches!(name, "sql" | "memory" | "Sqlite" | "Memory"))
        {
            wrong.push(format!("{file} names a store of ours"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
