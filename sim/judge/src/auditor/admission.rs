//! What the server refuses before the journal (docs/protocol.md, 13).

use std::sync::Arc;

use chat_types::config::RateLimit;
use chat_types::{Config, Seq, Span, Time};
use rustc_hash::FxHashMap;
use sim_model::protocol::{Code, Command, Earlier, EnterQueue, Read, Refusal, Response, User};
use sim_model::server::{BatchEntry, Call, Caller, Reader, Ticket};

use super::Auditor;
use super::in_flight::{Pending, Stage, Staged, command_of, held_until, is_break, name_of};
use crate::comparison::Comparison;
use crate::model::{Checked, Owed, refuse_at, refuse_if};

/// The `retry_after` of a call that a limit refused.
const OVERLOADED: Span = Span::millis(250);

/// The `retry_after` of a stream or a break beyond the participant's share.
const SHARE_RETRY: Span = Span::secs(1);

/// The buckets of the rate limits, each with the time at which it is full.
#[derive(Clone, Debug, Default)]
pub(super) struct Admission {
    limits: Config,
    buckets: FxHashMap<Bucket, Time>,
}

/// Whose calls a bucket limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Bucket {
    /// All calls of an address.
    Address(u64),
    /// The calls of an address that register.
    Registrations(u64),
    User(User),
    /// The readers with the participant's reader id.
    Reader(User),
}

impl Admission {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            limits: config.clone(),
            ..Self::default()
        }
    }

    pub(super) fn forget(&mut self, user: User) {
        self.buckets.remove(&Bucket::User(user));
        self.buckets.remove(&Bucket::Reader(user));
    }

    /// Charges the bucket of the address, and then the caller's. // 13.1 (5)
    fn charge(&mut self, at: Time, from: u64, caller: Bucket) -> Checked {
        self.charge_one(at, Bucket::Address(from))?;
        self.charge_one(at, caller)
    }

    /// Takes one call out of a bucket. // 13.2
    fn charge_one(&mut self, at: Time, bucket: Bucket) -> Checked {
        let limit = match bucket {
            Bucket::Address(_) => self.limits.address_rate_limit,
            Bucket::Registrations(_) => self.limits.registration_rate_limit,
            Bucket::User(_) | Bucket::Reader(_) => self.limits.rate_limit,
        };
        let RateLimit::At(limit) = limit else {
            return Ok(());
        };
        let full = self.buckets.entry(bucket).or_default();
        let interval = (1_000_000 / u64::from(limit.per_second.max(1))).max(1);
        let next = (*full).max(at).0 + interval;
        let excess = (next - at.0).checked_sub(interval * u64::from(limit.burst));
        if let Some(excess) = excess.filter(|excess| *excess > 0) {
            return Err(retryable(Code::RateLimited, Span(excess)));
        }
        *full = Time(next);
        Ok(())
    }
}

const fn retryable(code: Code, retry_after: Span) -> Refusal {
    Refusal {
        retry_after: Some(retry_after),
        ..Refusal::of(code)
    }
}

impl Auditor {
    /// Decides the first stage of a call that arrives at the server.
    pub(super) fn admit(
        &mut self,
        (ticket, from): (Ticket, u64),
        ask: &Call,
        user: Option<User>,
    ) -> Stage {
        self.tally.add(Comparison::Admitted);
        let admitted = match ask {
            Call::Operate { .. } => self.takes_new().and_then(|()| self.journal_takes()),
            Call::OpenStream { reader, after } => self
                .admit_reader(from, *reader, user)
                .and_then(|user| self.admit_stream(user, (*reader, *after))),
            Call::Read { reader, read } => self
                .admit_reader(from, *reader, user)
                .and_then(|user| self.admit_read(ticket, user, (*reader, *read))),
            Call::Command {
                caller, command, ..
            } => match (user, caller) {
                _ if self.is_welcome(from).is_err() => Err(Refusal::of(Code::Blocked)),
                (None, Caller::Handle(_)) => Err(Refusal::of(Code::UnknownHandle)),
                (Some(user), Caller::New { .. }) if !self.model.is_unused(user) => {
                    Err(Refusal::of(Code::HandleRequired)) // 2.2 (2)
                }
                _ => self.admit_command(from, (ask, command), user),
            },
        };
        let stage = admitted.unwrap_or_else(|refusal| Stage::Owed(Err(refusal), self.at));
        if matches!(stage, Stage::Proposed) {
            let call = BatchEntry::Call(ticket);
            self.pipeline.proposed.push_back((self.at, call));
        }
        stage
    }

