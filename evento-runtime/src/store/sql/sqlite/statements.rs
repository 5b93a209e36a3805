//! The dialect of SQLite.

use crate::source::sql::append::Appending;
use crate::store::sql::statements::{Statements, chunked};

/// Milliseconds since 1970 by the clock of the database.
macro_rules! now {
    () => {
        "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
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
};

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, key, content_type, metadata, payload FROM evento_event \
         WHERE id IN (",
        "?",
        ")"
    ),

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
    put_checkpoint: "INSERT INTO evento_checkpoint (consumer, epoch, watermark, reach, open) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (consumer) DO UPDATE SET epoch = excluded.epoch, watermark = excluded.watermark, \
         reach = excluded.reach, open = excluded.open \
         WHERE excluded.epoch > evento_checkpoint.epoch \
         OR coalesce(excluded.watermark, x'') >= coalesce(evento_checkpoint.watermark, x'') \
         AND coalesce(excluded.reach, x'') >= coalesce(evento_checkpoint.reach, x'')",
    put_errors: "INSERT INTO evento_checkpoint (consumer, errors) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET errors = excluded.errors",
    put_started: "INSERT INTO evento_checkpoint (consumer, started) VALUES (?, 1) ON CONFLICT (consumer) DO UPDATE \
         SET started = 1",
    put_enabled: "INSERT INTO evento_checkpoint (consumer, enabled) VALUES (?, ?) ON CONFLICT (consumer) DO UPDATE \
         SET enabled = excluded.enabled",
    touch_checkpoint: "INSERT INTO evento_checkpoint (consumer) VALUES (?) ON CONFLICT DO NOTHING",
    started: concat!(
        "SELECT EXISTS (SELECT 1 FROM evento_checkpoint WHERE started = 1 AND consumer IN ",
        of_version!(),
        ")"
    ),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.open \
         FROM (SELECT ",
        consumer!(),
        " AS id) AS k LEFT JOIN evento_fence AS f ON f.consumer = k.id \
         LEFT JOIN evento_checkpoint AS c ON c.consumer = k.id"
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
         class, error, attempts, first_failed_at, last_failed_at, requested FROM evento_dead_letter WHERE consumer = ",
        consumer!(),
        " AND position > ? AND resolved_at IS NULL AND requested >= ? ORDER BY position, event LIMIT ?"
    ),
    count_letters: concat!(
        "SELECT count(*) FROM evento_dead_letter WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL"
    ),
    request_letters: concat!(
        "UPDATE evento_dead_letter SET requested = 1 WHERE consumer = ",
        consumer!(),
        " AND resolved_at IS NULL AND position = coalesce(?, position) AND name = coalesce(?, name) \
         AND (? IS NULL OR key = ?)"
    ),
    resolve_letter: "UPDATE evento_dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ? AND event = ?",
    wanted: "SELECT component, version, context FROM evento_consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM evento_dead_letter WHERE requested = 1)",

    lease: concat!("SELECT owner, epoch, expires_at, expires_at <= ", now!(), " FROM evento_lease WHERE consumer = ?"),
    fence_epoch: "SELECT epoch FROM evento_fence WHERE consumer = ?",
    put_lease: concat!(
        "INSERT INTO evento_lease (consumer, owner, epoch, expires_at) VALUES (?, ?, ?, ",
        now!(),
        " + ?) ON CONFLICT (consumer) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, \
         expires_at = excluded.expires_at"
    ),
    free_lease: "UPDATE evento_lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",
};

/// milliseconds from now, owner, JSON of [consumer, epoch] pairs → consumer and epoch of those still held.
pub(super) const RENEW: &str = concat!(
    "UPDATE evento_lease SET expires_at = ",
    now!(),
    " + ? WHERE owner = ? AND (consumer, epoch) IN \
     (SELECT value ->> 0, value ->> 1 FROM json_each(?)) RETURNING consumer, epoch"
);

/// owner → how many leases name it.
pub(super) const LEASES_OF: &str = "SELECT count(*) FROM evento_lease WHERE owner = ?";
