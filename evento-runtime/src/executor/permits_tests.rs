use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use proptest::prelude::*;

use super::permits::*;
use super::*;
use crate::identity::{ConsumerId, ContextPattern};
use crate::sync::lock;

fn consumer(name: &str) -> Arc<ConsumerId> {
    Arc::new(ConsumerId { bundle: "b".into(), component: name.into(), version: 1, context: ContextPattern::All })
}

fn admission(name: &str) -> Admission {
    Admission { consumer: consumer(name), key: None, wait: Duration::from_secs(3_600) }
}

#[derive(Debug, Clone)]
enum Step {
    Ask(usize),
    GiveBack,
    Withdraw(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![3 => (0..3_usize).prop_map(Step::Ask), 3 => Just(Step::GiveBack), 1 => (0..8_usize).prop_map(Step::Withdraw)]
}

proptest! {
    #[test]
    fn tickets_are_served_in_turn_and_never_above_capacity(capacity in 1..4_usize, steps in proptest::collection::vec(step(), 0..200)) {
        let names = [consumer("a"), consumer("b"), consumer("c")];
        let mut tickets: Tickets<usize> = Tickets::new(capacity);
        // Under which number, and by whom.
        let mut held: Vec<(usize, usize)> = Vec::new();
        let mut waiting: Vec<(u64, usize)> = Vec::new();
        // How often another consumer with as few permits was served since this one began to wait.
        let mut passed: HashMap<usize, usize> = HashMap::new();
        for step in steps {
            match step {
                Step::Ask(who) => match tickets.ask(&names[who]) {
                    Asked::Granted(user) => {
                        prop_assert!(waiting.is_empty(), "went past somebody who waits");
                        held.push((user, who));
                    }
                    Asked::LetOthers => {
                        prop_assert!(waiting.is_empty() && held.len() < capacity);
                        let Asked::Granted(user) = tickets.ask_again(&names[who]) else { panic!("nobody else came") };
                        let mine = held.iter().filter(|(_, holder)| *holder == who).count();
                        prop_assert!(mine > 0 && mine < held.len(), "alone, or without any, it need not wait");
                        held.push((user, who));
                    }
                    Asked::Wait => {
                        let number = tickets.queue(&names[who], who);
                        waiting.push((number, who));
                        passed.entry(who).or_insert(0);
                    }
                    Asked::Refused => prop_assert!(false),
                },
                Step::GiveBack if !held.is_empty() => {
                    if let Some((who, user)) = tickets.give_back(held.remove(0).0) {
                        held.push((user, who));
                        let first = waiting.iter().position(|(_, other)| *other == who).unwrap();
                        waiting.remove(first);
                        for (other, count) in passed.iter_mut().filter(|(other, _)| **other != who) {
                            let held_by = |who: usize| held.iter().filter(|(_, holder)| *holder == who).count();
                            prop_assert!(held_by(who) - 1 <= held_by(*other), "served before one with fewer permits");
                            *count += usize::from(held_by(who) - 1 == held_by(*other));
                            prop_assert!(*count <= 2, "with three consumers nobody waits for more than two");
                        }
                        passed.remove(&who);
                        if waiting.iter().any(|(_, other)| *other == who) {
                            passed.insert(who, 0);
                        }
                    } else {
                        prop_assert!(waiting.is_empty());
                    }
                }
                Step::GiveBack => {}
                Step::Withdraw(at) => {
                    if let Some((number, who)) = waiting.get(at).copied() {
                        prop_assert_eq!(tickets.withdraw(number), Some(who));
                        prop_assert_eq!(tickets.withdraw(number), None);
                        waiting.remove(at);
                        if !waiting.iter().any(|(_, other)| *other == who) {
                            passed.remove(&who);
                        }
                    }
                }
            }
            prop_assert_eq!(tickets.in_use, held.len());
            prop_assert!(held.len() <= capacity);
        }
        let left: HashSet<usize> = tickets.close().into_iter().collect();
        prop_assert_eq!(left, waiting.iter().map(|(_, who)| *who).collect::<HashSet<_>>());
        prop_assert_eq!(tickets.ask(&names[0]), Asked::Refused);
    }

    /// Every mix of polling, dropping and giving back: nothing leaks, nobody is forgotten.
    #[test]
    fn dropped_waits_leak_nothing(capacity in 1..3_usize, steps in proptest::collection::vec((0..4_u8, 0..6_usize), 0..120)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _inside = runtime.enter();
        let pool = Permits::new(capacity);
        let mut waits: Vec<BoxFuture<'_, Option<Permit>>> = Vec::new();
        let mut held: Vec<Permit> = Vec::new();
        for (what, at) in steps {
            match what {
                0 => waits.push(pool.admit(admission(["x", "y"][at % 2])).boxed()),
                1 if !waits.is_empty() => {
                    let at = at % waits.len();
                    if let Some(permit) = (&mut waits[at]).now_or_never() {
                        held.push(permit.unwrap());
                        drop(waits.remove(at));
                    }
                }
                2 if !waits.is_empty() => {
                    let at = at % waits.len();
                    drop(waits.remove(at));
                }
                3 => drop(held.pop()),
                _ => {}
            }
            prop_assert!(held.len() <= capacity);
        }
        drop(waits);
        drop(held);
        prop_assert_eq!(pool.stats().in_flight, 0);
        prop_assert!(lock(&pool.tickets).lines.is_empty());
        for _ in 0..capacity {
            held_now(&pool);
        }
    }
}

fn held_now(pool: &Arc<Permits>) {
    let permit = pool.admit(admission("z")).now_or_never().flatten();
    assert!(permit.is_some());
}

#[tokio::test]
async fn a_permit_sent_to_a_dropped_wait_goes_to_the_next() {
    let pool = Permits::new(1);
    let first = pool.admit(admission("a")).await.unwrap();
    let mut second = pool.admit(admission("b")).boxed();
    let mut third = pool.admit(admission("c")).boxed();
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    drop(first);
    // Granted, not picked up.
    drop(second);
    assert!(third.now_or_never().flatten().is_some());
    assert_eq!(pool.stats().in_flight, 0);
    assert_eq!(pool.stats().peak, 1);
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_after_its_time_and_counts_once() {
    let pool = Permits::new(1);
    let held = pool.admit(admission("a")).await.unwrap();
    let before = tokio::time::Instant::now();
    let wait = Duration::from_secs(5);
    assert!(pool.admit(Admission { wait, ..admission("b") }).await.is_none());
    assert_eq!(before.elapsed(), wait);
    assert!(pool.admit(Admission { wait: Duration::ZERO, ..admission("b") }).await.is_none());
    assert_eq!(pool.stats().rejected, 2);
    drop(held);
    assert!(pool.admit(admission("b")).await.is_some());
    let stats = pool.stats();
    assert_eq!((stats.in_flight, stats.admitted, stats.rejected), (0, 2, 2));
}

/// Whoever has its share lets others go first, and is held up by nobody who does not come.
#[tokio::test]
async fn free_permits_beyond_a_share_are_taken_after_others_had_their_chance() {
    let pool = Permits::new(4);
    let ask = |name| pool.admit(admission(name));
    let alone = [ask("a").await, ask("a").await, ask("a").await];
    let other = ask("b").now_or_never().flatten();
    drop(alone);
    let share = [ask("a").now_or_never().flatten(), ask("a").now_or_never().flatten()];
    assert!(other.is_some() && share.iter().all(Option::is_some));
    let mut more = ask("a").boxed();
    assert!((&mut more).now_or_never().is_none(), "b has been at work, and may want it");
    let others = ask("b").now_or_never().flatten();
    assert!(others.is_some() && (&mut more).now_or_never().is_none(), "it has taken it");
    drop(others);
    let more = more.await;
    assert!(more.is_some());
}
