//! Who runs the bundle, and on what.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::super::shared::Shared;
use super::super::time;
use super::consumers::ConsumerView;
use super::known::Known;
use crate::executor::ExecutorFigures;
use crate::identity::OwnerId;

/// One instance.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct InstanceView {
    pub(in crate::admin) owner: String,
    pub(in crate::admin) name: Option<String>,
    pub(in crate::admin) started_at: Option<String>,
    /// Seconds since it showed itself.
    pub(in crate::admin) seen: Option<f64>,
    pub(in crate::admin) here: bool,
    pub(in crate::admin) consumers: Vec<String>,
}

/// One executor of one instance.
#[derive(Debug, Clone, Serialize)]
pub(in crate::admin) struct ExecutorView {
    pub(in crate::admin) instance: String,
    pub(in crate::admin) here: bool,
    #[serde(flatten)]
    pub(in crate::admin) figures: ExecutorFigures,
    /// The handlers of this process that run on it.
    pub(in crate::admin) handlers: Vec<String>,
}

/// Those that show themselves, those that own something, and this one.
pub(super) fn instances(known: &Known, consumers: &[ConsumerView]) -> Vec<InstanceView> {
    let mut found: BTreeMap<String, InstanceView> = BTreeMap::new();
    let shown = known.instances.iter().map(|(row, ..)| row.owner);
    for owner in shown.chain(known.owners.iter().map(|lease| lease.owner)).chain([known.me]) {
        let (name, row) = (owner.to_string(), known.named(owner));
        let of_owner = consumers.iter().filter(|consumer| consumer.owner.as_ref() == Some(&name));
        let view = InstanceView {
            name: row.map(|(row, ..)| row.name.clone()),
            started_at: row.map(|(row, ..)| time::text(row.started_at)),
            seen: row.map(|(_, seen, _)| seen.as_secs_f64()),
            here: owner == known.me,
            consumers: of_owner.map(|consumer| consumer.consumer.clone()).collect(),
            owner: name.clone(),
        };
        found.insert(name, view);
    }
    found.into_values().collect()
}

pub(super) fn executors(shared: &Shared, known: &Known) -> Vec<ExecutorView> {
    let handlers = |executor: &str| {
        let mut handlers = Vec::new();
        for component in &shared.components.0 {
            for handler in component["handlers"].as_array().into_iter().flatten() {
                if handler["executor"] == executor {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    handlers.push(format!("{}::{}", text(&component["name"]), text(&handler["method"])));
                }
            }
        }
        handlers
    };
    let name_of = |owner: OwnerId| known.named(owner).map_or_else(|| owner.to_string(), |(row, ..)| row.name.clone());
    let view = |figures: ExecutorFigures, owner: OwnerId| ExecutorView {
        instance: name_of(owner),
        here: owner == known.me,
        handlers: handlers(&figures.name),
        figures,
    };
    let here = shared.executors.iter().map(|executor| view(ExecutorFigures::of(&**executor), known.me));
    let others = known.instances.iter().filter(|(row, ..)| row.owner != known.me);
    let others = others.flat_map(|(row, _, figures)| figures.executors.iter().map(|one| view(one.clone(), row.owner)));
    here.chain(others).collect()
}
