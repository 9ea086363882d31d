//! A participant: its identity, presence, inbox, and the outcomes of its requests.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::{Address, Reply, RequestKey, RoomId, SecretHash, Span, Time, UserId, Who};
use serde::{Deserialize, Serialize};

use crate::breaks::Breaks;
use crate::inbox::Inbox;
use crate::moderation::Known;
use crate::name::Keys;
use crate::reject::Reject;

/// A registered participant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Participant {
    pub(crate) who: Arc<Who>,
    pub(crate) naming: Naming,
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
    pub(crate) voice: SpeechPermission,
    pub(crate) inbox: Inbox,
    pub(crate) memory: Memory,
    pub(crate) breaks: Breaks,
}

/// The origin of the display name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Naming {
    /// Assigned by the server, and may still be chosen.
    Given,
    /// Chosen by the participant, and final.
    Chosen,
}

/// Presence of a participant. See "present" in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Presence {
    /// Registered, and the handle was never used.
    Unused {
        /// When its registration ends.
        until: Time,
    },
    /// A stream is open, or a call came recently.
    Present {
        /// When it goes away, unless a stream is open.
        until: Time,
    },
    /// The last stream closed, and no call came since.
    Grace {
        /// When it goes away.
        until: Time,
    },
    /// Away.
    Away {
        /// When its registration ends.
        until: Time,
    },
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
        match self {
            Self::Away { until } => Some(Ghost::Away(until)),
            Self::Unused { until } => Some(Ghost::Unused(until)),
            Self::Present { .. } | Self::Grace { .. } => None,
        }
    }
}

/// Whether a participant is muted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum SpeechPermission {
    /// Not muted.
    Free,
    /// An operator muted it.
    Muted,
}

impl Participant {
    /// The next presence deadline, at which it goes away or its registration ends.
    pub(crate) const fn deadline(&self) -> Option<Time> {
        match self.presence {
            Presence::Present { .. } if self.streams > 0 => None,
            Presence::Unused { until }
            | Presence::Present { until }
            | Presence::Grace { until }
            | Presence::Away { until } => Some(until),
        }
    }

    pub(crate) const fn is_away(&self) -> bool {
        matches!(self.presence, Presence::Away { .. })
    }

    /// The properties by which operators' measures recognise it.
    pub(crate) fn known(&self) -> Known {
        Known {
            handle: self.handle,
            who: Arc::clone(&self.who),
            name: Keys::of(&self.who.name),
            is_chosen: self.naming == Naming::Chosen,
            id: self.who.chosen_id.as_deref().map(Keys::of),
        }
    }

    pub(crate) const fn is_unused(&self) -> bool {
        matches!(self.presence, Presence::Unused { .. })
    }

    pub(crate) fn has_blocked(&self, other: UserId) -> bool {
        self.blocks.binary_search(&other).is_ok()
    }

    /// Shifts the deadline by a time when nobody was served.
    pub(crate) fn shift(&mut self, down: Span) {
        match &mut self.presence {
            Presence::Unused { until }
            | Presence::Present { until }
            | Presence::Grace { until }
            | Presence::Away { until } => *until += down,
        }
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
    outcome: Result<Reply, Reject>,
}

impl Memory {
    /// The outcome of the request with this key. A refusal, if the fingerprint differs from
    /// `request`.
    pub(crate) fn recall(
        &self,
        key: RequestKey,
        request: impl FnOnce() -> u64,
    ) -> Option<Result<Reply, Reject>> {
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
        outcome: Result<Reply, Reject>,
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
