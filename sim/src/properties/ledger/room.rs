//! What all clients together know of one room: its events in their order, and its members.

use std::collections::VecDeque;

use chat_core::Time;

use super::draft::Said;
use super::event::Event;
use crate::protocol::{Agent, CallId, Room, User};

/// A message that its sender was told is accepted, and by which call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) agent: Agent,
    pub(crate) call: CallId,
    pub(crate) called_at: Time,
    /// What the call said, as far as it is known.
    pub(crate) said: Said,
}

/// What is known of one place in a room's order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    /// The fingerprint of what the first client saw there; 0 while none has.
    pub(crate) shown: u64,
    /// The message's text as the first client saw it; 0 while none has.
    pub(crate) text: u64,
    /// The server's timestamp, once a client has seen it.
    pub(crate) sent_at: Time,
    /// When a client first knew of it, be it from an answer.
    pub(crate) known_at: Time,
    /// The call whose answer says that it made this message.
    pub(crate) claim: Option<Claim>,
    /// How many crashes came before anyone knew of it.
    pub(crate) era: u32,
    /// The epoch that held at this place, once the order is known up to it; 0 if none.
    pub(crate) reign: u64,
}

impl Entry {
    pub(crate) const UNKNOWN: Self = Self {
        event: Event::Unknown,
        shown: 0,
        text: 0,
        sent_at: Time(0),
        known_at: Time::MAX,
        claim: None,
        era: 0,
        reign: 0,
    };

    /// Whether any client has seen it, or was told that it is its own message.
    pub(crate) fn is_known(&self) -> bool {
        self.event != Event::Unknown
    }

    /// Whether a client has seen it.
    pub(crate) const fn is_shown(&self) -> bool {
        self.shown != 0
    }
}

/// How rooms come about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoomKind {
    /// Not known yet.
    Unknown,
    /// By a match.
    Pair,
    /// By a login.
    Named,
}

/// One side of a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    pub(crate) user: User,
    /// Whether the user knows of the match.
    pub(crate) told: bool,
    /// When the call left by which the user stood in line, if that is known.
    pub(crate) entered_at: Option<Time>,
    /// When the user first asked to leave the room.
    pub(crate) left_called: Option<Time>,
    /// When the answer came that said it is out of the room.
    pub(crate) left_at: Option<Time>,
}

/// A match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(crate) sides: [Side; 2],
    /// The server's timestamp of the match, once a client has seen it.
    pub(crate) found_at: Option<Time>,
}

/// What is known of one room.
#[derive(Clone, Debug)]
pub(crate) struct RoomFacts {
    pub(crate) room: Room,
    pub(crate) kind: RoomKind,
    /// The highest place known.
    pub(crate) head: u64,
    /// Slots of the people who were ever members and whose share is not settled.
    pub(crate) members: Vec<usize>,
    /// Where the room ended.
    pub(crate) end: Option<u64>,
    pub(crate) pair: Option<Pair>,
    /// Whether an operator acted on it or on one of its two.
    pub(crate) operated: bool,
    /// Whether it waits to be forgotten.
    pub(crate) retired: bool,
    /// Messages that stand before `next`, and places before it that nobody knows.
    pub(crate) spoken: u32,
    pub(crate) unknown: u32,
    first: u64,
    next: u64,
    window: VecDeque<Entry>,
    trim_at: usize,
}

/// Places that may be known out of order before an unknown one is passed over for good.
const STALL: u64 = 64;

/// Entries kept behind the head in any case, for answers that come late.
const KEPT: u64 = 64;

/// The shortest window that is worth a look at who still needs it.
const TRIM_AT: usize = 128;

/// A room first seen no further than this from its beginning is followed from its beginning.
const NEAR: u64 = 256;

/// A place further than this beyond the head does not fill the window with unknown ones.
const FAR: u64 = 65_536;

/// How long one waits for a place that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until much is known beyond it.
    Stall,
    /// No longer: the run is over.
    None,
}

impl RoomFacts {
    pub(crate) fn new(room: Room) -> Self {
        Self {
            room,
            kind: RoomKind::Unknown,
            head: 0,
            members: Vec::new(),
            end: None,
            pair: None,
            operated: false,
            retired: false,
            spoken: 0,
            unknown: 0,
            first: 1,
            next: 1,
            window: VecDeque::new(),
            trim_at: TRIM_AT,
        }
    }

    /// What is known of a place; none if it lies before the window.
    pub(crate) fn entry(&self, seq: u64) -> Option<&Entry> {
        self.window
            .get(usize::try_from(seq.checked_sub(self.first)?).ok()?)
    }

    /// The place's entry, made if need be; none if it lies before the window.
    pub(crate) fn entry_mut(&mut self, seq: u64) -> Option<&mut Entry> {
        if self.head == 0 && seq > NEAR {
            self.first = seq;
            self.next = seq;
        }
        if seq > self.first + self.window.len() as u64 + FAR {
            self.window.clear();
            self.first = seq;
            self.next = seq;
        }
        self.head = self.head.max(seq);
        let index = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        while self.window.len() <= index {
            self.window.push_back(Entry::UNKNOWN);
        }
        self.window.get_mut(index)
    }

    /// The next place up to which all is known, once; or an unknown one that is passed over.
    pub(crate) fn take_in_order(&mut self, patience: Patience) -> Option<(u64, Entry)> {
        let seq = self.next;
        let entry = *self.entry(seq)?;
        let stalled = match patience {
            Patience::Stall => self.head >= seq + STALL,
            Patience::None => self.head >= seq,
        };
        if !entry.is_known() && !stalled {
            return None;
        }
        self.next += 1;
        match entry.event {
            Event::Message { .. } => self.spoken += 1,
            Event::Unknown => self.unknown += 1,
            Event::Found
            | Event::Ended(_)
            | Event::PartnerAway
            | Event::PartnerBack
            | Event::Member(..)
            | Event::Stick(..)
            | Event::Moderation(..) => {}
        }
        Some((seq, entry))
    }

    /// The first place that was not yet taken in order.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the window is long enough to be worth a look at who still needs it.
    pub(crate) fn wants_trim(&self) -> bool {
        self.window.len() >= self.trim_at
    }

    /// Forgets the places before `needed`, and all that lie more than `cap` behind the head.
    pub(crate) fn trim(&mut self, needed: u64, cap: u64) {
        let first = needed
            .min(self.next)
            .min(self.head.saturating_sub(KEPT))
            .max(self.head.saturating_sub(cap));
        while self.first < first && self.window.pop_front().is_some() {
            self.first += 1;
        }
        self.next = self.next.max(self.first);
        self.trim_at = (self.window.len() * 2).max(TRIM_AT);
    }

    /// The side of the match that is this user's.
    pub(crate) fn side_mut(&mut self, user: User) -> Option<&mut Side> {
        self.pair
            .as_mut()?
            .sides
            .iter_mut()
            .find(|side| side.user == user)
    }

    /// Both sides of the match, this user's first.
    pub(crate) fn sides_of(&self, user: User) -> Option<[Side; 2]> {
        let [a, b] = self.pair?.sides;
        if a.user == user {
            Some([a, b])
        } else if b.user == user {
            Some([b, a])
        } else {
            None
        }
    }

    /// The other side of the match.
    pub(crate) fn partner_of(&self, user: User) -> Option<Side> {
        self.sides_of(user).map(|[_, partner]| partner)
    }
}
