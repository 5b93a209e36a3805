//! What chance decides: the shape of a run, and what becomes of each event at each consumer.

use std::time::Duration;

use fastrand::Rng;

use crate::consumers::Component;

/// The shape of one run.
#[derive(Debug, Clone)]
pub(crate) struct Shape {
    pub(crate) seed: u64,
    pub(crate) window: usize,
    pub(crate) checkpoint_every: usize,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) page: usize,
    pub(crate) look_ahead: usize,
    /// How many events of a key are parked before the rest of them holds up what is read.
    pub(crate) parked_queue: usize,
    pub(crate) keys: u64,
    pub(crate) steps: usize,
    /// How many of a thousand calls fail, and are slow.
    pub(crate) failing: u32,
    pub(crate) slow: u32,
    /// The one call that fails whatever chance says.
    pub(crate) failing_call: Option<u64>,
    /// How many of a hundred handlers do not simply succeed.
    pub(crate) troubled: u64,
}

impl Shape {
    pub(crate) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x5eed);
        let window = *rng.choice(&[4_usize, 8, 16, 64]).unwrap();
        let rate = |rng: &mut Rng| *rng.choice(&[0_u32, 5, 20, 80, 200]).unwrap();
        Self {
            seed,
            window,
            checkpoint_every: *rng.choice(&[1_usize, 2, window.div_ceil(4), window]).unwrap(),
            checkpoint_interval: Duration::from_millis(*rng.choice(&[5_u64, 100, 1_000]).unwrap()),
            page: *rng.choice(&[3_usize, 10, 50]).unwrap(),
            look_ahead: *rng.choice(&[8_usize, 20, 100]).unwrap(),
            keys: rng.u64(1..6),
            steps: rng.usize(15..45),
            failing: rate(&mut rng),
            slow: rate(&mut rng) / 2,
            failing_call: rng.bool().then(|| rng.u64(0..600)),
            troubled: *rng.choice(&[0_u64, 20, 60]).unwrap(),
            parked_queue: *rng.choice(&[2_usize, 5, 100]).unwrap(),
        }
    }

    /// What becomes of an event at a consumer: the same on every run of it.
    pub(crate) fn fate(&self, component: Component, n: u64) -> Fate {
        let mut rng = Rng::with_seed(self.seed.wrapping_mul(1_000_003) ^ (n << 8) ^ component as u64);
        let takes = match rng.u32(0..20) {
            0..6 => Duration::ZERO,
            6..18 => Duration::from_millis(rng.u64(1..60)),
            18 => Duration::from_millis(rng.u64(500..4_000)),
            _ => Duration::from_secs(rng.u64(4..15)),
        };
        let ends = if rng.u64(0..100) >= self.troubled {
            Ends::Well
        } else {
            match rng.u32(0..8) {
                0 => Ends::Failing { times: u32::MAX },
                1 | 2 => Ends::Failing { times: rng.u32(1..3) },
                3 => Ends::Transient { times: rng.u32(1..3) },
                4 => Ends::Permanent,
                5 => Ends::Panic,
                // A saga does not leave its state by it.
                6 if component == Component::Story => Ends::Well,
                6 => Ends::Skip,
                _ => Ends::RetryAfter { times: rng.u32(1..3) },
            }
        };
        Fate { takes, heeds_stop: rng.bool(), ends }
    }
}

/// What a handler does with an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fate {
    pub(crate) takes: Duration,
    /// Fails early once it is told to stop.
    pub(crate) heeds_stop: bool,
    pub(crate) ends: Ends,
}

/// How a handler ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Well,
    Failing { times: u32 },
    Transient { times: u32 },
    Permanent,
    Panic,
    Skip,
    RetryAfter { times: u32 },
}
