//! Signals, in a process of their own.
#![cfg(unix)]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "a test may")]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use evento_runtime::bundle::shutdown_signal;

/// Not a test of its own: what the others start.
#[test]
fn child() {
    let Some(kind) = std::env::var_os("EVENTO_TEST_CHILD") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let signal = shutdown_signal();
        println!("\nready");
        if kind == "drops" {
            drop(signal);
        } else {
            signal.await;
            println!("\nstopping");
        }
        std::future::pending::<()>().await;
    });
}

fn start(kind: &str) -> (Child, BufReader<ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["child", "--exact", "--nocapture"])
        .env("EVENTO_TEST_CHILD", kind)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    (child, output)
}

fn read_until(output: &mut BufReader<ChildStdout>, word: &str) {
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        if line.trim() == word {
            return;
        }
        line.clear();
    }
    panic!("the child ended before it said `{word}`");
}

fn send(child: &Child, signal: &str) {
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_first_signal_asks_and_the_second_ends() {
    for (second, code) in [("-INT", 130), ("-TERM", 143)] {
        let (mut child, mut output) = start("waits");
        read_until(&mut output, "ready");
        send(&child, "-TERM");
        read_until(&mut output, "stopping");
        send(&child, second);
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}

#[test]
fn once_dropped_the_next_signal_ends() {
    let (mut child, mut output) = start("drops");
    read_until(&mut output, "ready");
    send(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
}
