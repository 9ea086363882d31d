//! The facts that several properties judge by, kept once and updated once for each record.
//!
//! All of it is what clients were told: answers, events, and their own doings. What the clients
//! together know of a room is its `RoomFacts`; what one of them knows is its `Membership`.

pub(crate) mod calm;
pub(crate) mod checks;
pub(crate) mod client;
pub(crate) mod draft;
pub(crate) mod event;
pub(crate) mod person;
pub(crate) mod room;
pub(crate) mod seen;
pub(crate) mod sight;
pub(crate) mod stays;

use std::collections::VecDeque;

use chat_core::config::{Config, StickRule};
use chat_core::{Span, Time};
use rustc_hash::FxHashMap;

use self::calm::Calm;
use self::client::{Ask, Client};
use self::person::{Membership, Person, Voice};
use self::room::{RoomFacts, RoomKind};
use crate::history::{Record, WorldRecord};
use crate::plan::{Plan, Workload};
use crate::protocol::{Agent, Room, User};

/// Ended rooms that are remembered for late answers, besides one for each participant.
const ENDED_KEPT: usize = 1_024;

/// Whether the network doubles requests, by chance or because it is written so.
fn doubles_requests(plan: &Plan) -> bool {
    let written = match &plan.workload {
        Workload::Steps { steps, .. } => steps.iter().any(|step| {
            let nets = std::iter::once(&step.net).chain(&step.net.retries);
            nets.into_iter().any(|net| net.duplicate.is_some())
        }),
        Workload::Phases { .. } => false,
    };
    written || plan.network.duplicate.is_possible()
}

/// What time it is, and what the world went through.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    pub(crate) now: Time,
    /// By how much the server's clock has jumped ahead of the world's.
    pub(crate) jumped: Span,
    /// How many crashes there were.
    pub(crate) era: u32,
    pub(crate) healed_at: Option<Time>,
}

/// The facts.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) config: Config,
    /// How many copies of one request may reach the server: 2 if the network doubles some.
    pub(crate) copies: u32,
    pub(crate) calm: Calm,
    /// How long clients wait for a first answer.
    pub(crate) client_timeout: Span,
    pub(crate) clock: Clock,
    /// When the server's clock jumped, and how far ahead it was from then on.
    jumps: Vec<(Time, Span)>,
    pub(crate) clients: Vec<Client>,
    pub(crate) people: Vec<Person>,
    pub(crate) rooms: Vec<RoomFacts>,
    users: FxHashMap<User, usize>,
    slots: FxHashMap<Room, usize>,
    free: Vec<usize>,
    ended: VecDeque<usize>,
    /// The highest room that was forgotten. Rooms are numbered in the order of their opening.
    last_forgotten: Option<Room>,
}

