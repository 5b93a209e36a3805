//! Noticing what others append, and telling them of ours. Hints, both: a missed one costs a poll.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt as _;

use super::{Inner, Server};

const BRISK: Duration = Duration::from_millis(100);
const LAZY: Duration = Duration::from_secs(1);
/// While a hole is being waited for.
const RESTLESS: Duration = Duration::from_millis(20);
/// Others are told of appends this often at most, and less often while there are always more.
const TELLING: Duration = Duration::from_millis(1);
const TELLING_OF_MANY: Duration = Duration::from_millis(5);

/// The tasks hold the store weakly: dropping the last handle ends them.
pub(super) fn start<S: Server>(inner: &Arc<Inner<S>>) {
    let stop = inner.stop.clone();
    inner.background.spawn(watch(Arc::downgrade(inner), stop.clone()));
    inner.background.spawn(tell(Arc::downgrade(inner), stop));
}

/// Looks for new events until stopped: every 100 ms, backing off to 1 s while nothing comes, or each second where
/// others tell. A failure is no more than a missed look; whoever reads gets the error itself.
async fn watch<S: Server>(inner: Weak<Inner<S>>, stop: tokio_util::sync::CancellationToken) {
    let Some(look) = inner.upgrade().map(|inner| Arc::clone(&inner.look)) else { return };
    // The first look tells whoever listens by then: what came before it may be new to them.
    let (mut pause, mut seen) = (BRISK, None);
    let mut told = false;
    let mut held = None;
    loop {
        {
            let Some(inner) = inner.upgrade() else { break };
            if told {
                inner.announce();
            }
            // Nobody listens: nothing to look for.
            if inner.wake.receiver_count() > 0
                && let Ok(found) = S::head(&inner).await
            {
                pause = if seen.is_none_or(|seen| seen < found) {
                    inner.announce();
                    BRISK
                } else {
                    (pause * 5 / 4).min(LAZY)
                };
                seen = Some(found);
                // Nothing new to read, but a reason to show for that.
                let holds = inner.server.held().map(|held| held.at);
                if holds != held {
                    inner.announce();
                    held = holds;
                }
            }
            if inner.is_told.load(Ordering::Relaxed) {
                pause = LAZY;
            }
            if inner.server.is_restless() {
                pause = RESTLESS;
            }
        }
        told = tokio::select! {
            () = stop.cancelled() => break,
            () = look.notified() => true,
            () = tokio::time::sleep(pause) => false,
        };
        if pause == RESTLESS {
            pause = BRISK;
        }
    }
}

async fn tell<S: Server>(inner: Weak<Inner<S>>, stop: tokio_util::sync::CancellationToken) {
    let Some(appended) = inner.upgrade().map(|inner| Arc::clone(&inner.appended)) else { return };
    let mut many = false;
    loop {
        if !many {
            tokio::select! {
                () = stop.cancelled() => break,
                () = appended.notified() => {}
            }
        }
        let Some(telling) = inner.upgrade() else { break };
        S::notify(&telling).await;
        drop(telling);
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(if many { TELLING_OF_MANY } else { TELLING }) => {}
        }
        many = appended.notified().now_or_never().is_some();
    }
}
