//! The dialect of SQLite.

use super::at_once::at_once;
use crate::source::sql::append::Appending;
use crate::store::sql::prune::{PruneStatements, gone};
use crate::store::sql::statements::{
    AdminStatements, AttemptStatements, ClaimStatements, CompletionStatements, ParkedStatements, SagaStatements,
    Several, Statements, TimerStatements, chunked,
};

/// Milliseconds since 1970 by the clock of the database.
macro_rules! now {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
    };
}

/// A checkpoint takes the place of the one that is there, unless it would move back within an epoch.
macro_rules! goes_on {
    () => {
        " ON CONFLICT (consumer) DO UPDATE SET epoch = excluded.epoch, watermark = excluded.watermark, \
         reach = excluded.reach, open = excluded.open \
         WHERE excluded.epoch > evento_checkpoint.epoch \
         OR coalesce(excluded.watermark, x'') >= coalesce(evento_checkpoint.watermark, x'') \
         AND coalesce(excluded.reach, x'') >= coalesce(evento_checkpoint.reach, x'')"
    };
}

/// The consumer of four bound values.
macro_rules! consumer {
    () => {
        "(SELECT id FROM evento_consumer WHERE bundle = ? AND component = ? AND version = ? AND context = ?)"
    };
}

/// All consumers of a component version, of three bound values.
macro_rules! of_version {
    () => {
        "(SELECT id FROM evento_consumer WHERE bundle = ? AND component = ? AND version = ?)"
    };
}

/// Microseconds since 1970 by the clock of the database.
macro_rules! micros {
    () => {
        concat!("(", now!(), " * 1000)")
    };
}

/// What a filter of dead letters asks for, of twelve bound values: of those that stand there twice, the first
/// says whether the second counts; the one after the class is none that is meant.
macro_rules! meant {
    () => {
        " AND resolved_at IS NULL AND position = coalesce(?, position) AND name = coalesce(?, name) \
         AND (? IS NULL OR key = ?) AND handler = coalesce(?, handler) AND class = coalesce(?, class) AND class <> ? \
         AND (? IS NULL OR instr(error, ?) > 0) AND last_failed_at >= coalesce(?, last_failed_at) \
         AND (? IS NULL OR last_failed_at < ?)"
    };
}

/// Commands with the names of their consumers.
macro_rules! commands {
    () => {
        "SELECT c.id, k.component, k.version, k.context, c.body, c.asked_at, c.done, c.answer, c.answered_at \
         FROM evento_command AS c JOIN evento_consumer AS k ON k.id = c.consumer"
    };
}

/// All consumers of one bound bundle.
macro_rules! of_bundle {
    () => {
        "(SELECT id FROM evento_consumer WHERE bundle = ?)"
    };
}

