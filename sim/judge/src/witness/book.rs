//! What the clients of one run saw and did, put together by participant, room and text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use chat_types::Time;
use sim_model::plan::{Argument, Plan, ScriptStep, Workload};
use sim_model::protocol::{Agent, Answer, CallId, Op, Outcome, Room, User};

use super::fact::Fact;
use crate::model::{Event, What};

/// The facts that rules compare at the end of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Book {
    /// The participants whose clients are observed. All others are strangers.
    pub(super) people: BTreeMap<User, Person>,
    /// Each room's events by their places, as far as a client received them.
    pub(super) rooms: BTreeMap<Room, BTreeMap<u64, Seen>>,
    /// Each room's places that answers to sends and pushes name.
    pub(super) accepted: BTreeMap<Room, BTreeMap<u64, Accepted>>,
    /// All calls that carry a text, by that text.
    pub(super) texts: BTreeMap<Arc<str>, Vec<Spoken>>,
    /// Who called for a block of whom, whatever was answered.
    pub(super) blocks: BTreeSet<(User, User)>,
    /// The matches that answers name.
    pub(super) matched: Vec<(User, Room, User, Time)>,
    /// Where the call of a client stands in `texts`.
    open: BTreeMap<(Agent, CallId), (Arc<str>, usize)>,
    /// Whether the plan lets calls reuse the key of the call before. Then no key is certain to be
    /// a call's own.
    keys: Keys,
    /// Calls with a request key, by client.
    keyed: BTreeMap<Agent, u64>,
    /// Calls of which a property that needs the journal would judge: answers, entries into the
    /// line, claims.
    pub(super) answers: u64,
    pub(super) entries: u64,
    pub(super) claims: u64,
    remembered_keys: u64,
}

/// A participant, as its own client knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Person {
    pub(super) agent: Agent,
    /// The events of its inbox: the room and the place there.
    pub(super) inbox: BTreeMap<u64, (Room, u64)>,
    /// The first and the last place of each gap beyond `complete`.
    gaps: Vec<(u64, u64)>,
    /// Whether a gap ever arrived: what it hides is not known.
    pub(super) has_gaps: bool,
    /// All places up to this one arrived, as events or in gaps.
    pub(super) complete: u64,
    /// When the latest check left whose answer says that nothing follows `complete`.
    pub(super) drained: Option<Time>,
    /// The rooms that it called to leave, and to be without the stick of. None is a call that
    /// names no room.
    pub(super) leaves: BTreeSet<Option<Room>>,
    pub(super) resets: BTreeSet<Option<Room>>,
    /// The texts that it called to append, and whether it ever called to push its draft.
    pub(super) appends: Vec<Arc<str>>,
    pub(super) has_pushed: bool,
}

/// An event of a room, as its first reader received it.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) event: Event,
    pub(super) reader: User,
    pub(super) seq: u64,
    pub(super) at: Time,
}

/// A place of a room that the answer to a send or a push names.
#[derive(Clone, Debug)]
pub(super) struct Accepted {
    pub(super) sender: User,
    /// None for a push.
    pub(super) text: Option<Arc<str>>,
    pub(super) at: Time,
}

/// A call that carries a text.
#[derive(Clone, Debug)]
pub(super) struct Spoken {
    pub(super) agent: Agent,
    pub(super) user: Option<User>,
    pub(super) room: Option<Room>,
    pub(super) is_append: bool,
    pub(super) keyed: bool,
    pub(super) outcome: Option<Outcome>,
}

impl Seen {
    pub(super) fn fact(&self) -> Fact {
        Fact::Received {
            reader: self.reader,
            seq: self.seq,
            event: self.event.clone(),
        }
    }
}

impl Accepted {
    pub(super) fn fact(&self, room: Room, room_seq: u64) -> Fact {
        Fact::Accepted {
            sender: self.sender,
            room,
            room_seq,
            text: self.text.clone(),
        }
    }
}

