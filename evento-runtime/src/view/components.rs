//! The catalogue of this process.

use serde_json::Value;

use crate::bundle::Plan;
use crate::identity::ConsumerId;

/// The components of this process, as its plan prints them.
#[derive(Default)]
pub(crate) struct Components(pub(crate) Vec<Value>);

impl Components {
    pub(crate) fn of(plan: &Plan) -> Self {
        let components = plan.to_json().get("components").and_then(Value::as_array).cloned();
        Self(components.unwrap_or_default())
    }

    pub(crate) fn find(&self, id: &ConsumerId) -> Option<&Value> {
        let same = |one: &&Value| one["name"] == *id.component && one["version"] == id.version;
        self.0.iter().find(same)
    }

    /// The executors that the handlers of a consumer name, each once.
    pub(crate) fn executors(&self, id: &ConsumerId) -> Vec<String> {
        let handlers = self.find(id).and_then(|component| component["handlers"].as_array());
        let named = handlers.into_iter().flatten().filter_map(|handler| handler["executor"].as_str());
        let mut names: Vec<String> = named.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    }
}
