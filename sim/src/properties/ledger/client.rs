//! What is known of one virtual user's calls: which are open, which may still take effect, and
//! which messages wait for the call that explains them.

use std::collections::VecDeque;

use chat_core::Time;

use super::draft::Said;
use crate::protocol::{Agent, CallId, Outcome, Room, User};

/// What a call asks for, as far as it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    EnterQueue,
    LeaveQueue,
    /// To leave a chat, or to reset what was begun there.
    Withdraw(Option<Room>),
    /// A send or a push.
    Speak {
        /// The room that the call names. One that names none may be served in a room of which its
        /// caller was not told yet.
        named: Option<Room>,
        /// The room that is meant, as far as anyone knew when the call left.
        meant: Option<Room>,
        said: Said,
        /// The highest place of that room that anyone knew of when the call left.
        floor: u64,
    },
    /// Anything else.
    Other,
}

/// Whether the server can recognise a repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Keyed,
    Unkeyed,
}

/// A call that changes something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) id: CallId,
    pub(crate) by: Option<User>,
    /// Whether its caller had no handle: what comes of it is remembered only if it mints one.
    pub(crate) mints: bool,
    pub(crate) at: Time,
    pub(crate) key: Key,
    pub(crate) attempts: u32,
    pub(crate) ask: Ask,
    /// Whether its epoch was over when it left, as the caller knew.
    pub(crate) stale: Option<u64>,
    /// Messages that it accounts for.
    pub(crate) used: u32,
}

impl Call {
    /// How many times it may take effect. Without a key each attempt may, and each copy that
    /// the network makes of one.
    pub(crate) const fn allowance(&self, copies: u32) -> u32 {
        match self.key {
            Key::Keyed => 1,
            Key::Unkeyed => self.attempts * copies,
        }
    }
}

/// A call that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    pub(crate) call: Call,
    pub(crate) outcome: Outcome,
}

/// A message that somebody saw before its sender was told that it is accepted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unexplained {
    pub(crate) sender: User,
    pub(crate) seen_by: User,
    pub(crate) room: Room,
    pub(crate) room_seq: u64,
    pub(crate) text: u64,
    /// The sender's last call when it was seen: no later one can explain it.
    pub(crate) before: CallId,
}

/// Answered calls remembered for each virtual user, to compare second answers with.
const REMEMBERED: usize = 16;

/// Calls of unknown fate remembered for each virtual user.
const UNSURE: usize = 64;

/// What is known of one virtual user's calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// Who it is to the server, and that person's slot.
    pub(crate) current: Option<(User, usize)>,
    pub(crate) open: Vec<Call>,
    pub(crate) unsure: Vec<Call>,
    pub(crate) settled: VecDeque<Settled>,
    /// Answered longer ago, without a key: other attempts may have said something too, which
    /// somebody who reads late has not seen yet.
    echoes: Vec<Call>,
    pub(crate) unexplained: Vec<Unexplained>,
    /// Whether an answered call without a key may have said more than its answer tells.
    pub(crate) said_more: bool,
    /// Whether calls of unknown fate had to be dropped, so that nothing unexplained is judged.
    pub(crate) lost_count: bool,
    pub(crate) last_id: CallId,
    /// Events handed over by the `check` whose answer is arriving, all at this time. Of an answer
    /// to a call that its client forgot nothing comes but the events.
    pub(crate) page: (Time, u32),
    pub(crate) vanished: bool,
    pub(crate) finished_at: Option<Time>,
    pub(crate) drained_at: Option<Time>,
    /// When an exact check first brought all that was left, since the heal and the end of its flow.
    pub(crate) read_out_at: Option<Time>,
}

/// What explains a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// A call that may have made it.
    Call,
    /// Too much is unknown to tell.
    Uncountable,
    /// A call that accounts for another message already.
    Again { call: CallId, repeated: bool },
    /// A call with this text that was refused.
    Refused(&'static str),
    /// Nothing.
    Nothing,
}

impl Client {
    /// A call leaves. The server remembers so many keys: those of open calls that as many have
    /// followed may be forgotten, and the next attempt be taken for another request.
    pub(crate) fn calls(&mut self, id: CallId, remembered: u32) {
        self.last_id = id;
        for call in &mut self.open {
            if id.0 - call.id.0 >= remembered {
                call.key = Key::Unkeyed;
            }
        }
    }

    /// The call has its answer, or is given up: it is no longer open.
    pub(crate) fn close(&mut self, id: CallId) -> Option<Call> {
        let index = self.open.iter().position(|call| call.id == id)?;
        Some(self.open.swap_remove(index))
    }

    /// What pushes under way will say is not sure any more.
    pub(crate) fn doubt_drafts(&mut self) {
        for call in self.open.iter_mut().chain(&mut self.unsure) {
            if let Ask::Speak { said, .. } = &mut call.ask
                && matches!(said, Said::Drafted(_))
            {
                *said = Said::Anything;
            }
        }
    }

