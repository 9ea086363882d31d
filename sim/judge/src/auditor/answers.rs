//! Answers, pages of inboxes, and the beginning and end of streams, as they enter and leave the
//! server.

use chat_types::{Seq, Span};
use sim_model::history::DeliveryPath;
use sim_model::protocol::{
    Answer, CHECK_MAX, Code, Earlier, Notice, Outcome, PUSH_MAX, Page, Read, Refusal, Reply,
    Response, Room, User,
};
use sim_model::server::{Call, Implied, Reader, Ticket};

use super::in_flight::{NEVER, Pending, Stage, Staged, Stream};
use super::{Auditor, first_difference};
use crate::comparison::Comparison;
use crate::difference::{Difference, EventPosition, Unsolicited};
use crate::model::{Event, Inbox, PageLimits, is_ordered, refuse_if};

impl Auditor {
    /// Judges an answer that leaves the server, by the stage of its call.
    pub(super) fn answered(&mut self, ticket: Ticket, outcome: &Outcome) {
        let Some(call) = self.in_flight.take(ticket) else {
            let unasked = Unsolicited::Answer(outcome.clone());
            return self.differ(Difference::Unsolicited(unasked));
        };
        self.tally.add(Comparison::Answer);
        if self.recovered {
            self.tally.add(Comparison::Recovered);
        }
        match call.stage {
            Stage::Unadmitted | Stage::Owed(_, NEVER) => {
                let call = call.summary();
                self.differ(Difference::Unserved { call });
            }
            Stage::Proposed | Stage::Joined(_) => {
                let (call, said) = (call.summary(), outcome.clone());
                self.differ(Difference::Uncommitted { call, said });
            }
            Stage::Owed(_, from) | Stage::Held(_, from) | Stage::Reading { due_at: from, .. }
                if from > self.at =>
            {
                let (call, said) = (call.summary(), outcome.clone());
                self.differ(Difference::Early { call, said });
            }
            Stage::Owed(ref owed, _) => self.compare_answer(&call, owed, outcome),
            Stage::Held(ref owed, _) => {
                let mood = call.user.and_then(|user| self.model.mood(user, self.at));
                let mut owed = owed.clone();
                if let (Ok(Response::Done(reply)), Some(mood)) = (&mut owed, mood)
                    && let Reply::OnBreak {
                        stress, boss_alert, ..
                    } = reply
                {
                    (*stress, *boss_alert) = mood;
                }
                self.compare_answer(&call, &owed, outcome);
            }
            Stage::Reading { start, .. } => {
                self.tally.add(Comparison::InTime);
                self.check_answered(&call, start, outcome);
            }
        }
    }

    pub(super) fn compare_answer(&mut self, call: &Pending, owed: &Outcome, said: &Outcome) {
        if let Call::Read { read, .. } = &*call.ask
            && *read == Read::Mood
        {
            self.tally.add(Comparison::Mood);
        }
        // Another server may own the chat, and may have taken an attempt. // 13.5
        let is_unsure = !self.has_lease && !call.has_waited;
        let unsure;
        let mut owed = owed;
        if let Err(refusal) = *owed
            && is_unsure
            && refusal.earlier == Earlier::None
        {
            let earlier = Earlier::Unknown;
            unsure = Err(Refusal { earlier, ..refusal });
            owed = &unsure;
        }
        if owed != said {
            let (call, owed, said) = (call.summary(), owed.clone(), said.clone());
            self.differ(Difference::Answer { call, owed, said });
        }
    }

    /// A stream is open, behind the place `shown`.
    pub(super) fn opened(&mut self, ticket: Ticket, shown: Option<u64>) {
        let Some(call) = self.in_flight.take(ticket) else {
            return self.differ(Difference::Unsolicited(Unsolicited::Opening));
        };
        let (Call::OpenStream { after, reader }, Some(user), Stage::Owed(owed, _)) =
            (call.ask.as_ref(), call.user, &call.stage)
        else {
            let (call, said) = (call.summary(), Ok(Response::Streaming));
            return self.differ(Difference::Uncommitted { call, said });
        };
        if owed.is_err() {
            return self.compare_answer(&call, owed, &Ok(Response::Streaming));
        }
        let end = self.model.inbox_end(user);
        let cursor = after.map_or(call.end, |after| after.0.min(call.end));
        let stream = Stream {
            user,
            cursor,
            reader: *reader,
            is_writable: true,
            is_behind: cursor < end,
            is_over: false,
        };
        self.in_flight.open(self.at, ticket, stream);
        if let Some(shown) = shown.filter(|shown| *shown != cursor) {
            let page = |from: u64| (from, from, from < end);
            let difference = Difference::Reach {
                reader: user,
                path: DeliveryPath::Stream,
                owed: page(cursor),
                seen: page(shown),
            };
            self.differ(difference);
        }
    }

