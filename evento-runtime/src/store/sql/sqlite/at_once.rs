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
    static MADE: Made = [const { OnceLock::new() }; MOST];
    made(&MADE, events, |events| match events {
        1 => text(1) + EACH_ROW,
        _ => {
            let (first, last) = (BEFORE + 1, BEFORE + EACH * (events - 1) + 1);
            let ends = format!(
                "; SELECT position, version FROM evento_event WHERE id IN (${first}, ${last}) ORDER BY position"
            );
            text(events) + &ends
        }
    })
}

/// The same for events that were appended each by itself, with a row for each.
pub(super) fn joined(events: usize) -> Option<&'static str> {
    static MADE: Made = [const { OnceLock::new() }; MOST];
    made(&MADE, events, |events| text(events) + EACH_ROW)
}

type Made = [OnceLock<String>; MOST];

fn made(made: &'static Made, events: usize, make: fn(usize) -> String) -> Option<&'static str> {
    Some(made.get(events.checked_sub(1)?)?.get_or_init(|| make(events)))
}

const EACH_ROW: &str = " RETURNING position, version";

/// The version of a stream before. Of its highest entry in the index, and of no other: a plain `max` beside a condition
/// would read them all.
macro_rules! version {
    () => {
        "coalesce((SELECT version FROM evento_event WHERE context = r.context AND key = r.key \
         ORDER BY version DESC LIMIT 1), 0)"
    };
}

const SELECT: &str = concat!(
    " SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'evento_event'), 0) + r.n, r.id, r.name, r.context, \
     r.key, CASE WHEN r.n > 1 OR asked.expected IS NULL OR asked.expected = ",
    version!(),
    " THEN r.nth + ",
    version!(),
    " END, r.slice, asked.at, r.content_type, r.metadata, r.payload FROM asked CROSS JOIN r"
);

/// The rows are computed before any of them is written: each sees what was there before. A version that is not expected
/// is null, which the table refuses for an event with a key. Values have no names, which SQLite would look up one after
/// the other for each of them.
fn text(events: usize) -> String {
    let mut sql = String::from(
        "INSERT INTO evento_event (position, id, name, context, key, version, slice, recorded_at, content_type, \
         metadata, payload) WITH asked (expected, at) AS (VALUES (?,?)), \
         r (n, id, name, context, key, nth, slice, content_type, metadata, payload) AS (VALUES ",
    );
    // Writing into a text does not fail.
    for event in 1..=events {
        let _ = write!(sql, "{}({event},?,?,?,?,?,?,?,?,?)", if event == 1 { "" } else { "," });
    }
    sql.push(')');
    sql.push_str(SELECT);
    sql
}