impl Person {
    /// The event of this place arrived.
    pub(super) fn receive(&mut self, seq: u64, place: (Room, u64)) {
        self.inbox.insert(seq, place);
        self.extend();
    }

    /// A gap over these places arrived.
    pub(super) fn miss(&mut self, from: u64, to: u64) {
        self.has_gaps = true;
        self.gaps.push((from, to));
        self.extend();
    }

    /// Moves the complete beginning on over what arrived.
    fn extend(&mut self) {
        loop {
            let next = self.complete + 1;
            let covers = |(from, to): &&(u64, u64)| (*from..=*to).contains(&next);
            if let Some((_, to)) = self.gaps.iter().find(covers) {
                self.complete = *to;
            } else if self.inbox.contains_key(&next) {
                self.complete = next;
            } else {
                break;
            }
        }
        let complete = self.complete;
        self.gaps.retain(|(_, to)| *to > complete);
    }

    /// The first place up to `last` that did not arrive, neither as an event nor in a gap.
    pub(super) fn vacant(&self, first: u64, last: u64) -> Option<u64> {
        let is_there = |seq: &u64| {
            *seq <= self.complete
                || self.inbox.contains_key(seq)
                || self
                    .gaps
                    .iter()
                    .any(|(from, to)| (from..=to).contains(&seq))
        };
        (first..=last).find(|seq| !is_there(seq))
    }

    /// Each room's events in the order of the inbox.
    pub(super) fn by_room(&self) -> BTreeMap<Room, Vec<(u64, u64)>> {
        let mut rooms: BTreeMap<Room, Vec<(u64, u64)>> = BTreeMap::new();
        for (seq, (room, room_seq)) in &self.inbox {
            rooms.entry(*room).or_default().push((*room_seq, *seq));
        }
        rooms
    }
}

