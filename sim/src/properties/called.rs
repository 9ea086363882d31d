//! What a call tells when it leaves, is repeated, or is given up.

use chat_core::{Span, Time};

use super::ledger::client::{Ask, Call, Key};
use super::ledger::draft::Said;
use super::ledger::event::text_print;
use super::ledger::person::Shunned;
use super::ledger::room::RoomKind;
use super::{Judge, STRAY};
use crate::history::{Record, Retry};
use crate::protocol::{CallId, Op, Room, User};

impl Judge {
    /// A call's first attempt left.
    pub(super) fn called(&mut self, record: &Record<'_>, id: CallId, op: &Op, keyed: bool) {
        let person = self.ledger.who(record);
        self.ledger.client(record.agent).last_id = id;
        if let Some(person) = person {
            self.noticed(person, record.at);
        }
        if let Op::Check { wait, .. } = op {
            if let Some(person) = person {
                let checks = &mut self.ledger.people[person].checks;
                checks.called(id, *wait, record.at);
            }
            return;
        }
        self.breaks_rules
            .called(&self.ledger, record.agent, id, op, keyed);
        if record.user.is_none() {
            self.breaks_rules.may_register(&self.ledger, record.agent);
        }
        if matches!(op, Op::Mood) {
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
        let config = &self.ledger.config;
        let idle = config.idle_timeout.min(config.unused_timeout);
        let someone = &mut self.ledger.people[person];
        let silence = now.since(someone.last_call);
        someone.last_call = now;
        if someone.in_line && someone.streaming.is_none() && silence.times(4) > idle.times(3) {
            self.line.unsettle(person);
        }
    }

    /// A call that left at `called_at` was answered, or a stream is open: the server heard from
    /// somebody between then and now. It may have heard nothing since the call before left, however
    /// soon that was followed by the next: what is slow on its way may come too late.
    pub(super) fn heard(&mut self, person: usize, called_at: Option<Time>, now: Time) {
        let config = &self.ledger.config;
        let idle = config.idle_timeout.min(config.unused_timeout);
        let someone = &mut self.ledger.people[person];
        let silence = someone.heard_at.map(|before| now.since(before));
        someone.heard_at = someone.heard_at.max(called_at);
        let too_long = silence.is_some_and(|silence| silence.times(4) > idle.times(3));
        if someone.in_line && someone.streaming.is_none() && too_long {
            self.line.lapse(person);
        }
    }

    /// The server's clock jumped ahead: to the server, who was silent was so for that much longer.
    pub(super) fn jumped(&mut self, now: Time, by: Span) {
        let config = &self.ledger.config;
        let idle = config.idle_timeout.min(config.unused_timeout);
        for (person, someone) in self.ledger.people.iter().enumerate() {
            let silence = now.since(someone.last_call) + by;
            let too_long = silence.times(4) > idle.times(3);
            if someone.in_line && someone.streaming.is_none() && too_long {
                self.line.lapse(person);
            }
        }
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
                Ask::Other
            }
            Op::LeaveChat { room } => {
                self.leaving(person, *room);
                Ask::Other
            }
            Op::Block { user } => {
                self.shun(person, *user);
                Ask::Other
            }
            Op::Login { .. }
            | Op::TalkingStick { .. }
            | Op::Typing { .. }
            | Op::Report { .. }
            | Op::Break { .. }
            | Op::Mood
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
        self.ledger.people[person].withdraw(room, Time::MAX);
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
            | Op::Check { .. } => None,
        };
        if let Some(room) = room_meant {
            self.ledger.people[person].rewithdraw(room, until);
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
        | Op::Check { .. } => None,
    }
}
