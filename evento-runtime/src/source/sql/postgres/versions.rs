//! Versions of streams as this process has left them, so that an append need not ask the index for each.
//!
//! The index that keeps streams apart refuses a version that is taken, and who was wrong asks. It does not refuse one that
//! is too high: so nothing is known any more once a connection is new, for there may be another server behind it.

use std::collections::HashMap;

use crate::source::PreparedEvent;
use crate::sync::{Mutex, lock};

/// Streams that are known, twice: those of late, and those before.
const STREAMS: usize = 8_192;

/// So many versions in a row have to be found as they were known before what is known is relied on: where others append to
/// the same streams, nobody runs into them.
const CONFIRMED: usize = 1_024;

/// What is known of the versions of streams.
#[derive(Debug, Default)]
pub(crate) struct Versions(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    recent: HashMap<String, i64>,
    older: HashMap<String, i64>,
    /// Found as they were known, in a row.
    confirmed: usize,
    /// Grows with whatever makes an answer that is under way worthless.
    age: u64,
}

/// What was known when an append began.
#[derive(Debug)]
pub(crate) struct Bases {
    age: u64,
    /// The stream of each event, if it has one.
    streams: Vec<Option<String>>,
    /// Of each event: the version of its stream before the batch; `None`: to be asked for.
    pub(crate) of: Vec<Option<i64>>,
}

impl Versions {
    /// What is relied on for a batch. `ask`: nothing.
    pub(crate) fn bases<'e>(&self, events: impl IntoIterator<Item = &'e PreparedEvent>, ask: bool) -> Bases {
        let streams: Vec<_> = events.into_iter().map(stream).collect();
        let known = lock(&self.0);
        let relied = !ask && known.confirmed >= CONFIRMED;
        let of = streams.iter().map(|stream| stream.as_ref().filter(|_| relied).and_then(|stream| known.find(stream)));
        Bases { age: known.age, of: of.collect(), streams }
    }

    /// A batch is committed; `versions`: of its events, in their order.
    pub(crate) fn learn(&self, bases: Bases, versions: impl IntoIterator<Item = Option<i64>>) {
        let mut known = lock(&self.0);
        if known.age != bases.age {
            return;
        }
        for ((stream, base), version) in bases.streams.into_iter().zip(bases.of).zip(versions) {
            let (Some(stream), Some(version)) = (stream, version) else { continue };
            let before = known.find(&stream);
            if base.is_none()
                && let Some(before) = before
            {
                known.confirmed = match version - before {
                    1 => known.confirmed + 1,
                    // Of this process, and told later than what followed it.
                    ..1 => known.confirmed,
                    _ => 0,
                };
            }
            if before < Some(version) {
                known.put(stream, version);
            }
        }
    }

    /// Nothing is known any more.
    pub(crate) fn forget(&self) {
        let mut known = lock(&self.0);
        *known = Known { age: known.age + 1, ..Known::default() };
    }
}

impl Known {
    fn find(&self, stream: &str) -> Option<i64> {
        self.recent.get(stream).or_else(|| self.older.get(stream)).copied()
    }

    fn put(&mut self, stream: String, version: i64) {
        if self.recent.len() >= STREAMS {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(stream, version);
    }
}

/// Context and key; no text of this database holds what is between them.
fn stream(event: &PreparedEvent) -> Option<String> {
    Some([&event.context, "\0", event.key.as_ref()?].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: &str) -> PreparedEvent {
        PreparedEvent {
            id: crate::event::EventId::generate(),
            name: "E".into(),
            context: "c".into(),
            key: Some(key.into()),
            content_type: String::new(),
            payload: bytes::Bytes::new(),
            metadata: bytes::Bytes::new(),
        }
    }

    fn append(versions: &Versions, event: &PreparedEvent, version: i64) -> Option<i64> {
        let bases = versions.bases([event], false);
        let base = bases.of[0];
        versions.learn(bases, [Some(version)]);
        base
    }

    /// So often that what is known is relied on.
    fn trusted(event: &PreparedEvent) -> (Versions, i64) {
        let versions = Versions::default();
        let last = i64::try_from(CONFIRMED).unwrap() + 1;
        for version in 1..=last {
            assert_eq!(append(&versions, event, version), None);
        }
        (versions, last)
    }

    #[test]
    fn is_relied_on_once_it_was_right_often_enough_and_not_once_it_was_wrong() {
        let a = event("a");
        let (versions, last) = trusted(&a);
        assert_eq!(versions.bases([&a, &event("b")], false).of, [Some(last), None]);
        // Who ran into somebody asks, and finds one more than there should be.
        let asked = versions.bases([&a], true);
        assert_eq!(asked.of, [None]);
        versions.learn(asked, [Some(last + 2)]);
        assert_eq!(versions.bases([&a], false).of, [None]);
    }

    #[test]
    fn appends_of_this_process_may_be_told_in_any_order() {
        let a = event("a");
        let (versions, last) = trusted(&a);
        let [first, second, third] = [(); 3].map(|()| versions.bases([&a], true));
        versions.learn(second, [Some(last + 1)]);
        versions.learn(third, [Some(last + 2)]);
        versions.learn(first, [Some(last)]);
        assert_eq!(versions.bases([&a], false).of, [Some(last + 2)]);
    }

    #[test]
    fn somebody_else_in_a_stream_begins_the_count_anew() {
        let a = event("a");
        let versions = Versions::default();
        for version in (1..).step_by(2).take(2 * CONFIRMED) {
            assert_eq!(append(&versions, &a, version), None);
        }
    }

    #[test]
    fn nothing_is_known_behind_a_new_connection_not_even_by_what_was_under_way() {
        let a = event("a");
        let (versions, last) = trusted(&a);
        let bases = versions.bases([&a], false);
        versions.forget();
        versions.learn(bases, [Some(last + 1)]);
        assert_eq!(lock(&versions.0).find(&stream(&a).unwrap()), None);
        assert_eq!(append(&versions, &a, 1), None);
    }

    #[test]
    fn what_was_not_appended_to_for_long_is_forgotten() {
        let (first, versions) = (event("first"), Versions::default());
        append(&versions, &first, 1);
        for n in 0..2 * STREAMS {
            append(&versions, &event(&n.to_string()), 1);
        }
        let known = lock(&versions.0);
        assert_eq!(known.find(&stream(&first).unwrap()), None);
        assert!(known.recent.len() + known.older.len() <= 2 * STREAMS);
    }
}