impl Ledger {
    /// Nothing known yet.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            config: plan.server.clone(),
            copies: if doubles_requests(plan) { 2 } else { 1 },
            calm: Calm::new(plan),
            client_timeout: plan.client.timeout,
            clock: Clock {
                now: Time(0),
                jumped: Span::ZERO,
                era: 0,
                healed_at: None,
            },
            jumps: Vec::new(),
            clients: Vec::new(),
            people: Vec::new(),
            rooms: Vec::new(),
            users: FxHashMap::default(),
            slots: FxHashMap::default(),
            free: Vec::new(),
            ended: VecDeque::new(),
            last_forgotten: None,
        }
    }

    /// The world did something.
    pub(crate) fn world(&mut self, record: &WorldRecord<'_>) {
        match *record {
            WorldRecord::Crashed { at, .. } => {
                self.clock.now = at;
                self.clock.era += 1;
                for person in &mut self.people {
                    person.inbox.before_crash = person.inbox.seen.upto();
                }
            }
            WorldRecord::ClockJumped { at, by } => {
                self.clock.now = at;
                self.clock.jumped = self.clock.jumped + by;
                self.jumps.push((at, self.clock.jumped));
            }
            WorldRecord::Healed { at } => {
                self.clock.now = at;
                self.clock.healed_at = Some(at);
                // What was drained before is drained again.
                for client in &mut self.clients {
                    client.drained_at = None;
                    client.read_out_at = None;
                }
            }
            WorldRecord::Operated {
                at,
                verb,
                user,
                room,
            } => {
                self.clock.now = at;
                self.operated(verb, user, room);
            }
            WorldRecord::Restarted { at }
            | WorldRecord::Sizes { at, .. }
            | WorldRecord::Ended { at } => self.clock.now = at,
        }
    }

    fn operated(&mut self, verb: &str, user: Option<User>, room: Option<Room>) {
        if let Some(user) = user {
            let slot = self.person(user);
            let person = &mut self.people[slot];
            person.operated = true;
            person.gone |= verb == "ban";
            person.voice = match (verb, person.voice) {
                ("mute", Voice::Free) => Voice::Muted,
                ("unmute", _) => Voice::Unmuted,
                (_, voice) => voice,
            };
            for stay in &person.memberships {
                self.rooms[stay.slot].operated = true;
            }
        }
        if let Some(room) = room {
            let slot = self.room(room);
            self.rooms[slot].operated = true;
        }
    }

    /// A moment by the server's clock.
    pub(crate) fn by_server(&self, at: Time) -> Time {
        let before = self
            .jumps
            .iter()
            .rev()
            .find(|(jumped_at, _)| *jumped_at < at);
        at + before.map_or(Span::ZERO, |(_, ahead)| *ahead)
    }

    /// The virtual user's calls.
    pub(crate) fn client(&mut self, agent: Agent) -> &mut Client {
        let index = client::index(agent);
        if index >= self.clients.len() {
            self.clients.resize_with(index + 1, Client::default);
        }
        &mut self.clients[index]
    }

    /// The slot of a participant, made if need be.
    pub(crate) fn person(&mut self, user: User) -> usize {
        let next = self.people.len();
        let slot = *self.users.entry(user).or_insert(next);
        if slot == next {
            self.people.push(Person::new(user, self.clock.era));
        }
        slot
    }

    /// The slot of a participant, if known.
    pub(crate) fn person_known(&self, user: User) -> Option<usize> {
        self.users.get(&user).copied()
    }

    /// The slot of whoever the record's client is to the server.
    pub(crate) fn who(&mut self, record: &Record<'_>) -> Option<usize> {
        let user = record.user?;
        if let Some((known, slot)) = self.client(record.agent).current
            && known == user
        {
            return Some(slot);
        }
        let slot = self.person(user);
        let era = self.clock.era;
        self.client(record.agent).current = Some((user, slot));
        let person = &mut self.people[slot];
        if person.owner.is_none() {
            person.owner = Some(record.agent);
            person.era = era;
            person.last_call = record.at;
        }
        Some(slot)
    }

    /// The slot of a room, made if need be.
    pub(crate) fn room(&mut self, room: Room) -> usize {
        if let Some(&slot) = self.slots.get(&room) {
            return slot;
        }
        let slot = if let Some(slot) = self.free.pop() {
            self.rooms[slot] = RoomFacts::new(room);
            slot
        } else {
            self.rooms.push(RoomFacts::new(room));
            self.rooms.len() - 1
        };
        self.slots.insert(room, slot);
        slot
    }

    /// The slot of a room, if it is known and not yet forgotten.
    pub(crate) fn room_known(&self, room: Room) -> Option<usize> {
        self.slots.get(&room).copied()
    }

    /// The room that a call means.
    pub(crate) fn meant(&self, person: usize, room: Option<Room>) -> Option<Room> {
        room.or_else(|| self.people[person].only_room())
    }

    /// The room's latest stay of a person.
    pub(crate) fn stay(&mut self, person: usize, room: Room) -> Option<&mut Membership> {
        let person = &mut self.people[person];
        let index = person.latest_stay(room)?;
        person.memberships.get_mut(index)
    }

    /// When the earliest call left that may have made a message of this sender, if any is known.
    pub(crate) fn earliest_speech(&self, sender: User) -> Option<Time> {
        let owner = self.people[self.person_known(sender)?].owner?;
        let client = self.clients.get(client::index(owner))?;
        client
            .open
            .iter()
            .chain(&client.unsure)
            .chain(client.repeated(self.copies))
            .filter(|call| call.by == Some(sender) && matches!(call.ask, Ask::Speak { .. }))
            .map(|call| call.at)
            .min()
    }

    /// Whether the room asks for the stick.
    pub(crate) fn asks_for_stick(&self, slot: usize) -> bool {
        self.config.stick == StickRule::Required && self.rooms[slot].kind == RoomKind::Named
    }

    /// Nobody is left to tell where this room ends, for the one who stays as for the others.
    pub(crate) fn abandon_room(&mut self, slot: usize) {
        for index in 0..self.rooms[slot].members.len() {
            let person = self.rooms[slot].members[index];
            for stay in &mut self.people[person].memberships {
                if stay.slot == slot {
                    stay.end_somewhere();
                }
            }
        }
        self.retire(slot);
    }

    /// Whether the other of a pair room is gone for good.
    pub(crate) fn partner_is_gone(&self, person: usize, slot: usize) -> bool {
        self.rooms[slot]
            .partner_of(self.people[person].user)
            .and_then(|partner| self.person_known(partner.user))
            .is_some_and(|partner| self.people[partner].gone)
    }

    /// A room has ended: some time from now it may be forgotten.
    pub(crate) fn retire(&mut self, slot: usize) {
        if std::mem::replace(&mut self.rooms[slot].retired, true) {
            return;
        }
        self.ended.push_back(slot);
        if self.ended.len() <= ENDED_KEPT + self.people.len() {
            return;
        }
        let Some(oldest) = self.ended.pop_front() else {
            return;
        };
        if !self.is_settled(oldest) {
            self.ended.push_back(oldest);
            return;
        }
        let room = self.rooms[oldest].room;
        for person in std::mem::take(&mut self.rooms[oldest].members) {
            self.people[person].memberships.retain(|m| m.room != room);
        }
        self.last_forgotten = self.last_forgotten.max(Some(room));
        self.slots.remove(&room);
        self.free.push(oldest);
    }
}
