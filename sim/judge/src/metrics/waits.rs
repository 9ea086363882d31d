//! The waits of one virtual user in the queue and for a stick.

use chat_types::{Span, Time};

use super::open::OpenClaim;
use super::shares::Share;
use sim_model::plan::Metric;
use sim_model::protocol::{CallId, Op, OpKind, Room, User};

/// The ended waits of one kind.
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

/// A call that has no answer yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    pub(super) id: CallId,
    /// Its intended start.
    pub(super) intended: Time,
    /// How long its answer may be delayed.
    pub(super) hold: Span,
    /// What its duration is measured as. A check waits, which is no latency.
    pub(super) measured_as: Option<Metric>,
    /// Whether an earlier attempt was not answered, and may have taken effect.
    pub(super) is_unsure: bool,
}

impl OpenCall {
    pub(super) fn of(id: CallId, op: &Op, intended: Time) -> Self {
        let measured_as = if op.kind() == OpKind::Check {
            None
        } else if op.kind() == OpKind::Break {
            Some(Metric::BreakWait)
        } else {
            Some(Metric::RequestLatency)
        };
        Self {
            id,
            intended,
            hold: op.hold(),
            measured_as,
            is_unsure: false,
        }
    }
}

/// The absence of a disconnected holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Absence {
    /// The id by which it holds the stick; none if it is the present one.
    pub(super) user: Option<User>,
    /// When its connection ended.
    pub(super) since: Time,
}

/// One virtual user's waits and shares.
#[derive(Clone, Debug, Default)]
pub(super) struct Waits {
    /// The intended start of the first call that was to register the user, until it is registered.
    pub(super) at_door_since: Option<Time>,
    /// The intended start of the queue call that no match has answered yet.
    pub(super) in_line_since: Option<Time>,
    /// The room of the last match, because both an answer and an event may report it.
    pub(super) matched_in: Option<Room>,
    /// The room of the awaited stick, and the intended start of the claim.
    pub(super) claim: Option<(Room, Time)>,
    /// The intended start of a claim that names no room, until its answer names it.
    pub(super) unnamed_claim: Option<Time>,
    /// Whether the user was away since its claim, which ends the claim.
    pub(super) claim_lost: bool,
    /// The last wait in the queue that a match ended: its beginning, and the time of the match. The
    /// user may have learned of it much later.
    pub(super) last_in_line: Option<(Time, Time)>,
    /// When its `await` of a match timed out.
    pub(super) unmatched_at: Option<Time>,
    /// Calls in flight.
    pub(super) calls: Vec<OpenCall>,
    /// Whether its flow is over to its last round, or the user is gone.
    pub(super) is_done: bool,
    /// Whether the user called at all.
    pub(super) called: bool,
    /// Whether any call was answered to it as a participant.
    pub(super) was_let_in: bool,
    /// The last refusal before it was let in.
    pub(super) turned_away: Option<&'static str>,
    /// The last grant, because both an answer and an event may report it.
    pub(super) granted: Option<(Room, u64)>,
    /// The grant that it held, and its id, when it vanished or forgot its handle.
    pub(super) left_with: Option<(Room, u64, Option<User>)>,
    /// When its connection ended, unless it has another.
    pub(super) disconnected_at: Option<Time>,
    /// The claim that it had when its `await` of a grant timed out.
    pub(super) timed_out: Option<OpenClaim>,
    /// Whether the last grant still holds; then a claim only asks for the place.
    pub(super) holds: bool,
    /// Whether the open claim was counted as asking.
    pub(super) asked: bool,
    /// Waits in the queue, and for a stick, that ended in a match or a grant.
    pub(super) queue: Waited,
    pub(super) stick: Waited,
    /// By room.
    pub(super) turns: Vec<(Room, Share)>,
    pub(super) matches: Share,
    /// Bytes read since the last message.
    pub(super) bytes: u64,
}

impl Waits {
    /// A match was reported: returns when the wait for it began, if the match is new and the user
    /// waited.
    pub(super) fn record_match(&mut self, room: Room) -> Option<Time> {
        if self.matched_in == Some(room) {
            return None;
        }
        self.matched_in = Some(room);
        self.matches.had += 1;
        self.in_line_since.take()
    }

    /// A grant was reported: returns when the wait for it began, if the grant is new and the user
    /// waited.
    pub(super) fn record_grant(&mut self, room: Room, epoch: u64) -> Option<Time> {
        if self.granted == Some((room, epoch)) {
            return None;
        }
        self.granted = Some((room, epoch));
        self.holds = true;
        self.claim_lost = false;
        self.turns_in(room).had += 1;
        let claim = self.claim.take_if(|(of, _)| *of == room)?;
        Some(claim.1)
    }

