//! Small packages that tests write, check with cargo, and read the messages of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A package of its own, outside of the workspace, sharing its lock file; all of them share one target folder.
#[derive(Debug)]
pub struct Fixture {
    folder: PathBuf,
    target: PathBuf,
}

impl Fixture {
    /// Writes the package `name` below `tmp`, which is `env!("CARGO_TARGET_TMPDIR")`. `manifest` is what follows the
    /// `[package]` table's name and version; `RUNTIME` in it, or in the manifest of another package below it, becomes
    /// the path of the runtime.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn new(tmp: &str, name: &str, manifest: &str, files: &[(&str, &str)]) -> io::Result<Self> {
        let folder = Path::new(tmp).join("fixtures").join(name);
        fs::create_dir_all(&folder)?;
        let runtime = format!("path = {:?}, default-features = false", workspace().join("evento-runtime"));
        let manifest = manifest.replace("RUNTIME", &runtime);
        let head = format!("[workspace]\n\n[package]\nname = {name:?}\nversion = \"0.0.0\"\npublish = false\n");
        fs::write(folder.join("Cargo.toml"), head + &manifest)?;
        // The same versions as everywhere, so that nothing is fetched; cargo drops what is not needed.
        fs::copy(workspace().join("Cargo.lock"), folder.join("Cargo.lock"))?;
        for (path, text) in files {
            let path = folder.join(path);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            if path.file_name().is_some_and(|name| name == "Cargo.toml") {
                fs::write(path, text.replace("RUNTIME", &runtime))?;
            } else {
                fs::write(path, text)?;
            }
        }
        Ok(Self { folder, target: Path::new(tmp).join("fixtures-target") })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Something that a build with `profile` left behind.
    #[must_use]
    pub fn binary(&self, profile: &str, name: &str) -> PathBuf {
        self.target.join(if profile == "dev" { "debug" } else { profile }).join(name)
    }

    /// Runs cargo there.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn cargo(&self, args: &[&str], env: &[(&str, &str)]) -> io::Result<Output> {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(args)
            .arg("--offline")
            .arg("--target-dir")
            .arg(&self.target)
            .current_dir(&self.folder)
            .envs(env.iter().copied())
            .output()
    }
}

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    let mut folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    folder.pop();
    folder
}

/// Something the compiler said, at its primary span.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Said {
    /// The library, example or binary it is about.
    pub target: String,
    /// Base name of the file.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// From 1, in characters.
    pub column: u64,
    /// Characters, where the span ends on its line.
    pub length: Option<u64>,
    /// `error` or `warning`.
    pub level: String,
    /// The first line.
    pub message: String,
    /// Whether it is the compiler's own.
    pub own: bool,
    /// As the user sees it.
    pub rendered: String,
}

/// The messages with a place, out of `--message-format=json`.
#[must_use]
pub fn said(output: &Output) -> Vec<Said> {
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|value| value["reason"] == "compiler-message")
        .filter_map(|value| read(&value["target"], &value["message"]))
        .collect()
}

fn read(target: &Value, message: &Value) -> Option<Said> {
    let mut span = message["spans"].as_array()?.iter().find(|span| span["is_primary"] == true)?;
    // What a `macro_rules!` of the runtime wrote belongs to its call, which is also what the compiler shows.
    while span["file_name"].as_str()?.contains("evento-runtime/src") && span["expansion"].is_object() {
        span = &span["expansion"]["span"];
    }
    let (from, to) = (span["column_start"].as_u64()?, span["column_end"].as_u64()?);
    let one_line = span["line_start"] == span["line_end"];
    Some(Said {
        target: target["name"].as_str()?.to_owned(),
        file: Path::new(span["file_name"].as_str()?).file_name()?.to_str()?.to_owned(),
        line: span["line_start"].as_u64()?,
        column: from,
        length: one_line.then(|| to.saturating_sub(from)),
        level: message["level"].as_str()?.to_owned(),
        message: message["message"].as_str()?.lines().next()?.to_owned(),
        own: !message["code"].is_null(),
        rendered: message["rendered"].as_str().unwrap_or_default().to_owned(),
    })
}
