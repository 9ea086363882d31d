//! What an answer tells.

use std::sync::Arc;

use chat_core::{Span, Time};

use super::called::draft_room;
use super::ledger::client::{Ask, Call, Key};
use super::ledger::draft::{Edit, Length};
use super::ledger::person::Absence;
use super::ledger::room::RoomKind;
use super::single_match::Told;
use super::{Judge, STRAY};
use crate::history::Record;
use crate::protocol::{Agent, Answer, CallId, Op, Outcome, Refusal};

impl Judge {
    /// The (first) answer to a call arrived.
    pub(super) fn answered(
        &mut self,
        record: &Record<'_>,
        (id, called_at): (CallId, Time),
        op: &Op,
        outcome: &Outcome,
    ) {
        let person = self.ledger.who(record);
        if let Some(person) = person {
            self.heard(person, Some(called_at), record.at);
        }
        if let Op::Check { after, .. } = op {
            self.read((record.agent, id), person, called_at, (op, *after), outcome);
            return;
        }
        if op.is_read() && !matches!(op, Op::Check { .. }) {
            self.looked(record.agent, person, id, (op, outcome));
            return;
        }
        let Some(person) = person else {
            let copies = self.ledger.copies;
            let client = self.ledger.client(record.agent);
            if let Some(call) = client.close(id)
                && call.attempts * copies > 1
            {
                // One copy was refused, and that is remembered for nobody: another may yet mint.
                client.leave_unsure(call);
            }
            return;
        };
        let client = self.ledger.client(record.agent);
        let closed = client.close(id).or_else(|| {
            let index = client.unsure.iter().position(|call| call.id == id)?;
            Some(client.unsure.swap_remove(index))
        });
        let mut call = closed.unwrap_or(Call {
            id,
            by: record.user,
            mints: false,
            at: called_at,
            key: Key::Keyed,
            attempts: 1,
            ask: Ask::Other,
            stale: None,
            used: 0,
        });
        call.by = record.user;
        if call.mints && outcome.is_ok() {
            self.breaks_rules.registered(&self.ledger, record.agent);
        }
        if matches!(op, Op::Break { .. }) {
            let (l, f) = (&self.ledger, &mut self.findings);
            let who = (record.agent, l.people[person].user);
            self.breaks_rules.answered(l, who, id, outcome, f);
        }
        self.idempotent_requests.answered(&call);
        if call.key == Key::Unkeyed
            && call.attempts > 1
            && let Some(room) = draft_room(op)
        {
            self.ledger.people[person].drafts.doubt(room);
        }
        match outcome {
            Ok(answer) => {
                call.used = 1;
                let copies = self.ledger.copies;
                self.ledger
                    .client(record.agent)
                    .settle(call, outcome.clone(), copies);
                self.accepted((record.agent, person), &call, op, answer);
            }
            Err(refusal) => self.refused((record.agent, person), call, op, refusal),
        }
        self.judge_overdue(record.agent);
    }

    /// Somebody looked at its stress.
    fn looked(
        &mut self,
        agent: Agent,
        person: Option<usize>,
        id: CallId,
        (op, outcome): (&Op, &Outcome),
    ) {
        let Some(person) = person else {
            return;
        };
        let (l, f) = (&mut self.ledger, &mut self.findings);
        match outcome {
            Ok(_) => {
                l.people[person].served_at = l.clock.now;
                self.durability.accepted(l, person);
            }
            Err(refusal) => self.durability.refused(l, person, op, refusal, f),
        }
        let who = (agent, l.people[person].user);
        self.breaks_rules.answered(l, who, id, outcome, f);
    }

