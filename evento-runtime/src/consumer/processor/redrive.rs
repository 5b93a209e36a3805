//! Dead letters that are to be tried again: a few at a time, in the order of their keys, beside the live events.
//!
//! A redriven letter is a delivery of its own that the log knows nothing of: it never touches the checkpoint. It waits
//! behind what is open of its key, runs once, and its row says in one write that it is resolved, or that it failed again.

use std::sync::Arc;

use super::ConsumerProcessor;
use crate::consumer::delivery::REDRIVEN;
use crate::consumer::settle::Part;
use crate::error::StoreError;
use crate::store::{DeadLetter, StoredDeadLetter};

/// Letters open at once: live events keep nearly everything.
const AT_ONCE: usize = 4;

impl ConsumerProcessor {
    /// Reads marked letters, if there are some and none is open.
    pub(super) fn read_letters(&mut self) {
        if !self.may_begin() || self.letters.is_some() || self.redriven > 0 || !self.wants_redrive {
            return;
        }
        self.wants_redrive = false;
        let (queue, id) = (Arc::clone(&self.dead_letters), Arc::clone(&self.plan.id));
        self.letters = Some(self.tasks.spawn(async move { queue.requested(&id, AT_ONCE).await }));
    }

    pub(super) fn take_letters(&mut self, letters: Result<Vec<StoredDeadLetter>, StoreError>) {
        self.letters = None;
        match letters {
            Ok(letters) => letters.into_iter().for_each(|letter| self.redrive(letter)),
            // They stay marked; the next look at the wishes comes within a second.
            Err(error) => self.note_store_failure(&error),
        }
    }

    fn redrive(&mut self, letter: StoredDeadLetter) {
        let number = REDRIVEN + self.next_redriven;
        self.next_redriven += 1;
        let Some(handler) = self.routes.find(&letter.letter.event.name) else {
            // The handler is gone. The letter stays as it is, but for the mark.
            let unmarked = DeadLetter { attempts: 0, ..letter.letter };
            return self.settler.add(number, Part::DeadLetter(Box::new(unmarked)));
        };
        self.redriven += 1;
        self.enqueue(number, handler, letter.letter.event);
    }
}
