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

/// The rows are computed before any of them is written: each sees the versions of before. A version that is not expected
/// is null, which the table refuses for an event with a key.
fn text(events: usize) -> String {
    let mut sql = String::from(
        "INSERT INTO evento_event (id, name, context, key, version, slice, recorded_at, content_type, metadata, payload) \
         VALUES ",
    );
    for event in 0..events {
        let at = |value: usize| BEFORE + EACH * event + value;
        let (id, name, context, key, nth) = (at(1), at(2), at(3), at(4), at(5));
        let (slice, content_type, metadata, payload) = (at(6), at(7), at(8), at(9));
        let comma = if event == 0 { "" } else { "," };
        let if_expected = if event == 0 { " WHERE ?1 IS NULL OR ?1 = version" } else { "" };
        // Writing into a text does not fail.
        let _ = write!(
            sql,
            "{comma}(?{id},?{name},?{context},?{key},(SELECT version + ?{nth} FROM (SELECT coalesce(max(version), 0) AS \
             version FROM evento_event WHERE context = ?{context} AND key = ?{key}){if_expected}),?{slice},?2,\
             ?{content_type},?{metadata},?{payload})"
        );
    }
    let (first, last) = (BEFORE + 1, BEFORE + EACH * (events - 1) + 1);
    let _ =
        write!(sql, "; SELECT position, version FROM evento_event WHERE id IN (${first}, ${last}) ORDER BY position");
    sql
}