    /// An inbox was read.
    fn read(
        &mut self,
        (agent, id): (Agent, CallId),
        person: Option<usize>,
        called_at: Time,
        (op, after): (&Op, Option<u64>),
        outcome: &Outcome,
    ) {
        let now = self.ledger.clock.now;
        let page = self.ledger.client(agent).take_page(now);
        let Some(person) = person else {
            return;
        };
        let (l, f) = (&mut self.ledger, &mut self.findings);
        match outcome {
            Ok(Answer::Read { cursor, more, .. }) => {
                let someone = &mut l.people[person];
                someone.read_at = someone.read_at.max(called_at);
                someone.served_at = l.clock.now;
                let user = someone.user;
                // Only `after` says where the reading begins, whatever answers were lost.
                let is_empty = after.is_some() && !more;
                if is_empty {
                    someone.empty_at = someone.empty_at.max(called_at);
                }
                let waits = someone.in_line || someone.claims_stick;
                let told_of_itself_at = someone.told_of_itself_at;
                let owed_until = l.clock.healed_at.max(l.client(agent).finished_at);
                // Where each check is news of its own caller's coming back, no check is the last.
                let kept_up = owed_until.is_some_and(|at| told_of_itself_at > at + l.clock.jumped);
                if is_empty || (after.is_some() && kept_up) {
                    l.client(agent).read_out_at.get_or_insert(now);
                }
                self.bounded.page(l, user, page, f);
                let begins = l.people[person].checks.answered(id, *cursor);
                match after {
                    Some(after) => self.bounded.read(l, person, (after, *cursor), f),
                    None => self.no_lost_messages.read(l, person, (begins, *cursor), f),
                }
                self.durability.accepted(l, person);
                if is_empty && waits {
                    self.emptied(person);
                }
            }
            Ok(_) => {}
            Err(refusal) => {
                l.people[person].checks.refused(id);
                self.durability.refused(l, person, op, refusal, f);
            }
        }
    }

    fn accepted(&mut self, (agent, person): (Agent, usize), call: &Call, op: &Op, answer: &Answer) {
        let now = self.ledger.clock.now;
        self.durability.accepted(&mut self.ledger, person);
        self.ledger.people[person].served_at = now;
        let user = self.ledger.people[person].user;
        self.bounded
            .answered(&self.ledger, user, answer, &mut self.findings);
        if let Some(epoch) = call.stale {
            self.stick_exclusion
                .stale_accepted(&self.ledger, user, epoch, &mut self.findings);
        }
        match *answer {
            Answer::Waiting { .. } | Answer::Matched { .. } => {
                self.entered(person, call, op, answer);
            }
            Answer::LeftQueue { left } => {
                let until = self.may_come_until(call);
                self.left_line(person, until);
                if left {
                    self.left_queue(agent, person);
                }
            }
            Answer::LoggedIn { room, .. } => {
                let slot = self.ledger.room(room);
                self.ledger.rooms[slot].kind = RoomKind::Named;
                self.ledger.promise(person, slot, call.at);
            }
            Answer::Sent { room, room_seq, .. } => {
                self.counts.accepted += 1;
                if matches!(op, Op::Push { .. })
                    && let Some(slot) = self.ledger.room_known(room)
                {
                    let push = (room_seq, user);
                    self.stick_exclusion
                        .pushed(&self.ledger, slot, push, &mut self.findings);
                }
                self.claimed(agent, person, call, (room, room_seq));
                if matches!(op, Op::Push { .. }) {
                    self.draft_edited(person, call, op, None);
                }
            }
            Answer::LeftChat => self.left_chat(person, call, op),
            Answer::Stick {
                room, place, epoch, ..
            } => {
                self.stick_progress
                    .answered(&mut self.ledger, person, call, (room, place, epoch));
                if place == 0 {
                    self.stick_exclusion.answered(
                        &self.ledger,
                        room,
                        user,
                        epoch,
                        &mut self.findings,
                    );
                }
            }
            Answer::Draft { .. } | Answer::Done => self.done(person, call, op, answer),
            Answer::OnBreak { .. }
            | Answer::Mood { .. }
            | Answer::Read { .. }
            | Answer::History { .. }
            | Answer::Members { .. } => {}
        }
    }

