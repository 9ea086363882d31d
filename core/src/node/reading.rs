//! Reads: answered from the committed state, at once or when events arrive.

use chat_types::{Answer, Continuity, Read, Response, Seq, Span, Ticket, Time, UserId};

use super::Node;
use super::long_polls::{self, Waiting};
use super::streams::Opener;
use crate::hub::STREAM_RETRY;
use crate::reject::{Outcome, Reject};

impl Node {
    pub(super) fn read(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        read: Read,
    ) -> Outcome<()> {
        if self.hub.wants_seen(user, now) {
            self.acknowledgements.see(now, user);
        }
        if let Read::Check { after, wait, max } = read {
            return self.check(now, ticket, user, (after, wait, max));
        }
        let answer = self.hub.answer(user, now, read)?;
        self.reply(ticket, Ok(Response::Read(answer)));
        Ok(())
    }

    /// Checks a cursor of the participant. Returns it, the end of the inbox, and the end of the last
    /// answer. A cursor beyond the end is that of no event, unless a lost life may have given it:
    /// then it is the end, and what the participant missed is a gap behind that.
    pub(super) fn cursor(
        &self,
        user: UserId,
        after: Option<Seq>,
    ) -> Outcome<(Option<Seq>, Seq, Seq)> {
        let (end, delivered) = self.hub.inbox_cursors(user).ok_or(Reject::UnknownHandle)?;
        if after.is_some_and(|after| after > end) && self.continuity == Continuity::Whole {
            return Err(Reject::InvalidCursor { end: end.0 });
        }
        Ok((after.map(|after| after.min(end)), end, delivered))
    }

    /// Answers a check, or lets it wait for events.
    fn check(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        (after, wait, max): (Option<Seq>, Span, usize),
    ) -> Outcome<()> {
        let (after, end, delivered) = self.cursor(user, after)?;
        let start = match after {
            Some(after) => {
                self.acknowledgements.acknowledge(now, user, after);
                after
            }
            None => self.acknowledgements.delivered(user, delivered),
        };
        if let Some(first) = self.long_polls.take(user) {
            self.answer_check(now, user, &first);
        }
        let wait = wait.min(self.hub.config().max_wait);
        let waiting = Waiting {
            ticket,
            start,
            max: max.max(1),
            since: now,
            until: now + wait,
            told: now,
        };
        if wait == Span::ZERO || start < end || self.is_stopping {
            self.answer_check(now, user, &waiting);
        } else {
            self.long_polls.park(user, waiting, self.beat());
        }
        Ok(())
    }

    /// Answers a check by reader id, at once. It acknowledges nothing, does not count as an answer
    /// to the participant, and ends no waiting check.
    pub(super) fn peek(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        (after, max): (Option<Seq>, usize),
    ) -> Outcome<()> {
        let (after, _, known) = self.cursor(user, after)?;
        let start = after.unwrap_or_else(|| self.acknowledgements.delivered(user, known));
        let (after, wait, max) = (Some(start), Span::ZERO, max.max(1));
        let check = Read::Check { after, wait, max };
        let answer = self.hub.answer(user, now, check)?;
        self.reply(ticket, Ok(Response::Read(answer)));
        Ok(())
    }

    /// Opens a stream by reader id. It uses none of the participant's streams. The journal does not
    /// record it, so it neither makes the participant present nor acknowledges events.
    pub(super) fn open_peeking(
        &mut self,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    ) -> Outcome<()> {
        let (after, end, _) = self.cursor(user, after)?;
        if self.streams.readers(user) >= self.hub.config().max_streams as usize {
            return Err(Reject::rate_limited(STREAM_RETRY));
        }
        self.begin_stream(ticket, (user, Opener::Reader), after, end);
        Ok(())
    }

    /// The place after which a bare `check` of the participant continues, and the number of events
    /// after it. None if it is not registered.
    #[must_use]
    pub fn unread(&self, user: UserId) -> Option<(Seq, u64)> {
        let (_, known) = self.hub.inbox_cursors(user)?;
        let cursor = self.acknowledgements.delivered(user, known);
        Some((cursor, self.hub.unread(user, cursor)?))
    }

    /// The interval at which the node reports waiting participants as present.
    pub(super) fn beat(&self) -> Span {
        let config = self.hub.config();
        let shortest = config.idle_timeout.min(config.queue_timeout);
        long_polls::WAIT_NOTICE.min(Span(shortest.0 / 4))
    }

    pub(super) fn answer_check(&mut self, now: Time, user: UserId, waiting: &Waiting) {
        // Events that were acknowledged meanwhile are not read again.
        let (after, wait, max) = (Some(waiting.start), Span::ZERO, waiting.max);
        let answer = self.hub.answer(user, now, Read::Check { after, wait, max });
        if let Ok(Answer::Page { page, .. }) = &answer {
            self.acknowledgements.deliver(now, user, page.cursor);
        }
        self.reply(waiting.ticket, answer.map(Response::Read));
    }
}
