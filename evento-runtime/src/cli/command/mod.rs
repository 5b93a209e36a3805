//! The commands: what each asks for, and how people read the answer.

mod audit;
mod dead;
mod plan;
mod prune;
mod status;
mod steer;

use serde_json::Value;

use super::arguments::Command;
use super::fault::{Exit, Fault};
use super::screen::cell;
use super::target::{Action, Name, Target};

/// What a command has to say.
pub(super) struct Answer {
    /// For scripts.
    pub(super) document: Value,
    /// For people, ready to be printed.
    pub(super) text: String,
    pub(super) exit: Exit,
}

impl Answer {
    fn done(document: Value, text: String) -> Self {
        Self { document, text, exit: Exit::Done }
    }
}

impl Command {
    pub(super) async fn perform(&self, target: &dyn Target) -> Result<Answer, Fault> {
        match self {
            Self::Status { consumer: None } => status::all(target).await,
            Self::Status { consumer: Some(consumer) } => status::one(target, consumer).await,
            Self::Dead(dead) => dead::perform(target, dead).await,
            Self::Pause { consumer } => steer::act(target, consumer, &Action::Pause).await,
            Self::Resume { consumer } => steer::act(target, consumer, &Action::Resume).await,
            Self::Seek { consumer, to, keep } => {
                steer::act(target, consumer, &Action::Seek { to: to.clone(), keep: *keep }).await
            }
            Self::Skip { consumer, position } => {
                steer::act(target, consumer, &Action::Skip { position: position.clone() }).await
            }
            Self::Prune { before, dry_run } => prune::prune(target, before, *dry_run).await,
            Self::Plan => plan::plan(target).await,
            Self::Audit { after, limit } => audit::audit(target, after, *limit).await,
            Self::Asked { id } => audit::command(target, id).await,
        }
    }
}

/// The rows of a document.
fn rows<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document[name].as_array().map_or(&[], Vec::as_slice)
}

/// A field for a table: nothing where there is nothing.
fn field(of: &Value, name: &str) -> String {
    text(&of[name])
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => cell(text),
        other => cell(&other.to_string()),
    }
}

fn name_of(consumer: &Value) -> Name {
    let text = |name: &str| consumer[name].as_str().unwrap_or_default().to_owned();
    let version = consumer["version"].as_u64().and_then(|version| version.try_into().ok()).unwrap_or_default();
    Name { component: text("component"), version, context: text("context") }
}

/// The consumer that somebody has named, and what is known of it.
async fn find(target: &dyn Target, said: &str) -> Result<(Name, Value), Fault> {
    let overview = target.overview().await?;
    let consumers = rows(&overview, "consumers");
    let matches = |consumer: &&Value| {
        let name = name_of(consumer);
        said == name.to_string()
            || said == name.component
            || said == format!("{}/{}", name.component, name.version)
            || said == format!("{}/{}/{}", name.component, name.version, name.context)
    };
    let mut found = consumers.iter().filter(matches);
    match (found.next(), found.next()) {
        (Some(consumer), None) => Ok((name_of(consumer), consumer.clone())),
        (Some(first), Some(second)) => {
            let names = [first, second].into_iter().chain(found).map(|one| name_of(one).to_string());
            Err(Fault::usage(format!("`{said}` may be {}: say which", names.collect::<Vec<_>>().join(" or "))))
        }
        (None, _) => Err(unknown(&overview, said)),
    }
}

fn unknown(overview: &Value, said: &str) -> Fault {
    let names: Vec<String> = rows(overview, "consumers").iter().map(|one| name_of(one).to_string()).collect();
    let bundle = overview["bundle"].as_str().unwrap_or_default();
    if names.is_empty() {
        return Fault::not_found(format!("nothing is known of a bundle `{bundle}` here: is it the right name?"));
    }
    let closeness = |name: &&String| {
        let component = name.split('/').next().unwrap_or_default();
        (strsim::jaro_winkler(component, said).max(strsim::jaro_winkler(name, said)) * 1_000.0).round()
    };
    let nearest =
        names.iter().max_by(|a, b| closeness(a).total_cmp(&closeness(b))).filter(|name| closeness(name) >= 800.0);
    let hint = match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("it has {}", names.join(", ")),
    };
    Fault::not_found(format!("bundle `{bundle}` has no consumer `{said}`; {hint}"))
}
