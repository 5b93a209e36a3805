//! What changes something.

use serde_json::Value;

use super::super::fault::{Exit, Fault};
use super::super::screen::plain;
use super::super::target::{Action, Target};
use super::{Answer, field, find};

pub(super) async fn act(target: &dyn Target, said: &str, action: &Action) -> Result<Answer, Fault> {
    let (name, _) = find(target, said).await?;
    let outcome = target.act(&name, action).await?;
    let text = format!("{}: {}\n{}", plain(&name.to_string()), told(action, &outcome), later(&outcome));
    Ok(Answer { exit: exit(&outcome), document: outcome, text })
}

/// Whether it is done.
pub(super) fn exit(outcome: &Value) -> Exit {
    if outcome["command"].is_null() { Exit::Done } else { Exit::Waiting }
}

fn told(action: &Action, outcome: &Value) -> String {
    let done = outcome["command"].is_null();
    match (action, done) {
        (Action::Pause, true) => "paused".to_owned(),
        (Action::Resume, true) => "resumed".to_owned(),
        (Action::Pause | Action::Resume, false) => {
            format!(
                "{} is stored, and no instance has confirmed it within five seconds; it holds as soon as one runs",
                action.name()
            )
        }
        (Action::Seek { .. } | Action::Skip { .. }, true) => format!("{} is done", action.name()),
        (Action::Seek { .. } | Action::Skip { .. }, false) => {
            format!(
                "{} is stored, and not carried out within five seconds; it still may be, for ten minutes",
                action.name()
            )
        }
        _ => field(outcome, "result"),
    }
}

/// How to ask for what is not known yet.
fn later(outcome: &Value) -> String {
    if outcome["command"].is_null() {
        String::new()
    } else {
        format!("ask again by: command {}\n", field(outcome, "command"))
    }
}
