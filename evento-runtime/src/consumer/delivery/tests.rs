//! What a log may store, whatever happens to its deliveries.

use proptest::prelude::*;

use super::*;

#[derive(Debug, Clone)]
enum Step {
    Push(u8, bool),
    Foreign(u8),
    Start(usize),
    Settle(usize),
    GiveBack(usize),
    Store(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1_u8..9, any::<bool>()).prop_map(|(gap, cover)| Step::Push(gap, cover)),
        1 => (1_u8..9).prop_map(Step::Foreign),
        3 => any::<usize>().prop_map(Step::Start),
        3 => any::<usize>().prop_map(Step::Settle),
        1 => any::<usize>().prop_map(Step::GiveBack),
        1 => (0_u64..7).prop_map(Step::Store),
    ];
    proptest::collection::vec(step, 0..200)
}

/// What a restart would run of the positions read so far.
fn runs_again(checkpoint: &Checkpoint, positions: impl IntoIterator<Item = u64>) -> BTreeSet<u64> {
    positions
        .into_iter()
        .filter(|p| {
            let position = Position::from_u64(*p);
            checkpoint.open.contains(&position) || checkpoint.reach.as_ref().is_none_or(|reach| position > *reach)
        })
        .collect()
}

proptest! {
    #[test]
    fn a_restart_runs_what_is_not_covered_and_at_most_the_exposure_again(steps in steps()) {
        let mut log = DeliveryLog::resume(&Checkpoint::default());
        let mut at = 0_u64;
        let mut deliveries: Vec<(DeliveryNo, u64, Cover)> = Vec::new();
        let (mut started, mut settled) = (BTreeSet::new(), BTreeSet::new());
        let mut stored = Checkpoint::default();
        for step in steps {
            match step {
                Step::Push(gap, cover) => {
                    at += u64::from(gap);
                    let cover = if cover { Cover::Start } else { Cover::Settle };
                    let number = log.push(&Position::from_u64(at), cover).unwrap();
                    prop_assert_eq!(usize::try_from(number).unwrap(), deliveries.len() + 1);
                    deliveries.push((number, at, cover));
                }
                Step::Foreign(gap) => {
                    at += u64::from(gap);
                    log.note_read_to(&Position::from_u64(at));
                }
                Step::Start(i) if !deliveries.is_empty() => {
                    let (number, position, _) = deliveries[i % deliveries.len()];
                    if !settled.contains(&position) {
                        log.start(number);
                        started.insert(position);
                    }
                }
                Step::Settle(i) if !deliveries.is_empty() => {
                    let (number, position, _) = deliveries[i % deliveries.len()];
                    if started.contains(&position) {
                        log.settle(number);
                        settled.insert(position);
                    }
                }
                Step::Store(with) => {
                    // Some of what has started is settled by this very write.
                    let with: BTreeSet<DeliveryNo> = deliveries
                        .iter()
                        .filter(|(n, p, _)| *n % 7 < with && started.contains(p) && !settled.contains(p))
                        .map(|(n, _, _)| *n)
                        .collect();
                    let (checkpoint, mark) = log.checkpoint(&with);
                    prop_assert!(checkpoint.watermark >= stored.watermark, "the watermark moved back");
                    stored = checkpoint;
                    for (number, position, _) in deliveries.iter().filter(|(n, _, _)| with.contains(n)) {
                        log.settle(*number);
                        settled.insert(*position);
                    }
                    log.stored(mark);
                }
                Step::GiveBack(i) if !deliveries.is_empty() => {
                    let (number, position, cover) = deliveries[i % deliveries.len()];
                    log.give_back(number);
                    if cover == Cover::Settle && !settled.contains(&position) {
                        started.remove(&position);
                    }
                }
                Step::Start(_) | Step::Settle(_) | Step::GiveBack(_) => {}
            }
            let covered = |p: u64, cover: Cover| settled.contains(&p) || (started.contains(&p) && cover == Cover::Start);
            // What the log would store now runs exactly what is not covered.
            let (now, _) = log.checkpoint(&BTreeSet::new());
            let expected: BTreeSet<u64> = deliveries.iter().filter(|(_, p, c)| !covered(*p, *c)).map(|(_, p, _)| *p).collect();
            prop_assert_eq!(runs_again(&now, deliveries.iter().map(|(_, p, _)| *p)), expected.clone());
            // What is stored never covers an event that has not started (or, where that counts, not settled) …
            let again = runs_again(&stored, deliveries.iter().map(|(_, p, _)| *p));
            prop_assert!(expected.is_subset(&again), "covered too much");
            // … and of what it runs again, at most the exposure had begun.
            let begun = again.iter().filter(|p| started.contains(p)).count();
            prop_assert!(begun <= log.exposure(), "{} run again, exposure {}", begun, log.exposure());
            // A stop covers nothing that is not settled.
            let (last, _) = log.final_checkpoint(&BTreeSet::new());
            let unsettled: BTreeSet<u64> = deliveries.iter().map(|(_, p, _)| *p).filter(|p| !settled.contains(p)).collect();
            prop_assert_eq!(runs_again(&last, deliveries.iter().map(|(_, p, _)| *p)), unsettled);
            prop_assert!(log.watermark() <= log.frontier());
            // Where everything from a delivery on is as new, its own position says as much as the whole log would
            // once it is settled.
            if let Some(number) = log.oldest().filter(|number| at.is_multiple_of(8) && log.is_fresh(*number)) {
                let position = log.oldest_position().unwrap().clone();
                let short = Checkpoint { watermark: Some(position.clone()), reach: Some(position), open: Vec::new() };
                let mut settled = log.clone();
                settled.start(number);
                settled.settle(number);
                let of_log = settled.checkpoint(&BTreeSet::new()).0;
                let all = || deliveries.iter().map(|(_, p, _)| *p);
                prop_assert_eq!(runs_again(&short, all()), runs_again(&of_log, all()));
                prop_assert!(short.reach >= stored.reach && short.watermark >= stored.watermark);
            }
        }
    }

    #[test]
    fn a_resumed_log_stores_what_it_was_resumed_from(open in proptest::collection::btree_set(11_u64..100, 0..20)) {
        let stored = Checkpoint {
            watermark: Some(Position::from_u64(10)),
            reach: Some(Position::from_u64(100)),
            open: open.iter().copied().map(Position::from_u64).collect(),
        };
        let mut log = DeliveryLog::resume(&stored);
        for position in &stored.open {
            // A stop before they are all read back stores them as they were.
            prop_assert_eq!(&log.final_checkpoint(&BTreeSet::new()).0.open, &stored.open);
            prop_assert_eq!(&log.checkpoint(&BTreeSet::new()).0.open, &stored.open);
            log.push(position, Cover::Settle).unwrap();
        }
        prop_assert_eq!(log.note_read_to(&Position::from_u64(100)), 0);
        let (now, _) = log.checkpoint(&BTreeSet::new());
        prop_assert_eq!(&now.open, &stored.open);
        prop_assert_eq!(now.reach, stored.reach);
        prop_assert!(now.watermark >= stored.watermark);
    }
}

#[test]
fn one_stuck_delivery_costs_no_memory_and_no_window() {
    let mut log = DeliveryLog::resume(&Checkpoint::default());
    let stuck = log.push(&Position::from_u64(1), Cover::Settle).unwrap();
    log.start(stuck);
    for p in 2..10_000 {
        let number = log.push(&Position::from_u64(p), Cover::Settle).unwrap();
        log.start(number);
        log.settle(number);
        if p % 100 == 0 {
            let (checkpoint, mark) = log.checkpoint(&BTreeSet::new());
            assert_eq!(checkpoint.open, [Position::from_u64(1)]);
            log.stored(mark);
        }
        assert!(log.exposure() <= 101);
        assert_eq!(log.open_len(), 1);
    }
}

#[test]
fn what_was_read_before_is_recognised() {
    let mut log = DeliveryLog::resume(&Checkpoint::default());
    assert!(log.push(&Position::from_u64(5), Cover::Settle).is_some());
    assert!(log.push(&Position::from_u64(5), Cover::Settle).is_none());
    assert!(log.push(&Position::from_u64(3), Cover::Settle).is_none());
}
