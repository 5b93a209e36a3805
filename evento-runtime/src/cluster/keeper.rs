//! Renews every lease of this process from a thread of its own, so that busy workers cannot lose an ownership.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::clock::monotonic;
use crate::error::{StoreError, StoreErrorKind};
use crate::identity::ConsumerId;
use crate::store::{ConsumerLock, Lease};
use crate::sync::{Mutex, lock};
use crate::task::{Tasks, panic_fails};

/// Where leases are renewed, and by which clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LeaseRenewal {
    /// On a thread of its own, by the system's monotonic clock, whatever tokio's clock does.
    #[default]
    Thread,
    /// In a task of the bundle's runtime, by tokio's clock: everything that happens there then repeats itself when
    /// that clock is paused. For tests and simulation; handlers that keep the runtime busy lose their ownership.
    Runtime,
}

struct Entry {
    lease: Lease,
    valid_until: watch::Sender<Option<Instant>>,
}

struct Shared {
    lock: Arc<dyn ConsumerLock>,
    renewal: LeaseRenewal,
    /// Ordered, so that a simulated run repeats itself.
    held: Mutex<BTreeMap<ConsumerId, Entry>>,
    closing: AtomicBool,
    wake: Notify,
}

/// What renews.
enum Runner {
    Thread(thread::JoinHandle<()>),
    Task(JoinHandle<()>),
}

/// The thread `evento-keeper`, or a task in its place. Dropping it ends the renewals; [`close`](Self::close) also waits
/// for the last one.
pub struct Keeper {
    shared: Arc<Shared>,
    runner: Option<Runner>,
}

/// A lease that is being renewed. Dropping it ends the renewals; it does not give the ownership back.
pub struct HeldLease {
    shared: Arc<Shared>,
    lease: Lease,
    valid_until: watch::Receiver<Option<Instant>>,
}

/// Whether a lease may be believed in, for those who do not hold it.
#[derive(Clone)]
pub struct Validity {
    shared: Arc<Shared>,
    valid_until: watch::Receiver<Option<Instant>>,
}

impl Validity {
    /// Whether this process may still believe in it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.valid_until.borrow().is_some_and(|until| self.shared.now() < until)
    }
}

impl Keeper {
    /// Starts the thread, or the task.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(lock: Arc<dyn ConsumerLock>, renewal: LeaseRenewal) -> Result<Self, StoreError> {
        let (held, closing, wake) = (Mutex::default(), AtomicBool::new(false), Notify::new());
        let shared = Arc::new(Shared { lock, renewal, held, closing, wake });
        let other = Arc::clone(&shared);
        let runner = match renewal {
            // Not among the tasks of the bundle: it renews until those have ended.
            LeaseRenewal::Runtime => Runner::Task(Tasks::default().spawn(async move { other.keep().await })),
            LeaseRenewal::Thread => {
                let failed = |error| StoreError::new(StoreErrorKind::Other, "evento-keeper").caused_by(error);
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
                let thread = thread::Builder::new()
                    .name("evento-keeper".to_owned())
                    .spawn(move || runtime.block_on(other.keep()))
                    .map_err(failed)?;
                Runner::Thread(thread)
            }
        };
        Ok(Self { shared, runner: Some(runner) })
    }

    /// What the time of leases is counted by.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.shared.now()
    }

    /// Begins to renew `lease`. `asked_at`: when it was asked for, from which its time counts.
    #[must_use]
    pub fn hold(&self, lease: Lease, asked_at: Instant) -> HeldLease {
        let (sender, valid_until) = watch::channel(Some(asked_at + self.shared.lock.lease_duration()));
        let entry = Entry { lease: lease.clone(), valid_until: sender };
        lock(&self.shared.held).insert(lease.consumer.clone(), entry);
        HeldLease { shared: Arc::clone(&self.shared), lease, valid_until }
    }

    /// Ends the renewals and waits for the one under way.
    pub async fn close(mut self) {
        self.shared.close();
        match self.runner.take() {
            // The thread is joined where blocking is allowed.
            Some(Runner::Thread(thread)) => drop(Tasks::default().spawn_blocking(move || thread.join()).await),
            Some(Runner::Task(task)) => drop(task.await),
            None => {}
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn now(&self) -> Instant {
        match self.renewal {
            LeaseRenewal::Thread => Instant::from_std(monotonic()),
            LeaseRenewal::Runtime => Instant::now(),
        }
    }

    fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    async fn keep(&self) {
        let every = self.lock.renew_interval();
        while !self.closing.load(Ordering::Acquire) {
            let leases: Vec<Lease> = lock(&self.held).values().map(|entry| entry.lease.clone()).collect();
            if !leases.is_empty() {
                // Counted from before the question: the answer may have taken any time to arrive.
                let asked_at = self.now();
                match panic_fails("ownership", async { self.lock.renew(&leases).await }).await {
                    Ok(still_held) => self.note(asked_at, &leases, &still_held),
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn std::error::Error, "leases could not be renewed");
                    }
                }
            }
            self.pause(every).await;
        }
    }

    async fn pause(&self, every: Duration) {
        tokio::select! {
            biased;
            () = self.wake.notified() => {}
            () = tokio::time::sleep(every) => {}
        }
    }

    fn note(&self, asked_at: Instant, leases: &[Lease], still_held: &[bool]) {
        let until = asked_at + self.lock.lease_duration();
        let held = lock(&self.held);
        for (lease, still_held) in leases.iter().zip(still_held) {
            // In between it may have been given up, or taken anew.
            if let Some(entry) = held.get(&lease.consumer).filter(|entry| entry.lease == *lease) {
                entry.valid_until.send_replace(still_held.then_some(until));
            }
        }
    }
}

impl HeldLease {
    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Whether this process may still believe in it.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.valid_until.borrow().is_some_and(|until| self.shared.now() < until)
    }

    /// The same question, for others.
    #[must_use]
    pub fn validity(&self) -> Validity {
        Validity { shared: Arc::clone(&self.shared), valid_until: self.valid_until.clone() }
    }

    /// Waits until it is not valid any more. Cancel-safe.
    pub async fn lost(&mut self) {
        loop {
            let Some(until) = *self.valid_until.borrow_and_update() else { return };
            let left = until.saturating_duration_since(self.shared.now());
            if left.is_zero() {
                return;
            }
            tokio::select! {
                biased;
                changed = self.valid_until.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(left) => {}
            }
        }
    }
}

impl Drop for HeldLease {
    fn drop(&mut self) {
        let mut held = lock(&self.shared.held);
        if held.get(&self.lease.consumer).is_some_and(|entry| entry.lease == self.lease) {
            held.remove(&self.lease.consumer);
        }
    }
}
