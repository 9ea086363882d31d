//! Reads: answered from the committed state, at once or when something comes.

use chat_types::{Span, Time};

use super::parked::{self, Waiting};
use super::streams::Holder;
use super::{Node, Output, Phase, Read, Response, Ticket};
use crate::breaks::Mood;
use crate::hub::{Answer, STREAM_RETRY};
use crate::id::{Seq, UserId};
use crate::reject::{Earlier, Reject};

impl Node {
    pub(super) fn read(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        read: Read,
    ) -> Result<(), Reject> {
        if self.hub.wants_seen(user, now) {
            self.reads.see(now, user);
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
                let Mood { stress, boss_alert } =
                    self.hub.mood(user, now).ok_or(Reject::UnknownHandle)?;
                Answer::Mood { stress, boss_alert }
            }
        };
        self.reply(ticket, Ok(Response::Read(answer)));
        Ok(())
    }

    /// Answers a check, or parks it until something comes or its time is up.
    fn check(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        (after, wait, max): (Option<Seq>, Span, usize),
    ) -> Result<(), Reject> {
        let (end, delivered) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        let start = match after {
            Some(after) if after > end => return Err(Reject::InvalidCursor { end: end.0 }),
            Some(after) => {
                self.reads.acknowledge(now, user, after);
                after
            }
            None => self.reads.delivered(user, delivered),
        };
        if let Some(first) = self.parked.take(user) {
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
        if wait == Span::ZERO || start < end || self.phase == Phase::Stopping {
            self.answer_check(now, user, &waiting);
        } else {
            self.parked.park(user, waiting, self.beat());
        }
        Ok(())
    }

    /// Answers one that reads the inbox by the reader id: at once, and as if nobody had asked. It
    /// acknowledges nothing, counts as no answer to the participant, and ends no check that waits.
    pub(super) fn peek(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        (after, max): (Option<Seq>, usize),
    ) -> Result<(), Reject> {
        let (_, known) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        let start = after.unwrap_or_else(|| self.reads.delivered(user, known));
        let page = self.hub.read_inbox(user, start, max.max(1))?;
        let notices = self.hub.read_notices(user, now);
        self.reply(ticket, Ok(Response::Read(Answer::Page { page, notices })));
        Ok(())
    }

    /// Opens a stream by the reader id. It takes none of the participant's places, and the journal
    /// does not know of it: nobody is there because of it, and nothing is acknowledged.
    pub(super) fn open_peeking(
        &mut self,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    ) -> Result<(), Reject> {
        let (end, _) = self.hub.inbox_marks(user).ok_or(Reject::UnknownHandle)?;
        if after.is_some_and(|after| after > end) {
            return Err(Reject::InvalidCursor { end: end.0 });
        }
        if self.streams.readers(user) >= self.hub.config().max_streams as usize {
            return Err(Reject::RateLimited {
                retry_after: STREAM_RETRY,
                earlier: Earlier::Unasked,
            });
        }
        self.reply(ticket, Ok(Response::Streaming));
        let cursor = after.unwrap_or(end);
        self.streams.open(ticket, user, (cursor, Holder::Reader));
        if cursor < end && self.streams.signal(ticket) {
            self.outputs.push_back(Output::StreamReady(ticket));
        }
        Ok(())
    }

    /// Where a bare `check` of the participant would go on, and how many events follow. None for
    /// nobody.
    #[must_use]
    pub fn unread(&self, user: UserId) -> Option<(Seq, u64)> {
        let (_, known) = self.hub.inbox_marks(user)?;
        let cursor = self.reads.delivered(user, known);
        Some((cursor, self.hub.unread(user, cursor)?))
    }

    /// How often the node says that a parked check is still there.
    pub(super) fn beat(&self) -> Span {
        parked::WAIT_NOTICE.min(Span(self.hub.config().idle_timeout.0 / 4))
    }

    pub(super) fn answer_check(&mut self, now: Time, user: UserId, waiting: &Waiting) {
        // What was acknowledged meanwhile is not read again.
        let outcome = self
            .hub
            .read_inbox(user, waiting.start, waiting.max)
            .map(|page| {
                self.reads.deliver(now, user, page.cursor);
                let notices = self.hub.read_notices(user, now);
                Response::Read(Answer::Page { page, notices })
            });
        self.reply(waiting.ticket, outcome);
    }
}
