//! Components, handlers and executors.

use serde_json::Value;

use super::super::fault::Fault;
use super::super::screen::{lines, plain};
use super::super::table::Table;
use super::super::target::Target;
use super::{Answer, field, name_of, rows};

pub(super) async fn plan(target: &dyn Target) -> Result<Answer, Fault> {
    let (document, text) = target.plan().await?;
    let text = match text {
        // Ours, but what applications call things is in it.
        Some(text) => lines(&text),
        None if document["components"].is_null() => reported(&document),
        None => components(&document),
    };
    Ok(Answer::done(document, text))
}

/// As the process that has the components says.
fn components(document: &Value) -> String {
    let mut table = Table::new(["KIND", "COMPONENT", "HANDLER", "EVENT", "EXECUTOR"]);
    for component in rows(document, "components") {
        let (kind, name) = (field(component, "kind"), component["name"].as_str().unwrap_or_default());
        let name = plain(&format!("{name}/{}", field(component, "version")));
        for handler in rows(component, "handlers") {
            let event = field(handler, "event");
            table.row([
                kind.clone(),
                name.clone(),
                field(handler, "method"),
                if event.is_empty() { "every other".to_owned() } else { event },
                field(handler, "executor"),
            ]);
        }
    }
    format!("{}{}", table.text(), executors(document))
}

/// As far as it is stored.
fn reported(document: &Value) -> String {
    let mut table = Table::new(["CONSUMER"]);
    for consumer in rows(document, "consumers") {
        table.row([plain(&name_of(consumer).to_string())]);
    }
    format!(
        "{}{}\nHandlers, settings and needs are not stored: ask a running API by `--url`, or the application's own binary.\n",
        table.text(),
        executors(document)
    )
}

fn executors(document: &Value) -> String {
    let mut table = Table::new(["EXECUTOR", "INSTANCE", "CAPACITY", "KEEPS KEY ORDER"]);
    for executor in rows(document, "executors") {
        let capacity =
            if executor["capacity"].is_null() { "unbounded".to_owned() } else { field(executor, "capacity") };
        let order = if executor["keeps_key_order"] == true { "yes" } else { "no" };
        table.row([field(executor, "name"), field(executor, "instance"), capacity, order.to_owned()]);
    }
    if table.is_empty() { String::new() } else { format!("\n{}", table.text()) }
}
