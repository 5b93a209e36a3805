//! The dialect of PostgreSQL.

use crate::store::sql::server::ServerStatements;
use crate::store::sql::statements::{Statements, chunked};

/// Microseconds since 1970 by the clock of the database.
macro_rules! now {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}
pub(crate) use now;

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

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, key, content_type, metadata, payload FROM @event \
         WHERE id IN (",
        "?",
        ")"
    ),

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
    share_fence: Some(
        "SELECT f.epoch FROM @fence AS f WHERE f.consumer = ? AND f.epoch = ? \
         AND NOT EXISTS (SELECT 1 FROM @lease AS l WHERE l.consumer = f.consumer AND l.epoch > f.epoch) \
         FOR SHARE OF f",
    ),
    put_checkpoint: "INSERT INTO @checkpoint AS t (consumer, epoch, watermark, reach, open) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (consumer) DO UPDATE SET epoch = excluded.epoch, watermark = excluded.watermark, \
         reach = excluded.reach, open = excluded.open \
         WHERE excluded.epoch > t.epoch \
         OR coalesce(excluded.watermark, '') >= coalesce(t.watermark, '') \
         AND coalesce(excluded.reach, '') >= coalesce(t.reach, '')",
    put_errors: "INSERT INTO @checkpoint AS t (consumer, errors) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET errors = excluded.errors",
    put_started: "INSERT INTO @checkpoint AS t (consumer, started) VALUES (?, 1) ON CONFLICT (consumer) DO UPDATE \
         SET started = 1",
    put_enabled: "INSERT INTO @checkpoint AS t (consumer, enabled) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET enabled = excluded.enabled",
    touch_checkpoint: "INSERT INTO @checkpoint AS t (consumer) VALUES (?) ON CONFLICT DO NOTHING",
    started: concat!("SELECT EXISTS (SELECT 1 FROM @checkpoint WHERE started = 1 AND consumer IN ", of_version!(), ")"),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.open \
         FROM (SELECT ",
        consumer!(),
        " AS id) AS k LEFT JOIN @fence AS f ON f.consumer = k.id \
         LEFT JOIN @checkpoint AS c ON c.consumer = k.id"
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
         class, error, attempts, first_failed_at, last_failed_at, requested FROM @dead_letter WHERE consumer = ",
        consumer!(),
        " AND position > ? AND resolved_at IS NULL AND requested >= ? ORDER BY position, event LIMIT ?"
    ),
    count_letters: concat!(
        "SELECT count(*) FROM @dead_letter WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL"
    ),
    request_letters: concat!(
        "UPDATE @dead_letter SET requested = 1 WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL AND position = coalesce(?, position) AND name = coalesce(?, name) \
         AND (?::text IS NULL OR key = ?)"
    ),
    resolve_letter: "UPDATE @dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ? AND event = ?",
    wanted: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @dead_letter WHERE requested = 1)",

    lease: concat!("SELECT owner, epoch, expires_at, expires_at <= ", now!(), " FROM @lease WHERE consumer = ?"),
    fence_epoch: "SELECT epoch FROM @fence WHERE consumer = ?",
    put_lease: concat!(
        "INSERT INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, ?, ?, ",
        now!(),
        " + ? * 1000) ON CONFLICT (consumer) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, \
         expires_at = excluded.expires_at"
    ),
    free_lease: "UPDATE @lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",
};

pub(crate) static SERVER: ServerStatements = ServerStatements {
    seed_lease: "INSERT INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, NULL, 0, 0) ON CONFLICT DO NOTHING",
    lock_lease: concat!(
        "SELECT owner, epoch, expires_at, expires_at <= ",
        now!(),
        " FROM @lease WHERE consumer = ? FOR UPDATE"
    ),
    renew: concat!(
        "UPDATE @lease SET expires_at = ",
        now!(),
        " + ? * 1000 WHERE owner = ? AND (consumer, epoch) IN \
         (SELECT (pair ->> 0)::bigint, (pair ->> 1)::bigint FROM json_array_elements(?::json) AS pair) \
         RETURNING consumer, epoch"
    ),
    renewed: None,
};