    /// Its share of the turns of this room.
    pub(super) fn turns_in(&mut self, room: Room) -> &mut Share {
        let known = self.turns.iter().position(|(of, _)| *of == room);
        let index = known.unwrap_or(self.turns.len());
        if known.is_none() {
            self.turns.push((room, Share::default()));
        }
        &mut self.turns[index].1
    }

    /// The user claims the stick of this room, or of the only one that it is in. Returns since when
    /// an earlier claim stood, which ended because the user was away.
    pub(super) fn record_claim(&mut self, room: Option<Room>, intended: Time) -> Option<Time> {
        let lost = std::mem::take(&mut self.claim_lost);
        if self.holds || !(lost || self.claim.is_none()) {
            return None;
        }
        let ended = self.claim.take().map(|(_, since)| since);
        self.asked = false;
        self.claim = room.map(|room| (room, intended));
        if room.is_none() {
            self.unnamed_claim.get_or_insert(intended);
        }
        ended
    }

    /// The answer to a claim names the room, and the epoch at that time. After a later grant the claim
    /// is over.
    pub(super) fn locate_claim(&mut self, room: Room, epoch: u64) {
        let is_over = |(of, later): (Room, u64)| of == room && later >= epoch;
        let since = self.unnamed_claim.take();
        if self.claim.is_none() && !self.granted.is_some_and(is_over) {
            self.claim = since.map(|since| (room, since));
        }
    }

    /// The claim ends without a grant. Returns since when it stood.
    pub(super) fn give_up_claim(&mut self) -> Option<Time> {
        self.unnamed_claim = None;
        self.claim.take().map(|(_, since)| since)
    }

    /// The user's claim ends, and nobody failed to serve it: the user is gone, or may not have it.
    pub(super) fn excuse_claim(&mut self) {
        if let Some((room, _)) = self.claim
            && std::mem::take(&mut self.asked)
        {
            self.turns_in(room).asked -= 1;
        }
    }

    /// The stick that the user still waits for, and the intended start of the claim.
    pub(super) fn open_claim(&self) -> Option<(Room, Time)> {
        self.claim.filter(|_| !self.claim_lost)
    }

    /// The connection ended.
    pub(super) fn disconnect(&mut self, at: Time) {
        self.disconnected_at.get_or_insert(at);
    }

    /// The last grant of this room's stick: its epoch, and the user's id if it holds the stick and is
    /// disconnected. The id is none for the present one.
    pub(super) fn last_grant(&self, room: Room) -> Option<(u64, Option<Absence>)> {
        let absence = |user| {
            let since = self.disconnected_at?;
            Some(Absence { user, since })
        };
        let left = self.left_with.filter(|(of, ..)| *of == room);
        let left = left.map(|(_, epoch, user)| (epoch, absence(user)));
        let own = self.granted.filter(|(of, _)| *of == room);
        let own = own.map(|(_, epoch)| (epoch, absence(None).filter(|_| self.holds)));
        left.into_iter()
            .chain(own)
            .max_by_key(|(epoch, absence)| (*epoch, absence.is_some()))
    }

    /// Whether the user was in the queue all the time between these two instants.
    pub(super) fn is_in_line(&self, from: Time, until: Time) -> bool {
        let open = self.in_line_since.is_some_and(|since| since <= from);
        let ended = |(since, matched_at): (Time, Time)| since <= from && matched_at > until;
        open || self.last_in_line.is_some_and(ended)
    }

    /// The user learned that it was away, which ends its claim in a room.
    pub(super) fn lost_claim(&mut self, room: Room) {
        if self.claim.is_some_and(|(of, _)| of == room) {
            self.claim_lost = true;
            self.excuse_claim();
        }
    }

    /// An operator ended the claim in a room. Returns since when it stood; none if there was none.
    pub(super) fn end_claim(&mut self, room: Room) -> Option<Time> {
        if self.claim.is_none_or(|(of, _)| of != room) {
            return None;
        }
        self.excuse_claim();
        let ended = self.claim.take();
        ended.map(|(_, since)| since)
    }

    /// An attempt of this call was not answered.
    pub(super) fn unsure_of(&mut self, call: CallId) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.id == call) {
            open.is_unsure = true;
        }
    }

    /// The call is over.
    pub(super) fn take_call(&mut self, call: CallId) -> Option<OpenCall> {
        let index = self.calls.iter().position(|open| open.id == call)?;
        Some(self.calls.swap_remove(index))
    }
}
