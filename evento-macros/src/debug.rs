//! `EVENTO_MACROS_DEBUG=1 cargo check` prints what the macros write.

use std::io::Write;
use std::process::{Command, Stdio};

use proc_macro2::TokenStream;

/// `code`, printed to stderr first if the environment asks for it.
pub(crate) fn shown(title: &str, code: TokenStream) -> TokenStream {
    if std::env::var_os("EVENTO_MACROS_DEBUG").is_some_and(|value| value != "0") {
        let text = code.to_string();
        let text = formatted(&text).unwrap_or(text);
        // A closed stderr is no reason to fail a build.
        let _ = writeln!(std::io::stderr(), "// {title} writes:\n{}\n// end", text.trim_end());
    }
    code
}

/// Readable code needs rustfmt; without it the tokens must do.
fn formatted(code: &str) -> Option<String> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", "max_width=120"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    rustfmt.stdin.take()?.write_all(code.as_bytes()).ok()?;
    let output = rustfmt.wait_with_output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).ok()).flatten()
}