    /// The call may take effect at any time, or never.
    pub(crate) fn leave_unsure(&mut self, call: Call) {
        if self.unsure.len() == UNSURE {
            self.unsure.remove(0);
            self.lost_count = true;
        }
        self.unsure.push(call);
    }

    /// The call has its answer.
    pub(crate) fn settle(&mut self, call: Call, outcome: Outcome, copies: u32) {
        self.said_more |= matches!(call.ask, Ask::Speak { .. }) && call.allowance(copies) > 1;
        if self.settled.len() == REMEMBERED
            && let Some(Settled { call, .. }) = self.settled.pop_front()
            && matches!(call.ask, Ask::Speak { .. })
            && call.used < call.allowance(copies)
        {
            if self.echoes.len() == UNSURE {
                self.echoes.remove(0);
                self.lost_count = true;
            }
            self.echoes.push(call);
        }
        self.settled.push_back(Settled { call, outcome });
    }

    /// Answered calls without a key, of which other attempts may yet come to light.
    pub(crate) fn repeated(&self, copies: u32) -> impl Iterator<Item = &Call> {
        let settled = self.settled.iter().map(|settled| &settled.call);
        settled
            .chain(&self.echoes)
            .filter(move |call| call.key == Key::Unkeyed && call.used < call.allowance(copies))
    }

    /// How many events the answer brought that arrives now.
    pub(crate) fn take_page(&mut self, now: Time) -> u32 {
        let (at, events) = std::mem::take(&mut self.page);
        if at == now { events } else { 0 }
    }

    /// All open calls are given up.
    pub(crate) fn give_up_all(&mut self) {
        for call in std::mem::take(&mut self.open) {
            self.leave_unsure(call);
        }
    }

    /// Takes the messages that no open call can explain any more.
    pub(crate) fn take_overdue(&mut self) -> Vec<Unexplained> {
        if self.unexplained.is_empty() {
            return Vec::new();
        }
        let oldest_open = self
            .open
            .iter()
            .filter(|call| matches!(call.ask, Ask::Speak { .. }))
            .map(|call| call.id)
            .min();
        let overdue = |u: &Unexplained| oldest_open.is_none_or(|oldest| oldest > u.before);
        let taken = self.unexplained.iter().copied().filter(overdue).collect();
        self.unexplained.retain(|u| !overdue(u));
        taken
    }

    /// Finds what explains a message, and counts it against that call.
    pub(crate) fn explain(&mut self, message: &Unexplained, copies: u32) -> Explanation {
        let fits = |call: &Call, exactly: bool| match call.ask {
            Ask::Speak { named, said, .. } => {
                call.by == Some(message.sender)
                    && call.id <= message.before
                    && named.is_none_or(|room| room == message.room)
                    && said.allows(message.text)
                    && (!exactly || (named.is_some() && said != Said::Anything))
            }
            Ask::EnterQueue | Ask::LeaveQueue | Ask::Withdraw(_) | Ask::Other => false,
        };
        for exactly in [true, false] {
            let call = self
                .unsure
                .iter_mut()
                .find(|call| fits(call, exactly) && call.used < call.allowance(copies));
            if let Some(call) = call {
                call.used += 1;
                return Explanation::Call;
            }
        }
        // Answered, but without a key: the other attempts may each have made one.
        for exactly in [true, false] {
            let settled = self.settled.iter_mut().map(|settled| &mut settled.call);
            let mut repeated = settled
                .chain(&mut self.echoes)
                .filter(|call| call.key == Key::Unkeyed && call.used < call.allowance(copies));
            if let Some(call) = repeated.find(|call| fits(call, exactly)) {
                call.used += 1;
                return Explanation::Call;
            }
        }
        if self.lost_count {
            return Explanation::Uncountable;
        }
        let spent = self.unsure.iter().find(|call| fits(call, false)).copied();
        if let Some(call) = spent {
            return Explanation::Again {
                call: call.id,
                repeated: call.attempts > 1 || copies > 1,
            };
        }
        let answered = self.settled.iter().rev().find(|s| fits(&s.call, false));
        match answered {
            None => Explanation::Nothing,
            Some(Settled { call, outcome }) => match outcome {
                Ok(_) => Explanation::Again {
                    call: call.id,
                    repeated: call.attempts > 1 || copies > 1,
                },
                Err(refusal) => Explanation::Refused(refusal.code),
            },
        }
    }

    /// The message is explained by its sender's own answer.
    pub(crate) fn explained(&mut self, room: Room, room_seq: u64) -> Option<Unexplained> {
        let index = self
            .unexplained
            .iter()
            .position(|u| u.room == room && u.room_seq == room_seq)?;
        Some(self.unexplained.swap_remove(index))
    }
}

/// The place of a virtual user's calls.
pub(crate) const fn index(agent: Agent) -> usize {
    agent.0 as usize
}
