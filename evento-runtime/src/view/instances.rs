//! Who runs the bundle, and on what.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::Subject;
use super::consumers::ConsumerView;
use super::known::Known;
use super::time;
use crate::executor::ExecutorFigures;
use crate::identity::OwnerId;

/// One instance.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct InstanceView {
    pub(crate) owner: String,
    pub(crate) name: Option<String>,
    pub(crate) started_at: Option<String>,
    /// Seconds since it showed itself.
    pub(crate) seen: Option<f64>,
    pub(crate) here: bool,
    pub(crate) consumers: Vec<String>,
}

/// One executor of one instance.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ExecutorView {
    pub(crate) instance: String,
    pub(crate) here: bool,
    #[serde(flatten)]
    pub(crate) figures: ExecutorFigures,
    /// The handlers of this process that run on it.
    pub(crate) handlers: Vec<String>,
}

/// Those that show themselves, those that own something, and this one.
pub(super) fn instances(known: &Known, consumers: &[ConsumerView]) -> Vec<InstanceView> {
    let mut found: BTreeMap<String, InstanceView> = BTreeMap::new();
    let shown = known.instances.iter().map(|(row, ..)| row.owner);
    for owner in shown.chain(known.owners.iter().map(|lease| lease.owner)).chain(known.me) {
        let (name, row) = (owner.to_string(), known.named(owner));
        let of_owner = consumers.iter().filter(|consumer| consumer.owner.as_ref() == Some(&name));
        let view = InstanceView {
            name: row.map(|(row, ..)| row.name.clone()),
            started_at: row.map(|(row, ..)| time::text(row.started_at)),
            seen: row.map(|(_, seen, _)| seen.as_secs_f64()),
            here: Some(owner) == known.me,
            consumers: of_owner.map(|consumer| consumer.consumer.clone()).collect(),
            owner: name.clone(),
        };
        found.insert(name, view);
    }
    found.into_values().collect()
}

pub(super) fn executors(of: Subject<'_>, known: &Known) -> Vec<ExecutorView> {
    let handlers = |executor: &str| {
        let mut handlers = Vec::new();
        for component in &of.components.0 {
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
        here: Some(owner) == known.me,
        handlers: handlers(&figures.name),
        figures,
    };
    let mine = |me| of.executors.iter().map(move |executor| (ExecutorFigures::of(&**executor), me));
    let here = known.me.into_iter().flat_map(mine).map(|(figures, me)| view(figures, me));
    let others = known.instances.iter().filter(|(row, ..)| Some(row.owner) != known.me);
    let others = others.flat_map(|(row, _, figures)| figures.executors.iter().map(|one| view(one.clone(), row.owner)));
    here.chain(others).collect()
}
