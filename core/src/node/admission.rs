//! Admission: refusals that cost the journal nothing. So are texts refused whose size alone exceeds
//! their limit.

use chat_types::{
    Address, Addressees, Call, Caller, Command, Config, EnterQueue, Entry, Implied, Read, Reader,
    RequestKey, Seq, Ticket, Time, UserId,
};

use super::{Failing, MAX_PAUSE, Node, OVERLOAD_RETRY, Origin};
use crate::hub::{MAX_INTEREST, MAX_PUBLIC_ID, MAX_REASON, MAX_TO};
use crate::name::MAX_NAME;
use crate::reject::{Accepted, Argument, LineFault, NameFault, Outcome, Reject, refuse_if};

/// The largest number of bytes of one character.
const BYTES: usize = 4;

impl Node {
    /// Accepts a call from the shell. Its answer follows as an output, now or later.
    pub fn submit(&mut self, now: Time, ticket: Ticket, from: Address, call: Call) {
        if let Err(reject) = self.admit(now, ticket, from, call) {
            self.reply(ticket, Err(reject));
        }
    }

    fn admit(&mut self, now: Time, ticket: Ticket, from: Address, call: Call) -> Outcome<()> {
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
                    (Reader::ReaderId(_), _) => Err(Reject::UnknownHandle),
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

    fn check_address(&self, from: Address) -> Outcome<()> {
        refuse_if(self.hub.is_banned(from), Reject::Blocked)
    }

    fn check_phase(&self) -> Outcome<()> {
        refuse_if(self.is_stopping, Reject::shutting_down())
    }

    /// The reader's participant, if the read is admitted.
    fn reader(&mut self, now: Time, from: Address, reader: Reader) -> Outcome<UserId> {
        self.check_phase()?;
        self.check_address(from)?;
        let unknown = Reject::UnknownHandle;
        match reader {
            Reader::Handle(handle) => {
                let user = self.hub.user_by_handle(&handle).ok_or(unknown)?;
                self.gate.admit(now, from, Some(user)).map(|()| user)
            }
            Reader::ReaderId(id) => {
                let user = self.hub.user_by_reader(&id).ok_or(unknown)?;
                self.gate.admit_reader(now, from, user)?;
                // It comes with the handle.
                if self.hub.is_unused(user) {
                    self.acknowledgements.see(now, user);
                }
                Ok(user)
            }
        }
    }

    /// Answers a command from memory, proposes it, joins it to an earlier attempt, or refuses it.
    fn command(
        &mut self,
        now: Time,
        (ticket, from): (Ticket, Address),
        (caller, key, command): (Caller, Option<RequestKey>, Command),
    ) -> Outcome<()> {
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
        }
        self.push(Origin::Call(ticket), entry);
        Ok(())
    }

    fn check_command(
        &mut self,
        now: Time,
        from: Address,
        user: Option<UserId>,
        command: &Command,
    ) -> Outcome<()> {
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
    pub fn check_storage(&self, now: Time) -> Outcome<()> {
        if let Some(Failing { retry_at, .. }) = self.failing
            && now < retry_at
        {
            return Err(Reject::storage_unavailable(retry_at.since(now)));
        }
        refuse_if(self.is_fate_unknown, Reject::storage_unavailable(MAX_PAUSE))
    }

    /// Checks that one more entry may wait for the journal.
    fn check_journal(&self, now: Time) -> Outcome<()> {
        self.check_storage(now)?;
        let is_full = self.proposed.len() >= self.hub.config().max_pending as usize;
        refuse_if(is_full, Reject::overloaded(OVERLOAD_RETRY))
    }

    fn propose(&mut self, now: Time, origin: Origin, entry: Entry) -> Outcome<()> {
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
    ) -> Outcome<()> {
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

    /// Checks the size of each text in bytes against the longest that the Hub could accept. The Hub
    /// counts the characters later.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "most commands have no text of their caller's"
    )]
    pub(super) fn check_sizes(&self, command: &Command) -> Outcome<()> {
        let config = self.hub.config();
        match command {
            Command::Push { to, .. } => check_to(to),
            Command::SendMessage { text, to, .. } | Command::Speak { text, to, .. } => {
                check_to(to)?;
                let limit = config.max_message;
                check(text, limit as usize, || Reject::MessageTooLong { limit })
            }
            Command::Append { text, .. } => {
                let limit = config.max_draft;
                check(text, limit as usize, || Reject::DraftFull { limit })
            }
            Command::Login { username, room } => {
                check_name(username)?;
                let accepted = Accepted::Line(64, LineFault::Long);
                check(room, MAX_NAME, || Reject::invalid(Argument::Room, accepted))
            }
            Command::EnterQueue(enter) => check_enter(enter, config),
            Command::ReportUser { reason, .. } => {
                let accepted = Accepted::Line(MAX_REASON, LineFault::Long);
                check(reason, MAX_REASON as usize, || {
                    Reject::invalid(Argument::Reason, accepted)
                })
            }
            Command::TakeBreak {
                excuse: Some(excuse),
                ..
            } => {
                let limit = config.max_excuse;
                check(excuse, limit as usize, || {
                    Reject::invalid(Argument::Excuse, Accepted::Characters(limit))
                })
            }
            _ => Ok(()),
        }
    }
}

fn check_enter(enter: &EnterQueue, config: &Config) -> Outcome<()> {
    if let Some(name) = &enter.display_name {
        check_name(name)?;
    }
    let too_many = || Reject::invalid(Argument::Interests, Accepted::List(config.max_interests));
    if enter.interests.len() > config.max_interests as usize {
        return Err(too_many());
    }
    for interest in &*enter.interests {
        check(interest, MAX_INTEREST, too_many)?;
    }
    let id = enter.user_id.as_deref().unwrap_or_default();
    check(id, MAX_PUBLIC_ID, || {
        Reject::invalid(Argument::UserId, Accepted::PublicId)
    })
}

fn check_to(to: &Addressees) -> Outcome<()> {
    let accepted = Accepted::AtMost(MAX_TO);
    refuse_if(
        to.len() > MAX_TO as usize,
        Reject::invalid(Argument::To, accepted),
    )
}

fn check_name(name: &str) -> Outcome<()> {
    check(name, MAX_NAME, || Reject::NameNotAllowed {
        why: NameFault::Length,
    })
}

fn check(text: &str, characters: usize, refuse: impl FnOnce() -> Reject) -> Outcome<()> {
    if text.len() > characters.saturating_mul(BYTES) {
        return Err(refuse());
    }
    Ok(())
}
