//! The state machine. It routes each entry to the part that owns it, and fires timers.
//!
//! The contract: pass the journal's entries to it in order, each with its time, and drain the
//! effects after each one. The same entries give the same replies, effects and digest on every
//! machine.
//!
//! ```
//! use chat_core::{Address, Caller, Command, Config, Entry, Hub, SecretHash, Span, Time};
//!
//! let mut hub = Hub::new(Config::default(), 42);
//! let secret = |n| SecretHash([n; 16]);
//! let login = Entry::Call {
//!     caller: Caller::New { handle: secret(1), reader: secret(2), from: Address(1) },
//!     key: None,
//!     command: Command::Login { username: "Ann".into(), room: "lobby".into() },
//! };
//! let reply = hub.handle(Time(1_000), &login);
//! assert!(reply.is_ok());
//! while let Some(effect) = hub.poll_effect() {
//!     // InboxGrew(user_1): her own `user.joined`.
//!     let _ = effect;
//! }
//! // The next deadline: Ann's unused registration expires.
//! assert_eq!(hub.poll_timeout(), Some(Time(1_000) + Span::secs(60)));
//! ```

mod away;
mod breaks;
mod deadlines;
mod identity;
mod matching;
mod moderation;
mod outline;
mod overview;
mod presence;
mod reading;
mod rooms;
mod snapshot;
mod speech;
mod stick;
mod validate;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::{
    Caller, Command, Config, Entry, Event, Implied, Notice, Position, Reply, RequestKey, RoomId,
    SecretHash, Time, UserId,
};
use serde::{Deserialize, Serialize};

use self::away::Away;
use crate::counters::Counters;
use crate::digest::{Printed, fingerprint};
use crate::moderation::Moderation;
use crate::participant::Participant;
use crate::queue::Queue;
use crate::reject::{Outcome, Reject};
use crate::room::Room;
use crate::table::Table;
use crate::timer::Timers;

pub(crate) use identity::MAX_PUBLIC_ID;
pub(crate) use matching::MAX_INTEREST;
pub(crate) use moderation::MAX_REASON;
pub(crate) use presence::STREAM_RETRY;
pub(crate) use speech::MAX_TO;

pub use outline::{ParticipantOutline, RoomKind, RoomOutline};
pub use reading::Size;
pub use snapshot::RestoreError;

/// Why a lookup of a participant cannot fail.
const REGISTERED: &str = "rooms, queue and index name only the registered";
/// Why a lookup of a room cannot fail.
const EXISTS: &str = "participants and index name only rooms that exist";

/// The state of the whole server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hub {
    config: Config,
    seed: u64,
    now: Time,
    /// The position of the last entry handled.
    position: Position,
    last_user: UserId,
    last_room: RoomId,
    users: Table<UserId, Printed<Participant>>,
    rooms: Table<RoomId, Printed<Room>>,
    queue: Queue,
    moderation: Moderation,
    #[serde(skip)]
    index: Index,
    #[serde(skip)]
    timers: Timers,
    #[serde(skip)]
    effects: VecDeque<Effect>,
    #[serde(skip)]
    counters: Counters,
    /// The events since the last `take_posted`, if an archive keeps them.
    #[serde(skip)]
    posted: Option<Vec<Arc<Event>>>,
}

/// Finds participants and rooms by secrets and names. It is derived from the rest of the state.
#[derive(Clone, Debug, Default, PartialEq)]
struct Index {
    handles: Table<SecretHash, UserId>,
    readers: Table<SecretHash, UserId>,
    /// By the key of the display name in lower case.
    names: BTreeMap<Box<str>, UserId>,
    /// By the other keys of the display name, and by all keys of the chosen id.
    spellings: BTreeMap<Box<str>, UserId>,
    chosen_ids: BTreeMap<Box<str>, UserId>,
    /// By the key of the name.
    rooms: BTreeMap<Box<str>, RoomId>,
    away: Away,
    /// Each block: the blocked participant, then the one that blocked it.
    blocks: BTreeSet<(UserId, UserId)>,
}

/// What the shell should do after an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The participant's inbox has new events.
    InboxGrew(UserId),
    /// A notice for all members but `notice.user`. It is not stored in inboxes.
    Noticed {
        /// The room.
        room: RoomId,
        /// The notice.
        notice: Notice,
    },
    /// The registration ended: the participant's streams and waiting checks end.
    Forgotten(UserId),
}