    /// Somebody stands in line, or is matched at once.
    fn entered(&mut self, person: usize, call: &Call, op: &Op, answer: &Answer) {
        let copies = self.ledger.copies;
        let someone = &mut self.ledger.people[person];
        someone.enters.settled += call.allowance(copies);
        if let Op::EnterQueue { interests, .. } = op {
            someone.interests = Some(Arc::clone(interests));
        }
        // What was told of a match since the call left is what came of it.
        let matched_since = someone.matched_at.is_some_and(|at| at >= call.at);
        if !matched_since && let Op::EnterQueue { interests, .. } = op {
            someone.enters.asks(call.at, interests);
        }
        someone.enters.strays |= call.allowance(copies) > 1;
        someone.drafts.moved();
        match *answer {
            Answer::Matched { room, partner, .. } => {
                let told = Told {
                    person,
                    room,
                    partner,
                    found: None,
                };
                self.matched(told);
            }
            Answer::Waiting { .. } if !matched_since => {
                let now = self.ledger.clock.now;
                self.line.stand(&mut self.ledger, person, now);
                // A repeated call's answer may be a remembered one, and the place in line be lost
                // since; or the answer took its time, by the server's clock, which may have jumped;
                // or another call may have left the line at once; or the end of a stream be noticed
                // only now.
                let leaves = self.ledger.people[person].leaves_line;
                let left = leaves.may_undo(self.ledger.by_server(call.at));
                let unnoticed = self.ledger.people[person].absence == Absence::Unbounded;
                if call.attempts > 1 || self.is_long(call.at, now) || left || unnoticed {
                    self.line.unsettle(person);
                }
            }
            Answer::Waiting { .. }
            | Answer::LeftQueue { .. }
            | Answer::LoggedIn { .. }
            | Answer::Sent { .. }
            | Answer::LeftChat
            | Answer::Stick { .. }
            | Answer::Draft { .. }
            | Answer::OnBreak { .. }
            | Answer::Mood { .. }
            | Answer::Done
            | Answer::Read { .. }
            | Answer::History { .. }
            | Answer::Members { .. } => {}
        }
    }

