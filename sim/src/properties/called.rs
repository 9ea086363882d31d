//! What a call tells when it leaves, is repeated, or is given up.

use chat_core::Time;

use super::ledger::client::{Ask, Call, Key};
use super::ledger::draft::Said;
use super::ledger::event::text_print;
use super::ledger::person::{Absence, Shunned};
use super::ledger::room::RoomKind;
use super::{Judge, STRAY};
use crate::history::{Record, Retry};
use crate::protocol::{CallId, Op, Room, User};

impl Judge {
    /// A call's first attempt left.
    pub(super) fn called(&mut self, record: &Record<'_>, id: CallId, op: &Op, keyed: bool) {
        let person = self.ledger.who(record);
        let remembered = self.ledger.config.remembered_keys;
        self.ledger.client(record.agent).calls(id, remembered);
        if let Some(person) = person {
            self.noticed(person, record.at);
        }
        if let Op::Check { wait, after, .. } = op {
            if let Some(person) = person {
                let someone = &mut self.ledger.people[person];
                someone.names_no_cursor |= after.is_none();
                someone.checks.called(id, *wait, record.at);
            }
            return;
        }
        self.breaks_rules
            .called(&self.ledger, record.agent, id, op, keyed);
        if record.user.is_none() {
            self.breaks_rules.may_register(&self.ledger, record.agent);
        }
        if op.is_read() {
            return;
        }
        let key = if keyed { Key::Keyed } else { Key::Unkeyed };
        let (ask, stale) = match person {
            Some(person) => (self.ask(person, op, key), self.stale_epoch(person, op)),
            None if matches!(op, Op::EnterQueue { .. }) => (Ask::EnterQueue, None),
            None => (Ask::Other, None),
        };
        let call = Call {
            id,
            by: record.user,
            mints: record.user.is_none(),
            at: record.at,
            key,
            attempts: 1,
            ask,
            stale,
            used: 0,
        };
        self.ledger.client(record.agent).open.push(call);
    }

    /// A call shows that somebody is there; a long silence without a stream may mean away.
    pub(super) fn noticed(&mut self, person: usize, now: Time) {
        if self.ledger.people[person].in_line && self.is_silent(person, now) {
            self.line.unsettle(person);
        }
        self.ledger.people[person].last_call = now;
    }

    /// A call that left at `called_at` was answered, or a stream is open: the server heard from
    /// somebody between then and now. It may have heard nothing since the call before left, however
    /// soon that was followed by the next: what is slow on its way may come too late.
    pub(super) fn heard(&mut self, person: usize, called_at: Option<Time>, now: Time) {
        let someone = &mut self.ledger.people[person];
        let before = someone.heard_at;
        someone.heard_at = before.max(called_at);
        let too_long = before.is_some_and(|before| self.is_long(before, now));
        let someone = &self.ledger.people[person];
        if someone.in_line && someone.streaming.is_none() && too_long {
            self.line.lapse(person);
        }
        // A call may overtake the news that a stream closed.
        let noticed_by = match someone.absence {
            Absence::Since(_) => someone.stream_closed_at + self.ledger.calm.within,
            Absence::None | Absence::Unbounded => someone.stream_closed_at,
        };
        if called_at.is_some_and(|called_at| called_at > noticed_by) {
            self.back(person, now, false);
        }
    }

    /// Somebody's stream closed. The server may have seen that a little earlier, and takes its user
    /// for gone once the grace from there on is over; while anything holds things up, there is no
    /// telling how much earlier.
    pub(super) fn away(&mut self, person: usize, closed_at: Time) {
        let earliest = Time(closed_at.0.saturating_sub(self.ledger.calm.within.0));
        let is_calm = self.ledger.calm.since(&self.ledger.clock);
        let someone = &mut self.ledger.people[person];
        someone.stream_closed_at = closed_at;
        let known = someone.streaming.is_some() && is_calm.is_some_and(|since| since <= earliest);
        someone.absence = match someone.absence {
            Absence::None if known => Absence::Since(earliest),
            Absence::Since(before) if known => Absence::Since(before.min(earliest)),
            Absence::None | Absence::Since(_) | Absence::Unbounded => Absence::Unbounded,
        };
    }