/// Appends, which the one writer serialises.
pub(crate) static APPENDING: Appending = Appending {
    last_position: "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'evento_event'), 0)",
    advance: None,
    versions: chunked!(
        "WITH wanted (context, key) AS (VALUES ",
        "(?,?)",
        ") SELECT context, key, coalesce((SELECT max(version) FROM evento_event AS e \
         WHERE e.context = wanted.context AND e.key = wanted.key), 0) FROM wanted"
    ),
    insert_events: chunked!(
        "INSERT INTO evento_event (position, id, name, context, key, version, slice, recorded_at, content_type, \
         metadata, payload) VALUES ",
        "(?,?,?,?,?,?,?,?,?,?,?)",
        " ON CONFLICT (id) DO NOTHING"
    ),
    at_once,
};

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, key, content_type, metadata, payload FROM evento_event \
         WHERE id IN (",
        "?",
        ")"
    ),
    before: "SELECT coalesce(max(position), 0) FROM evento_event WHERE position <= ? AND position < coalesce((SELECT position \
         FROM evento_event WHERE recorded_at >= ? AND position <= ? ORDER BY position LIMIT 1), 9223372036854775807)",
    count_after: "SELECT count(*) FROM (SELECT 1 FROM evento_event WHERE position > ? LIMIT ?) AS behind",
    latest: "SELECT position FROM evento_event WHERE position < ? ORDER BY position DESC LIMIT ?",
    of_key: "SELECT position FROM evento_event WHERE context = ? AND key = ? AND position > ? ORDER BY position LIMIT ?",

    consumer_id: concat!("SELECT id FROM evento_consumer WHERE id = ", consumer!()),
    insert_consumer: "INSERT INTO evento_consumer (bundle, component, version, context) VALUES (?, ?, ?, ?) \
         ON CONFLICT DO NOTHING",
    consumers: "SELECT component, version, context FROM evento_consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM evento_checkpoint)",
    paused: "SELECT component, version, context FROM evento_consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM evento_checkpoint WHERE enabled = 0)",

    fence: "INSERT INTO evento_fence (consumer, epoch) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET epoch = excluded.epoch WHERE excluded.epoch >= evento_fence.epoch",
    share_fence: None,
    put_checkpoint: concat!(
        "INSERT INTO evento_checkpoint (consumer, epoch, watermark, reach, open) VALUES (?, ?, ?, ?, ?)",
        goes_on!()
    ),
    put_checkpoint_alone: concat!(
        "INSERT INTO evento_checkpoint (consumer, epoch, watermark, reach, open) SELECT f.consumer, f.epoch, ?, ?, ? \
         FROM evento_fence AS f WHERE f.consumer = ? AND f.epoch = ?",
        goes_on!()
    ),
    put_errors: "INSERT INTO evento_checkpoint (consumer, errors) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET errors = excluded.errors",
    put_started: "INSERT INTO evento_checkpoint (consumer, started) VALUES (?, 1) ON CONFLICT (consumer) DO UPDATE \
         SET started = 1",
    put_resetting: "INSERT INTO evento_checkpoint (consumer, resetting) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET resetting = excluded.resetting",
    put_replay: "INSERT INTO evento_checkpoint (consumer, replay_to) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET replay_to = excluded.replay_to",
    put_enabled: "INSERT INTO evento_checkpoint (consumer, enabled) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET enabled = excluded.enabled",
    touch_checkpoint: "INSERT INTO evento_checkpoint (consumer) VALUES (?) ON CONFLICT DO NOTHING",
    started: concat!(
        "SELECT EXISTS (SELECT 1 FROM evento_checkpoint WHERE started = 1 AND consumer IN ",
        of_version!(),
        ")"
    ),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.open, c.resetting, c.replay_to, o.begun \
         FROM (SELECT ",
        consumer!(),
        " AS id) AS k LEFT JOIN evento_fence AS f ON f.consumer = k.id \
         LEFT JOIN evento_checkpoint AS c ON c.consumer = k.id \
         LEFT JOIN evento_ownership AS o ON o.consumer = k.id"
    ),
    owned: concat!(
        "SELECT k.context FROM evento_lease AS l JOIN evento_consumer AS k ON k.id = l.consumer \
         WHERE l.owner IS NOT NULL AND l.expires_at > ",
        now!(),
        " AND l.consumer IN ",
        of_version!(),
        " LIMIT 1"
    ),
    forget_letters: concat!("DELETE FROM evento_dead_letter WHERE consumer IN ", of_version!()),
    forget_checkpoints: concat!("DELETE FROM evento_checkpoint WHERE consumer IN ", of_version!()),

    put_letter: "INSERT INTO evento_dead_letter (consumer, position, event, name, context, key, version, recorded_at, \
         content_type, metadata, payload, handler, class, error, attempts, first_failed_at, last_failed_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (consumer, event) DO UPDATE SET \
         position = excluded.position, name = excluded.name, context = excluded.context, key = excluded.key, \
         version = excluded.version, recorded_at = excluded.recorded_at, content_type = excluded.content_type, \
         metadata = excluded.metadata, payload = excluded.payload, handler = excluded.handler, \
         class = excluded.class, error = excluded.error, last_failed_at = excluded.last_failed_at, \
         requested = 0, resolved_at = NULL, \
         attempts = min(evento_dead_letter.attempts + excluded.attempts, 4294967295)",
    letters: concat!(
        "SELECT position, event, name, context, key, version, recorded_at, content_type, metadata, payload, handler, \
         class, error, attempts, first_failed_at, last_failed_at, requested, \
         (SELECT q.context FROM evento_parked AS q WHERE q.consumer = d.consumer AND q.event = d.event), \
         (SELECT q.queue FROM evento_parked AS q WHERE q.consumer = d.consumer AND q.event = d.event) \
         FROM evento_dead_letter AS d WHERE consumer = ",
        consumer!(),
        meant!(),
        " AND position > ? AND requested >= ? ORDER BY position, event LIMIT ?"
    ),
    count_letters: concat!(
        "SELECT count(*) FROM evento_dead_letter WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL"
    ),
    request_letters: concat!("UPDATE evento_dead_letter SET requested = 1 WHERE consumer = ", consumer!(), meant!()),
    discard_letters: concat!(
        "UPDATE evento_dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ",
        consumer!(),
        meant!()
    ),
    purge_letters: concat!("DELETE FROM evento_dead_letter WHERE consumer = ", consumer!(), " AND resolved_at < ?"),
    resolve_letter: "UPDATE evento_dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ? AND event = ?",
    wanted: "SELECT component, version, context FROM evento_consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM evento_dead_letter WHERE requested = 1)",

    lease: concat!("SELECT owner, epoch, expires_at, expires_at <= ", now!(), " FROM evento_lease WHERE consumer = ?"),
    owners: concat!(
        "SELECT k.component, k.version, k.context, l.owner, l.epoch FROM evento_lease AS l \
         JOIN evento_consumer AS k ON k.id = l.consumer WHERE k.bundle = ? AND l.owner IS NOT NULL AND l.expires_at > ",
        now!()
    ),
    fence_epoch: "SELECT epoch FROM evento_fence WHERE consumer = ?",
    put_lease: concat!(
        "INSERT INTO evento_lease (consumer, owner, epoch, expires_at) VALUES (?, ?, ?, ",
        now!(),
        " + ?) ON CONFLICT (consumer) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, \
         expires_at = excluded.expires_at"
    ),
    free_lease: "UPDATE evento_lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",

    parked: ParkedStatements {
        put: "INSERT INTO evento_parked (consumer, event, context, queue, position) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (consumer, event) DO UPDATE SET context = excluded.context, queue = excluded.queue, \
             position = excluded.position",
        remove: "DELETE FROM evento_parked WHERE consumer = ? AND event = ?",
        wish: "UPDATE evento_dead_letter SET requested = ? WHERE consumer = ? AND resolved_at IS NULL AND event IN \
             (SELECT event FROM evento_parked WHERE consumer = ? AND context = ? AND queue = ?)",
        clear: concat!(
            "DELETE FROM evento_parked WHERE consumer = ",
            consumer!(),
            " AND event NOT IN (SELECT event FROM evento_dead_letter WHERE consumer = ",
            consumer!(),
            " AND resolved_at IS NULL)"
        ),
        list: concat!(
            "SELECT q.context, q.queue, q.position, d.class, d.requested FROM evento_parked AS q JOIN evento_dead_letter AS d \
             ON d.consumer = q.consumer AND d.event = q.event WHERE q.consumer = ",
            consumer!(),
            " AND d.resolved_at IS NULL ORDER BY q.position, q.event"
        ),
        forget: concat!("DELETE FROM evento_parked WHERE consumer IN ", of_version!()),
    },
    sagas: SagaStatements {
        put: "INSERT INTO evento_saga (consumer, id, state, applied) VALUES (?, ?, ?, ?) ON CONFLICT (consumer, id) \
             DO UPDATE SET state = excluded.state, applied = excluded.applied WHERE evento_saga.ended_at IS NULL",
        end: concat!(
            "INSERT INTO evento_saga (consumer, id, state, applied, ended_at) VALUES (?, ?, x'', ?, ",
            micros!(),
            ") ON CONFLICT (consumer, id) DO UPDATE SET state = excluded.state, applied = excluded.applied, \
             ended_at = excluded.ended_at WHERE evento_saga.ended_at IS NULL"
        ),
        associations: "SELECT a.property, a.value FROM evento_saga AS s LEFT JOIN evento_saga_association AS a \
             ON a.consumer = s.consumer AND a.saga = s.id WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL",
        drop_associations: chunked!(
            "DELETE FROM evento_saga_association WHERE consumer = ? AND saga = ? AND (property, value) IN (VALUES ",
            "(?,?)",
            ")"
        ),
        add_associations: chunked!(
            "INSERT INTO evento_saga_association (consumer, property, value, saga) VALUES ",
            "(?,?,?,?)",
            " ON CONFLICT DO NOTHING"
        ),
        free_associations: "DELETE FROM evento_saga_association WHERE consumer = ? AND saga = ?",
        find: concat!(
            "SELECT s.id, s.state, s.applied, b.property, b.value FROM evento_saga_association AS a \
             JOIN evento_saga AS s ON s.consumer = a.consumer AND s.id = a.saga \
             JOIN evento_saga_association AS b ON b.consumer = s.consumer AND b.saga = s.id WHERE a.consumer = ",
            consumer!(),
            " AND a.property = ? AND a.value = ? AND s.ended_at IS NULL"
        ),
        begun: concat!("SELECT id FROM evento_saga WHERE consumer = ", consumer!(), " AND id = ?"),
        live: concat!(
            "SELECT s.id, s.state, s.applied, a.property, a.value FROM (SELECT consumer, id, state, applied \
             FROM evento_saga WHERE consumer = ",
            consumer!(),
            " AND id > ? AND ended_at IS NULL ORDER BY id LIMIT ?) AS s LEFT JOIN evento_saga_association AS a \
             ON a.consumer = s.consumer AND a.saga = s.id ORDER BY s.id"
        ),
        sweep: concat!(
            "DELETE FROM evento_saga WHERE (consumer, id) IN (SELECT consumer, id FROM evento_saga WHERE ended_at <= ",
            micros!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000)"
        ),
        forget: concat!("DELETE FROM evento_saga WHERE consumer IN ", of_version!()),
        forget_associations: concat!("DELETE FROM evento_saga_association WHERE consumer IN ", of_version!()),
    },

    timers: TimerStatements {
        put: "INSERT INTO evento_saga_timer (consumer, saga, event, due_at, name, context, key, content_type, metadata, \
             payload) SELECT s.consumer, s.id, ?, ?, ?, ?, ?, ?, ?, ? FROM evento_saga AS s \
             WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL ON CONFLICT DO NOTHING",
        known: chunked!("SELECT event FROM evento_saga_timer WHERE consumer = ? AND event IN (", "?", ")"),
        remove: chunked!("DELETE FROM evento_saga_timer WHERE consumer = ? AND event IN (", "?", ")"),
        remove_all: "DELETE FROM evento_saga_timer WHERE consumer = ? AND saga = ?",
        list: concat!(
            "SELECT event, saga, due_at, name, context, key, content_type, metadata, payload FROM evento_saga_timer \
             WHERE consumer = ",
            consumer!(),
            " ORDER BY due_at, event LIMIT ?"
        ),
        forget: concat!("DELETE FROM evento_saga_timer WHERE consumer IN ", of_version!()),
    },

    claims: ClaimStatements {
        take: chunked!(
            "INSERT INTO evento_claim (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,0,", micros!(), "+?)"),
            " ON CONFLICT (consumer, event) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at \
             WHERE evento_claim.done = 0"
        ),
        release: chunked!(
            "DELETE FROM evento_claim WHERE consumer = ? AND owner = ? AND done = 0 AND event IN (",
            "?",
            ")"
        ),
        finish: chunked!(
            "INSERT INTO evento_claim (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,1,", micros!(), ")"),
            " ON CONFLICT (consumer, event) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at, done = 1 \
             WHERE evento_claim.done = 0"
        ),
        clear: "DELETE FROM evento_claim WHERE consumer = ?",
        find: chunked!(
            concat!(
                "SELECT event, owner, done, max(ends_at - ",
                micros!(),
                ", 0) FROM evento_claim WHERE consumer = ",
                consumer!(),
                " AND event IN ("
            ),
            "?",
            ")"
        ),
        sweep: concat!(
            "DELETE FROM evento_claim WHERE (consumer, event) IN (SELECT consumer, event FROM evento_claim WHERE ends_at <= ",
            micros!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000)"
        ),
        forget: concat!("DELETE FROM evento_claim WHERE consumer IN ", of_version!()),
    },

    completions: CompletionStatements {
        put: Several::Chunked(chunked!(
            "INSERT INTO evento_completion (consumer, position) VALUES ",
            "(?,?)",
            " ON CONFLICT DO NOTHING"
        )),
        remove: Several::Chunked(chunked!(
            "DELETE FROM evento_completion WHERE consumer = ? AND position IN (",
            "?",
            ")"
        )),
        clear: "DELETE FROM evento_completion WHERE consumer = ?",
        list: concat!("SELECT position FROM evento_completion WHERE consumer = ", consumer!(), " ORDER BY position"),
        forget: concat!("DELETE FROM evento_completion WHERE consumer IN ", of_version!()),
        settle: None,
    },

    admin: AdminStatements {
        put_command: "INSERT INTO evento_command (id, consumer, body, asked_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        asked: concat!(commands!(), " WHERE k.bundle = ? AND c.done IS NULL ORDER BY c.id LIMIT ?"),
        command: concat!(commands!(), " WHERE k.bundle = ? AND c.id = ?"),
        answer: "UPDATE evento_command SET done = ?, answer = ?, answered_at = ? WHERE id = ? AND done IS NULL",
        put_audit: "INSERT INTO evento_audit (id, bundle, at, who, origin, action, target, detail, result) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET result = excluded.result",
        audit: "SELECT id, bundle, at, who, origin, action, target, detail, result FROM evento_audit \
             WHERE bundle = ? AND id < ? ORDER BY id DESC LIMIT ?",
        beat: concat!(
            "INSERT INTO evento_instance (bundle, owner, name, started_at, figures, seen_at) VALUES (?, ?, ?, ?, ?, ",
            micros!(),
            ") ON CONFLICT (bundle, owner) DO UPDATE SET name = excluded.name, \
             started_at = excluded.started_at, figures = excluded.figures, seen_at = excluded.seen_at"
        ),
        leave: "DELETE FROM evento_instance WHERE bundle = ? AND owner = ?",
        instances: concat!(
            "SELECT owner, name, started_at, figures, max(",
            micros!(),
            " - seen_at, 0) FROM evento_instance WHERE bundle = ? ORDER BY started_at, owner"
        ),
        sweep: [
            concat!("DELETE FROM evento_command WHERE asked_at <= ", micros!(), " - ? AND consumer IN ", of_bundle!()),
            concat!("DELETE FROM evento_audit WHERE at <= ", micros!(), " - ? AND bundle = ?"),
            concat!("DELETE FROM evento_instance WHERE seen_at <= ", micros!(), " - ? AND bundle = ?"),
        ],
    },
    attempts: AttemptStatements {
        begin: "INSERT INTO evento_ownership AS t (consumer, begun) VALUES (?, 1) \
             ON CONFLICT (consumer) DO UPDATE SET begun = t.begun + 1",
        end: "DELETE FROM evento_ownership WHERE consumer = ?",
        put: chunked!(
            "INSERT INTO evento_attempt (consumer, position, attempts) VALUES ",
            "(?,?,?)",
            " ON CONFLICT (consumer, position) DO UPDATE SET attempts = excluded.attempts"
        ),
        remove: chunked!("DELETE FROM evento_attempt WHERE consumer = ? AND position IN (", "?", ")"),
        clear: "DELETE FROM evento_attempt WHERE consumer = ?",
        list: concat!(
            "SELECT position, attempts FROM evento_attempt WHERE consumer = ",
            consumer!(),
            " ORDER BY position"
        ),
        forget: concat!("DELETE FROM evento_attempt WHERE consumer IN ", of_version!()),
        forget_begun: concat!("DELETE FROM evento_ownership WHERE consumer IN ", of_version!()),
    },
    prune: PruneStatements {
        mark: "SELECT value FROM evento_meta WHERE name = 'pruned'",
        hold: "SELECT value FROM evento_meta WHERE name = 'pruned'",
        share: "SELECT value FROM evento_meta WHERE name = 'pruned'",
        put_mark: "UPDATE evento_meta SET value = ? WHERE name = 'pruned'",
        watermarks: "SELECT k.bundle, k.component, k.version, k.context, c.watermark FROM evento_checkpoint AS c \
             JOIN evento_consumer AS k ON k.id = c.consumer ORDER BY k.id",
        page: "SELECT position, recorded_at FROM evento_event WHERE position > ? AND position <= ? \
             AND position < (SELECT max(position) FROM evento_event) ORDER BY position LIMIT ?",
        count: concat!("SELECT count(*) FROM (", gone!("evento_event", "key"), ") AS gone"),
        delete: concat!("DELETE FROM evento_event WHERE position IN (", gone!("evento_event", "key"), ")"),
    },
};

/// milliseconds from now, owner, JSON of [consumer, epoch] pairs → consumer and epoch of those still held.
pub(super) const RENEW: &str = concat!(
    "UPDATE evento_lease SET expires_at = ",
    now!(),
    " + ? WHERE owner = ? AND (consumer, epoch) IN \
     (SELECT value ->> 0, value ->> 1 FROM json_each(?)) RETURNING consumer, epoch"
);

/// A time in milliseconds, owner, JSON of [consumer, epoch] pairs → consumer and epoch of those held that had not run
/// out by then.
pub(super) const HELD: &str = "SELECT consumer, epoch FROM evento_lease WHERE expires_at > ? AND owner = ? \
                               AND (consumer, epoch) IN (SELECT value ->> 0, value ->> 1 FROM json_each(?))";

/// owner → how many leases name it.
pub(super) const LEASES_OF: &str = "SELECT count(*) FROM evento_lease WHERE owner = ?";
