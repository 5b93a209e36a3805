//! Dead letters that are to be tried again: a few at a time, in the order of their keys, beside the live events.
//!
//! A redriven letter is a delivery of its own that the log knows nothing of: it never touches the checkpoint. It waits
//! behind what is open of its key, runs once, and its row says in one write that it is resolved, or that it failed again.
//!
//! Where a key is parked, everything of it is meant: one letter after the other, until one fails, or none is left.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{ConsumerProcessor, Delivery};
use crate::clock::later;
use crate::consumer::delivery::REDRIVEN;
use crate::consumer::settle::Part;
use crate::error::StoreError;
use crate::event::Timestamp;
use crate::outcome::ErrorClass;
use crate::store::{DeadLetter, LetterFilter, LetterKind, StoredDeadLetter};

/// Letters open at once: live events keep nearly everything.
const AT_ONCE: usize = 4;

/// Letters read at once: of several keys, if several are parked.
const READ_AT_ONCE: usize = 16;

/// How often transient ones are looked for in the time after which they are due.
const LOOKS: u32 = 4;

/// The shortest pause between two such looks.
const SHORTEST_LOOK: Duration = Duration::from_millis(10);

impl ConsumerProcessor {
    /// When transient ones are to be marked.
    pub(super) fn next_marking(&self) -> Option<Instant> {
        self.mark_at.filter(|_| self.may_begin() && !self.is_redriving())
    }

    fn is_redriving(&self) -> bool {
        self.letters.is_some() || self.redriven > 0 || !self.backlog.is_empty()
    }

    /// Reads marked letters, if there are some and none is open.
    pub(super) fn read_letters(&mut self, now: Instant) {
        let every = self.plan.redrive_transient.filter(|_| self.next_marking().is_some_and(|due| due <= now));
        self.wants_redrive |= every.is_some();
        // What is meant has to be marked before it is read.
        if !self.wants_redrive || self.is_redriving() || !self.may_begin() || self.settler.has_wishes() {
            return;
        }
        self.wants_redrive = false;
        let (queue, id) = (Arc::clone(&self.dead_letters), Arc::clone(&self.plan.id));
        let due = every.map(|every| {
            self.mark_at = Some(later((every / LOOKS).max(SHORTEST_LOOK)));
            let micros = i64::try_from(every.as_micros()).unwrap_or(i64::MAX);
            Timestamp::from_micros(self.clock.now().as_micros().saturating_sub(micros))
        });
        self.letters = Some(self.tasks.spawn(async move {
            if let Some(due) = due {
                let transient = LetterFilter::all().class(ErrorClass::Transient).before(due);
                queue.request(&id, &transient).await?;
            }
            queue.requested(&id, READ_AT_ONCE).await
        }));
    }

    pub(super) fn take_letters(&mut self, letters: Result<Vec<StoredDeadLetter>, StoreError>) {
        self.letters = None;
        match letters {
            Ok(letters) => {
                self.backlog = self.with_all_of_their_keys(letters);
                self.redrive_next();
            }
            // They stay marked; the next look at the wishes comes within a second.
            Err(error) => self.note_store_failure(&error),
        }
    }

    /// Begins as many as may be open; of a parked key one at a time. A letter whose event is still to be read waits
    /// until it was: its row tells that reading that the event has its end. So it is where a row was stored and the
    /// checkpoint that passes it was not.
    pub(super) fn redrive_next(&mut self) {
        while self.redriven < AT_ONCE && self.is_owner() {
            let may_go = |letter: &DeadLetter| self.log.has_read(&letter.event.position) && !self.is_tried(letter);
            let Some(index) = self.backlog.iter().position(|stored| may_go(&stored.letter)) else { return };
            let Some(letter) = self.backlog.remove(index) else { return };
            self.redrive(letter);
        }
    }

    /// One has its outcome.
    pub(super) fn redriven_settled(&mut self, delivery: &Delivery) {
        self.note_tried(delivery);
        self.redrive_next();
        // There may be more than were read at once.
        self.wants_redrive |= self.redriven == 0 && self.backlog.is_empty();
    }

    fn redrive(&mut self, letter: StoredDeadLetter) {
        let number = REDRIVEN + self.next_redriven;
        self.next_redriven += 1;
        let Some(handler) = self.routes.find(&letter.letter.event.name) else {
            // The handler is gone. The letter stays as it is, but for the mark.
            self.give_up_redrive(&letter.letter);
            let kind = LetterKind::Dead;
            let unmarked = DeadLetter { attempts: 0, kind, ..letter.letter };
            return self.settler.add(number, Part::DeadLetter(Box::new(unmarked)));
        };
        self.redriven += 1;
        self.enqueue(number, handler, letter.letter.event);
        self.note_trying(number, letter.letter.parks);
    }
}
