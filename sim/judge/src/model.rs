//! The reference model: a naive implementation of the specification, entry by entry. Comments such
//! as `// 6.5` name the specification's sections.

mod breaks;
mod deadline;
mod inbox;
mod line;
mod listing;
mod moderation;
mod names;
mod participant;
mod presence;
mod room;
mod speech;
mod stick;
mod table;
#[cfg(test)]
mod tests;

use sim_model::server::{Call, Reader};
use std::collections::{BTreeMap, VecDeque};
use std::hash::BuildHasher as _;
use std::sync::Arc;

use chat_types::{
    Caller, Command, Config, Entry, Implied, Measure, Report, RequestKey, SecretHash, Time,
};
use rustc_hash::{FxBuildHasher, FxHashMap};
use sim_model::protocol::{Code, Decided, Notice, Refusal, Reply, Room, User};

pub(crate) use chat_types::reject::refuse_if;
pub(crate) use chat_types::{Body, Event};
pub(crate) use deadline::{Deadline, GivenAgain, Numbered};
pub(crate) use inbox::{Inbox, PageLimits, is_ordered};
pub(crate) use presence::State;

use breaks::Draws;
use deadline::Deadlines;
use line::Line;
use moderation::StoredMeasures;
use participant::{Participant, Remembered};
use room::RoomState;
use table::Table;

/// The whole state of the specification. // 4.2
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) config: Config,
    pub(crate) now: Time,
    participants: Table<Participant>,
    handles: FxHashMap<SecretHash, User>,
    readers: FxHashMap<SecretHash, User>,
    /// The participants by the keys of their display names and chosen public ids. // 5.3, 5.4
    names: FxHashMap<String, User>,
    rooms: Table<RoomState>,
    /// The live named rooms by the folded forms of their names. // 5.3
    room_names: BTreeMap<String, Room>,
    line: Line,
    /// The seed of the draws, and the position of the latest entry. // 15
    seed: u64,
    pub(crate) position: u64,
    /// The number of registered participants of each address.
    by_address: FxHashMap<u64, u32>,
    measures: StoredMeasures,
    reports: VecDeque<Report>,
    deadlines: Deadlines,
    /// The most times that each participant was overtaken during one wait in the queue: a later
    /// candidate was chosen before it.
    pub(crate) overtaken: FxHashMap<User, u64>,
    /// The participants whose inboxes grew since they were last taken, some more than once.
    grown: Vec<User>,
    /// The notices sent and the participants forgotten since they were last taken, in their order.
    pub(crate) noticed: Vec<(Room, Notice)>,
    pub(crate) forgotten: Vec<User>,
    /// The events that the latest entry caused, in order.
    pub(crate) posted: Vec<Arc<Event>>,
    /// Whether a life was lost before. // 2.7
    has_lost_life: bool,
}

/// The expected result of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owed {
    /// The answer or the refusal.
    pub(crate) outcome: Decided,
    /// The calling participant; `None` for an unknown handle, a refused registration, and entries
    /// that are no calls.
    pub(crate) caller: Option<User>,
    /// Whether a remembered key gave the answer. // 3
    pub(crate) repeated: bool,
}

/// What a new entry gives.
const fn owe(caller: Option<User>, outcome: Decided) -> Owed {
    Owed {
        outcome,
        caller,
        repeated: false,
    }
}

/// A refusal that is not retryable.
fn refuse(code: Code) -> Refusal {
    Refusal::of(code)
}

/// A refusal because of this limit.
pub(crate) fn refuse_at(code: Code, limit: u32) -> Refusal {
    Refusal::with(code, limit.into())
}

/// Whether a call may go on, or why not.
pub(crate) type Checked = Result<(), Refusal>;

/// A participant, or one that registers; and its address.
type Asker = (Option<User>, u64);

/// A fingerprint of the command.
fn hash(command: &Command) -> u64 {
    FxBuildHasher.hash_one(command)
}

