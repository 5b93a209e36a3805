//! Who did what, and what became of it.

use super::super::fault::{Exit, Fault};
use super::super::table::Table;
use super::super::target::Target;
use super::{Answer, field, rows};

pub(super) async fn audit(target: &dyn Target, after: &str, limit: u16) -> Result<Answer, Fault> {
    let page = target.audit(after, limit).await?;
    let mut table = Table::new(["AT", "WHO", "FROM", "ACTION", "CONSUMER", "DETAIL", "RESULT"]);
    for row in rows(&page, "audit") {
        table.row(["at", "who", "origin", "action", "target", "detail", "result"].map(|name| field(row, name)));
    }
    let mut text = if table.is_empty() { "nobody has done anything\n".to_owned() } else { table.text() };
    if !page["next"].is_null() {
        text.push_str(&format!("more: audit --after {}\n", field(&page, "next")));
    }
    Ok(Answer::done(page, text))
}

pub(super) async fn command(target: &dyn Target, id: &str) -> Result<Answer, Fault> {
    let command = target.command(id).await?;
    let exit = match command["status"].as_str() {
        Some("done") => Exit::Done,
        Some("waiting") => Exit::Waiting,
        _ => Exit::Refused,
    };
    let mut text =
        format!("{}: {} is {}\n", field(&command, "consumer"), field(&command, "command"), field(&command, "status"));
    if !command["message"].is_null() {
        text.push_str(&format!("{}\n", field(&command, "message")));
    }
    Ok(Answer { document: command, text, exit })
}
