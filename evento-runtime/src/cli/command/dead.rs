//! Dead letters.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::super::arguments::Dead;
use super::super::fault::{Exit, Fault};
use super::super::screen::{lines, plain};
use super::super::table::Table;
use super::super::target::{Action, Name, Target};
use super::{Answer, field, find, name_of, rows, steer};
use crate::view::words::Which;

/// How long it is waited for that letters are tried again, and how often it is looked.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(200);
/// So many of them are followed.
const FOLLOWED: usize = 100;

pub(super) async fn perform(target: &dyn Target, dead: &Dead) -> Result<Answer, Fault> {
    match dead {
        Dead::List { consumer, letters, after, limit } => {
            let which = Which { after: after.clone(), limit: Some((*limit).into()), ..letters.which() };
            list(target, consumer.as_deref(), &which).await
        }
        Dead::Show { consumer, position, raw } => show(target, consumer, position, *raw).await,
        Dead::Redrive { consumer, letters, all } => redrive(target, consumer, letters.which(), *all).await,
        Dead::Discard { consumer, letters, all } => {
            let discard = Action::Discard { which: letters.which(), all: *all };
            steer::act(target, consumer, &discard).await
        }
        Dead::Purge { consumer, before } => {
            steer::act(target, consumer, &Action::Purge { before: before.clone() }).await
        }
    }
}

async fn list(target: &dyn Target, said: Option<&str>, which: &Which) -> Result<Answer, Fault> {
    let names = match said {
        Some(said) => vec![find(target, said).await?.0],
        None if !which.after.is_empty() => return Err(Fault::usage("say of which consumer: positions are its own")),
        None => {
            let overview = target.overview().await?;
            let some = rows(&overview, "consumers").iter().filter(|one| one["dead_letters"].as_u64() > Some(0));
            some.map(name_of).collect()
        }
    };
    let mut table =
        Table::new(["CONSUMER", "POSITION", "EVENT", "KEY", "KIND", "HANDLER", "ATTEMPTS", "LAST", "ERROR"]);
    let mut more = String::new();
    let mut pages = Vec::with_capacity(names.len());
    for name in &names {
        let page = target.letters(name, which).await?;
        for letter in rows(&page, "letters") {
            let event = &letter["event"];
            table.row([
                plain(&name.to_string()),
                field(event, "position"),
                field(event, "name"),
                field(event, "key"),
                kind(letter),
                field(letter, "handler"),
                field(letter, "attempts"),
                field(letter, "last_failed_at"),
                field(letter, "error"),
            ]);
        }
        if !page["next"].is_null() {
            more.push_str(&format!("more: dead list {} --after {}\n", plain(&name.to_string()), field(&page, "next")));
        }
        pages.push(json!({ "consumer": name.to_string(), "letters": page["letters"], "next": page["next"] }));
    }
    let text = if table.is_empty() { "no dead letters\n".to_owned() } else { format!("{}{more}", table.text()) };
    Ok(Answer::done(json!({ "consumers": pages }), text))
}

/// `dead`, `parked`, and whether it is to be tried again.
fn kind(letter: &Value) -> String {
    let kind = field(letter, "kind");
    if letter["requested"] == true { format!("{kind}, marked") } else { kind }
}

async fn show(target: &dyn Target, said: &str, position: &str, raw: bool) -> Result<Answer, Fault> {
    let (name, _) = find(target, said).await?;
    let letter = target.letter(&name, position, raw).await?;
    let event = &letter["event"];
    let mut text = format!("{} at position {}\n", plain(&name.to_string()), field(event, "position"));
    let mut line = |label: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {label:<14}{value}\n"));
        }
    };
    // Whole, where a table would cut it.
    let whole = |of: &Value, name: &str| of[name].as_str().map(plain).unwrap_or_default();
    line("event", whole(event, "name"));
    line("id", field(event, "id"));
    line("key", whole(event, "key"));
    line("context", whole(event, "context"));
    line("recorded", field(event, "recorded_at"));
    line("kind", kind(&letter));
    line("parks", whole(&letter, "parks"));
    line("handler", whole(&letter, "handler"));
    line("class", field(&letter, "class"));
    line("attempts", field(&letter, "attempts"));
    line("first failed", field(&letter, "first_failed_at"));
    line("last failed", field(&letter, "last_failed_at"));
    text.push_str("\nerror\n");
    text.push_str(&block(letter["error"].as_str().unwrap_or_default()));
    if let Some(metadata) = event["metadata"]["text"].as_str() {
        text.push_str("\nmetadata\n");
        text.push_str(&block(metadata));
    }
    text.push_str(&payload(&event["payload"]));
    Ok(Answer::done(letter, text))
}

fn payload(preview: &Value) -> String {
    let (kind, bytes) = (field(preview, "kind"), field(preview, "bytes"));
    if kind == "hidden" {
        return format!(
            "\npayload, {bytes} bytes: not shown, since it is not known here what of it is sensitive; `--raw` shows it, and \
             writes that to the audit\n"
        );
    }
    let cut = if preview["cut"] == true { ", the beginning" } else { "" };
    format!("\npayload, {bytes} bytes of {kind}{cut}\n{}", block(preview["text"].as_str().unwrap_or_default()))
}

/// Set off from what is ours, so that it can imitate nothing.
fn block(text: &str) -> String {
    lines(text).split('\n').map(|line| format!("    {line}\n")).collect()
}

/// Has letters tried again, and looks what becomes of them.
async fn redrive(target: &dyn Target, said: &str, which: Which, all: bool) -> Result<Answer, Fault> {
    let (name, _) = find(target, said).await?;
    let first = Which { limit: Some(FOLLOWED), ..which.clone() };
    let meant = open(target, &name, &first).await?;
    let mut outcome = target.act(&name, &Action::Redrive { which, all }).await?;
    let until = Instant::now() + PATIENCE;
    let (waiting, failed) = loop {
        let now = open(target, &name, &first).await?;
        let left = |marked: bool| meant.iter().filter(|(at, _)| now.contains(&(at.clone(), marked))).count();
        let (waiting, failed) = (left(true), left(false));
        if waiting == 0 || Instant::now() >= until {
            break (waiting, failed);
        }
        tokio::time::sleep(LOOK).await;
    };
    let marked = outcome["letters"].as_u64().unwrap_or_default();
    let of_first = if marked > meant.len() as u64 { format!(" (of the first {})", meant.len()) } else { String::new() };
    let handled = meant.len().saturating_sub(waiting + failed);
    let text = format!(
        "{}: {marked} marked; handled {handled}, failed again {failed}, not tried yet {waiting}{of_first}\n",
        plain(&name.to_string())
    );
    outcome["handled"] = handled.into();
    outcome["failed_again"] = failed.into();
    outcome["waiting"] = waiting.into();
    let exit = match (waiting, failed) {
        (0, 0) => Exit::Done,
        (0, _) => Exit::Refused,
        _ => Exit::Waiting,
    };
    Ok(Answer { document: outcome, text, exit })
}

/// Positions of letters, and whether each is still to be tried again.
async fn open(target: &dyn Target, name: &Name, which: &Which) -> Result<Vec<(String, bool)>, Fault> {
    let page = target.letters(name, which).await?;
    let letters = rows(&page, "letters").iter();
    let position = |letter: &Value| letter["event"]["position"].as_str().map(str::to_owned);
    Ok(letters.filter_map(|letter| Some((position(letter)?, letter["requested"] == true))).collect())
}
