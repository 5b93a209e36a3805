//! What has begun, and what of it began again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Positions of one component that began in each run.
pub(crate) struct Journal(BTreeMap<usize, BTreeSet<i64>>);

/// How often something began again after one kill.
#[derive(Debug)]
pub(crate) struct Again {
    pub(crate) mean: f64,
    pub(crate) p95: usize,
    pub(crate) max: usize,
}

impl Journal {
    pub(crate) fn read(path: &Path, of: &str) -> Self {
        let mut begun: BTreeMap<usize, BTreeSet<i64>> = BTreeMap::new();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let mut words = line.split(' ');
            let (run, who, position) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            if who == of {
                begun.entry(run.parse().unwrap()).or_default().insert(position.parse().unwrap());
            }
        }
        Self(begun)
    }

    /// Over `kills`: how much of what had begun when one hit began again later. What a kill left to be repeated may wait
    /// beyond the next one, as what is suspicious begins one by one: it is counted where it began last.
    pub(crate) fn again(&self, kills: usize) -> Again {
        let began = |run: usize| self.0.get(&run).cloned().unwrap_or_default();
        let mut later = began(kills);
        let mut again = Vec::new();
        for run in (0..kills).rev() {
            let begun = began(run);
            again.push(begun.intersection(&later).count());
            later.extend(begun);
        }
        again.sort_unstable();
        let all: usize = again.iter().sum();
        let p95 = again[(again.len() * 95).div_ceil(100) - 1];
        // Counts this small are exact.
        #[allow(clippy::cast_precision_loss, reason = "see above")]
        let mean = all as f64 / again.len() as f64;
        Again { mean, p95, max: again[again.len() - 1] }
    }

    /// After how many of the kills something was not there that had begun: it began again, or it is `lost`.
    pub(crate) fn interrupted(&self, kills: usize, lost: &[i64]) -> usize {
        let is_open =
            |run: usize, at: &i64| lost.contains(at) || self.0.range(run + 1..).any(|(_, later)| later.contains(at));
        let runs = self.0.range(..kills);
        runs.filter(|(run, begun)| begun.iter().any(|at| is_open(**run, at))).count()
    }

    /// Those of `lost` that began in each run last; those that never began under `None`.
    pub(crate) fn by_run(&self, lost: &[i64]) -> BTreeMap<Option<usize>, usize> {
        let mut by_run = BTreeMap::new();
        for at in lost {
            let run = self.0.iter().rev().find(|(_, begun)| begun.contains(at)).map(|(run, _)| *run);
            *by_run.entry(run).or_default() += 1;
        }
        by_run
    }
}