    /// A command of a registered or a new caller. // 13.1 (3) and on
    fn admit_command(
        &mut self,
        from: u64,
        (ask, command): (&Call, &Command),
        user: Option<User>,
    ) -> Staged {
        if let Some(staged) = user.and_then(|user| self.remembered(ask, user)) {
            return staged;
        }
        let caller = user.map_or(Bucket::Registrations(from), Bucket::User);
        let is_charged = self
            .takes_new()
            .and_then(|()| self.admission.charge(self.at, from, caller));
        if is_charged.is_ok()
            && let Some(refusal) = too_long(command, &self.model.config)
        {
            return Err(refusal);
        }
        let admitted = is_charged.and_then(|()| {
            if is_break(ask) {
                self.holds_one_more(user)?;
            }
            self.journal_takes()
        });
        admitted.or_else(|refusal| self.join(user, ask, refusal))
    }

    /// The expected result of a call with a remembered key.
    pub(super) fn repeated(&self, user: User, ask: &Call) -> Option<Owed> {
        let (_, key, command) = command_of(ask)?;
        self.model.repeat(user, key?, command)
    }

    /// Answers a repeated call from memory, before any other refusal.
    fn remembered(&mut self, ask: &Call, user: User) -> Option<Staged> {
        let owed = self.repeated(user, ask)?;
        if let Some((Caller::Handle(_), ..)) = command_of(ask) {
            self.record_sign_of_life(user);
        }
        self.tally.add(Comparison::Repeat);
        let outcome = owed.outcome.map(Response::Done);
        let until = held_until(&outcome);
        if until <= self.at {
            return Some(Ok(Stage::Owed(outcome, self.at)));
        }
        let earlier = Earlier::Unknown;
        let held = self.holds_one_more(Some(user));
        let held = held.map_err(|refusal| Refusal { earlier, ..refusal });
        Some(held.map(|()| Stage::Held(outcome, until)))
    }

    /// A call that would be refused joins an earlier attempt that waits for the journal. Otherwise
    /// the refusal tells what is known of earlier attempts.
    fn join(&self, user: Option<User>, ask: &Call, refusal: Refusal) -> Staged {
        if name_of(ask).is_none() {
            return Err(refusal);
        }
        let earlier = match self.earlier_in_journal(ask) {
            None => Earlier::None,
            Some((first, call)) => {
                let [before, now] = [&*call.ask, ask].map(command_of);
                let is_same =
                    before.map(|(.., command)| command) == now.map(|(.., command)| command);
                let has_room = self.in_flight.joined < self.model.config.max_pending as usize
                    && (!is_break(ask) || self.holds_one_more(user).is_ok());
                if is_same && has_room {
                    return Ok(Stage::Joined(first));
                }
                Earlier::Unknown
            }
        };
        Err(Refusal { earlier, ..refusal })
    }

    /// The latest attempt of the call that waits for the journal.
    pub(super) fn earlier_in_journal(&self, ask: &Call) -> Option<(Ticket, &Pending)> {
        let name = name_of(ask)?;
        self.pipeline.calls().find_map(|ticket| {
            let call = self.in_flight.call(ticket)?;
            (name_of(&call.ask) == Some(name)).then_some((ticket, call))
        })
    }

    /// The participant that reads from this address. // 13.1 (1) to (5)
    fn admit_reader(
        &mut self,
        from: u64,
        reader: Reader,
        user: Option<User>,
    ) -> Result<User, Refusal> {
        self.takes_new()?;
        self.is_welcome(from)?;
        let user = user.ok_or(Refusal::of(Code::UnknownHandle))?;
        let bucket = match reader {
            Reader::Handle(_) => Bucket::User(user),
            Reader::ReaderId(_) => Bucket::Reader(user),
        };
        self.admission.charge(self.at, from, bucket)?;
        if bucket == Bucket::Reader(user) && self.model.is_unused(user) {
            self.record_sign_of_life(user); // 12.7
        }
        Ok(user)
    }

    fn admit_stream(&mut self, user: User, (reader, after): (Reader, Option<Seq>)) -> Staged {
        let after = self.cursor(user, after)?;
        if let Reader::ReaderId(_) = reader {
            // It opens at once, or is refused. // 12.7
            let most = self.model.config.max_streams as usize;
            let refusal = retryable(Code::RateLimited, SHARE_RETRY);
            refuse_if(self.in_flight.peeking(user) >= most, refusal)?;
            return Ok(Stage::Owed(Ok(Response::Streaming), self.at));
        }
        let stage = self.journal_takes()?;
        if let Some(after) = after {
            self.pipeline.reads.acknowledge(self.at, user, after);
        }
        Ok(stage)
    }

    fn admit_read(&mut self, ticket: Ticket, user: User, (reader, read): (Reader, Read)) -> Staged {
        match (reader, read) {
            // 12.7: the answer is due at once.
            (Reader::ReaderId(_), Read::Check { after, .. }) => {
                let after = self.cursor(user, after)?;
                let (start, due_at) = (self.start(user, after), self.at);
                return Ok(Stage::Reading { start, due_at });
            }
            // 12.7: a reader id gives access to the inbox alone.
            (Reader::ReaderId(_), _) => return Err(Refusal::of(Code::UnknownHandle)),
            (Reader::Handle(_), _) => self.record_sign_of_life(user),
        }
        if let Read::Check { after, wait, .. } = read {
            return self.check_asked(ticket, user, (after, wait));
        }
        let answer = self.model.answer(user, self.at, read);
        Ok(Stage::Owed(answer.map(Response::Read), self.at))
    }

