//! Where a consumer goes on when it is told to.

use crate::consumer::{ProcessorConfig, SeekTo};
use crate::error::AdminError;
use crate::event::Position;
use crate::store::{Checkpoint, Claims, ConsumerLock, Settlement};

/// Where a consumer was moved to.
pub(super) struct Moved {
    pub(super) to: Option<Position>,
    /// Whether its `#[on_reset]` hook has to run first.
    pub(super) resets: bool,
}

/// Stores where the consumer goes on. Whether its `#[on_reset]` hook has to run first is stored in the
/// same step, so that no event is handled before it has, whatever happens in between.
pub(super) async fn move_to(
    config: &ProcessorConfig,
    lock: &dyn ConsumerLock,
    to: SeekTo,
    keep: bool,
    watermark: Option<&Position>,
) -> Result<Moved, AdminError> {
    let id = &config.plan.id;
    let head = config.source.head().await?;
    let target = match to {
        SeekTo::Start => None,
        SeekTo::Head => head,
        SeekTo::After(position) if Some(&position) > head.as_ref() => {
            return Err(AdminError::BehindHead { position });
        }
        SeekTo::After(position) => Some(position),
        SeekTo::Time(time) => config.source.before(time).await?,
    };
    let back = target.as_ref() < watermark;
    let resets = back && !keep && config.plan.on_reset.is_some();
    if back && !keep && !resets {
        return Err(AdminError::WouldRepeat { consumer: id.to_string() });
    }
    let state = config.state.load(id).await?;
    let Some(lease) = lock.acquire(id, state.epoch).await? else { return Err(AdminError::not_owner(id)) };
    let passed = state.checkpoint.and_then(|checkpoint| checkpoint.reach).max(watermark.cloned());
    let settlement = Settlement {
        checkpoint: Some(Checkpoint { watermark: target.clone(), reach: target.clone(), open: Vec::new() }),
        resetting: resets.then_some(true),
        replay_to: state.replay_to.max(passed).filter(|_| back),
        forget_completed: back && config.plan.handlers.iter().any(|handler| handler.transactions.is_some()),
        claims: Claims { forget: back && config.plan.engine.claiming().is_some(), ..Claims::default() },
        ..Settlement::default()
    };
    let settled = config.state.settle(&lease, settlement).await;
    lock.release(&lease).await?;
    settled?;
    tracing::info!(consumer = %id, from = ?watermark, to = ?target, keep, "moved by request");
    Ok(Moved { to: target, resets })
}