impl Hub {
    /// A server without participants and rooms.
    ///
    /// # Panics
    /// If a limit of the configuration is out of range. `Config::check` returns that as an error.
    #[must_use]
    pub fn new(config: Config, seed: u64) -> Self {
        config
            .check()
            .expect("the configuration was checked before");
        Self {
            config,
            seed,
            ..Self::default()
        }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The time of the last entry.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The position of the last entry.
    #[must_use]
    pub const fn position(&self) -> Position {
        self.position
    }

    /// The counters since this value was made. They are no part of the state.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Lets the counters start anew: what was applied so far happened before.
    pub(crate) fn start_counters(&mut self) {
        self.counters = Counters::starting(self.now, self.claimants());
    }

    /// The number of claimants in all lines. It walks over all rooms.
    fn claimants(&self) -> u64 {
        let sticks = self.rooms.sorted().filter_map(|(_, room)| room.stick());
        sticks.map(|stick| stick.line.len() as u64).sum()
    }

    /// Continues the counters of another value of this state.
    pub(crate) fn copy_counters(&mut self, other: &Self) {
        self.counters.clone_from(&other.counters);
    }

    /// Handles the journal's next entry.
    ///
    /// First the envelope: the clock advances and never goes back, due timers fire in order, the
    /// caller becomes present, and a known request key returns its first outcome. Then the command
    /// is decided, and a waiter whose handle was used for the first time may find a partner.
    ///
    /// # Errors
    /// The refusal. It changes only the envelope's state and the remembered outcome.
    pub fn handle(&mut self, at: Time, entry: &Entry) -> Outcome {
        self.position = self.position.next();
        // After a downtime or a step of the clock, deadlines move before any fires.
        if !matches!(entry, Entry::Resumed { .. } | Entry::Stepped) {
            self.handle_timeout(at);
        }
        match entry {
            Entry::Call {
                caller,
                key,
                command,
            } => match (self.caller(caller)?, caller) {
                (Some(user), Caller::Handle(_)) => {
                    self.seen(user);
                    let outcome = self.call(user, *key, command);
                    self.used(user);
                    return outcome;
                }
                // A repeated registration is no use of the handle.
                (Some(user), Caller::New { .. }) => return self.call(user, *key, command),
                (None, _) => return self.register(caller, *key, command),
            },
            Entry::Implied { user, implied } => return self.imply(*user, implied),
            Entry::Operate { operator, act } => {
                let done = self.operate(operator, act);
                self.counters.operated += u64::from(done.is_ok());
                return done;
            }
            Entry::Tick => {}
            Entry::Started { config, seed, .. } => {
                self.config = Config::clone(config);
                self.seed = *seed;
            }
            Entry::Resumed {
                config, continuity, ..
            } => self.resume(at, config, *continuity),
            Entry::Stepped => self.step(at),
        }
        Ok(Reply::Done)
    }

    /// The instant of the next timer. After `handle_timeout(now)` it is later than `now`.
    pub fn poll_timeout(&mut self) -> Option<Time> {
        self.next_timer(Time::MAX).map(|(at, _)| at)
    }

    /// The next effect. The shell drains all effects after every entry.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// The calling participant; none if the call registers one.
    ///
    /// # Errors
    /// `unknown_handle`. `handle_required` if a registration is repeated whose handle was used
    /// meanwhile: the handle is then its owner's, and a request key alone does not prove ownership.
    pub(crate) fn caller(&self, caller: &Caller) -> Outcome<Option<UserId>> {
        match caller {
            Caller::Handle(handle) => {
                let found = self.user_by_handle(handle).map(Some);
                found.ok_or(Reject::UnknownHandle)
            }
            Caller::New { handle, .. } => match self.user_by_handle(handle) {
                Some(user) if !self.user(user).is_unused() => Err(Reject::HandleRequired),
                found => Ok(found),
            },
        }
    }

    /// Handles a registered participant's call, or its repeated registration.
    fn call(&mut self, user: UserId, key: Option<RequestKey>, command: &Command) -> Outcome {
        let Some(key) = key else {
            return self.decide(user, command);
        };
        let request = fingerprint(command);
        if let Some(outcome) = self.user(user).memory.recall(key, || request) {
            self.counters.recalled += 1;
            return outcome;
        }
        let outcome = self.decide(user, command);
        self.remember(user, key, request, &outcome);
        outcome
    }

    /// The first outcome of `user`'s request with this key, if it is remembered. Only a counter
    /// changes.
    pub(crate) fn recall(
        &mut self,
        user: UserId,
        key: RequestKey,
        command: &Command,
    ) -> Option<Outcome> {
        let memory = &self.users.get(&user)?.memory;
        let outcome = memory.recall(key, || fingerprint(command))?;
        self.counters.recalled += 1;
        Some(outcome)
    }

    fn remember(&mut self, user: UserId, key: RequestKey, request: u64, outcome: &Outcome) {
        let limit = self.config.remembered_keys as usize;
        // A participant that unregistered has no memory any more.
        if let Some(participant) = self.users.get_mut(&user) {
            let memory = &mut participant.memory;
            memory.remember(key, request, outcome.clone(), limit);
        }
    }

    /// Routes a participant's command to the part that owns it.
    fn decide(&mut self, user: UserId, command: &Command) -> Outcome {
        match command {
            Command::EnterQueue(enter) => self.enter_queue(user, enter),
            Command::LeaveQueue => Ok(self.leave_queue(user)),
            Command::Login { username, room } => self.login(user, username, room),
            Command::SendMessage {
                room,
                text,
                epoch,
                to,
            } => self.send(user, self.floor(user, *room, *epoch)?, text, to),
            Command::Speak { room, text, to } => {
                self.speak(user, self.resolve(user, *room)?, text, to)
            }
            Command::LeaveChat { room } => self.leave_chat(user, *room),
            Command::TalkingStick { room, epoch } => {
                self.claim_stick(user, self.resolve(user, *room)?, *epoch)
            }
            Command::Append { room, text, epoch } => {
                self.append(user, self.floor(user, *room, *epoch)?, text)
            }
            Command::Push { room, epoch, to } => {
                self.push(user, self.floor(user, *room, *epoch)?, to)
            }
            Command::Undo { room, epoch } => {
                Ok(self.undo(user, self.granted(user, *room, *epoch)?))
            }
            Command::Reset { room, epoch } => {
                Ok(self.reset(user, self.granted(user, *room, *epoch)?))
            }
            Command::Typing { room } => Ok(self.typing(user, self.resolve(user, *room)?)),
            Command::BlockUser { user: other } => self.block(user, *other),
            Command::UnblockUser { user: other } => self.unblock(user, *other),
            Command::ReportUser {
                user: other,
                reason,
            } => self.report(user, *other, reason),
            Command::TakeBreak { kind, excuse } => self.take_break(user, *kind, excuse.as_ref()),
            Command::Unregister => {
                self.forget(user);
                Ok(Reply::Done)
            }
        }
    }

    /// Applies a consequence of a participant's reads or streams.
    fn imply(&mut self, user: UserId, implied: &Implied) -> Outcome {
        let participant = self.users.get_mut(&user).ok_or(Reject::UnknownHandle)?;
        match implied {
            Implied::OpenStream => {
                self.seen(user);
                let opened = self.open_stream(user);
                self.used(user);
                return opened;
            }
            Implied::CloseStream => self.close_stream(user),
            Implied::Seen { waiting } => {
                self.seen(user);
                if let Some(waiting) = waiting {
                    self.notice_waiting(user, *waiting);
                }
                self.used(user);
            }
            Implied::Read {
                acknowledged,
                delivered,
            } => {
                participant.inbox.acknowledge(*acknowledged);
                participant.inbox.deliver(*delivered);
            }
        }
        Ok(Reply::Done)
    }

    /// The participant, which must be registered.
    fn user(&self, user: UserId) -> &Participant {
        self.users.get(&user).expect(REGISTERED)
    }

    fn user_mut(&mut self, user: UserId) -> &mut Participant {
        self.users.get_mut(&user).expect(REGISTERED)
    }

    /// The room, which must exist.
    fn room(&self, room: RoomId) -> &Room {
        self.rooms.get(&room).expect(EXISTS)
    }

    fn room_mut(&mut self, room: RoomId) -> &mut Room {
        self.rooms.get_mut(&room).expect(EXISTS)
    }

    fn who(&self, user: UserId) -> Arc<chat_types::Who> {
        Arc::clone(&self.user(user).who)
    }
}