impl Model {
    /// The model of a server whose journal is empty.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            ..Self::default()
        }
    }

    /// The draws of the latest entry. // 15
    fn draws(&self) -> Draws {
        Draws::of(self.seed, self.position)
    }

    /// The participant of a handle.
    pub(crate) fn user_of(&self, handle: SecretHash) -> Option<User> {
        self.handles.get(&handle).copied()
    }

    /// The participant that calls, or whose inbox the caller reads.
    pub(crate) fn caller_of(&self, call: &Call) -> Option<User> {
        match call {
            Call::Command { caller, .. } => self.user_of(caller.handle()),
            Call::Read { reader, .. } | Call::OpenStream { reader, .. } => match reader {
                Reader::Handle(handle) => self.user_of(*handle),
                Reader::ReaderId(id) => self.readers.get(id).copied(),
            },
            Call::Operate { .. } => None,
        }
    }

    /// Replaces these by the participants whose inboxes grew since the last call, each once, in
    /// ascending number.
    pub(crate) fn take_grown(&mut self, grown: &mut Vec<User>) {
        grown.clear();
        std::mem::swap(&mut self.grown, grown);
        grown.sort_unstable();
        grown.dedup();
        // Participants forgotten meanwhile have no inbox.
        grown.retain(|user| self.is_registered(*user));
    }

    /// Applies the journal's entry at this position, and returns the expected result. // 2.2
    pub(crate) fn commit(&mut self, position: u64, at: Time, entry: &Entry) -> Owed {
        self.position = position;
        self.posted.clear();
        if !matches!(entry, Entry::Resumed { .. } | Entry::Stepped) {
            self.pass(at); // 2.2 (1)
        }
        match entry {
            Entry::Call {
                caller,
                key,
                command,
            } => return self.call(*caller, *key, command),
            Entry::Implied { user, implied } => return self.imply(*user, *implied),
            Entry::Operate { operator, act } => return owe(None, self.operate(operator, act)),
            Entry::Started { config, seed, .. } => {
                self.config = config.as_ref().clone();
                self.seed = *seed;
            }
            Entry::Resumed {
                config, continuity, ..
            } => self.resume(at, config, *continuity), // 2.6
            Entry::Stepped => self.step(at), // 2.8
            Entry::Tick => {}
        }
        owe(None, Ok(Reply::Done))
    }

    /// A consequence of a participant's reads or streams. For an unknown number it has no effect, and
    /// the opening of a stream is refused. // 2.2 (2)
    fn imply(&mut self, user: User, implied: Implied) -> Owed {
        if !self.is_registered(user) {
            let is_opening = implied == Implied::OpenStream;
            let refused = refuse_if(is_opening, refuse(Code::UnknownHandle));
            return owe(None, refused.map(|()| Reply::Done));
        }
        match implied {
            Implied::OpenStream => {
                let outcome = self.using(user, |model| {
                    model.seen(user);
                    model.open_stream(user)
                });
                return owe(Some(user), outcome);
            }
            Implied::CloseStream => self.close_stream(user),
            Implied::Seen { waiting } => self.using(user, |model| {
                model.seen(user);
                if let Some(waited) = waiting {
                    model.waiting(user, waited);
                }
            }),
            Implied::Read {
                acknowledged,
                delivered,
            } => {
                let inbox = &mut self.participant_mut(user).inbox;
                inbox.read(acknowledged.0, delivered.0);
            }
        }
        owe(None, Ok(Reply::Done))
    }

    /// A use of the handle: after it, the queue is examined if it was the first, and the presence
    /// deadline is set. // 2.2 (6)
    fn using<T>(&mut self, user: User, entry: impl FnOnce(&mut Self) -> T) -> T {
        let is_first = self.is_unused(user);
        let result = entry(self);
        if is_first {
            self.first_used(user);
        }
        self.renew(user);
        result
    }

    fn call(&mut self, caller: Caller, key: Option<RequestKey>, command: &Command) -> Owed {
        match (self.user_of(caller.handle()), caller) {
            (Some(user), Caller::Handle(_)) => {
                self.using(user, |model| model.decide_call(caller, key, command))
            }
            _ => self.decide_call(caller, key, command),
        }
    }

    fn decide_call(&mut self, caller: Caller, key: Option<RequestKey>, command: &Command) -> Owed {
        let (user, outcome) = match (self.user_of(caller.handle()), caller) {
            (None, caller) => match self.register(caller, command) {
                Ok(registered) => registered,
                Err(refusal) => return owe(None, Err(refusal)), // Not remembered. // 3
            },
            (Some(user), Caller::New { .. }) if !self.is_unused(user) => {
                return owe(None, Err(refuse(Code::HandleRequired))); // 2.2 (2)
            }
            (Some(user), caller) => {
                if matches!(caller, Caller::Handle(_)) {
                    self.seen(user); // 2.2 (3)
                }
                if let Some(owed) = key.and_then(|key| self.repeat(user, key, command)) {
                    return owed; // 2.2 (4)
                }
                (user, self.decide(user, command)) // 2.2 (5)
            }
        };
        // An unregistered participant remembers nothing. // 9.4
        if let Some(key) = key.filter(|_| self.is_registered(user)) {
            let remembered = Remembered {
                asked: hash(command),
                outcome: outcome.clone(),
            };
            self.remember(user, key, remembered);
        }
        owe(Some(user), outcome)
    }

    /// The expected result of a call with a remembered key; `None` for another key. // 3
    pub(crate) fn repeat(&self, user: User, key: RequestKey, command: &Command) -> Option<Owed> {
        let keys = &self.participants.get(user.0)?.keys;
        let remembered = keys.remembered.get(&key)?;
        if remembered.asked != hash(command) {
            return Some(owe(Some(user), Err(refuse(Code::RequestKeyReused))));
        }
        Some(Owed {
            outcome: remembered.outcome.clone(),
            caller: Some(user),
            repeated: true,
        })
    }

    /// Remembers the first outcome under a key, unless it is a retryable refusal, and removes the
    /// oldest keys beyond the limit. // 3
    fn remember(&mut self, user: User, key: RequestKey, remembered: Remembered) {
        if matches!(&remembered.outcome, Err(refusal) if refusal.is_retryable()) {
            return;
        }
        let limit = self.config.remembered_keys as usize;
        let keys = &mut self.participant_mut(user).keys;
        while keys.by_age.len() >= limit
            && let Some(oldest) = keys.by_age.pop_front()
        {
            keys.remembered.remove(&oldest);
        }
        keys.by_age.push_back(key);
        keys.remembered.insert(key, remembered);
    }

    /// Decides a command of a known caller.
    fn decide(&mut self, user: User, command: &Command) -> Decided {
        match command {
            Command::EnterQueue(entry) => self.enter_queue(user, entry),
            Command::LeaveQueue => self.leave_queue(user),
            Command::Login { username, room } => self.login(user, username, room),
            Command::SendMessage {
                room,
                text,
                epoch,
                to,
            } => self.send(self.turn(user, *room, *epoch)?, text, to),
            Command::Speak { room, text, to } => {
                self.speak(self.turn(user, *room, None)?, text, to)
            }
            Command::LeaveChat { room } => self.leave_chat(user, *room),
            Command::TalkingStick { room, epoch } => {
                self.talking_stick(self.turn(user, *room, *epoch)?)
            }
            Command::Append { room, text, epoch } => {
                self.append(self.turn(user, *room, *epoch)?, text)
            }
            Command::Undo { room, epoch } => self.undo(self.turn(user, *room, *epoch)?),
            Command::Reset { room, epoch } => self.reset(self.turn(user, *room, *epoch)?),
            Command::Push { room, epoch, to } => self.push(self.turn(user, *room, *epoch)?, to),
            Command::Typing { room } => self.typing(user, *room),
            Command::BlockUser { user: other } => self.block(user, *other),
            Command::UnblockUser { user: other } => self.unblock(user, *other),
            Command::ReportUser {
                user: other,
                reason,
            } => self.report(user, *other, reason),
            Command::TakeBreak { kind, excuse } => self.take_break(user, *kind, excuse.as_ref()),
            Command::Unregister => {
                self.forget(user); // 5.5
                Ok(Reply::Done)
            }
        }
    }

    /// `login` of a known caller. // 5.6
    fn login(&mut self, user: User, name: &Arc<str>, room: &Arc<str>) -> Decided {
        let asker = (Some(user), self.participant(user).address);
        let naming = self.check_name(asker, name)?;
        self.check_join(asker, room)?;
        let is_name_muted = naming
            .as_ref()
            .is_some_and(|(keys, _)| self.measures.of_name(keys) == Some(Measure::Mute));
        if self.is_muted(user) || is_name_muted {
            self.check_exists(room)?; // 8.1 (6)
        }
        self.name(user, name, naming);
        let room = self.join(user, room);
        Ok(Reply::LoggedIn { user, room })
    }
}
