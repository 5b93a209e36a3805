//! What is shown of a bundle: data for programs, pages and the command line alike.

mod audit;
mod components;
mod consumers;
mod events;
mod instances;
mod known;
pub(crate) mod payload;
mod pruned;
pub(crate) mod time;
mod times;
pub(crate) mod words;

pub(crate) use audit::{AuditView, CommandView};
pub(crate) use components::Components;
pub(crate) use consumers::{ConsumerView, FailureView, Lag};
pub(crate) use events::{EventView, LetterView};
pub(crate) use instances::{ExecutorView, InstanceView};
pub(crate) use payload::Preview;
pub(crate) use pruned::PrunedView;
pub(crate) use times::TimesView;

use std::sync::Arc;

use serde::Serialize;

use self::known::Known;
use crate::engine::ConsumerHandle;
use crate::error::StoreError;
use crate::executor::ConsumerExecutor;
use crate::identity::{ConsumerId, OwnerId};
use crate::outcome::ErrorClass;
use crate::store::Store;

/// A bundle as far as this process knows it: what it runs of it, and the open store.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) bundle: &'a str,
    pub(crate) components: &'a Components,
    /// None where this process runs nothing of the bundle.
    pub(crate) consumers: &'a [ConsumerHandle],
    /// Those the bundle has besides, whether they have ever begun or not.
    pub(crate) planned: &'a [ConsumerId],
    pub(crate) executors: &'a [Arc<dyn ConsumerExecutor>],
    /// How long the handlers of a consumer take here.
    pub(crate) times: &'a (dyn Fn(&ConsumerId) -> Vec<TimesView> + Sync),
    pub(crate) store: &'a Store,
    /// Under which this process owns consumers; `None` where it runs nothing.
    pub(crate) me: Option<OwnerId>,
}

/// Everything at one moment.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    pub(crate) bundle: String,
    /// The end of the log.
    pub(crate) head: Option<String>,
    pub(crate) consumers: Vec<ConsumerView>,
    pub(crate) instances: Vec<InstanceView>,
    pub(crate) executors: Vec<ExecutorView>,
}

impl Overview {
    pub(crate) async fn look(of: Subject<'_>) -> Result<Self, StoreError> {
        let known = Known::look(of).await?;
        let mut ids: Vec<ConsumerId> = of.consumers.iter().map(|handle| handle.id().clone()).collect();
        ids.extend(of.store.stores.state.consumers(of.bundle).await?);
        ids.extend_from_slice(of.planned);
        ids.sort();
        ids.dedup();
        let mut consumers = Vec::with_capacity(ids.len());
        for id in &ids {
            consumers.push(ConsumerView::look(of, &known, id).await?);
        }
        Ok(Self {
            bundle: of.bundle.to_owned(),
            head: of.store.events.newest().await?.map(|head| head.to_text()),
            instances: instances::instances(&known, &consumers),
            executors: instances::executors(of, &known),
            consumers,
        })
    }

    pub(crate) fn consumer(&self, id: &ConsumerId) -> Option<&ConsumerView> {
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
