//! How far consumers are, and why they stand.

use serde_json::Value;

use super::super::fault::Fault;
use super::super::screen::{cell, plain};
use super::super::table::Table;
use super::super::target::Target;
use super::{Answer, field, find, name_of, rows};
use crate::view::time::duration;

pub(super) async fn all(target: &dyn Target) -> Result<Answer, Fault> {
    let overview = target.overview().await?;
    let consumers = rows(&overview, "consumers");
    let mut text = format!("bundle {}, log up to {}", field(&overview, "bundle"), head(&overview));
    text.push('\n');
    if consumers.is_empty() {
        text.push_str("no consumer has ever begun here: is it the right name, and the right store?\n");
        return Ok(Answer::done(overview, text));
    }
    text.push('\n');
    let mut table = Table::new(["CONSUMER", "STATUS", "WHY", "SETTLED", "LAG", "DEAD", "OWNER"]);
    for consumer in consumers {
        table.row([
            name_of(consumer).to_string(),
            field(consumer, "status"),
            why(consumer),
            field(consumer, "last_settled"),
            lag(consumer),
            field(consumer, "dead_letters"),
            owner(consumer),
        ]);
    }
    text.push_str(&table.text());
    let mut table = Table::new(["EXECUTOR", "INSTANCE", "CAPACITY", "IN FLIGHT", "REJECTED"]);
    for executor in rows(&overview, "executors") {
        let capacity =
            if executor["capacity"].is_null() { "unbounded".to_owned() } else { field(executor, "capacity") };
        let (name, instance) = (field(executor, "name"), field(executor, "instance"));
        table.row([name, instance, capacity, field(executor, "in_flight"), field(executor, "rejected")]);
    }
    if !table.is_empty() {
        text.push('\n');
        text.push_str(&table.text());
    }
    Ok(Answer::done(overview, text))
}

pub(super) async fn one(target: &dyn Target, said: &str) -> Result<Answer, Fault> {
    let (name, consumer) = find(target, said).await?;
    let mut text = format!("{}\n", plain(&name.to_string()));
    let mut line = |label: &str, value: String| {
        if !value.is_empty() {
            text.push_str(&format!("  {label:<14}{value}\n"));
        }
    };
    line("kind", field(&consumer, "kind"));
    line("status", field(&consumer, "status"));
    line("why", why(&consumer));
    line("owner", owner(&consumer));
    line("epoch", field(&consumer, "epoch"));
    line("last settled", field(&consumer, "last_settled"));
    line("last started", field(&consumer, "last_started"));
    line("lag", lag(&consumer));
    line("dead letters", field(&consumer, "dead_letters"));
    line("error streak", field(&consumer, "error_streak"));
    if let Some(executors) = consumer["parallel"]["executors"].as_array() {
        let names: Vec<&str> = executors.iter().filter_map(Value::as_str).collect();
        line("executors", cell(&names.join(", ")));
    }
    let mut table = Table::new(["FAILED AT", "POSITION", "HANDLER", "ATTEMPT", "CLASS", "ERROR"]);
    for error in rows(&consumer, "errors") {
        table.row(["at", "position", "handler", "attempt", "class", "error"].map(|name| field(error, name)));
    }
    if !table.is_empty() {
        text.push('\n');
        text.push_str(&table.text());
    }
    Ok(Answer::done(consumer, text))
}

fn head(overview: &Value) -> String {
    let head = field(overview, "head");
    if head.is_empty() { "nothing yet".to_owned() } else { head }
}

/// Why it stands, where the status alone does not say it.
fn why(consumer: &Value) -> String {
    if consumer["reason"] == consumer["status"] { String::new() } else { field(consumer, "reason") }
}

fn lag(consumer: &Value) -> String {
    let lag = &consumer["lag"];
    match lag["events"].as_u64() {
        None | Some(0) => "0".to_owned(),
        Some(events) => {
            let more = if lag["more"] == true { "+" } else { "" };
            format!("{events}{more} ({})", duration(lag["seconds"].as_f64().unwrap_or_default()))
        }
    }
}

/// What people call the instance, else its id.
fn owner(consumer: &Value) -> String {
    let instance = field(consumer, "instance");
    if instance.is_empty() { field(consumer, "owner") } else { instance }
}
