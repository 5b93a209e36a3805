//! The dialect of MySQL and MariaDB.

use crate::source::sql::append::Appending;
use crate::store::sql::prune::{PruneStatements, gone};
use crate::store::sql::server::ServerStatements;
use crate::store::sql::statements::{
    AdminStatements, AttemptStatements, ClaimStatements, CompletionStatements, ParkedStatements, SagaStatements,
    Several, Statements, TimerStatements, chunked,
};

/// Microseconds since 1970 by the clock of the database, in whatever time zone the session is.
macro_rules! now {
    () => {
        "TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
    };
}

/// Whether a checkpoint may take the place of the one that is there. Assignments see each other from left to right:
/// what was assigned before never turns this, as long as the epoch comes last.
macro_rules! goes_on {
    () => {
        "(VALUES(epoch) > epoch OR COALESCE(VALUES(watermark), '') >= COALESCE(watermark, '') \
         AND COALESCE(VALUES(reach), '') >= COALESCE(reach, ''))"
    };
}

/// A checkpoint takes the place of the one that is there, if it may.
macro_rules! put_on {
    () => {
        concat!(
            " ON DUPLICATE KEY UPDATE `open` = IF(",
            goes_on!(),
            ", VALUES(`open`), `open`), reach = IF(",
            goes_on!(),
            ", VALUES(reach), reach), watermark = IF(",
            goes_on!(),
            ", VALUES(watermark), watermark), epoch = IF(",
            goes_on!(),
            ", VALUES(epoch), epoch)"
        )
    };
}

/// The fence of a consumer, if an epoch holds it and no later ownership was begun. A takeover waits for whoever has this.
macro_rules! held {
    () => {
        " FROM @fence AS f WHERE f.consumer = ? AND f.epoch = ? \
         AND NOT EXISTS (SELECT 1 FROM @lease AS l WHERE l.consumer = f.consumer AND l.epoch > f.epoch) \
         LOCK IN SHARE MODE"
    };
}

/// Pairs of numbers, of one bound JSON text.
macro_rules! pairs {
    () => {
        "(SELECT p.consumer, p.epoch FROM JSON_TABLE(?, '$[*]' COLUMNS (consumer BIGINT PATH '$[0]', \
         epoch BIGINT PATH '$[1]')) AS p)"
    };
}

/// The consumer of four bound values.
macro_rules! consumer {
    () => {
        "(SELECT id FROM @consumer WHERE bundle = ? AND component = ? AND version = ? AND context = ?)"
    };
}

/// All consumers of a component version, of three bound values.
macro_rules! of_version {
    () => {
        "(SELECT id FROM @consumer WHERE bundle = ? AND component = ? AND version = ?)"
    };
}

/// What a filter of dead letters asks for, of twelve bound values: of those that stand there twice, the first
/// says whether the second counts; the one after the class is none that is meant.
macro_rules! meant {
    () => {
        " AND resolved_at IS NULL AND position = coalesce(?, position) AND name = coalesce(?, name) \
         AND (? IS NULL OR `key` = ?) AND handler = coalesce(?, handler) AND class = coalesce(?, class) AND class <> ? \
         AND (? IS NULL OR INSTR(error, ?) > 0) AND last_failed_at >= coalesce(?, last_failed_at) \
         AND (? IS NULL OR last_failed_at < ?)"
    };
}

/// Commands with the names of their consumers.
macro_rules! commands {
    () => {
        "SELECT c.id, k.component, k.version, k.context, c.body, c.asked_at, c.done, c.answer, c.answered_at \
         FROM @command AS c JOIN @consumer AS k ON k.id = c.consumer"
    };
}

/// All consumers of one bound bundle.
macro_rules! of_bundle {
    () => {
        "(SELECT id FROM @consumer WHERE bundle = ?)"
    };
}

/// The version of one stream. Locking, so that an older snapshot of the caller's does not show an older version.
const VERSION: &str = "SELECT context, `key`, version FROM @event WHERE context = ? AND `key` = ? \
     ORDER BY version DESC LIMIT 1 LOCK IN SHARE MODE";

