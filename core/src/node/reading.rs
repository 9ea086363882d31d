//! Reads: answered from the committed state, at once or when something comes.

use chat_types::{Span, Time};

use super::parked::{self, Waiting};
use super::{Node, Phase, Read, Response, Ticket};
use crate::breaks::Mood;
use crate::hub::Answer;
use crate::id::{Seq, UserId};
use crate::reject::Reject;

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
