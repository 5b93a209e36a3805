//! Three instances of the real engine over one world in memory, on a clock that stands still while anything can run.
//! Every source of chance is one seed: which call of the store fails and how, who crashes, who loses what it owns,
//! what handlers do. A history of what handlers did and what was stored is checked against the laws while it grows.
//!
//! ```text
//! cargo test --release -p evento-tests --test simulation -- --nocapture
//! ```
//!
//! `EVENTO_SEEDS` sets how many seeds run: 10,000 in release, which is what `tests/run --long` runs, 24 in the dev
//! profile.
//! `EVENTO_SEED=7` runs one seed and prints what happened in it; `EVENTO_PLANT=CommitHighest` beside it plants a mistake.

#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "tests")]
#![allow(clippy::disallowed_methods, reason = "tests spawn and wait as they like")]

mod claims;
mod consumers;
mod driver;
mod fate;
mod final_laws;
mod history;
mod instance;
mod kinds;
mod ownership;
mod planted;
mod sagas;
mod spi;
mod steps;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use driver::{Outcome, simulate};
use planted::Plant;

/// Seeds within which a planted mistake has to be caught.
const SEEDS_A_PLANT: u64 = 200;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

fn seeds() -> u64 {
    let usual = if cfg!(debug_assertions) { 24 } else { 10_000 };
    number("EVENTO_SEEDS").unwrap_or(usual)
}

fn replay(seed: u64, plant: Option<Plant>) -> String {
    let plant = plant.map(|plant| format!(" EVENTO_PLANT={plant:?}")).unwrap_or_default();
    let release = if cfg!(debug_assertions) { "" } else { " --release" };
    format!("EVENTO_SEED={seed}{plant} cargo test{release} -p evento-tests --test simulation seeds -- --nocapture")
}

/// Runs seeds on all processors, each on a thread and a runtime of its own, until `enough`.
fn run(from: u64, to: u64, plant: Option<Plant>, enough: impl Fn(u64, &Outcome) -> bool + Sync) {
    let next = AtomicU64::new(from);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to || enough(seed, &simulate(seed, plant, false)) {
                        next.fetch_max(to, Ordering::Relaxed);
                        return;
                    }
                }
            });
        }
    });
}

#[test]
fn seeds_keep_the_laws() {
    world::quiet_planned_panics();
    if let Some(seed) = number("EVENTO_SEED") {
        let plant = std::env::var("EVENTO_PLANT").ok().map(|name| Plant::named(&name));
        let outcome = simulate(seed, plant, true);
        outcome.story.iter().for_each(|line| println!("{line}"));
        println!("{}", outcome.summary());
        assert!(outcome.broken.is_empty(), "{}", outcome.broken.join("\n"));
        return;
    }
    let (seeds, failures, totals) = (seeds(), Mutex::new(Vec::new()), Mutex::new(world::Figures::default()));
    run(0, seeds, None, |seed, outcome| {
        totals.lock().unwrap().add(&outcome.figures);
        if let Some(broken) = outcome.broken.first() {
            println!("{broken}\n  {}", replay(seed, None));
            failures.lock().unwrap().push(seed);
        }
        failures.lock().unwrap().len() >= 20
    });
    let failures = failures.into_inner().unwrap();
    println!("{}", totals.into_inner().unwrap());
    println!("seeds {seeds} failures {}", failures.len());
    assert!(failures.is_empty(), "seeds {failures:?}");
}

#[test]
fn a_planted_mistake_is_caught() {
    world::quiet_planned_panics();
    if number("EVENTO_SEED").is_some() {
        return;
    }
    let caught = caught(&Plant::ALL);
    println!("planted {} caught {caught}", Plant::ALL.len());
    assert_eq!(caught, Plant::ALL.len());
}

#[test]
fn a_planted_mistake_of_parking_is_caught() {
    world::quiet_planned_panics();
    if number("EVENTO_SEED").is_some() {
        return;
    }
    let caught = caught(&Plant::OF_PARKING);
    println!("parking: planted {} caught {caught}", Plant::OF_PARKING.len());
    assert_eq!(caught, Plant::OF_PARKING.len());
}

/// How many of them the history gives away.
fn caught(plants: &[Plant]) -> usize {
    let mut caught = 0;
    for plant in plants.iter().copied() {
        let found = Mutex::new(None);
        run(0, SEEDS_A_PLANT, Some(plant), |seed, outcome| {
            let Some(broken) = outcome.broken.first() else { return false };
            found.lock().unwrap().get_or_insert((seed, broken.clone()));
            true
        });
        match found.into_inner().unwrap() {
            Some((seed, broken)) => {
                caught += 1;
                println!("planted {plant:?}: seed {seed}: {broken}");
            }
            None => println!("planted {plant:?}: not caught within {SEEDS_A_PLANT} seeds"),
        }
    }
    caught
}

#[test]
fn a_seed_repeats_itself() {
    world::quiet_planned_panics();
    for seed in 0..5 {
        let (once, again) = (simulate(seed, None, true), simulate(seed, None, true));
        for (a, b) in once.story.iter().zip(&again.story) {
            assert_eq!(a, b, "seed {seed}");
        }
        assert_eq!(once.story.len(), again.story.len(), "seed {seed}");
    }
}