    pub(super) fn stream_ended(&mut self, ticket: Ticket) {
        if let Some((user, _)) = self.in_flight.end(ticket)
            && self.model.inbox(user).is_some()
            && !self.in_flight.is_finished
        {
            // The server ends a stream only when its participant is forgotten, or when it stops.
            self.differ(Difference::Unsolicited(Unsolicited::End(user)));
        }
    }

    pub(super) fn gone(&mut self, ticket: Ticket) {
        if let Some((user, reader)) = self.in_flight.end(ticket) {
            if matches!(reader, Reader::Handle(_)) {
                self.pipeline.imply(self.at, user, Implied::CloseStream);
            }
            return;
        }
        if let Some(user) = self.in_flight.call(ticket).and_then(|call| call.user) {
            self.long_polls.end_call(user, ticket);
        }
        self.log_waits.remove(ticket);
        self.in_flight.gone(ticket);
    }

    /// A check came to the server (docs/protocol.md, 12.5).
    pub(super) fn check_asked(
        &mut self,
        ticket: Ticket,
        user: User,
        (after, wait): (Option<Seq>, Span),
    ) -> Staged {
        let after = self.cursor(user, after)?;
        if let Some(after) = after {
            self.pipeline.reads.acknowledge(self.at, user, after);
        }
        let start = self.start(user, after);
        if let Some(earlier) = self.long_polls.end(user) {
            self.in_flight.end_wait(self.at, earlier);
        }
        let wait = wait.min(self.model.config.max_wait);
        let mut due_at = self.at;
        if wait > Span::ZERO && start >= self.model.inbox_end(user) {
            due_at = NEVER;
            let (config, wait) = (&self.model.config, (self.at, self.at + wait));
            self.long_polls.wait(config, user, ticket, wait);
        }
        Ok(Stage::Reading { start, due_at })
    }

    /// The position after which a check reads.
    pub(super) fn start(&self, user: User, after: Option<u64>) -> u64 {
        let committed = self.model.inbox(user).map_or(0, |inbox| inbox.delivered);
        after.unwrap_or_else(|| self.pipeline.reads.delivered(user, committed))
    }

    /// A cursor, which is no further than the end of the participant's inbox. One that a lost life
    /// may have given counts as the end. // 2.7
    pub(super) fn cursor(&self, user: User, after: Option<Seq>) -> Result<Option<u64>, Refusal> {
        let end = self.model.inbox_end(user);
        let after = after.map(|after| after.0);
        let is_beyond = after.is_some_and(|after| after > end);
        let is_invalid = is_beyond && !self.pipeline.passes_lost_numbers();
        refuse_if(is_invalid, Refusal::with(Code::InvalidCursor, end))?;
        Ok(after.map(|after| after.min(end)))
    }

    /// The answer to a check leaves.
    pub(super) fn check_answered(&mut self, call: &Pending, start: u64, outcome: &Outcome) {
        let user = call.user.unwrap_or_default();
        let Ok(Response::Read(Answer::Page { page, notices })) = outcome else {
            let owed = match self.model.inbox(user) {
                Some(_) => Ok(Response::Done(Reply::Done)),
                None => Err(Refusal::of(Code::UnknownHandle)),
            };
            return self.compare_answer(call, &owed, outcome);
        };
        if let Call::Read {
            reader: Reader::Handle(_),
            ..
        } = *call.ask
        {
            let delivered = page.cursor.0;
            self.pipeline.reads.deliver(self.at, user, delivered);
        }
        self.tally.add(Comparison::Page);
        let most = self.model.limits(CHECK_MAX);
        self.compare_page((user, DeliveryPath::Check), (start, most), page);
        let mut seen = notices.clone();
        // The protocol leaves the order within a room open.
        let order = |(of, notice): &(Room, Notice)| {
            let rooms = self.model.rooms_of(user);
            let room = rooms.iter().position(|room| room == of);
            (room, notice.user.id)
        };
        seen.sort_by_key(order);
        let end = self.model.inbox_end(user);
        let unread = end - page.cursor.0.min(end);
        let notices = self.model.notices_for(user, self.at);
        if (page.unread, &seen) != (unread, &notices) {
            let page = Page {
                unread,
                ..page.clone()
            };
            let owed = Ok(Response::Read(Answer::Page { page, notices }));
            self.compare_answer(call, &owed, outcome);
        }
    }

