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
        let answer = match read {
            Read::Check { after, wait, max } => {
                return self.check(now, ticket, user, (after, wait, max));
            }
            Read::Members { room } => self.hub.read_members(user, room)?,
            Read::History {
                room,
                before,
                limit,
            } => self.hub.read_history(user, room, before, limit)?,
            Read::Mood => {
                let mood = self.hub.mood(user, now);
                let (stress, boss_alert) = mood.ok_or(Reject::UnknownHandle)?;
                Answer::Mood { stress, boss_alert }
            }
        };
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
        let page = self.hub.read_inbox(user, start, max.max(1))?;
        let notices = self.hub.read_notices(user, now);
        self.reply(ticket, Ok(Response::Read(Answer::Page { page, notices })));
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
        let outcome = self
            .hub
            .read_inbox(user, waiting.start, waiting.max)
            .map(|page| {
                self.acknowledgements.deliver(now, user, page.cursor);
                let notices = self.hub.read_notices(user, now);
                Response::Read(Answer::Page { page, notices })
            });
        self.reply(waiting.ticket, outcome);
    }
}