    /// Somebody was told of a match.
    pub(super) fn matched(&mut self, told: Told) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        let news = self.single_match.told(l, told, f);
        if news.ends_wait {
            let found_at = told.found.map(|(_, sent_at)| sent_at);
            if let Some(found_at) = found_at
                && l.people[told.person].in_line
            {
                let pair = (told.person, told.partner);
                self.queue_progress
                    .matched(l, &self.line, pair, found_at, f);
            }
            let passed_over = self.line.matched(l, told.person, found_at);
            self.fifo_matching.overtaken(l, &passed_over, f);
        }
        if let Some(pair) = news.complete {
            let passed_over = self.line.judge(l, told.room, &pair);
            self.fifo_matching.judged(l, &passed_over, f);
        }
    }

    fn left_queue(&mut self, agent: Agent, person: usize) {
        let entering = self
            .ledger
            .client(agent)
            .open
            .iter()
            .any(|call| call.ask == Ask::EnterQueue);
        let enters = &mut self.ledger.people[person].enters;
        enters.lefts += 1;
        if !entering {
            enters.since = None;
        }
        self.single_match
            .count(&self.ledger, person, &mut self.findings);
    }

    /// Until when a call that is answered now may take effect, by the server's clock: without a key,
    /// another attempt or copy of it may come yet.
    fn may_come_until(&self, call: &Call) -> Time {
        let clock = &self.ledger.clock;
        let stray = if call.allowance(self.ledger.copies) > 1 {
            STRAY
        } else {
            Span::ZERO
        };
        clock.now + clock.jumped + stray
    }

    fn left_chat(&mut self, person: usize, call: &Call, op: &Op) {
        let Op::LeaveChat { room } = op else {
            return;
        };
        let until = self.may_come_until(call);
        self.withdrew(person, *room, until);
        let someone = &mut self.ledger.people[person];
        for stay in &mut someone.memberships {
            stay.has_left |= stay.leaving && *room == Some(stay.room);
        }
        let user = someone.user;
        if let Some(slot) = room.and_then(|room| self.ledger.room_known(room)) {
            let now = self.ledger.clock.now;
            if let Some(side) = self.ledger.rooms[slot].side_mut(user) {
                side.left_at.get_or_insert(now);
            }
            if self.ledger.partner_is_gone(person, slot) {
                self.ledger.abandon_room(slot);
            }
        }
    }

    /// A call that says no more than that it is done, or how long the draft is.
    fn done(&mut self, person: usize, call: &Call, op: &Op, answer: &Answer) {
        let now = self.ledger.clock.now;
        if let Op::Block { user: other } = *op {
            let user = self.ledger.people[person].user;
            let other_person = self.ledger.person(other);
            for (person, other) in [(person, other), (other_person, user)] {
                for shunned in &mut self.ledger.people[person].shunned {
                    if shunned.other == other {
                        shunned.since.get_or_insert(now);
                    }
                }
            }
        }
        if let Op::Reset { room } = op {
            let until = self.may_come_until(call);
            self.withdrew(person, *room, until);
        }
        let length = match *answer {
            Answer::Draft {
                length, truncated, ..
            } => Some((length, truncated)),
            Answer::Waiting { .. }
            | Answer::Matched { .. }
            | Answer::LeftQueue { .. }
            | Answer::LoggedIn { .. }
            | Answer::Sent { .. }
            | Answer::LeftChat
            | Answer::Stick { .. }
            | Answer::OnBreak { .. }
            | Answer::Mood { .. }
            | Answer::Done
            | Answer::Read { .. }
            | Answer::History { .. }
            | Answer::Members { .. } => None,
        };
        self.draft_edited(person, call, op, length);
    }

    fn draft_edited(&mut self, person: usize, call: &Call, op: &Op, length: Option<(u32, u32)>) {
        let Some(room) = draft_room(op) else {
            return;
        };
        let edit = match op {
            Op::Append { text, .. } => Edit::Append {
                text: Arc::clone(text),
                truncated: length.map_or(0, |(_, truncated)| truncated),
            },
            Op::Undo { .. } => Edit::Undo,
            Op::Reset { .. } | Op::Push { .. } => Edit::Clear,
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
            | Op::Check { .. } => return,
        };
        let era = self.ledger.clock.era;
        let someone = &mut self.ledger.people[person];
        let user = someone.user;
        let length = length.map(|(length, _)| length);
        let compared = someone.drafts.edited(room, &edit, length, era);
        let (l, f) = (&self.ledger, &mut self.findings);
        self.durability.draft(l, user, compared, f);
        let repeated = call.key == Key::Keyed && (call.attempts > 1 || l.copies > 1);
        if let (Length::Longer { expected }, Some(length), true) = (compared, length, repeated) {
            self.idempotent_requests
                .draft_longer(l, user, (length, expected), f);
        }
    }

    fn refused(
        &mut self,
        (agent, person): (Agent, usize),
        mut call: Call,
        op: &Op,
        refusal: &Refusal,
    ) {
        let (l, f) = (&mut self.ledger, &mut self.findings);
        // The answer to a retry may be a remembered one, from before the caller had anything to lose.
        if call.attempts == 1 {
            self.durability.refused(l, person, op, refusal, f);
        }
        if matches!(op, Op::Send { .. } | Op::Push { .. }) {
            self.counts.refused += 1;
        }
        let unknown_handle = refusal.code == "unknown_handle";
        if unknown_handle {
            l.people[person].gone = true;
            self.line.drop_out(l, person);
        }
        let several = call.attempts > 1 || l.copies > 1;
        let decided = !(refusal.is_retryable() || unknown_handle);
        if several && (!decided || call.key == Key::Unkeyed) {
            // An attempt before, or a copy, may have been accepted.
            call.used = u32::from(call.key == Key::Unkeyed);
            l.client(agent).leave_unsure(call);
            self.fate_unknown(person, op);
            return;
        }
        call.used = 1;
        let copies = l.copies;
        l.client(agent).settle(call, Err(*refusal), copies);
        // Unless an earlier call already stood for it, one did not ask to stand in line after all.
        let since = &mut l.people[person].enters.since;
        if call.ask == Ask::EnterQueue && *since == Some(call.at) {
            *since = None;
        }
        if let Some(room) = draft_room(op) {
            l.people[person].drafts.settled(room);
        }
        self.not_withdrawn(person, op);
    }

    /// A call to leave or to withdraw was refused for good.
    fn not_withdrawn(&mut self, person: usize, op: &Op) {
        let until = self.ledger.clock.now + self.ledger.clock.jumped;
        if matches!(op, Op::LeaveQueue) {
            self.left_line(person, until);
        }
        let (leave, room) = match op {
            Op::LeaveChat { room } => (true, *room),
            Op::Reset { room } => (false, *room),
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
            | Op::Check { .. } => return,
        };
        self.withdrew(person, room, until);
        let someone = &mut self.ledger.people[person];
        if leave {
            for stay in &mut someone.memberships {
                // What an earlier call left stays left, whatever is said to a later one.
                if !stay.has_left && room.is_none_or(|room| room == stay.room) {
                    stay.leaving = false;
                }
            }
        }
    }
}
