//! Stored text that a terminal would obey.

use crate::operated::Healed;

use crate::shop::{File, append, placed, settled, started, stop};

#[tokio::test]
async fn no_stored_text_reaches_the_terminal_as_an_order() {
    const HOSTILE: &str =
        "\u{1b}[2J\u{9b}31m\u{7}\u{8}\r\nView/1  caught up\n\u{202e}live\u{2066}\u{7f}\u{85}<b>\u{feff}";
    let file = File::new();
    let running = started(file.store(), &Healed::default()).await;
    let events = vec![placed(HOSTILE, true).metadata("who", HOSTILE), placed("plain", true)];
    let last = append(&running, events).await;
    settled(&running, &last).await;
    stop(running).await;
    let cli = file.cli().env("EVENTO_BY", HOSTILE);
    for words in [
        "dead show View 1 --raw",
        "dead show View 1 --raw --json",
        "dead show View 1",
        "dead show View 1 --json",
        "dead list",
        "dead list --json",
        "status View",
        "status View --json",
        "audit",
        "audit --json",
    ] {
        let called = cli.call(words).await.ended(0);
        let hostile = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}\u{feff}".contains(c);
        assert!(!called.out.contains(hostile), "{words}: {:?}", called.out);
        if words.ends_with("--json") {
            assert!(called.json().to_string().contains("\\u001b[2J"), "{words}: nothing is lost");
        } else {
            // A line of ours is imitated nowhere.
            assert!(!called.out.lines().any(|line| line.starts_with("View/1  caught up")), "{words}: {}", called.out);
        }
    }
    let list = cli.call("dead list").await.out;
    assert_eq!(list.lines().count(), 3, "{list}");
    // Text of our own, handed back.
    let unknown = cli.call_with(["status", HOSTILE]).await.ended(1);
    assert!(!unknown.err.trim_end().contains(char::is_control), "{:?}", unknown.err);
    let wrong = cli.call_with(["status", "View", HOSTILE]).await.ended(2);
    assert!(!wrong.err.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{:?}", wrong.err);
}