/// Appends, which the row of the counter keeps one after the other.
pub(crate) static APPENDING: Appending = Appending {
    last_position: "SELECT position FROM @counter WHERE id = 1 FOR UPDATE",
    advance: Some("UPDATE @counter SET position = position + ? WHERE id = 1"),
    versions: [(1, VERSION); 4],
    insert_events: chunked!(
        "INSERT IGNORE INTO @event (position, id, name, context, `key`, version, slice, recorded_at, content_type, \
         metadata, payload) VALUES ",
        "(?,?,?,?,?,?,?,?,?,?,?)",
        ""
    ),
    at_once: |_| None,
};

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, `key`, content_type, metadata, payload FROM @event \
         WHERE id IN (",
        "?",
        ") LOCK IN SHARE MODE"
    ),
    before: "SELECT coalesce(max(position), 0) FROM @event WHERE position <= ? AND position < coalesce((SELECT position \
         FROM @event WHERE recorded_at >= ? AND position <= ? ORDER BY position LIMIT 1), 9223372036854775807)",
    count_after: "SELECT count(*) FROM (SELECT 1 FROM @event WHERE position > ? LIMIT ?) AS behind",
    latest: "SELECT position FROM @event WHERE position < ? ORDER BY position DESC LIMIT ?",
    of_key: "SELECT position FROM @event WHERE context = ? AND `key` = ? AND position > ? ORDER BY position LIMIT ?",

    consumer_id: concat!("SELECT id FROM @consumer WHERE id = ", consumer!()),
    insert_consumer: "INSERT IGNORE INTO @consumer (bundle, component, version, context) VALUES (?, ?, ?, ?)",
    consumers: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint)",
    paused: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint WHERE enabled = 0)",

    fence: "INSERT INTO @fence (consumer, epoch) VALUES (?, ?) \
         ON DUPLICATE KEY UPDATE epoch = GREATEST(epoch, VALUES(epoch))",
    share_fence: Some(concat!("SELECT f.epoch", held!())),
    put_checkpoint: concat!(
        "INSERT INTO @checkpoint (consumer, epoch, watermark, reach, `open`) VALUES (?, ?, ?, ?, ?)",
        put_on!()
    ),
    put_checkpoint_alone: concat!(
        "INSERT INTO @checkpoint (consumer, epoch, watermark, reach, `open`) \
         SELECT held.fenced, held.since, ?, ?, ? FROM (SELECT f.consumer AS fenced, f.epoch AS since",
        held!(),
        ") AS held",
        put_on!()
    ),
    put_errors: "INSERT INTO @checkpoint (consumer, errors) VALUES (?, ?) ON DUPLICATE KEY UPDATE errors = VALUES(errors)",
    put_started: "INSERT INTO @checkpoint (consumer, started) VALUES (?, 1) ON DUPLICATE KEY UPDATE started = 1",
    put_resetting: "INSERT INTO @checkpoint (consumer, resetting) VALUES (?, ?) ON DUPLICATE KEY UPDATE \
         resetting = VALUES(resetting)",
    put_replay: "INSERT INTO @checkpoint (consumer, replay_to) VALUES (?, ?) ON DUPLICATE KEY UPDATE \
         replay_to = VALUES(replay_to)",
    put_enabled: "INSERT INTO @checkpoint (consumer, enabled) VALUES (?, ?) ON DUPLICATE KEY UPDATE enabled = VALUES(enabled)",
    touch_checkpoint: "INSERT IGNORE INTO @checkpoint (consumer) VALUES (?)",
    started: concat!("SELECT EXISTS (SELECT 1 FROM @checkpoint WHERE started = 1 AND consumer IN ", of_version!(), ")"),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.`open`, c.resetting, c.replay_to, o.begun \
         FROM (SELECT ",
        consumer!(),
        " AS id) AS k LEFT JOIN @fence AS f ON f.consumer = k.id \
         LEFT JOIN @checkpoint AS c ON c.consumer = k.id \
         LEFT JOIN @ownership AS o ON o.consumer = k.id"
    ),
    owned: concat!(
        "SELECT k.context FROM @lease AS l JOIN @consumer AS k ON k.id = l.consumer \
         WHERE l.owner IS NOT NULL AND l.expires_at > ",
        now!(),
        " AND l.consumer IN ",
        of_version!(),
        " LIMIT 1"
    ),
    forget_letters: concat!("DELETE FROM @dead_letter WHERE consumer IN ", of_version!()),
    forget_checkpoints: concat!("DELETE FROM @checkpoint WHERE consumer IN ", of_version!()),

    put_letter: "INSERT INTO @dead_letter (consumer, position, event, name, context, `key`, version, recorded_at, \
         content_type, metadata, payload, handler, class, error, attempts, first_failed_at, last_failed_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE \
         position = VALUES(position), name = VALUES(name), context = VALUES(context), `key` = VALUES(`key`), \
         version = VALUES(version), recorded_at = VALUES(recorded_at), content_type = VALUES(content_type), \
         metadata = VALUES(metadata), payload = VALUES(payload), handler = VALUES(handler), class = VALUES(class), \
         error = VALUES(error), last_failed_at = VALUES(last_failed_at), requested = 0, resolved_at = NULL, \
         attempts = LEAST(attempts + VALUES(attempts), 4294967295)",
    letters: concat!(
        "SELECT position, event, name, context, `key`, version, recorded_at, content_type, metadata, payload, handler, \
         class, error, attempts, first_failed_at, last_failed_at, requested, \
         (SELECT q.context FROM @parked AS q WHERE q.consumer = d.consumer AND q.event = d.event), \
         (SELECT q.queue FROM @parked AS q WHERE q.consumer = d.consumer AND q.event = d.event) \
         FROM @dead_letter AS d WHERE consumer = ",
        consumer!(),
        meant!(),
        " AND position > ? AND requested >= ? ORDER BY position, event LIMIT ?"
    ),
    count_letters: concat!(
        "SELECT count(*) FROM @dead_letter WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL"
    ),
    request_letters: concat!("UPDATE @dead_letter SET requested = 1 WHERE consumer = ", consumer!(), meant!()),
    discard_letters: concat!(
        "UPDATE @dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ",
        consumer!(),
        meant!()
    ),
    purge_letters: concat!("DELETE FROM @dead_letter WHERE consumer = ", consumer!(), " AND resolved_at < ?"),
    resolve_letter: "UPDATE @dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ? AND event = ?",
    wanted: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @dead_letter WHERE requested = 1)",

    lease: concat!("SELECT owner, epoch, expires_at, expires_at <= ", now!(), " FROM @lease WHERE consumer = ?"),
    owners: concat!(
        "SELECT k.component, k.version, k.context, l.owner, l.epoch FROM @lease AS l \
         JOIN @consumer AS k ON k.id = l.consumer WHERE k.bundle = ? AND l.owner IS NOT NULL AND l.expires_at > ",
        now!()
    ),
    fence_epoch: "SELECT epoch FROM @fence WHERE consumer = ?",
    put_lease: concat!(
        "INSERT INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, ?, ?, ",
        now!(),
        " + ? * 1000) ON DUPLICATE KEY UPDATE owner = VALUES(owner), epoch = VALUES(epoch), \
         expires_at = VALUES(expires_at)"
    ),
    free_lease: "UPDATE @lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",

    parked: ParkedStatements {
        put: "INSERT INTO @parked (consumer, event, context, queue, position) VALUES (?, ?, ?, ?, ?) \
             ON DUPLICATE KEY UPDATE context = VALUES(context), queue = VALUES(queue), position = VALUES(position)",
        remove: "DELETE FROM @parked WHERE consumer = ? AND event = ?",
        wish: "UPDATE @dead_letter SET requested = ? WHERE consumer = ? AND resolved_at IS NULL AND event IN \
             (SELECT event FROM @parked WHERE consumer = ? AND context = ? AND queue = ?)",
        clear: concat!(
            "DELETE FROM @parked WHERE consumer = ",
            consumer!(),
            " AND event NOT IN (SELECT event FROM @dead_letter WHERE consumer = ",
            consumer!(),
            " AND resolved_at IS NULL)"
        ),
        list: concat!(
            "SELECT q.context, q.queue, q.position, d.class, d.requested FROM @parked AS q JOIN @dead_letter AS d \
             ON d.consumer = q.consumer AND d.event = q.event WHERE q.consumer = ",
            consumer!(),
            " AND d.resolved_at IS NULL ORDER BY q.position, q.event"
        ),
        forget: concat!("DELETE FROM @parked WHERE consumer IN ", of_version!()),
    },
    sagas: SagaStatements {
        put: "INSERT INTO @saga (consumer, id, state, applied) VALUES (?, ?, ?, ?) ON DUPLICATE KEY UPDATE \
             state = IF(ended_at IS NULL, VALUES(state), state), \
             applied = IF(ended_at IS NULL, VALUES(applied), applied)",
        end: concat!(
            "INSERT INTO @saga (consumer, id, state, applied, ended_at) VALUES (?, ?, '', ?, ",
            now!(),
            ") ON DUPLICATE KEY UPDATE state = '', applied = IF(ended_at IS NULL, VALUES(applied), applied), \
             ended_at = COALESCE(ended_at, VALUES(ended_at))"
        ),
        associations: "SELECT a.property, a.value FROM @saga AS s LEFT JOIN @saga_association AS a \
             ON a.consumer = s.consumer AND a.saga = s.id WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL",
        drop_associations: chunked!(
            "DELETE FROM @saga_association WHERE consumer = ? AND saga = ? AND (property, value) IN (",
            "(?,?)",
            ")"
        ),
        add_associations: chunked!(
            "INSERT IGNORE INTO @saga_association (consumer, property, value, saga) VALUES ",
            "(?,?,?,?)",
            ""
        ),
        free_associations: "DELETE FROM @saga_association WHERE consumer = ? AND saga = ?",
        find: concat!(
            "SELECT s.id, s.state, s.applied, b.property, b.value FROM @saga_association AS a \
             JOIN @saga AS s ON s.consumer = a.consumer AND s.id = a.saga \
             JOIN @saga_association AS b ON b.consumer = s.consumer AND b.saga = s.id WHERE a.consumer = ",
            consumer!(),
            " AND a.property = ? AND a.value = ? AND s.ended_at IS NULL"
        ),
        begun: concat!("SELECT id FROM @saga WHERE consumer = ", consumer!(), " AND id = ?"),
        live: concat!(
            "SELECT s.id, s.state, s.applied, a.property, a.value FROM (SELECT consumer, id, state, applied \
             FROM @saga WHERE consumer = ",
            consumer!(),
            " AND id > ? AND ended_at IS NULL ORDER BY id LIMIT ?) AS s LEFT JOIN @saga_association AS a \
             ON a.consumer = s.consumer AND a.saga = s.id ORDER BY s.id"
        ),
        sweep: concat!(
            "DELETE FROM @saga WHERE ended_at <= ",
            now!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000"
        ),
        forget: concat!("DELETE FROM @saga WHERE consumer IN ", of_version!()),
        forget_associations: concat!("DELETE FROM @saga_association WHERE consumer IN ", of_version!()),
    },

    timers: TimerStatements {
        put: "INSERT IGNORE INTO @saga_timer (consumer, saga, event, due_at, name, context, `key`, content_type, metadata, \
             payload) SELECT s.consumer, s.id, ?, ?, ?, ?, ?, ?, ?, ? FROM @saga AS s \
             WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL",
        known: chunked!("SELECT event FROM @saga_timer WHERE consumer = ? AND event IN (", "?", ") FOR UPDATE"),
        remove: chunked!("DELETE FROM @saga_timer WHERE consumer = ? AND event IN (", "?", ")"),
        remove_all: "DELETE FROM @saga_timer WHERE consumer = ? AND saga = ?",
        list: concat!(
            "SELECT event, saga, due_at, name, context, `key`, content_type, metadata, payload FROM @saga_timer \
             WHERE consumer = ",
            consumer!(),
            " ORDER BY due_at, event LIMIT ?"
        ),
        forget: concat!("DELETE FROM @saga_timer WHERE consumer IN ", of_version!()),
    },

    claims: ClaimStatements {
        take: chunked!(
            "INSERT INTO @claim (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,0,", now!(), "+?)"),
            " ON DUPLICATE KEY UPDATE owner = IF(done = 1, owner, VALUES(owner)), \
             ends_at = IF(done = 1, ends_at, VALUES(ends_at))"
        ),
        release: chunked!("DELETE FROM @claim WHERE consumer = ? AND owner = ? AND done = 0 AND event IN (", "?", ")"),
        finish: chunked!(
            "INSERT INTO @claim (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,1,", now!(), ")"),
            " ON DUPLICATE KEY UPDATE owner = IF(done = 1, owner, VALUES(owner)), \
             ends_at = IF(done = 1, ends_at, VALUES(ends_at)), done = 1"
        ),
        clear: "DELETE FROM @claim WHERE consumer = ?",
        find: chunked!(
            concat!(
                "SELECT event, owner, done, GREATEST(ends_at - ",
                now!(),
                ", 0) FROM @claim WHERE consumer = ",
                consumer!(),
                " AND event IN ("
            ),
            "?",
            ")"
        ),
        sweep: concat!(
            "DELETE FROM @claim WHERE ends_at <= ",
            now!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000"
        ),
        forget: concat!("DELETE FROM @claim WHERE consumer IN ", of_version!()),
    },

    completions: CompletionStatements {
        put: Several::Chunked(chunked!("INSERT IGNORE INTO @completion (consumer, position) VALUES ", "(?,?)", "")),
        remove: Several::Chunked(chunked!("DELETE FROM @completion WHERE consumer = ? AND position IN (", "?", ")")),
        clear: "DELETE FROM @completion WHERE consumer = ?",
        list: concat!("SELECT position FROM @completion WHERE consumer = ", consumer!(), " ORDER BY position"),
        forget: concat!("DELETE FROM @completion WHERE consumer IN ", of_version!()),
        settle: None,
    },

    admin: AdminStatements {
        put_command: "INSERT IGNORE INTO @command (id, consumer, body, asked_at) VALUES (?, ?, ?, ?)",
        asked: concat!(commands!(), " WHERE k.bundle = ? AND c.done IS NULL ORDER BY c.id LIMIT ?"),
        command: concat!(commands!(), " WHERE k.bundle = ? AND c.id = ?"),
        answer: "UPDATE @command SET done = ?, answer = ?, answered_at = ? WHERE id = ? AND done IS NULL",
        put_audit: "INSERT INTO @audit (id, bundle, at, who, origin, `action`, target, detail, result) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE result = VALUES(result)",
        audit: "SELECT id, bundle, at, who, origin, `action`, target, detail, result FROM @audit \
             WHERE bundle = ? AND id < ? ORDER BY id DESC LIMIT ?",
        beat: concat!(
            "INSERT INTO @instance (bundle, owner, name, started_at, figures, seen_at) VALUES (?, ?, ?, ?, ?, ",
            now!(),
            ") ON DUPLICATE KEY UPDATE name = VALUES(name), started_at = VALUES(started_at), \
             figures = VALUES(figures), seen_at = VALUES(seen_at)"
        ),
        leave: "DELETE FROM @instance WHERE bundle = ? AND owner = ?",
        instances: concat!(
            "SELECT owner, name, started_at, figures, GREATEST(",
            now!(),
            " - seen_at, 0) FROM @instance WHERE bundle = ? ORDER BY started_at, owner"
        ),
        sweep: [
            concat!("DELETE FROM @command WHERE asked_at <= ", now!(), " - ? AND consumer IN ", of_bundle!()),
            concat!("DELETE FROM @audit WHERE at <= ", now!(), " - ? AND bundle = ?"),
            concat!("DELETE FROM @instance WHERE seen_at <= ", now!(), " - ? AND bundle = ?"),
        ],
    },
    attempts: AttemptStatements {
        begin: "INSERT INTO @ownership (consumer, begun) VALUES (?, 1) ON DUPLICATE KEY UPDATE begun = begun + 1",
        end: "DELETE FROM @ownership WHERE consumer = ?",
        put: chunked!(
            "INSERT INTO @attempt (consumer, position, attempts) VALUES ",
            "(?,?,?)",
            " ON DUPLICATE KEY UPDATE attempts = VALUES(attempts)"
        ),
        remove: chunked!("DELETE FROM @attempt WHERE consumer = ? AND position IN (", "?", ")"),
        clear: "DELETE FROM @attempt WHERE consumer = ?",
        list: concat!("SELECT position, attempts FROM @attempt WHERE consumer = ", consumer!(), " ORDER BY position"),
        forget: concat!("DELETE FROM @attempt WHERE consumer IN ", of_version!()),
        forget_begun: concat!("DELETE FROM @ownership WHERE consumer IN ", of_version!()),
    },
    prune: PruneStatements {
        mark: "SELECT value FROM @meta WHERE name = 'pruned'",
        hold: "SELECT value FROM @meta WHERE name = 'pruned' FOR UPDATE",
        share: "SELECT value FROM @meta WHERE name = 'pruned' LOCK IN SHARE MODE",
        put_mark: "UPDATE @meta SET value = ? WHERE name = 'pruned'",
        watermarks: "SELECT k.bundle, k.component, k.version, k.context, c.watermark FROM @checkpoint AS c \
             JOIN @consumer AS k ON k.id = c.consumer ORDER BY k.id",
        page: "SELECT position, recorded_at FROM @event WHERE position > ? AND position <= ? \
             AND position < (SELECT max(position) FROM @event) ORDER BY position LIMIT ?",
        count: concat!("SELECT count(*) FROM (", gone!("@event", "`key`"), ") AS gone"),
        delete: concat!(
            "DELETE e FROM @event AS e JOIN (",
            gone!("@event", "`key`"),
            ") AS gone ON gone.position = e.position"
        ),
    },
};

pub(crate) static SERVER: ServerStatements = ServerStatements {
    seed_lease: "INSERT IGNORE INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, NULL, 0, 0)",
    lock_lease: concat!(
        "SELECT owner, epoch, expires_at, expires_at <= ",
        now!(),
        " FROM @lease WHERE consumer = ? FOR UPDATE"
    ),
    lock_fence: "SELECT epoch FROM @fence WHERE consumer = ? FOR UPDATE",
    renew: concat!(
        "UPDATE @lease SET expires_at = ",
        now!(),
        " + ? * 1000 WHERE owner = ? AND (consumer, epoch) IN ",
        pairs!()
    ),
    renewed: Some(concat!("SELECT consumer, epoch FROM @lease WHERE owner = ? AND (consumer, epoch) IN ", pairs!())),
};
