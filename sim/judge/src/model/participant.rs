//! The state of a participant, and the outcomes of its last calls with a request key. // 3, 4.2

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::{RequestKey, SecretHash};
use rustc_hash::FxHashMap;
use sim_model::protocol::{Decided, Room, User, Who};

use super::breaks::StressState;
use super::presence::Presence;
use super::table::Table;
use super::{Inbox, Model};

/// One registered participant.
#[derive(Clone, Debug)]
pub(super) struct Participant {
    pub(super) handle: SecretHash,
    /// The hash of its reader id.
    pub(super) reader: SecretHash,
    /// The address that it registered from. // 5.1
    pub(super) address: u64,
    /// How new events show it: by its display name, and its public id if it chose one. // 5.3, 5.4
    pub(super) who: Arc<Who>,
    /// Whether the name was chosen by the participant, not given by the server.
    pub(super) chosen: bool,
    pub(super) presence: Presence,
    /// Live rooms in the order of joining.
    pub(super) live: Vec<Room>,
    /// The live pair room.
    pub(super) pair: Option<Room>,
    /// Ended rooms in the order of ending.
    pub(super) ended: VecDeque<Room>,
    pub(super) last_partner: Option<User>,
    pub(super) blocked: BTreeSet<User>,
    pub(super) muted: bool,
    pub(super) inbox: Inbox,
    pub(super) keys: Keys,
    pub(super) stress_state: StressState,
    /// The place in the order of entering the line, while in it.
    pub(super) ticket: Option<u64>,
}

/// Whether either of the two blocked the other. // 11.1
pub(super) fn either_blocked(participants: &Table<Participant>, one: User, other: User) -> bool {
    let blocked = |who: User, whom: User| {
        let participant = participants.get(who.0);
        participant.is_some_and(|participant| participant.blocked.contains(&whom))
    };
    blocked(one, other) || blocked(other, one)
}

impl Model {
    pub(super) fn participant(&self, user: User) -> &Participant {
        let participant = self.participants.get(user.0);
        participant.expect("the participant is registered: it calls, waits, or is a member")
    }

    pub(super) fn participant_mut(&mut self, user: User) -> &mut Participant {
        let participant = self.participants.get_mut(user.0);
        participant.expect("the participant is registered: it calls, waits, or is a member")
    }

    /// The participant as others see it.
    pub(super) fn who(&self, user: User) -> Arc<Who> {
        Arc::clone(&self.participant(user).who)
    }

    /// Whether the participant is registered.
    pub(crate) fn is_registered(&self, user: User) -> bool {
        self.participants.get(user.0).is_some()
    }

    /// The participant's inbox.
    pub(crate) fn inbox(&self, user: User) -> Option<&Inbox> {
        Some(&self.participants.get(user.0)?.inbox)
    }

    /// The `seq` of the last event of the participant's inbox; 0 if it is not registered.
    pub(crate) fn inbox_end(&self, user: User) -> u64 {
        self.inbox(user).map_or(0, |inbox| inbox.end)
    }

    /// Whether either of the two blocked the other. // 11.1
    pub(crate) fn blocks(&self, one: User, other: User) -> bool {
        either_blocked(&self.participants, one, other)
    }

    /// The participant's live rooms in the order of joining.
    pub(crate) fn rooms_of(&self, user: User) -> &[Room] {
        self.participants
            .get(user.0)
            .map_or(&[], |participant| &participant.live)
    }
}

/// The remembered keys of one participant.
#[derive(Clone, Debug, Default)]
pub(super) struct Keys {
    pub(super) remembered: FxHashMap<RequestKey, Remembered>,
    /// The keys, oldest first.
    pub(super) by_age: VecDeque<RequestKey>,
}

/// The first outcome of a call.
#[derive(Clone, Debug)]
pub(super) struct Remembered {
    /// The hash of the command, so that its text need not be kept.
    pub(super) asked: u64,
    pub(super) outcome: Decided,
}
