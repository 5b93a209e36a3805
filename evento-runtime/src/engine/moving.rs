//! Where a consumer goes on when it is told to.

use crate::consumer::{ProcessorConfig, SeekTo};
use crate::error::{AdminError, StoreError};
use crate::event::{EventId, Position};
use crate::store::{Checkpoint, Claims, ConsumerLock, LetterFilter, Settlement};

/// Dead letters looked at together.
const LETTERS: usize = 500;

/// Where a consumer was moved to.
pub(super) struct Moved {
    pub(super) to: Checkpoint,
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
    if let Some(up_to) = config.source.pruned().await?.filter(|pruned| back && target.as_ref() < Some(pruned)) {
        return Err(AdminError::Pruned { consumer: id.to_string(), up_to });
    }
    let resets = back && !keep && config.plan.on_reset.is_some();
    if back && !keep && !resets {
        return Err(AdminError::WouldRepeat { consumer: id.to_string() });
    }
    // They come again: an event that is handled then is no dead letter any more. Asked before anything is owned.
    let resolved = if back { letters_above(config, target.as_ref()).await? } else { Vec::new() };
    let state = config.state.load(id).await?;
    let Some(lease) = lock.acquire(id, state.epoch).await? else { return Err(AdminError::not_owner(id)) };
    let stored = state.checkpoint.unwrap_or_default();
    let passed = stored.reach.clone().max(watermark.cloned());
    let checkpoint = if back {
        Checkpoint { watermark: target.clone(), reach: target, open: Vec::new() }
    } else {
        // Forward, what was handled beyond the target stays handled, and what is open there stays open.
        let open = stored.open.into_iter().filter(|position| Some(position) > target.as_ref()).collect();
        Checkpoint { reach: passed.clone().max(target.clone()), watermark: target, open }
    };
    let settlement = Settlement {
        checkpoint: Some(checkpoint.clone()),
        resetting: resets.then_some(true),
        replay_to: state.replay_to.max(passed).filter(|_| back),
        forget_completed: back,
        forget_attempts: back,
        claims: Claims { forget: back && config.plan.engine.claiming().is_some(), ..Claims::default() },
        resolved,
        // Looked at again where that is one step with the pruning.
        rereads: back && config.one_store,
        ..Settlement::default()
    };
    let settled = config.state.settle(&lease, settlement).await;
    if let Err(error) = lock.release(&lease).await {
        tracing::warn!(consumer = %id, error = &error as &dyn std::error::Error,
            "the ownership could not be given back; it will expire");
    }
    settled?;
    tracing::info!(consumer = %id, from = ?watermark, to = ?checkpoint.watermark, keep, "moved by request");
    Ok(Moved { to: checkpoint, resets })
}

/// The dead letters of events that are handled again.
async fn letters_above(config: &ProcessorConfig, target: Option<&Position>) -> Result<Vec<EventId>, StoreError> {
    let (mut found, mut after) = (Vec::new(), target.cloned());
    loop {
        let all = LetterFilter::all();
        let page = config.dead_letters.list(&config.plan.id, &all, after.as_ref(), LETTERS).await?;
        found.extend(page.iter().map(|dead| dead.letter.event.id));
        match page.last() {
            Some(last) if page.len() == LETTERS => after = Some(last.letter.event.position.clone()),
            _ => return Ok(found),
        }
    }
}
