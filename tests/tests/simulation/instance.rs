//! One process: what it does has an effect as long as it lives, and none while it is frozen.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use evento_runtime::prelude::*;
use evento_runtime::store::{Lease, Store};
use tokio::time::Instant;

use crate::consumers::Component;
use crate::fate::{Ends, Fate};
use crate::history::Run;
use crate::planted::Plant;
use crate::steps::Steps;
use crate::world::{PLANNED, World};

pub(crate) struct Instance {
    pub(crate) id: usize,
    pub(crate) world: Arc<World>,
    /// The store without faults, under this instance's owner.
    pub(crate) store: Store,
    dead: AtomicBool,
    frozen_until: Mutex<Instant>,
    panicked: AtomicBool,
    leases: Mutex<BTreeMap<Component, Lease>>,
}

/// What a handler is called with.
pub(crate) struct Called {
    pub(crate) component: Component,
    pub(crate) n: u64,
    pub(crate) at: Position,
    pub(crate) attempt: Attempt,
    pub(crate) stop: Stop,
}

impl Instance {
    pub(crate) fn new(id: usize, world: &Arc<World>) -> Arc<Self> {
        Arc::new_cyclic(|instance| Self {
            id,
            world: Arc::clone(world),
            store: world.ledger.beside(world.memory.store(), Arc::new(Steps(Weak::clone(instance)))),
            dead: AtomicBool::new(false),
            frozen_until: Mutex::new(Instant::now()),
            panicked: AtomicBool::new(false),
            leases: Mutex::default(),
        })
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// From now on nothing it does has an effect, but for what is under way to the store already. Its tasks are left
    /// where they stand: whatever they wait for never comes.
    pub(crate) fn die(&self, why: &str) {
        if !self.dead.swap(true, Ordering::Relaxed) {
            self.world.history().died(self.id, why);
        }
    }

    pub(crate) fn freeze(&self, time: Duration) {
        *self.frozen_until.lock().unwrap() = Instant::now() + time;
    }

    /// Passed by whoever lives and is awake.
    pub(crate) async fn gate(&self) {
        loop {
            if self.is_dead() {
                std::future::pending::<()>().await;
            }
            let until = *self.frozen_until.lock().unwrap();
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }

    pub(crate) fn keep_lease(&self, component: Component, lease: Lease) {
        self.leases.lock().unwrap().insert(component, lease);
    }

    pub(crate) fn leases(&self) -> Vec<Lease> {
        self.leases.lock().unwrap().values().cloned().collect()
    }

    /// Whether a handler has panicked since the last question.
    pub(crate) fn take_panicked(&self) -> bool {
        self.panicked.swap(false, Ordering::Relaxed)
    }

    /// Every handler.
    pub(crate) async fn handle(self: &Arc<Self>, called: Called) -> Result<Flow, BoxError> {
        let at = called.at.as_u64().unwrap();
        self.world.history().called(self.id, called.component, at);
        self.gate().await;
        self.world.read_log();
        let run = self.world.history().began(self.id, called.component, at);
        let running = Running { instance: Arc::clone(self), run: Some(run) };
        let mut fate = self.world.shape.fate(called.component, called.n);
        if !self.world.is_troubled() {
            fate.takes = fate.takes.min(Duration::from_millis(60));
        }
        let told = take_time(&fate, &called.stop).await;
        self.gate().await;
        let ends = if told { Ends::Failing { times: u32::MAX } } else { fate.ends };
        let attempt = called.attempt.0;
        let result: Result<Flow, BoxError> = match ends {
            // What could not be handled is mended together with everything else.
            _ if !self.world.is_troubled() && !told => Ok(Flow::Continue),
            _ if called.component.parks() && self.world.is_healed(called.n) && !told => Ok(Flow::Continue),
            Ends::Failing { times } if attempt <= times => Err("it failed".into()),
            Ends::Transient { times } if attempt <= times => Err(HandlerError::transient("not there").into()),
            Ends::RetryAfter { times } if attempt <= times => Ok(Flow::RetryAfter(Duration::from_millis(120))),
            Ends::Permanent if attempt == 1 => Err(HandlerError::permanent("never").into()),
            Ends::Permanent => Ok(Flow::DeadLetter("never".to_owned())),
            Ends::Panic => {
                running.ended(false);
                self.panicked.store(true, Ordering::Relaxed);
                std::panic::panic_any(PLANNED);
            }
            Ends::Skip => Ok(Flow::Skip),
            Ends::Well | Ends::Failing { .. } | Ends::Transient { .. } | Ends::RetryAfter { .. } => Ok(Flow::Continue),
        };
        let success = matches!(result, Ok(Flow::Continue | Flow::Skip));
        running.ended(success);
        if self.world.plant == Some(Plant::RetryLast) && !success {
            self.retry_last(called.component, at);
            return Ok(Flow::Continue);
        }
        result
    }

    fn retry_last(self: &Arc<Self>, component: Component, at: u64) {
        let instance = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            instance.gate().await;
            let run = instance.world.history().began(instance.id, component, at);
            instance.world.history().ended(run, true);
        });
    }
}

/// Whether it ended early, because it was told to stop.
async fn take_time(fate: &Fate, stop: &Stop) -> bool {
    let over = Instant::now() + fate.takes;
    while fate.heeds_stop && over > Instant::now() {
        // Asked instead of waited for: handlers that wait for the same signal are woken in any order.
        if stop.is_stopping() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    tokio::time::sleep_until(over).await;
    false
}

/// A handler that runs. Dropped before its end, it was cancelled.
struct Running {
    instance: Arc<Instance>,
    run: Option<Run>,
}

impl Running {
    fn ended(mut self, success: bool) {
        if let Some(run) = self.run.take() {
            self.instance.world.history().ended(run, success);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(run) = self.run.take() {
            self.instance.world.history().ended(run, false);
        }
    }
}