    /// Whether the journal takes one more call. // 13.1 (8) and (9)
    fn journal_takes(&self) -> Staged {
        if let Some(retry_after) = self.pipeline.closed_for(self.at) {
            return Err(retryable(Code::StorageUnavailable, retry_after));
        }
        let most = self.model.config.max_pending as usize;
        let refusal = retryable(Code::Overloaded, OVERLOADED);
        refuse_if(self.pipeline.proposed.len() >= most, refusal).map(|()| Stage::Proposed)
    }

    /// Whether calls from the address are accepted. // 13.1 (1)
    fn is_welcome(&self, from: u64) -> Checked {
        refuse_if(self.model.is_banned(from), Refusal::of(Code::Blocked))
    }

    /// Whether the server accepts new calls. // 13.1 (4)
    fn takes_new(&self) -> Checked {
        refuse_if(self.pipeline.is_stopping, Refusal::of(Code::ShuttingDown))
    }

    /// Whether one more answer to a break can be delayed. // 13.1 (7)
    fn holds_one_more(&self, user: Option<User>) -> Checked {
        let is_its = |call: &&Pending| user.is_some() && call.user == user;
        let (config, held) = (&self.model.config, self.in_flight.held().count());
        let share = self.in_flight.held().filter(is_its).count();
        let beyond_share = retryable(Code::RateLimited, SHARE_RETRY);
        refuse_if(share >= config.max_held_each as usize, beyond_share)?;
        let overloaded = retryable(Code::Overloaded, OVERLOADED);
        refuse_if(held >= config.max_held as usize, overloaded)
    }

    /// The append of a batch failed: sets the answers that its calls are owed.
    pub(super) fn append_failed(&mut self) {
        let (calls, pause) = self.pipeline.failed(self.at);
        for ticket in calls {
            let Some(call) = self.in_flight.call(ticket) else {
                continue;
            };
            let ask = Arc::clone(&call.ask);
            // The participant of the handle may be another one by now.
            let holder = name_of(&ask).and_then(|(handle, _)| self.model.user_of(handle));
            let user = holder.or(call.user);
            let refusal = retryable(Code::StorageUnavailable, pause);
            let repeated = user.and_then(|user| self.repeated(user, &ask));
            let earlier = match name_of(&ask) {
                None => Earlier::Unasked,
                Some(_) if self.earlier_in_journal(&ask).is_some() => Earlier::Unknown,
                Some(_) => Earlier::None,
            };
            let refused = Err(Refusal { earlier, ..refusal });
            let outcome = repeated.map_or(refused, |owed| owed.outcome.map(Response::Done));
            self.in_flight.decided(ticket, user, outcome, self.at);
        }
    }
}

/// The refusal of a call with a text that exceeds the largest possible limit. // 13.1 (6)
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "most calls have no text of their caller's"
)]
fn too_long(command: &Command, config: &Config) -> Option<Refusal> {
    let long = |text: &str, characters: u32| text.len() as u64 > 4 * u64::from(characters);
    let is_long = |text: &Option<Arc<str>>, most| text.as_ref().is_some_and(|it| long(it, most));
    let [name, invalid] = [Code::NameNotAllowed, Code::InvalidArguments].map(Refusal::of);
    let (found, refusal) = match command {
        Command::SendMessage { to, .. } | Command::Speak { to, .. } | Command::Push { to, .. }
            if to.len() > 16 =>
        {
            (true, invalid)
        }
        Command::SendMessage { text, .. } | Command::Speak { text, .. } => (
            long(text, config.max_message),
            refuse_at(Code::MessageTooLong, config.max_message),
        ),
        Command::Append { text, .. } => (
            long(text, config.max_draft),
            refuse_at(Code::DraftFull, config.max_draft),
        ),
        Command::Login { username, .. } if long(username, 64) => (true, name),
        Command::Login { room, .. } => (long(room, 64), invalid),
        Command::EnterQueue(EnterQueue { display_name, .. }) if is_long(display_name, 64) => {
            (true, name)
        }
        Command::EnterQueue(EnterQueue {
            user_id, interests, ..
        }) => {
            let many = interests.len() > config.max_interests as usize;
            let one_is_long = interests.iter().any(|interest| long(interest, 64));
            (many || one_is_long || is_long(user_id, 64), invalid)
        }
        Command::ReportUser { reason, .. } => (long(reason, 500), invalid),
        Command::TakeBreak { excuse, .. } => (is_long(excuse, config.max_excuse), invalid),
        _ => return None,
    };
    found.then_some(refusal)
}
