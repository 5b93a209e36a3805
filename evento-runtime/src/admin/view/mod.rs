//! What is shown: data for programs and for pages alike.

mod audit;
mod components;
mod consumers;
mod events;
mod instances;
mod known;
mod times;

pub(in crate::admin) use audit::{AuditView, CommandView};
pub(in crate::admin) use components::Components;
pub(in crate::admin) use consumers::{ConsumerView, FailureView, Lag};
pub(in crate::admin) use events::{EventView, LetterView};
pub(in crate::admin) use instances::{ExecutorView, InstanceView};
pub(in crate::admin) use times::TimesView;

use serde::Serialize;

use self::known::Known;
use super::fault::Fault;
use super::shared::Shared;
use crate::identity::ConsumerId;
use crate::outcome::ErrorClass;

/// Everything at one moment.
#[derive(Debug, Serialize)]
pub(in crate::admin) struct Overview {
    pub(in crate::admin) bundle: String,
    /// The end of the log.
    pub(in crate::admin) head: Option<String>,
    pub(in crate::admin) consumers: Vec<ConsumerView>,
    pub(in crate::admin) instances: Vec<InstanceView>,
    pub(in crate::admin) executors: Vec<ExecutorView>,
}

impl Overview {
    pub(in crate::admin) async fn look(shared: &Shared) -> Result<Self, Fault> {
        let known = Known::look(shared).await?;
        let mut ids: Vec<ConsumerId> = shared.consumers.iter().map(|handle| handle.id().clone()).collect();
        ids.extend(shared.store.stores.state.consumers(&shared.bundle).await?);
        ids.sort();
        ids.dedup();
        let mut consumers = Vec::with_capacity(ids.len());
        for id in &ids {
            consumers.push(ConsumerView::look(shared, &known, id).await?);
        }
        Ok(Self {
            bundle: shared.bundle.clone(),
            head: shared.store.events.newest().await?.map(|head| head.to_text()),
            instances: instances::instances(&known, &consumers),
            executors: instances::executors(shared, &known),
            consumers,
        })
    }

    pub(in crate::admin) fn consumer(&self, id: &ConsumerId) -> Option<&ConsumerView> {
        let name = id.to_string();
        self.consumers.iter().find(|consumer| consumer.consumer == name)
    }
}

const fn class_name(class: ErrorClass) -> &'static str {
    match class {
        ErrorClass::Transient => "transient",
        ErrorClass::Permanent => "permanent",
        _ => "ordinary",
    }
}