    /// The server heard again, by `now`, from somebody whose stream had closed: by another stream,
    /// or by a call.
    pub(super) fn back(&mut self, person: usize, now: Time, reopened: bool) {
        let grace = self.ledger.config.reconnect_grace;
        let someone = &mut self.ledger.people[person];
        let too_long = match someone.absence {
            Absence::None => false,
            Absence::Since(since) => now.since(since).times(4) > grace.times(3),
            Absence::Unbounded => true,
        };
        // A stream of which nobody can tell when the server notices its end may be noticed after
        // this; then the grace begins, unless another stream is open.
        if someone.absence != Absence::Unbounded || reopened {
            someone.absence = Absence::None;
        }
        if someone.in_line && too_long {
            self.line.unsettle(person);
        }
    }

    /// The server's clock jumped ahead: to the server, who was silent was so for that much longer.
    pub(super) fn jumped(&mut self, now: Time) {
        for person in 0..self.ledger.people.len() {
            if self.ledger.people[person].in_line && self.is_silent(person, now) {
                self.line.lapse(person);
            }
        }
    }

    /// Whether nothing came from somebody for so long, without a stream, that the server may have
    /// taken it for gone.
    fn is_silent(&self, person: usize, now: Time) -> bool {
        let someone = &self.ledger.people[person];
        someone.streaming.is_none() && self.is_long(someone.last_call, now)
    }

    /// Whether the server may take who is silent from then until now, without a stream, for gone.
    pub(super) fn is_long(&self, from: Time, now: Time) -> bool {
        let config = &self.ledger.config;
        let idle = config.idle_timeout.min(config.unused_timeout);
        let silence = (now + self.ledger.clock.jumped).since(self.ledger.by_server(from));
        silence.times(4) > idle.times(3)
    }

    fn ask(&mut self, person: usize, op: &Op, key: Key) -> Ask {
        let now = self.ledger.clock.now;
        match op {
            Op::EnterQueue { interests, .. } => {
                self.ledger.people[person].enters.asks(now, interests);
                if self.ledger.people[person].in_line {
                    self.line.doubt_place(person);
                }
                Ask::EnterQueue
            }
            Op::LeaveQueue => {
                self.ledger.people[person].leaves_line.begin();
                self.line.drop_out(&mut self.ledger, person);
                Ask::LeaveQueue
            }
            Op::Send { room, text, .. } => {
                self.counts.attempted += 1;
                self.speech(person, *room, Said::Exactly(text_print(text)))
            }
            Op::Push { room, .. } => {
                self.counts.attempted += 1;
                let drafts = &mut self.ledger.people[person].drafts;
                let said = drafts.said(*room);
                self.draft_called(person, *room, key);
                self.speech(person, *room, said)
            }
            Op::Append { room, .. } | Op::Undo { room } => {
                self.draft_called(person, *room, key);
                Ask::Other
            }
            Op::Reset { room } => {
                self.draft_called(person, *room, key);
                self.withdrawing(person, *room);
                Ask::Withdraw(*room)
            }
            Op::LeaveChat { room } => {
                self.leaving(person, *room);
                Ask::Withdraw(*room)
            }
            Op::Block { user } => {
                self.shun(person, *user);
                Ask::Other
            }
            Op::Unregister => {
                // It leaves all that it was in, as somebody who is banned does.
                self.leaving(person, None);
                let someone = &mut self.ledger.people[person];
                (someone.operated, someone.gone) = (true, true);
                self.line.drop_out(&mut self.ledger, person);
                Ask::Withdraw(None)
            }
            Op::Login { .. }
            | Op::TalkingStick { .. }
            | Op::Typing { .. }
            | Op::Report { .. }
            | Op::Break { .. }
            | Op::Mood
            | Op::History { .. }
            | Op::ListUsers { .. }
            | Op::Check { .. } => Ask::Other,
        }
    }

    fn speech(&mut self, person: usize, named: Option<Room>, said: Said) -> Ask {
        let meant = self.ledger.meant(person, named);
        let floor = meant
            .and_then(|room| self.ledger.room_known(room))
            .map_or(0, |slot| self.ledger.rooms[slot].head);
        Ask::Speak {
            named,
            meant,
            said,
            floor,
        }
    }

