//! The statements that store a batch at once, made for each number of events that comes.

use std::fmt::Write as _;
use std::sync::OnceLock;

/// More events than this are stored in steps: what SQLite has to understand grows with their number.
const MOST: usize = 128;

/// Values before those of the first event.
const BEFORE: usize = 2;
/// Values of an event.
const EACH: usize = 9;

/// See [`Appending::at_once`](crate::source::sql::append::Appending::at_once).
pub(super) fn at_once(events: usize) -> Option<&'static str> {
    static MADE: [OnceLock<String>; MOST] = [const { OnceLock::new() }; MOST];
    let made = MADE.get(events.checked_sub(1)?)?;
    Some(made.get_or_init(|| text(events)))
}

/// The version of a stream before. Of its highest entry in the index, and of no other: a plain `max` beside a condition
/// would read them all.
macro_rules! version {
    ($context:expr, $key:expr) => {
        format_args!(
            "coalesce((SELECT version FROM evento_event WHERE context = ?{} AND key = ?{} ORDER BY version DESC LIMIT 1), 0)",
            $context, $key
        )
    };
}

/// The rows are computed before any of them is written: each sees the versions of before. A version that is not expected
/// is null, which the table refuses for an event with a key.
fn text(events: usize) -> String {
    let mut sql = String::from(
        "INSERT INTO evento_event (id, name, context, key, version, slice, recorded_at, content_type, metadata, payload) \
         VALUES ",
    );
    // Writing into a text does not fail.
    for event in 0..events {
        let at = |value: usize| BEFORE + EACH * event + value;
        let (id, name, context, key, nth) = (at(1), at(2), at(3), at(4), at(5));
        let (slice, content_type, metadata, payload) = (at(6), at(7), at(8), at(9));
        let _ = write!(sql, "{}(?{id},?{name},?{context},?{key},", if event == 0 { "" } else { "," });
        let version = version!(context, key);
        let _ = match event {
            0 => write!(sql, "CASE WHEN ?1 IS NULL OR ?1 = {version} THEN {version} + ?{nth} END"),
            _ => write!(sql, "{version} + ?{nth}"),
        };
        let _ = write!(sql, ",?{slice},?2,?{content_type},?{metadata},?{payload})");
    }
    let (first, last) = (BEFORE + 1, BEFORE + EACH * (events - 1) + 1);
    let _ = match events {
        1 => write!(sql, " RETURNING position, version"),
        _ => write!(
            sql,
            "; SELECT position, version FROM evento_event WHERE id IN (${first}, ${last}) ORDER BY position"
        ),
    };
    sql
}
