//! Admission: refusals that cost the journal nothing.

use chat_types::{
    Address, Call, Caller, Command, Entry, Implied, Read, Reader, RequestKey, Seq, Ticket, Time,
    UserId,
};

use super::{Failing, MAX_PAUSE, Node, OVERLOAD_RETRY, Origin};
use crate::reject::Reject;

impl Node {
    /// Accepts a call from the shell. Its answer follows as an output, now or later.
    pub fn submit(&mut self, now: Time, ticket: Ticket, from: Address, call: Call) {
        if let Err(reject) = self.admit(now, ticket, from, call) {
            self.reply(ticket, Err(reject));
        }
    }

    fn admit(
        &mut self,
        now: Time,
        ticket: Ticket,
        from: Address,
        call: Call,
    ) -> Result<(), Reject> {
        match call {
            // Operators' calls are few, and must pass while others are refused. So only the phase
            // is checked.
            Call::Operate { operator, act } => {
                self.check_phase()?;
                let entry = Entry::Operate { operator, act };
                self.propose(now, Origin::Call(ticket), entry)
            }
            Call::Command {
                caller,
                key,
                command,
            } => {
                self.check_address(from)?;
                self.command(now, (ticket, from), (caller, key, command))
            }
            Call::Read { reader, read } => {
                let user = self.reader(now, from, reader)?;
                match (reader, read) {
                    (Reader::Handle(_), read) => self.read(now, ticket, user, read),
                    (Reader::ReaderId(_), Read::Check { after, max, .. }) => {
                        self.peek(now, ticket, user, (after, max))
                    }
                    // A reader id gives access to the inbox alone.
                    (
                        Reader::ReaderId(_),
                        Read::Members { .. } | Read::History { .. } | Read::Mood,
                    ) => Err(Reject::UnknownHandle),
                }
            }
            Call::OpenStream { reader, after } => {
                let user = self.reader(now, from, reader)?;
                match reader {
                    Reader::Handle(_) => self.propose_stream(now, ticket, user, after),
                    Reader::ReaderId(_) => self.open_peeking(ticket, user, after),
                }
            }
        }
    }

    fn check_address(&self, from: Address) -> Result<(), Reject> {
        if self.hub.is_banned(from) {
            return Err(Reject::Blocked);
        }
        Ok(())
    }

    fn check_phase(&self) -> Result<(), Reject> {
        if self.is_stopping {
            return Err(Reject::shutting_down());
        }
        Ok(())
    }

    /// The reader's participant, if the read is admitted.
    fn reader(&mut self, now: Time, from: Address, reader: Reader) -> Result<UserId, Reject> {
        self.check_phase()?;
        self.check_address(from)?;
        let user = match reader {
            Reader::Handle(handle) => self.hub.user_by_handle(&handle),
            Reader::ReaderId(id) => self.hub.user_by_reader(&id),
        };
        let user = user.ok_or(Reject::UnknownHandle)?;
        match reader {
            Reader::Handle(_) => self.gate.admit(now, from, Some(user))?,
            Reader::ReaderId(_) => self.gate.admit_reader(now, from, user)?,
        }
        Ok(user)
    }

    /// Answers a command from memory, proposes it, joins it to an earlier attempt, or refuses it.
    fn command(
        &mut self,
        now: Time,
        (ticket, from): (Ticket, Address),
        (caller, key, command): (Caller, Option<RequestKey>, Command),
    ) -> Result<(), Reject> {
        let user = self.hub.caller(&caller)?;
        if let (Some(user), Some(key)) = (user, key)
            && let Some(outcome) = self.hub.recall(user, key, &command)
        {
            if matches!(caller, Caller::Handle(_)) && self.hub.wants_seen(user, now) {
                self.acknowledgements.see(now, user);
            }
            return self.answer_again(now, (ticket, user), outcome);
        }
        let takes_break = matches!(command, Command::TakeBreak { .. });
        let admitted = self.check_command(now, from, user, &command);
        let entry = Entry::Call {
            caller,
            key,
            command,
        };
        if let Err(reject) = admitted {
            return self.join((ticket, user), &entry, reject);
        }
        if takes_break {
            self.delayed.expect(ticket, user);
            self.push(Origin::Break(ticket), entry);
        } else {
            self.push(Origin::Call(ticket), entry);
        }
        Ok(())
    }

    fn check_command(
        &mut self,
        now: Time,
        from: Address,
        user: Option<UserId>,
        command: &Command,
    ) -> Result<(), Reject> {
        self.check_phase()?;
        self.gate.admit(now, from, user)?;
        self.check_sizes(command)?;
        // The answer to a break may have to be delayed.
        if matches!(command, Command::TakeBreak { .. }) {
            self.check_delayed_space(user)?;
        }
        self.check_journal(now)
    }

    /// Checks that the journal can be written, as far as is known.
    ///
    /// # Errors
    /// The last append failed and its pause is not over, or the outcome of the append in flight is
    /// unknown.
    pub fn check_storage(&self, now: Time) -> Result<(), Reject> {
        if let Some(Failing { retry_at, .. }) = self.failing
            && now < retry_at
        {
            return Err(Reject::storage_unavailable(retry_at.since(now)));
        }
        if self.is_fate_unknown {
            return Err(Reject::storage_unavailable(MAX_PAUSE));
        }
        Ok(())
    }

    /// Checks that one more entry may wait for the journal.
    fn check_journal(&self, now: Time) -> Result<(), Reject> {
        self.check_storage(now)?;
        if self.proposed.len() >= self.hub.config().max_pending as usize {
            return Err(Reject::overloaded(OVERLOAD_RETRY));
        }
        Ok(())
    }

    fn propose(&mut self, now: Time, origin: Origin, entry: Entry) -> Result<(), Reject> {
        self.check_journal(now)?;
        self.push(origin, entry);
        Ok(())
    }

    fn push(&mut self, origin: Origin, entry: Entry) {
        self.retries.propose(origin, &entry);
        self.proposed.push_back((origin, entry));
    }

    fn propose_stream(
        &mut self,
        now: Time,
        ticket: Ticket,
        user: UserId,
        after: Option<Seq>,
    ) -> Result<(), Reject> {
        let (after, ..) = self.cursor(user, after)?;
        // By its id: when the entry commits, the handle may belong to another participant.
        let implied = Implied::OpenStream;
        let entry = Entry::Implied { user, implied };
        self.propose(
            now,
            Origin::Open {
                ticket,
                user,
                after,
            },
            entry,
        )?;
        if let Some(after) = after {
            self.acknowledgements.acknowledge(now, user, after);
        }
        self.streams.opening(ticket);
        Ok(())
    }
}