    fn draft_called(&mut self, person: usize, room: Option<Room>, key: Key) {
        let doubled = key == Key::Unkeyed && self.ledger.copies > 1;
        let drafts = &mut self.ledger.people[person].drafts;
        drafts.called(room);
        if doubled {
            drafts.doubt(room);
        }
        // A push that is still under way may come after this call, and say what it makes of it.
        if let Some(owner) = self.ledger.people[person].owner {
            self.ledger.client(owner).doubt_drafts();
        }
    }

    /// Somebody's claim on a stick may be withdrawn from now on, until it is made anew.
    fn withdrawing(&mut self, person: usize, room: Option<Room>) {
        self.stick_progress.drop(&mut self.ledger, person, room);
        self.ledger.people[person].withdraw(room);
    }

    /// A call that withdraws can have taken effect no later than `until`, by the server's clock.
    pub(super) fn withdrew(&mut self, person: usize, room: Option<Room>, until: Time) {
        let others = self.is_asked(person, Ask::Withdraw(room));
        for calls in self.ledger.people[person].withdrawals_of(room) {
            calls.end(until, others);
        }
    }

    /// The same of a call to leave the line.
    pub(super) fn left_line(&mut self, person: usize, until: Time) {
        let others = self.is_asked(person, Ask::LeaveQueue);
        let leaves = &mut self.ledger.people[person].leaves_line;
        leaves.end(until, others);
    }

    /// Whether such a call is open.
    fn is_asked(&mut self, person: usize, ask: Ask) -> bool {
        let owner = self.ledger.people[person].owner;
        owner.is_some_and(|owner| {
            let open = &self.ledger.client(owner).open;
            open.iter().any(|call| call.ask == ask)
        })
    }

    fn leaving(&mut self, person: usize, named: Option<Room>) {
        let now = self.ledger.clock.now;
        let room = self.ledger.meant(person, named);
        // Without a name it may be a room of which the caller was not told yet.
        let mut in_named_room = named.is_none();
        for index in 0..self.ledger.people[person].memberships.len() {
            let stay = &mut self.ledger.people[person].memberships[index];
            if stay.left.is_some() || room.is_some_and(|room| room != stay.room) {
                continue;
            }
            stay.leaving = true;
            let slot = stay.slot;
            let user = self.ledger.people[person].user;
            in_named_room |= self.ledger.rooms[slot].kind == RoomKind::Named;
            if let Some(side) = self.ledger.rooms[slot].side_mut(user) {
                side.left_called.get_or_insert(now);
            }
        }
        if in_named_room {
            self.withdrawing(person, named);
            self.ledger.people[person].drafts.left(named);
        }
    }

    fn shun(&mut self, person: usize, other: User) {
        let user = self.ledger.people[person].user;
        let other_person = self.ledger.person(other);
        for (person, other) in [(person, other), (other_person, user)] {
            let someone = &mut self.ledger.people[person];
            if !someone.shuns(other) {
                someone.shunned.push(Shunned { other, since: None });
            }
        }
    }

    /// Whether the call carries an epoch of which its caller was told that it is over.
    fn stale_epoch(&mut self, person: usize, op: &Op) -> Option<u64> {
        let (room, epoch) = match op {
            Op::Send { room, epoch, .. }
            | Op::Append { room, epoch, .. }
            | Op::Push { room, epoch } => (*room, (*epoch)?),
            Op::EnterQueue { .. }
            | Op::LeaveQueue
            | Op::Login { .. }
            | Op::LeaveChat { .. }
            | Op::TalkingStick { .. }
            | Op::Undo { .. }
            | Op::Reset { .. }
            | Op::Typing { .. }
            | Op::Block { .. }
            | Op::Report { .. }
            | Op::Break { .. }
            | Op::Mood
            | Op::Unregister
            | Op::History { .. }
            | Op::ListUsers { .. }
            | Op::Check { .. } => return None,
        };
        let room = self.ledger.meant(person, room)?;
        let stay = self.ledger.stay(person, room)?;
        let over = epoch < stay.granted_epoch || epoch <= stay.ended_epoch;
        let slot = stay.slot;
        (over && self.ledger.asks_for_stick(slot)).then_some(epoch)
    }

