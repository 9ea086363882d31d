//! How long one virtual user waits, in line and for a stick.

use chat_types::{Span, Time};

use super::shares::Share;
use sim_model::protocol::{CallId, Moderated, Presence, Room};

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
    /// Whether the user was away since it claimed: that ends the claim.
    pub(super) claim_lost: bool,
    /// The last wait in line that a match ended: its beginning, and when the match was made. The
    /// user may have heard of that much later.
    pub(super) last_in_line: Option<(Time, Time)>,
    /// When its `await` of a match ran out.
    pub(super) unmatched_at: Option<Time>,
    /// Calls in flight of which an earlier attempt had no answer: it may have taken effect.
    pub(super) unsure: Vec<CallId>,
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
        self.claim_lost = false;
        self.turns.had += 1;
        let claim = self.claim.take_if(|(of, _)| *of == room)?;
        Some(claim.1)
    }

    /// The stick that the user still waits for, and when the claim was meant to start.
    pub(super) fn open_claim(&self) -> Option<(Room, Time)> {
        self.claim.filter(|_| !self.claim_lost)
    }

    /// Whether the user was in the line all the time between these two instants.
    pub(super) fn is_in_line(&self, from: Time, until: Time) -> bool {
        let open = self.in_line_since.is_some_and(|since| since <= from);
        let ended = |(since, matched_at): (Time, Time)| since <= from && matched_at > until;
        open || self.last_in_line.is_some_and(ended)
    }

    /// The user heard of its own coming or going.
    pub(super) fn came_or_went(&mut self, room: Room, change: Presence) {
        match change {
            Presence::Away | Presence::Back => {
                self.claim_lost |= self.claim.is_some_and(|(of, _)| of == room);
            }
            Presence::Joined | Presence::Left => {}
        }
    }

    /// An operator acted in a room; `on_me`: on this user.
    pub(super) fn moderated(&mut self, room: Room, act: Moderated, on_me: bool) {
        let ends_claim = match act {
            Moderated::Closed => true,
            Moderated::Muted | Moderated::Kicked => on_me,
        };
        if ends_claim {
            self.claim.take_if(|(of, _)| *of == room);
        }
    }

    /// An attempt of this call had no answer.
    pub(super) fn unsure_of(&mut self, call: CallId) {
        if !self.unsure.contains(&call) {
            self.unsure.push(call);
        }
    }

    /// The call is over. Whether an attempt of it had no answer.
    pub(super) fn take_unsure(&mut self, call: CallId) -> bool {
        let index = self.unsure.iter().position(|of| *of == call);
        index.map(|index| self.unsure.swap_remove(index)).is_some()
    }
}
