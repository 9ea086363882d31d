//! A participant: its identity, presence, inbox, and the outcomes of its requests.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::{Address, Reply, RequestKey, RoomId, SecretHash, Span, Time, UserId, Who};
use serde::{Deserialize, Serialize};

use crate::breaks::Breaks;
use crate::inbox::Inbox;
use crate::moderation::Known;
use crate::name::Keys;
use crate::reject::{Outcome, Reject};

/// A registered participant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Participant {
    pub(crate) who: Arc<Who>,
    /// Whether the participant chose its display name, which is then final. Else the server assigned
    /// it, and it may still be chosen.
    pub(crate) is_named: bool,
    pub(crate) handle: SecretHash,
    pub(crate) reader: SecretHash,
    /// The address that it was registered from.
    pub(crate) address: Address,
    pub(crate) presence: Presence,
    pub(crate) streams: u32,
    /// The live rooms that it is in, in the order of joining.
    pub(crate) rooms: Vec<RoomId>,
    /// The live pair room among them.
    pub(crate) pair: Option<RoomId>,
    /// Ended pair rooms that it may still name, the latest last.
    pub(crate) ended: VecDeque<RoomId>,
    pub(crate) last_partner: Option<UserId>,
    /// The participants that it blocked, in order.
    pub(crate) blocks: Vec<UserId>,
    /// Whether an operator muted it.
    pub(crate) is_muted: bool,
    pub(crate) inbox: Inbox,
    pub(crate) memory: Memory,
    pub(crate) breaks: Breaks,
}

/// Presence of a participant. See "present" in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Presence {
    pub(crate) state: State,
    /// When the state ends. One that was present or in its grace goes away then, unless a stream is
    /// open; the registration ends of one that was unused or away.
    pub(crate) until: Time,
}

/// The states of a participant's presence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum State {
    /// Registered, and the handle was never used.
    Unused,
    /// A stream is open, or a call came recently.
    Present,
    /// The last stream closed, and no call came since.
    Grace,
    /// Away.
    Away,
}

impl State {
    /// This state, which ends then.
    pub(crate) const fn until(self, until: Time) -> Presence {
        Presence { state: self, until }
    }
}

/// A participant that nobody speaks for, or ever may. It gives way where space runs out: first the
/// one whose registration ends first of those away, then of those never used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ghost {
    /// It is away, and its registration ends then.
    Away(Time),
    /// Its handle was never used, and its registration ends then.
    Unused(Time),
}

impl Presence {
    pub(crate) const fn ghost(self) -> Option<Ghost> {
        match self.state {
            State::Away => Some(Ghost::Away(self.until)),
            State::Unused => Some(Ghost::Unused(self.until)),
            State::Present | State::Grace => None,
        }
    }
}

impl Participant {
    /// The next presence deadline, at which it goes away or its registration ends.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let Presence { state, until } = self.presence;
        let stays = state == State::Present && self.streams > 0;
        (!stays).then_some(until)
    }

    /// The properties by which operators' measures recognise it.
    pub(crate) fn known(&self) -> Known {
        Known {
            handle: self.handle,
            who: Arc::clone(&self.who),
            name: Keys::of(&self.who.name),
            is_chosen: self.is_named,
            id: self.who.chosen_id.as_deref().map(Keys::of),
        }
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.presence.state == State::Unused
    }

    pub(crate) fn has_blocked(&self, other: UserId) -> bool {
        self.blocks.binary_search(&other).is_ok()
    }

    /// Shifts the deadline by a time when nobody was served.
    pub(crate) fn shift(&mut self, down: Span) {
        self.presence.until += down;
    }
}

/// The outcomes of the last requests with a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// A part of each key, stored apart from the outcomes: most searches are for a key that is not
    /// there, and read only this.
    tags: VecDeque<u32>,
    outcomes: VecDeque<Remembered>,
}

/// One request and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    key: RequestKey,
    /// The fingerprint of the command.
    request: u64,
    outcome: Outcome,
}

impl Memory {
    /// The outcome of the request with this key. A refusal, if the fingerprint differs from
    /// `request`.
    pub(crate) fn recall(&self, key: RequestKey, request: impl FnOnce() -> u64) -> Option<Outcome> {
        let wanted = tag(key);
        let (older, newer) = self.tags.as_slices();
        if !older.contains(&wanted) && !newer.contains(&wanted) {
            return None;
        }
        // From the latest back: most repeated keys are recent ones.
        let places = (0..self.tags.len())
            .rev()
            .filter(|place| self.tags[*place] == wanted);
        let known = places
            .map(|place| &self.outcomes[place])
            .find(|known| known.key == key)?;
        Some(if known.request == request() {
            known.outcome.clone()
        } else {
            Err(Reject::RequestKeyReused)
        })
    }

    pub(crate) fn remember(
        &mut self,
        key: RequestKey,
        request: u64,
        outcome: Outcome,
        limit: usize,
    ) {
        while self.tags.len() >= limit {
            self.tags.pop_front();
            self.outcomes.pop_front();
        }
        self.tags.push_back(tag(key));
        self.outcomes.push_back(Remembered {
            key,
            request,
            outcome,
        });
    }

    /// The replies that repeated requests will receive.
    pub(crate) fn replies_mut(&mut self) -> impl Iterator<Item = &mut Reply> {
        let outcomes = self.outcomes.iter_mut();
        outcomes.filter_map(|known| known.outcome.as_mut().ok())
    }

    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }
}

/// The lower bits of a key. They are as random as the rest.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a part of the key is what is wanted"
)]
const fn tag(key: RequestKey) -> u32 {
    key.0 as u32
}