impl Book {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            remembered_keys: plan.server.remembered_keys as u64,
            keys: Keys::of(plan),
            ..Self::default()
        }
    }

    /// The participant, known from now on as one whose client is observed.
    pub(super) fn person(&mut self, user: User, agent: Agent) -> &mut Person {
        self.people.entry(user).or_insert_with(|| Person {
            agent,
            ..Person::default()
        })
    }

    /// Takes in a call.
    pub(super) fn called(
        &mut self,
        (agent, call): (Agent, CallId),
        user: Option<User>,
        op: &Op,
        keyed: bool,
    ) {
        if keyed {
            *self.keyed.entry(agent).or_default() += 1;
        }
        if let Op::EnterQueue { .. } = op {
            self.entries += 1;
        }
        if let Op::Send { room, text, .. } | Op::Append { room, text, .. } = op {
            let of_text = self.texts.entry(Arc::clone(text)).or_default();
            self.open
                .insert((agent, call), (Arc::clone(text), of_text.len()));
            of_text.push(Spoken {
                agent,
                user,
                room: *room,
                is_append: matches!(op, Op::Append { .. }),
                keyed: keyed && self.keys == Keys::Own,
                outcome: None,
            });
        }
        let Some(user) = user else { return };
        if let Op::Block { user: other } = op {
            self.blocks.insert((user, *other));
        }
        let person = self.person(user, agent);
        match op {
            Op::LeaveChat { room } => drop(person.leaves.insert(*room)),
            Op::Unregister => drop(person.leaves.insert(None)),
            Op::Reset { room } => drop(person.resets.insert(*room)),
            Op::Append { text, .. } => person.appends.push(Arc::clone(text)),
            Op::Push { .. } => person.has_pushed = true,
            Op::TalkingStick { .. } => self.claims += 1,
            Op::EnterQueue { .. }
            | Op::LeaveQueue
            | Op::Login { .. }
            | Op::Send { .. }
            | Op::Undo { .. }
            | Op::Typing { .. }
            | Op::Block { .. }
            | Op::Report { .. }
            | Op::Break { .. }
            | Op::Mood
            | Op::History { .. }
            | Op::ListUsers { .. }
            | Op::Check { .. } => {}
        }
    }

    /// The client gave the call up. Whether it took effect is unknown.
    pub(super) fn abandoned(&mut self, agent: Agent, call: CallId) {
        self.open.remove(&(agent, call));
    }

    /// Takes in the answer to a call.
    pub(super) fn answered(
        &mut self,
        (agent, call): (Agent, CallId),
        user: User,
        outcome: &Outcome,
        at: Time,
    ) {
        self.answers += 1;
        let text = self.open.remove(&(agent, call)).map(|(text, index)| {
            if let Some(spoken) = self.texts.get_mut(&text).and_then(|all| all.get_mut(index)) {
                spoken.outcome = Some(outcome.clone());
            }
            text
        });
        match *outcome {
            Ok(Answer::Sent { room, room_seq, .. }) => {
                let of_room = self.accepted.entry(room).or_default();
                let sender = user;
                of_room
                    .entry(room_seq)
                    .or_insert(Accepted { sender, text, at });
            }
            Ok(Answer::Matched { room, partner, .. }) => {
                self.matched.push((user, room, partner, at))
            }
            Ok(_) | Err(_) => {}
        }
    }

    /// Whether each call that has a key has one of its own.
    pub(super) fn has_own_keys(&self) -> bool {
        self.keys == Keys::Own
    }

    /// Whether every key of the client is its call's own, and still remembered by the server.
    pub(super) fn remembers_keys(&self, agent: Agent) -> bool {
        let keys = self.keyed.get(&agent).copied().unwrap_or(0);
        self.keys == Keys::Own && keys <= self.remembered_keys
    }

    /// Whether either of the two ever called for a block of the other.
    pub(super) fn may_be_blocked(&self, one: User, other: User) -> bool {
        self.blocks.contains(&(one, other)) || self.blocks.contains(&(other, one))
    }

    /// The event of this place, if a client received it.
    pub(super) fn seen(&self, room: Room, room_seq: u64) -> Option<&Seen> {
        self.rooms.get(&room)?.get(&room_seq)
    }

    /// All places at which a client received a message with this text.
    pub(super) fn messages(&self) -> impl Iterator<Item = (&Seen, User, &Arc<str>)> {
        let all = self.rooms.values().flat_map(BTreeMap::values);
        all.filter_map(|seen| match &seen.event.what {
            What::Message { sender, text, .. } => Some((seen, *sender, text)),
            What::Found { .. }
            | What::Ended { .. }
            | What::PartnerAway
            | What::PartnerBack
            | What::Member { .. }
            | What::Stick { .. }
            | What::Moderation { .. } => None,
        })
    }
}

/// Whose the keys of a run's calls are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Keys {
    /// Each call that has a key has its own.
    #[default]
    Own,
    /// A step of the plan reuses the key of the call before.
    Reused,
}

impl Keys {
    fn of(plan: &Plan) -> Self {
        let reuses = |step: &ScriptStep| step.leave_out.contains(&Argument::FreshKey);
        match &plan.workload {
            Workload::Steps { steps, .. } if steps.iter().any(reuses) => Self::Reused,
            Workload::Steps { .. } | Workload::Phases { .. } => Self::Own,
        }
    }
}

impl Spoken {
    /// Whether the first attempt was refused, and with it all others.
    pub(super) fn is_refused(&self) -> bool {
        matches!(self.outcome, Some(Err(refusal)) if is_remembered(refusal.code))
    }

    /// Whether nothing certain says if the call took effect.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.outcome, Some(Ok(_))) && !self.is_refused()
    }
}

/// Whether the refusal is the outcome of the first attempt. // 13.3
pub(super) fn is_remembered(code: &str) -> bool {
    !matches!(
        code,
        "shutting_down"
            | "blocked"
            | "unknown_handle"
            | "rate_limited"
            | "overloaded"
            | "storage_unavailable"
            | "handle_required"
            | "request_key_reused"
    )
}
