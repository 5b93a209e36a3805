//! What a dialect has to say. Placeholders stand in textual order and are bound in that order.

use super::prune::PruneStatements;

/// One statement for several rows at once, for each of these numbers of rows, the largest first, the last one 1.
pub(crate) type Chunked = [(usize, &'static str); 4];

/// The statements of the store, in one dialect.
pub(crate) struct Statements {
    /// Per event: id → id, position, version, name, context, key, content_type, metadata, payload.
    pub(crate) events_by_id: Chunked,
    /// position, micros, position → the last position before the first event that was recorded then or later, of those
    /// up to the position; 0 for none.
    pub(crate) before: &'static str,
    /// position, limit → how many events follow it, at most so many.
    pub(crate) count_after: &'static str,
    /// position, limit → the positions below it, the highest first.
    pub(crate) latest: &'static str,
    /// context, key, position, limit → the positions of the key after it, ascending.
    pub(crate) of_key: &'static str,

    /// bundle, component, version, context → id.
    pub(crate) consumer_id: &'static str,
    /// bundle, component, version, context. Leaves one that is there alone.
    pub(crate) insert_consumer: &'static str,
    /// bundle → component, version, context.
    pub(crate) consumers: &'static str,
    /// bundle → component, version, context of the paused ones.
    pub(crate) paused: &'static str,

    /// consumer, epoch. Changes a row unless a higher epoch is stored.
    pub(crate) fence: &'static str,
    /// consumer, epoch → a row if exactly this epoch is stored and no later ownership was begun. Until the end of the
    /// transaction no takeover gets past it. `None`: the transaction is enough.
    pub(crate) share_fence: Option<&'static str>,
    /// consumer, epoch, watermark, reach, open. Leaves the row alone where that would move back within an epoch.
    pub(crate) put_checkpoint: &'static str,
    /// watermark, reach, open, consumer, epoch. As `put_checkpoint`, in a statement that is guarded and atomic by itself,
    /// if exactly this epoch is stored and no later ownership was begun; no takeover gets past it meanwhile.
    pub(crate) put_checkpoint_alone: &'static str,
    /// consumer, errors.
    pub(crate) put_errors: &'static str,
    /// consumer.
    pub(crate) put_started: &'static str,
    /// consumer, flag.
    pub(crate) put_resetting: &'static str,
    /// consumer, position.
    pub(crate) put_replay: &'static str,
    /// consumer, enabled.
    pub(crate) put_enabled: &'static str,
    /// consumer. Makes sure that the consumer counts as stored.
    pub(crate) touch_checkpoint: &'static str,
    /// bundle, component, version → whether any consumer of it has started.
    pub(crate) started: &'static str,
    /// bundle, component, version, context → epoch, enabled, errors, watermark, reach, open, resetting, replay_to,
    /// ownerships begun; nulls where not stored.
    pub(crate) state: &'static str,
    /// bundle, component, version → context of one that is owned right now.
    pub(crate) owned: &'static str,
    /// bundle, component, version.
    pub(crate) forget_letters: &'static str,
    /// bundle, component, version.
    pub(crate) forget_checkpoints: &'static str,

    /// consumer, position, event, name, context, key, version, recorded_at, content_type, metadata, payload,
    /// handler, class, error, attempts, first_failed_at, last_failed_at.
    pub(crate) put_letter: &'static str,
    /// bundle, component, version, context; the values of a filter; after, requested, limit → the columns of
    /// `put_letter` without the consumer, whether it is requested, and context and key it is queued under.
    pub(crate) letters: &'static str,
    /// bundle, component, version, context → how many.
    pub(crate) count_letters: &'static str,
    /// bundle, component, version, context; the values of a filter.
    pub(crate) request_letters: &'static str,
    /// micros; bundle, component, version, context; the values of a filter.
    pub(crate) discard_letters: &'static str,
    /// bundle, component, version, context, micros. Deletes those that were resolved before.
    pub(crate) purge_letters: &'static str,
    /// micros, consumer id, event id.
    pub(crate) resolve_letter: &'static str,
    /// bundle → component, version, context of those with requested dead letters.
    pub(crate) wanted: &'static str,

    /// consumer → owner, epoch, expires_at, whether it has expired.
    pub(crate) lease: &'static str,
    /// bundle → component, version, context, owner, epoch of those that are owned right now.
    pub(crate) owners: &'static str,
    /// consumer → the highest epoch of its fence.
    pub(crate) fence_epoch: &'static str,
    /// consumer, owner, epoch, milliseconds from now.
    pub(crate) put_lease: &'static str,
    /// consumer, owner, epoch.
    pub(crate) free_lease: &'static str,

    pub(crate) parked: ParkedStatements,
    pub(crate) sagas: SagaStatements,
    pub(crate) timers: TimerStatements,
    pub(crate) claims: ClaimStatements,
    pub(crate) completions: CompletionStatements,
    pub(crate) admin: AdminStatements,
    pub(crate) attempts: AttemptStatements,
    pub(crate) prune: PruneStatements,
}

/// The statements about what later events of a key queue behind.
pub(crate) struct ParkedStatements {
    /// consumer, event, context, key, position. Replaces what is there.
    pub(crate) put: &'static str,
    /// consumer, event.
    pub(crate) remove: &'static str,
    /// flag, consumer, consumer, context, key. Marks the unresolved letters of a key, or unmarks them.
    pub(crate) wish: &'static str,
    /// Twice: bundle, component, version, context. Deletes those whose letters are resolved.
    pub(crate) clear: &'static str,
    /// bundle, component, version, context → context, key, position, class, whether it is requested, ascending.
    pub(crate) list: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
}

/// The statements about saga instances.
pub(crate) struct SagaStatements {
    /// consumer, id, state, position. Leaves one that has ended alone.
    pub(crate) put: &'static str,
    /// consumer, id, position. Leaves one that has ended before alone.
    pub(crate) end: &'static str,
    /// consumer, id → a row for each association, property and value, with nulls if there is none; no row unless it
    /// lives.
    pub(crate) associations: &'static str,
    /// consumer, saga; property and value of each that goes.
    pub(crate) drop_associations: Chunked,
    /// Per association: consumer, property, value, saga. One that is there is left alone and not counted.
    pub(crate) add_associations: Chunked,
    /// consumer, saga.
    pub(crate) free_associations: &'static str,
    /// bundle, component, version, context, property, value → for each of its associations: id, state, position,
    /// property, value.
    pub(crate) find: &'static str,
    /// bundle, component, version, context, id → a row if that instance was ever begun.
    pub(crate) begun: &'static str,
    /// bundle, component, version, context, after, limit → the columns of `find` for each association of each live
    /// one, with nulls if there is none.
    pub(crate) live: &'static str,
    /// micros, bundle. Deletes those that ended so long ago.
    pub(crate) sweep: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
    /// bundle, component, version.
    pub(crate) forget_associations: &'static str,
}

/// The statements about events to be appended later.
pub(crate) struct TimerStatements {
    /// event, due_at, name, context, key, content_type, metadata, payload, consumer, saga. Leaves one that is there
    /// alone; does nothing unless the saga lives.
    pub(crate) put: &'static str,
    /// consumer, events → those that are there; where several may fire at once, their rows are locked.
    pub(crate) known: Chunked,
    /// consumer, events.
    pub(crate) remove: Chunked,
    /// consumer, saga.
    pub(crate) remove_all: &'static str,
    /// bundle, component, version, context, limit → event, saga, due_at, name, context, key, content_type, metadata,
    /// payload.
    pub(crate) list: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
}

/// The statements about what observers have begun and ended.
pub(crate) struct ClaimStatements {
    /// Per event: consumer, event, owner, micros from now. Leaves one that is done alone.
    pub(crate) take: Chunked,
    /// consumer, owner, events. Deletes those that are held by the owner.
    pub(crate) release: Chunked,
    /// Per event: consumer, event, owner. One that is done stays done since then.
    pub(crate) finish: Chunked,
    /// consumer.
    pub(crate) clear: &'static str,
    /// bundle, component, version, context, events → event, owner, whether it is done, the micros it is still held for.
    pub(crate) find: Chunked,
    /// micros, bundle. Deletes those that were done, or have expired, so long ago.
    pub(crate) sweep: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
}

/// The statements about events that were handled in transactions.
pub(crate) struct CompletionStatements {
    /// Per event: consumer, position; or consumer, listed positions. One that is there is left alone.
    pub(crate) put: Several,
    /// consumer, positions; or consumer, the lowest, the highest, listed positions.
    pub(crate) remove: Several,
    /// consumer.
    pub(crate) clear: &'static str,
    /// bundle, component, version, context → positions, ascending.
    pub(crate) list: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
    /// consumer, epoch, listed positions, within the transaction of a handler → whether it is the one that was begun,
    /// whether the epoch is held as by [`share_fence`](Statements::share_fence), and how many were put. Puts nothing unless
    /// both; makes sure that the consumer counts as stored. `None`: it takes several statements.
    pub(crate) settle: Option<&'static str>,
}

/// A statement for several positions of a consumer.
pub(crate) enum Several {
    /// For so many at once, each a value.
    Chunked(Chunked),
    /// For however many in one value: hexadecimal, with commas between them.
    Listed(&'static str),
}

/// The statements about commands, audit and instances.
pub(crate) struct AdminStatements {
    /// id, consumer, body, micros. Leaves one that is there alone.
    pub(crate) put_command: &'static str,
    /// bundle, limit → id, component, version, context, body, asked_at, done, answer, answered_at of those that were not
    /// answered, oldest first.
    pub(crate) asked: &'static str,
    /// bundle, id → the columns of `asked`.
    pub(crate) command: &'static str,
    /// done, answer, micros, id. Leaves one that was answered alone.
    pub(crate) answer: &'static str,
    /// id, bundle, at, who, origin, action, target, detail, result. One that is there gets the result.
    pub(crate) put_audit: &'static str,
    /// bundle, id, limit → the columns of `put_audit` of those below the id, the latest first.
    pub(crate) audit: &'static str,
    /// bundle, owner, name, micros, figures. Seen now.
    pub(crate) beat: &'static str,
    /// bundle, owner.
    pub(crate) leave: &'static str,
    /// bundle → owner, name, started_at, figures, the micros since it was seen.
    pub(crate) instances: &'static str,
    /// micros, bundle. Each deletes what is older.
    pub(crate) sweep: [&'static str; 3],
}

/// The statements about ownerships that began, and attempts that are to survive them.
pub(crate) struct AttemptStatements {
    /// consumer. One more has begun.
    pub(crate) begin: &'static str,
    /// consumer. None has, since the last that ended.
    pub(crate) end: &'static str,
    /// Per event: consumer, position, attempts. Replaces what is there.
    pub(crate) put: Chunked,
    /// consumer, positions.
    pub(crate) remove: Chunked,
    /// consumer.
    pub(crate) clear: &'static str,
    /// bundle, component, version, context → position, attempts, ascending.
    pub(crate) list: &'static str,
    /// bundle, component, version.
    pub(crate) forget: &'static str,
    /// bundle, component, version.
    pub(crate) forget_begun: &'static str,
}

/// `$row` once, 4, 16 and 64 times between `$before` and `$after`, commas between.
macro_rules! chunked {
    ($before:expr, $row:expr, $after:expr) => {
        [
            (64, concat!($before, chunked!(@16 $row), ",", chunked!(@16 $row), ",", chunked!(@16 $row), ",", chunked!(@16 $row), $after)),
            (16, concat!($before, chunked!(@16 $row), $after)),
            (4, concat!($before, chunked!(@4 $row), $after)),
            (1, concat!($before, $row, $after)),
        ]
    };
    (@4 $row:expr) => { concat!($row, ",", $row, ",", $row, ",", $row) };
    (@16 $row:expr) => {
        concat!(chunked!(@4 $row), ",", chunked!(@4 $row), ",", chunked!(@4 $row), ",", chunked!(@4 $row))
    };
}
pub(crate) use chunked;

/// Cuts `items` into pieces for which there is a statement.
pub(crate) fn chunks<'a, T>(
    chunked: &'static Chunked,
    mut items: &'a [T],
) -> impl Iterator<Item = (&'static str, &'a [T])> {
    std::iter::from_fn(move || {
        let (size, sql) = chunked.iter().find(|(size, _)| *size <= items.len())?;
        let (piece, rest) = items.split_at(*size);
        items = rest;
        Some((*sql, piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_everything_in_order() {
        static SIZES: Chunked = [(64, "64"), (16, "16"), (4, "4"), (1, "1")];
        for n in [0_usize, 1, 3, 4, 63, 64, 65, 200] {
            let items: Vec<usize> = (0..n).collect();
            let pieces: Vec<_> = chunks(&SIZES, &items).collect();
            assert!(pieces.iter().all(|(sql, piece)| sql.parse::<usize>().unwrap() == piece.len()));
            assert_eq!(pieces.into_iter().flat_map(|(_, piece)| piece.to_vec()).collect::<Vec<_>>(), items);
        }
    }
}