    /// Events leave on a stream.
    pub(super) fn handle_push(&mut self, ticket: Ticket, page: &Page) {
        let Some(stream) = self.in_flight.streams.get(&ticket) else {
            return self.differ(Difference::Unsolicited(Unsolicited::Page));
        };
        let (user, cursor) = (stream.user, stream.cursor);
        self.tally.add(Comparison::Push);
        self.tally.add(Comparison::InTime);
        let most = self.model.limits(PUSH_MAX);
        self.compare_page((user, DeliveryPath::Stream), (cursor, most), page);
        let end = self.model.inbox_end(user);
        self.in_flight.moved(ticket, page.cursor.0, end);
    }

    /// A notice leaves on a stream.
    pub(super) fn handle_notice(&mut self, ticket: Ticket, (room, notice): (Room, &Notice)) {
        self.tally.add(Comparison::Noticed);
        let (reader, owed) = self.in_flight.take_notice(ticket);
        if owed.as_ref().map(|(room, notice)| (*room, notice)) != Some((room, notice)) {
            let seen = Some((room, notice.clone()));
            let difference = Difference::Notice { reader, owed, seen };
            self.differ(difference);
        }
    }

    fn compare_page(
        &mut self,
        (reader, path): (User, DeliveryPath),
        (after, most): (u64, PageLimits),
        page: &Page,
    ) {
        let Some(inbox) = self.model.inbox(reader) else {
            return self.differ(Difference::Unsolicited(Unsolicited::Page));
        };
        if !inbox.is_page(after, most, page) {
            let owed = inbox.page(reader, after, most);
            if !is_ordered(page) {
                // A gap is left out, or follows its events, where the reader does not need it.
                let (owed, seen) = (owed.gaps.first().cloned(), None);
                return self.differ(Difference::Gap { reader, owed, seen });
            }
            if owed != *page {
                let difference = differs(inbox, (reader, path), after, &owed, page);
                return self.differ(difference);
            }
            self.tally.add(Comparison::Gap);
        }
        for (_, event) in &page.events {
            self.tally.add(Comparison::of_event(&event.body));
            let shown = self.shown.entry(event.room).or_default();
            *shown = event.room_seq.0.max(*shown);
        }
    }
}

/// The first difference between two pages that are not the same.
fn differs(
    inbox: &Inbox,
    (reader, path): (User, DeliveryPath),
    after: u64,
    owed: &Page,
    seen: &Page,
) -> Difference {
    if let Some(place) = first_difference(&owed.gaps, &seen.gaps) {
        let [owed, seen] = [owed, seen].map(|page| page.gaps.get(place).cloned());
        return Difference::Gap { reader, owed, seen };
    }
    let reach = |from: [u64; 2]| Difference::Reach {
        reader,
        path,
        owed: (from[0], owed.cursor.0, owed.unread > 0),
        seen: (from[1], seen.cursor.0, seen.unread > 0),
    };
    let starts = [owed, seen].map(|page| page.first().0.saturating_sub(1));
    if starts[0] != starts[1] {
        return reach(starts);
    }
    let Some(place) = first_difference(&owed.events, &seen.events) else {
        return reach([after; 2]);
    };
    if place == owed.events.len() && owed.unread > 0 {
        let (size, limit) = (seen.events.len() as u64, place as u64);
        let what = "a page";
        return Difference::Size { what, size, limit };
    }
    let [owed, seen] = [owed, seen].map(|page| page.events.get(place));
    let seq = owed.or(seen).map_or(0, |event| event.0.0);
    let seen = seen.map(|(_, event)| Event::clone(event));
    Difference::Event(EventPosition::of(inbox, reader, seq, seen))
}