    /// A later attempt of a call left.
    pub(super) fn retried(&mut self, record: &Record<'_>, id: CallId, why: Retry) {
        let client = self.ledger.client(record.agent);
        if let Some(index) = client.unsure.iter().position(|call| call.id == id) {
            let call = client.unsure.swap_remove(index);
            client.open.push(call);
        } else if let Some(index) = client.settled.iter().position(|s| s.call.id == id)
            && let Some(settled) = client.settled.remove(index)
        {
            client.open.push(settled.call);
        }
        if let Some(call) = client.open.iter_mut().find(|call| call.id == id) {
            call.attempts += 1;
        }
        self.breaks_rules.retried(record.agent, id);
        if let Some(person) = self.ledger.who(record) {
            self.noticed(person, record.at);
            self.checks_again(person, id, why);
        }
    }

    /// A later attempt of what may be a check left.
    fn checks_again(&mut self, person: usize, id: CallId, why: Retry) {
        let (now, stray) = (self.ledger.clock.now, self.ledger.calm.within);
        let checks = &mut self.ledger.people[person].checks;
        let (Some(check), Retry::Silence) = (checks.retried(id, now, stray), why) else {
            return;
        };
        if !self.ledger.people[person].gone {
            let (l, f) = (&self.ledger, &mut self.findings);
            self.delivery_progress.silent(l, person, &check, f);
        }
    }

    /// A call was given up: whether it happened is unknown.
    pub(super) fn abandoned(&mut self, record: &Record<'_>, id: CallId, op: &Op) {
        if let Some(call) = self.ledger.client(record.agent).close(id) {
            self.ledger.client(record.agent).leave_unsure(call);
        }
        self.breaks_rules.abandoned(&self.ledger, record.agent, id);
        if let Some(person) = self.ledger.who(record) {
            let stray = self.ledger.calm.within;
            let checks = &mut self.ledger.people[person].checks;
            checks.abandoned(id, record.at, stray);
            self.fate_unknown(person, op);
        }
        self.judge_overdue(record.agent);
    }

    /// A call may take effect at any time, or never.
    pub(super) fn fate_unknown(&mut self, person: usize, op: &Op) {
        let until = self.ledger.clock.now + self.ledger.clock.jumped + STRAY;
        if matches!(op, Op::LeaveQueue) {
            self.left_line(person, until);
        }
        let room_meant = match op {
            Op::Reset { room } | Op::LeaveChat { room } => Some(*room),
            Op::EnterQueue { .. }
            | Op::LeaveQueue
            | Op::Login { .. }
            | Op::Send { .. }
            | Op::TalkingStick { .. }
            | Op::Append { .. }
            | Op::Undo { .. }
            | Op::Push { .. }
            | Op::Typing { .. }
            | Op::Block { .. }
            | Op::Report { .. }
            | Op::Break { .. }
            | Op::Mood
            | Op::Unregister
            | Op::History { .. }
            | Op::ListUsers { .. }
            | Op::Check { .. } => None,
        };
        if let Some(room) = room_meant {
            self.withdrew(person, room, until);
        }
        if let Some(room) = draft_room(op) {
            let drafts = &mut self.ledger.people[person].drafts;
            drafts.doubt(room);
            drafts.settled(room);
        }
    }
}

/// The room of a call on the draft, as the call names it; none for other calls.
#[expect(
    clippy::option_option,
    reason = "a call on a draft may well name no room"
)]
pub(super) fn draft_room(op: &Op) -> Option<Option<Room>> {
    match op {
        Op::Append { room, .. }
        | Op::Undo { room }
        | Op::Reset { room }
        | Op::Push { room, .. } => Some(*room),
        Op::EnterQueue { .. }
        | Op::LeaveQueue
        | Op::Login { .. }
        | Op::Send { .. }
        | Op::LeaveChat { .. }
        | Op::TalkingStick { .. }
        | Op::Typing { .. }
        | Op::Block { .. }
        | Op::Report { .. }
        | Op::Break { .. }
        | Op::Mood
        | Op::Unregister
        | Op::History { .. }
        | Op::ListUsers { .. }
        | Op::Check { .. } => None,
    }
}
