//! The dialect of MySQL and MariaDB.

use crate::source::sql::append::Appending;
use crate::store::sql::server::ServerStatements;
use crate::store::sql::statements::{Statements, chunked};

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
};

pub(crate) static SQL: Statements = Statements {
    events_by_id: chunked!(
        "SELECT id, position, version, name, context, `key`, content_type, metadata, payload FROM @event \
         WHERE id IN (",
        "?",
        ") LOCK IN SHARE MODE"
    ),

    consumer_id: concat!("SELECT id FROM @consumer WHERE id = ", consumer!()),
    insert_consumer: "INSERT IGNORE INTO @consumer (bundle, component, version, context) VALUES (?, ?, ?, ?)",
    consumers: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint)",
    paused: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @checkpoint WHERE enabled = 0)",

    fence: "INSERT INTO @fence (consumer, epoch) VALUES (?, ?) \
         ON DUPLICATE KEY UPDATE epoch = GREATEST(epoch, VALUES(epoch))",
    share_fence: Some(
        "SELECT f.epoch FROM @fence AS f WHERE f.consumer = ? AND f.epoch = ? \
         AND NOT EXISTS (SELECT 1 FROM @lease AS l WHERE l.consumer = f.consumer AND l.epoch > f.epoch) \
         LOCK IN SHARE MODE",
    ),
    put_checkpoint: concat!(
        "INSERT INTO @checkpoint (consumer, epoch, watermark, reach, `open`) VALUES (?, ?, ?, ?, ?) \
         ON DUPLICATE KEY UPDATE `open` = IF(",
        goes_on!(),
        ", VALUES(`open`), `open`), reach = IF(",
        goes_on!(),
        ", VALUES(reach), reach), watermark = IF(",
        goes_on!(),
        ", VALUES(watermark), watermark), epoch = IF(",
        goes_on!(),
        ", VALUES(epoch), epoch)"
    ),
    put_errors: "INSERT INTO @checkpoint (consumer, errors) VALUES (?, ?) ON DUPLICATE KEY UPDATE errors = VALUES(errors)",
    put_started: "INSERT INTO @checkpoint (consumer, started) VALUES (?, 1) ON DUPLICATE KEY UPDATE started = 1",
    put_enabled: "INSERT INTO @checkpoint (consumer, enabled) VALUES (?, ?) ON DUPLICATE KEY UPDATE enabled = VALUES(enabled)",
    touch_checkpoint: "INSERT IGNORE INTO @checkpoint (consumer) VALUES (?)",
    started: concat!("SELECT EXISTS (SELECT 1 FROM @checkpoint WHERE started = 1 AND consumer IN ", of_version!(), ")"),
    state: concat!(
        "SELECT f.epoch, c.enabled, c.errors, c.watermark, c.reach, c.`open` \
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
         AND (? IS NULL OR `key` = ?)"
    ),
    resolve_letter: "UPDATE @dead_letter SET requested = 0, resolved_at = ? WHERE consumer = ? AND event = ?",
    wanted: "SELECT component, version, context FROM @consumer \
         WHERE bundle = ? AND id IN (SELECT consumer FROM @dead_letter WHERE requested = 1)",

    lease: concat!("SELECT owner, epoch, expires_at, expires_at <= ", now!(), " FROM @lease WHERE consumer = ?"),
    fence_epoch: "SELECT epoch FROM @fence WHERE consumer = ?",
    put_lease: concat!(
        "INSERT INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, ?, ?, ",
        now!(),
        " + ? * 1000) ON DUPLICATE KEY UPDATE owner = VALUES(owner), epoch = VALUES(epoch), \
         expires_at = VALUES(expires_at)"
    ),
    free_lease: "UPDATE @lease SET owner = NULL, expires_at = 0 WHERE consumer = ? AND owner = ? AND epoch = ?",
};

pub(crate) static SERVER: ServerStatements = ServerStatements {
    seed_lease: "INSERT IGNORE INTO @lease (consumer, owner, epoch, expires_at) VALUES (?, NULL, 0, 0)",
    lock_lease: concat!(
        "SELECT owner, epoch, expires_at, expires_at <= ",
        now!(),
        " FROM @lease WHERE consumer = ? FOR UPDATE"
    ),
    renew: concat!(
        "UPDATE @lease SET expires_at = ",
        now!(),
        " + ? * 1000 WHERE owner = ? AND (consumer, epoch) IN ",
        pairs!()
    ),
    renewed: Some(concat!("SELECT consumer, epoch FROM @lease WHERE owner = ? AND (consumer, epoch) IN ", pairs!())),
};
