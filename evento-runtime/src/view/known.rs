//! What the instances of the bundle say of themselves.

use std::time::Duration;

use super::Subject;
use crate::consumer::ConsumerFigures;
use crate::error::StoreError;
use crate::executor::ExecutorFigures;
use crate::identity::{ConsumerId, OwnerId};
use crate::store::{InstanceRow, Lease};

/// An instance that was not seen for so long is gone.
const GONE: Duration = Duration::from_secs(30);

/// What an instance writes about itself.
#[derive(Default, serde::Deserialize)]
#[serde(default)]
pub(super) struct Figures {
    pub(super) consumers: Vec<ConsumerFigures>,
    pub(super) executors: Vec<ExecutorFigures>,
}

/// What is known of the instances.
pub(super) struct Known {
    pub(super) me: Option<OwnerId>,
    pub(super) owners: Vec<Lease>,
    pub(super) instances: Vec<(InstanceRow, Duration, Figures)>,
}

impl Known {
    pub(super) async fn look(of: Subject<'_>) -> Result<Self, StoreError> {
        let stores = &of.store.stores;
        let owners = stores.lock.owners(of.bundle).await?;
        let instances = stores.admin.instances(of.bundle).await?.into_iter();
        let instances = instances.filter(|(_, seen)| *seen < GONE).map(|(row, seen)| {
            let figures = serde_json::from_str(&row.figures).unwrap_or_default();
            (row, seen, figures)
        });
        Ok(Self { me: of.me, owners, instances: instances.collect() })
    }

    pub(super) fn named(&self, owner: OwnerId) -> Option<&(InstanceRow, Duration, Figures)> {
        self.instances.iter().find(|(row, ..)| row.owner == owner)
    }

    pub(super) fn live(&self, owner: OwnerId, id: &ConsumerId) -> Option<ConsumerFigures> {
        let (_, _, figures) = self.named(owner)?;
        let context = id.context.to_string();
        let same = |one: &&ConsumerFigures| (&*one.component, one.version) == (&*id.component, id.version);
        figures.consumers.iter().find(|one| same(one) && one.context == context).cloned()
    }
}
