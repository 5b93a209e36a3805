//! The dialect of PostgreSQL.

use crate::store::sql::prune::{PruneStatements, gone};
use crate::store::sql::server::ServerStatements;
use crate::store::sql::statements::{
    AdminStatements, AttemptStatements, ClaimStatements, CompletionStatements, ParkedStatements, SagaStatements,
    Several, Statements, TimerStatements, chunked,
};

/// Microseconds since 1970 by the clock of the database.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}
pub(crate) use now;

/// The fence of a consumer, if an epoch holds it and no later ownership was begun. A takeover waits for whoever has this.
macro_rules! held {
    () => {
        " FROM @fence AS f WHERE f.consumer = ? AND f.epoch = ? \
         AND NOT EXISTS (SELECT 1 FROM @lease AS l WHERE l.consumer = f.consumer AND l.epoch > f.epoch) \
         FOR SHARE OF f"
    };
}

/// Whether the transaction is one that was begun for a handler: by a setting that ends with it.
macro_rules! marked {
    () => {
        "coalesce(current_setting('evento.transaction', true), '') = 'open'"
    };
}
pub(super) use marked;

/// Positions of one bound value.
macro_rules! listed {
    () => {
        "decode(unnest(string_to_array(?, ',')), 'hex')"
    };
}

/// A checkpoint takes the place of the one that is there, unless it would move back within an epoch.
macro_rules! goes_on {
    () => {
        " ON CONFLICT (consumer) DO UPDATE SET epoch = excluded.epoch, watermark = excluded.watermark, \
         reach = excluded.reach, open = excluded.open \
         WHERE excluded.epoch > t.epoch \
         OR coalesce(excluded.watermark, '') >= coalesce(t.watermark, '') \
         AND coalesce(excluded.reach, '') >= coalesce(t.reach, '')"
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
         AND (?::text IS NULL OR key = ?) AND handler = coalesce(?, handler) AND class = coalesce(?, class) AND class <> ? \
         AND (?::text IS NULL OR strpos(error COLLATE \"C\", ?) > 0) AND last_failed_at >= coalesce(?, last_failed_at) \
         AND (?::bigint IS NULL OR last_failed_at < ?)"
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

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, key, content_type, metadata, payload FROM @event \
         WHERE id IN (",
        "?",
        ")"
    ),
    before: "SELECT coalesce(max(position), 0) FROM @event WHERE position <= ? AND position < coalesce((SELECT position \
         FROM @event WHERE recorded_at >= ? AND position <= ? ORDER BY position LIMIT 1), 9223372036854775807)",
    count_after: "SELECT count(*) FROM (SELECT 1 FROM @event WHERE position > ? LIMIT ?) AS behind",
    latest: "SELECT position FROM @event WHERE position < ? ORDER BY position DESC LIMIT ?",
    of_key: "SELECT position FROM @event WHERE context = ? AND key = ? AND position > ? ORDER BY position LIMIT ?",

    consumer_id: concat!("SELECT id FROM @consumer WHERE id = ", consumer!()),
    insert_consumer: "INSERT INTO @consumer (bundle, component, version, context) VALUES (?, ?, ?, ?) \
         ON CONFLICT DO NOTHING",
    consumers: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint)",
    paused: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint WHERE enabled = 0)",

    fence: "INSERT INTO @fence AS t (consumer, epoch) \
         SELECT v.consumer, v.epoch FROM (SELECT ?::bigint AS consumer, ?::bigint AS epoch) AS v \
         WHERE NOT EXISTS (SELECT 1 FROM @lease AS l WHERE l.consumer = v.consumer AND l.epoch > v.epoch) \
         ON CONFLICT (consumer) DO UPDATE SET epoch = excluded.epoch WHERE excluded.epoch >= t.epoch",
    share_fence: Some(concat!("SELECT f.epoch", held!())),
    put_checkpoint: concat!(
        "INSERT INTO @checkpoint AS t (consumer, epoch, watermark, reach, open) VALUES (?, ?, ?, ?, ?)",
        goes_on!()
    ),
    put_checkpoint_alone: concat!(
        "INSERT INTO @checkpoint AS t (consumer, epoch, watermark, reach, open) \
         SELECT held.consumer, held.epoch, ?, ?, ? FROM (SELECT f.consumer, f.epoch",
        held!(),
        ") AS held",
        goes_on!()
    ),
    put_errors: "INSERT INTO @checkpoint AS t (consumer, errors) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET errors = excluded.errors",
    put_started: "INSERT INTO @checkpoint AS t (consumer, started) VALUES (?, 1) ON CONFLICT (consumer) DO UPDATE \
         SET started = 1",
    put_resetting: "INSERT INTO @checkpoint AS t (consumer, resetting) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET resetting = excluded.resetting",
    put_replay: "INSERT INTO @checkpoint AS t (consumer, replay_to) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET replay_to = excluded.replay_to",
    put_enabled: "INSERT INTO @checkpoint AS t (consumer, enabled) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET enabled = excluded.enabled",
    touch_checkpoint: "INSERT INTO @checkpoint AS t (consumer) VALUES (?) ON CONFLICT DO NOTHING",
    started: concat!("SELECT EXISTS (SELECT 1 FROM @checkpoint WHERE started = 1 AND consumer IN ", of_version!(), ")"),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.open, c.resetting, c.replay_to, o.begun \
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

    put_letter: "INSERT INTO @dead_letter AS t (consumer, position, event, name, context, key, version, recorded_at, \
         content_type, metadata, payload, handler, class, error, attempts, first_failed_at, last_failed_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (consumer, event) DO UPDATE SET \
         position = excluded.position, name = excluded.name, context = excluded.context, key = excluded.key, \
         version = excluded.version, recorded_at = excluded.recorded_at, content_type = excluded.content_type, \
         metadata = excluded.metadata, payload = excluded.payload, handler = excluded.handler, \
         class = excluded.class, error = excluded.error, last_failed_at = excluded.last_failed_at, \
         requested = 0, resolved_at = NULL, \
         attempts = least(t.attempts + excluded.attempts, 4294967295)",
    letters: concat!(
        "SELECT position, event, name, context, key, version, recorded_at, content_type, metadata, payload, handler, \
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
        " + ? * 1000) ON CONFLICT (consumer) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, \
         expires_at = excluded.expires_at"
    ),
    free_lease: "UPDATE @lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",

    parked: ParkedStatements {
        put: "INSERT INTO @parked (consumer, event, context, queue, position) VALUES (?, ?, ?, ?, ?) \
             ON CONFLICT (consumer, event) DO UPDATE SET context = excluded.context, queue = excluded.queue, \
             position = excluded.position",
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
        put: "INSERT INTO @saga AS t (consumer, id, state, applied) VALUES (?, ?, ?, ?) ON CONFLICT (consumer, id) \
             DO UPDATE SET state = excluded.state, applied = excluded.applied WHERE t.ended_at IS NULL",
        end: concat!(
            "INSERT INTO @saga AS t (consumer, id, state, applied, ended_at) VALUES (?, ?, '', ?, ",
            now!(),
            ") ON CONFLICT (consumer, id) DO UPDATE SET state = excluded.state, applied = excluded.applied, \
             ended_at = excluded.ended_at WHERE t.ended_at IS NULL"
        ),
        associations: "SELECT a.property, a.value FROM @saga AS s LEFT JOIN @saga_association AS a \
             ON a.consumer = s.consumer AND a.saga = s.id WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL",
        drop_associations: chunked!(
            "DELETE FROM @saga_association WHERE consumer = ? AND saga = ? AND (property, value) IN (",
            "(?,?)",
            ")"
        ),
        add_associations: chunked!(
            "INSERT INTO @saga_association (consumer, property, value, saga) VALUES ",
            "(?,?,?,?)",
            " ON CONFLICT DO NOTHING"
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
            "DELETE FROM @saga WHERE (consumer, id) IN (SELECT consumer, id FROM @saga WHERE ended_at <= ",
            now!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000)"
        ),
        forget: concat!("DELETE FROM @saga WHERE consumer IN ", of_version!()),
        forget_associations: concat!("DELETE FROM @saga_association WHERE consumer IN ", of_version!()),
    },

    timers: TimerStatements {
        put: "INSERT INTO @saga_timer (consumer, saga, event, due_at, name, context, key, content_type, metadata, \
             payload) SELECT s.consumer, s.id, ?, ?, ?, ?, ?::text, ?, ?::bytea, ? FROM @saga AS s \
             WHERE s.consumer = ? AND s.id = ? AND s.ended_at IS NULL ON CONFLICT DO NOTHING",
        known: chunked!("SELECT event FROM @saga_timer WHERE consumer = ? AND event IN (", "?", ") FOR UPDATE"),
        remove: chunked!("DELETE FROM @saga_timer WHERE consumer = ? AND event IN (", "?", ")"),
        remove_all: "DELETE FROM @saga_timer WHERE consumer = ? AND saga = ?",
        list: concat!(
            "SELECT event, saga, due_at, name, context, key, content_type, metadata, payload FROM @saga_timer \
             WHERE consumer = ",
            consumer!(),
            " ORDER BY due_at, event LIMIT ?"
        ),
        forget: concat!("DELETE FROM @saga_timer WHERE consumer IN ", of_version!()),
    },

    claims: ClaimStatements {
        take: chunked!(
            "INSERT INTO @claim AS t (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,0,", now!(), "+?)"),
            " ON CONFLICT (consumer, event) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at \
             WHERE t.done = 0"
        ),
        release: chunked!("DELETE FROM @claim WHERE consumer = ? AND owner = ? AND done = 0 AND event IN (", "?", ")"),
        finish: chunked!(
            "INSERT INTO @claim AS t (consumer, event, owner, done, ends_at) VALUES ",
            concat!("(?,?,?,1,", now!(), ")"),
            " ON CONFLICT (consumer, event) DO UPDATE SET owner = excluded.owner, ends_at = excluded.ends_at, done = 1 \
             WHERE t.done = 0"
        ),
        clear: "DELETE FROM @claim WHERE consumer = ?",
        find: chunked!(
            concat!(
                "SELECT event, owner, done, greatest(ends_at - ",
                now!(),
                ", 0) FROM @claim WHERE consumer = ",
                consumer!(),
                " AND event IN ("
            ),
            "?",
            ")"
        ),
        sweep: concat!(
            "DELETE FROM @claim WHERE (consumer, event) IN (SELECT consumer, event FROM @claim WHERE ends_at <= ",
            now!(),
            " - ? AND consumer IN ",
            of_bundle!(),
            " LIMIT 1000)"
        ),
        forget: concat!("DELETE FROM @claim WHERE consumer IN ", of_version!()),
    },

    completions: CompletionStatements {
        put: Several::Listed(concat!(
            "INSERT INTO @completion (consumer, position) SELECT ?::bigint, ",
            listed!(),
            " ON CONFLICT DO NOTHING"
        )),
        remove: Several::Listed(concat!(
            // Between them: what was removed before is not looked at, however much of it there still is. `IS TRUE` keeps
            // it from being a join, for which a planner without figures takes a loop within a loop.
            "DELETE FROM @completion WHERE consumer = ? AND position >= ? AND position <= ? \
             AND (position IN (SELECT ",
            listed!(),
            ")) IS TRUE"
        )),
        clear: "DELETE FROM @completion WHERE consumer = ?",
        list: concat!("SELECT position FROM @completion WHERE consumer = ", consumer!(), " ORDER BY position"),
        forget: concat!("DELETE FROM @completion WHERE consumer IN ", of_version!()),
        settle: Some(concat!(
            "WITH held AS MATERIALIZED (SELECT f.consumer",
            held!(),
            "), put AS (INSERT INTO @completion (consumer, position) SELECT consumer, ",
            listed!(),
            " FROM held WHERE ",
            marked!(),
            " ON CONFLICT DO NOTHING RETURNING 1), counted AS (INSERT INTO @checkpoint (consumer) SELECT consumer FROM held \
             WHERE ",
            marked!(),
            " ON CONFLICT DO NOTHING) SELECT ",
            marked!(),
            ", (SELECT count(*) FROM held), (SELECT count(*) FROM put)"
        )),
    },

    admin: AdminStatements {
        put_command: "INSERT INTO @command (id, consumer, body, asked_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        asked: concat!(commands!(), " WHERE k.bundle = ? AND c.done IS NULL ORDER BY c.id LIMIT ?"),
        command: concat!(commands!(), " WHERE k.bundle = ? AND c.id = ?"),
        answer: "UPDATE @command SET done = ?, answer = ?, answered_at = ? WHERE id = ? AND done IS NULL",
        put_audit: "INSERT INTO @audit (id, bundle, at, who, origin, action, target, detail, result) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET result = excluded.result",
        audit: "SELECT id, bundle, at, who, origin, action, target, detail, result FROM @audit \
             WHERE bundle = ? AND id < ? ORDER BY id DESC LIMIT ?",
        beat: concat!(
            "INSERT INTO @instance (bundle, owner, name, started_at, figures, seen_at) VALUES (?, ?, ?, ?, ?, ",
            now!(),
            ") ON CONFLICT (bundle, owner) DO UPDATE SET name = excluded.name, \
             started_at = excluded.started_at, figures = excluded.figures, seen_at = excluded.seen_at"
        ),
        leave: "DELETE FROM @instance WHERE bundle = ? AND owner = ?",
        instances: concat!(
            "SELECT owner, name, started_at, figures, greatest(",
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
        begin: "INSERT INTO @ownership AS t (consumer, begun) VALUES (?, 1) \
             ON CONFLICT (consumer) DO UPDATE SET begun = t.begun + 1",
        end: "DELETE FROM @ownership WHERE consumer = ?",
        put: chunked!(
            "INSERT INTO @attempt (consumer, position, attempts) VALUES ",
            "(?,?,?)",
            " ON CONFLICT (consumer, position) DO UPDATE SET attempts = excluded.attempts"
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
        share: "SELECT value FROM @meta WHERE name = 'pruned' FOR SHARE",
        put_mark: "UPDATE @meta SET value = ? WHERE name = 'pruned'",
        watermarks: "SELECT k.bundle, k.component, k.version, k.context, c.watermark FROM @checkpoint AS c \
             JOIN @consumer AS k ON k.id = c.consumer ORDER BY k.id",
        page: "SELECT position, recorded_at FROM @event WHERE position > ? AND position <= ? \
             AND position < (SELECT max(position) FROM @event) ORDER BY position LIMIT ?",
        count: concat!("SELECT count(*) FROM (", gone!("@event", "key"), ") AS gone"),
        delete: concat!("DELETE FROM @event WHERE position IN (", gone!("@event", "key"), ")"),
    },
};

pub(crate) static SERVER: ServerStatements = ServerStatements {
    seed_lease: "INSERT INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, NULL, 0, 0) ON CONFLICT DO NOTHING",
    lock_lease: concat!(
        "SELECT owner, epoch, expires_at, expires_at <= ",
        now!(),
        " FROM @lease WHERE consumer = ? FOR UPDATE"
    ),
    lock_fence: "SELECT epoch FROM @fence WHERE consumer = ? FOR UPDATE",
    renew: concat!(
        "UPDATE @lease SET expires_at = ",
        now!(),
        " + ? * 1000 WHERE owner = ? AND (consumer, epoch) IN \
         (SELECT (pair ->> 0)::bigint, (pair ->> 1)::bigint FROM json_array_elements(?::json) AS pair) \
         RETURNING consumer, epoch"
    ),
    renewed: None,
};
