//! Attempts that survive the process: recorded before a handler begins with an event that may have ended a process.

use crate::event::Position;

/// How often the process has ended while an event was being handled, should it end during the attempt that begins now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedAttempt {
    /// The event.
    pub position: Position,
    /// From 1; 0 takes the record away.
    pub attempts: u32,
}

/// What a settlement says of the ownership it is written under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnershipMark {
    /// It begins: one more since the last that ended.
    Begins,
    /// It ends, and whatever ran has been told to: the next one begins without suspects, and recorded attempts are
    /// forgotten.
    Ends,
}
