//! One participant: who it is, whether it is there, what it was told and what it asked before.

use std::collections::VecDeque;
use std::sync::Arc;

use chat_types::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::breaks::Breaks;
use crate::event::Who;
use crate::id::{Address, RequestKey, RoomId, SecretHash, UserId};
use crate::inbox::Inbox;
use crate::moderation::Known;
use crate::name::Keys;
use crate::reject::Reject;
use crate::reply::Reply;

/// A registered participant.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Participant {
    pub(crate) who: Arc<Who>,
    pub(crate) naming: Naming,
    pub(crate) handle: SecretHash,
    pub(crate) reader: SecretHash,
    /// Where it was registered from.
    pub(crate) address: Address,
    pub(crate) presence: Presence,
    pub(crate) streams: u32,
    /// Live rooms it is in, in the order of joining.
    pub(crate) rooms: Vec<RoomId>,
    /// The live pair room among them.
    pub(crate) pair: Option<RoomId>,
    /// Pair rooms that ended and that it may still name, the latest last.
    pub(crate) ended: VecDeque<RoomId>,
    pub(crate) last_partner: Option<UserId>,
    /// Whom it blocked, in order.
    pub(crate) blocks: Vec<UserId>,
    pub(crate) voice: Voice,
    pub(crate) inbox: Inbox,
    pub(crate) memory: Memory,
    pub(crate) breaks: Breaks,
}

/// Where the display name came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Naming {
    /// From the server, and may still be chosen.
    Given,
    /// From the participant, who keeps it.
    Chosen,
}

/// Whether a participant is there. See "present" in ARCHITECTURE.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Presence {
    /// Registered, and the handle was never used.
    Unused {
        /// When it goes away and is forgotten.
        until: Time,
    },
    /// A stream is open, or a call came not long ago.
    Present {
        /// How long that counts, unless a stream is open.
        until: Time,
    },
    /// The last stream closed, and no call came since.
    Grace {
        /// How long that is forgiven.
        until: Time,
    },
    /// Not there.
    Away {
        /// When it is forgotten.
        until: Time,
    },
}

/// Whether a participant may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Voice {
    /// It may.
    Free,
    /// An operator muted it.
    Muted,
}

impl Participant {
    /// When it goes away, or is forgotten, unless something happens before.
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

    /// What operators know it by.
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

    /// The server was off for so long: deadlines move by it, and streams are as just closed.
    pub(crate) fn shift(&mut self, down: Span, now: Time, grace: Span) {
        match &mut self.presence {
            Presence::Present { .. } if self.streams > 0 => {
                self.presence = Presence::Grace { until: now + grace };
            }
            Presence::Unused { until }
            | Presence::Present { until }
            | Presence::Grace { until }
            | Presence::Away { until } => *until += down,
        }
        self.streams = 0;
    }
}

/// The outcomes of the last requests that had a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// A part of each key, apart from the outcomes: nearly every search is for a key that is not
    /// there, and walks only this.
    tags: VecDeque<u32>,
    outcomes: VecDeque<Remembered>,
}

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Remembered {
    key: RequestKey,
    /// The fingerprint of what was asked.
    request: u64,
    outcome: Result<Reply, Reject>,
}

impl Memory {
    /// The outcome of the request with this key; or a refusal, if its fingerprint differs from
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
        // From the latest back: a key comes again soon, if at all.
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

    /// The answers that a repeated request will get.
    pub(crate) fn replies_mut(&mut self) -> impl Iterator<Item = &mut Reply> {
        let outcomes = self.outcomes.iter_mut();
        outcomes.filter_map(|known| known.outcome.as_mut().ok())
    }

    pub(crate) fn len(&self) -> usize {
        self.tags.len()
    }
}

/// The lower bits of a key, which are as random as the rest of it.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a part of the key is what is wanted"
)]
const fn tag(key: RequestKey) -> u32 {
    key.0 as u32
}
