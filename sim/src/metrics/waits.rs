//! How long one virtual user waits, in line and for a stick.

use chat_core::{Span, Time};

use super::shares::Share;
use crate::protocol::Room;

/// The waits of one kind that came to their end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    pub(super) times: u32,
    /// In microseconds.
    pub(super) longest: u64,
}

impl Waited {
    pub(super) fn add(&mut self, took: Span) {
        self.times += 1;
        self.longest = self.longest.max(took.0);
    }
}

/// One virtual user's waits and shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// When the call was meant to start that is not answered by a match yet.
    pub(super) in_line_since: Option<Time>,
    /// The room of the last match, since an answer and an event may both tell it.
    pub(super) matched_in: Option<Room>,
    /// The stick waited for, and when the claim was meant to start.
    pub(super) claim: Option<(Room, Time)>,
    /// The last grant, since an answer and an event may both tell it.
    pub(super) granted: Option<(Room, u64)>,
    /// Whether the last grant still holds, so that a claim only asks for one's place.
    pub(super) holds: bool,
    /// Whether the open claim was counted as asking.
    pub(super) asked: bool,
    /// Waits in line, and for a stick, that ended in a match or a grant.
    pub(super) queue: Waited,
    pub(super) stick: Waited,
    pub(super) turns: Share,
    pub(super) matches: Share,
    /// What was read since the last message.
    pub(super) bytes: u64,
}

impl Waits {
    /// A match was told: when the wait for it began, if it is news and one waited.
    pub(super) fn matched(&mut self, room: Room) -> Option<Time> {
        if self.matched_in == Some(room) {
            return None;
        }
        self.matched_in = Some(room);
        self.matches.had += 1;
        self.in_line_since.take()
    }

    /// A grant was told: when the wait for it began, if it is news and one waited.
    pub(super) fn granted(&mut self, room: Room, epoch: u64) -> Option<Time> {
        if self.granted == Some((room, epoch)) {
            return None;
        }
        self.granted = Some((room, epoch));
        self.holds = true;
        self.turns.had += 1;
        let claim = self.claim.take_if(|(of, _)| *of == room)?;
        Some(claim.1)
    }

    /// How many waits are open: in line, and for a stick.
    pub(super) fn open(&self) -> (u64, u64) {
        (
            u64::from(self.in_line_since.is_some()),
            u64::from(self.claim.is_some()),
        )
    }
}
