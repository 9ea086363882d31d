//! The choice of a diagram's participants: those the violation is about, those its sentence names,
//! and others of their rooms, as far as lanes allow.

use std::collections::{BTreeMap, BTreeSet};

use chat_types::{Span, Time};

use super::{Lane, Role};
use crate::trace::Follow;
use sim_model::history::{ClientEvent, Observer, RunEvent};
use sim_model::outcome::{PANIC, Violation};
use sim_model::protocol::{Agent, Response, Room, User};

/// The most lanes of participants: more do not fit side by side.
const LANES: usize = 7;

/// The lanes of participants that are neither affected nor named, unless there are none of those.
const OTHERS: usize = 3;

/// A participant that was inactive in a room for this long is not shown as a roommate.
const ROOMMATE_WITHIN: Span = Span::secs(60);

/// The participants of the diagram, and its subject.
#[derive(Debug)]
pub(super) struct LaneSelection {
    /// From left to right, without the server.
    pub(super) lanes: Vec<(Agent, Lane)>,
    /// The number of others of the same rooms without a lane.
    pub(super) left_out: u64,
    /// When the violation was found.
    pub(super) violation: Span,
    /// When the subject of the violation was observed, if that was earlier.
    pub(super) subject: Option<Span>,
    /// The event that the violation is about.
    pub(super) place: Option<(Room, u64)>,
}

impl LaneSelection {
    /// These lanes, without a violation.
    pub(super) const fn of(lanes: Vec<(Agent, Lane)>) -> Self {
        Self {
            lanes,
            left_out: 0,
            violation: Span(u64::MAX),
            subject: None,
            place: None,
        }
    }
}

/// Observes a run to choose the participants.
#[derive(Debug)]
pub(super) struct LaneSelector {
    start: Time,
    /// `None` for a panic, which ends the run.
    until: Option<Span>,
    last: Span,
    concerned: Vec<User>,
    others: Vec<User>,
    rooms: Vec<Room>,
    place: Option<(Room, u64)>,
    /// When the named event was first observed or accepted.
    subject: Option<Span>,
    agents: BTreeMap<User, Agent>,
    names: BTreeMap<Agent, String>,
    active: BTreeMap<Agent, Span>,
    roommates: BTreeMap<Room, BTreeMap<Agent, Span>>,
}

impl LaneSelector {
    pub(super) fn new(start: Time, violation: &Violation) -> Self {
        let subject = &violation.subject;
        Self {
            start,
            until: (violation.property != PANIC).then_some(violation.at),
            last: Span::ZERO,
            others: subject.others.clone(),
            place: subject.place,
            concerned: violation.users.clone(),
            rooms: subject.rooms.clone(),
            subject: None,
            agents: BTreeMap::new(),
            names: BTreeMap::new(),
            active: BTreeMap::new(),
            roommates: BTreeMap::new(),
        }
    }

    /// The participants to show; `None` if there was no activity.
    pub(super) fn choose(self) -> Option<LaneSelection> {
        let of = |users: &[User]| -> Vec<(Agent, Option<User>)> {
            let known = |user: &User| Some((*self.agents.get(user)?, Some(*user)));
            users.iter().filter_map(known).collect()
        };
        let mut chosen: Vec<(Agent, Option<User>, Role)> = Vec::new();
        let mut add = |those: Vec<(Agent, Option<User>)>, role: Role, most: usize| {
            for (agent, user) in those {
                if chosen.len() < most && !chosen.iter().any(|one| one.0 == agent) {
                    chosen.push((agent, user, role));
                }
            }
            chosen.len()
        };
        add(of(&self.concerned), Role::Concerned, LANES);
        let main = add(of(&self.others), Role::Named, LANES);
        let roommates = self.roommates();
        let seats = if main == 0 {
            LANES
        } else {
            LANES.min(main + OTHERS)
        };
        let (others, role) = if roommates.is_empty() && main == 0 {
            (self.latest(), Role::Bystander)
        } else {
            (roommates, Role::Roommate)
        };
        let all = others.iter().copied().collect::<BTreeSet<Agent>>();
        add(
            others.into_iter().map(|agent| (agent, None)).collect(),
            role,
            seats,
        );
        let shown = chosen.iter().filter(|one| all.contains(&one.0)).count();
        let lane = |(agent, user, role): (Agent, Option<User>, Role)| {
            (agent, self.lane(agent, user, role))
        };
        (!chosen.is_empty()).then(|| LaneSelection {
            left_out: (all.len() - shown) as u64,
            violation: self.until.unwrap_or(self.last),
            subject: self.subject,
            place: self.place,
            lanes: chosen.iter().map(|one| lane(*one)).collect(),
        })
    }

    /// The user to follow: of a virtual user, its last one. `None` for a room, and if it was never
    /// active.
    pub(super) fn user(&self, follow: &Follow) -> Option<User> {
        match follow {
            Follow::User(user) => self.agents.contains_key(user).then_some(*user),
            Follow::Name(name) => {
                let (agent, _) = self.names.iter().find(|(_, known)| *known == name)?;
                self.last_user(*agent)
            }
            Follow::Room(_) => None,
        }
    }

    fn last_user(&self, agent: Agent) -> Option<User> {
        let mut users = self.agents.iter().rev();
        users.find(|(_, of)| **of == agent).map(|(user, _)| *user)
    }

    /// The participants to show with a chosen one, until the end of the run.
    pub(super) fn choose_followed(mut self, user: User) -> Option<LaneSelection> {
        self.concerned = vec![user];
        self.until = Some(self.last);
        self.choose()
    }

    /// Recently active participants of the affected rooms, latest first.
    fn roommates(&self) -> Vec<Agent> {
        let until = self.until.unwrap_or(self.last);
        let mut rooms = self.rooms.clone();
        if rooms.is_empty() {
            let concerned = self
                .concerned
                .iter()
                .filter_map(|user| self.agents.get(user));
            rooms.extend(concerned.filter_map(|agent| self.room_of(*agent)));
        }
        let mut latest: BTreeMap<Agent, Span> = BTreeMap::new();
        for room in &rooms {
            for (agent, at) in self.roommates.get(room).into_iter().flatten() {
                if *at + ROOMMATE_WITHIN >= until {
                    let known = latest.entry(*agent).or_default();
                    *known = (*known).max(*at);
                }
            }
        }
        by_time(latest)
    }

    /// The room in which the participant was last active.
    fn room_of(&self, agent: Agent) -> Option<Room> {
        let seen =
            |(room, members): (&Room, &BTreeMap<Agent, Span>)| Some((*members.get(&agent)?, *room));
        self.roommates
            .iter()
            .filter_map(seen)
            .max()
            .map(|(_, room)| room)
    }

    fn latest(&self) -> Vec<Agent> {
        let mut latest = by_time(self.active.clone());
        latest.truncate(LANES);
        latest
    }

    fn lane(&self, agent: Agent, user: Option<User>, role: Role) -> Lane {
        let known = || self.last_user(agent);
        let name = self.names.get(&agent).cloned().unwrap_or_default();
        let (name, persona) = match user.or_else(known) {
            Some(user) => (user.to_string(), name),
            None => (name, String::new()),
        };
        Lane {
            name,
            persona,
            role,
        }
    }

    fn heard_of(&mut self, agent: Agent, at: Span, (room, seq): (Room, Option<u64>)) {
        self.roommates.entry(room).or_default().insert(agent, at);
        if self.subject.is_none() && seq.is_some_and(|seq| self.place == Some((room, seq))) {
            self.subject = Some(at);
        }
    }
}

impl Observer for LaneSelector {
    fn observe(&mut self, event: RunEvent<'_>) {
        let RunEvent::Client(record) = event else {
            return;
        };
        let at = record.at.since(self.start);
        if self.until.is_some_and(|until| at > until) {
            return;
        }
        self.last = at;
        let agent = record.agent;
        self.active.insert(agent, at);
        if let Some(user) = record.user {
            self.agents.entry(user).or_insert(agent);
        }
        let name = self.names.entry(agent);
        name.or_insert_with(|| record.name.to_owned());
        if let ClientEvent::Answered {
            outcome: Ok(Response::Done(reply)),
            ..
        } = record.what
        {
            if let Some(room) = reply.room() {
                let seq = reply.place().map(|(_, seq)| seq.0);
                self.heard_of(agent, at, (room, seq));
            }
        } else if let ClientEvent::Received { event, .. } = record.what
            && let Some((room, seq)) = event.place()
        {
            self.heard_of(agent, at, (room, Some(seq)));
        }
    }
}

/// Latest first.
fn by_time(latest: BTreeMap<Agent, Span>) -> Vec<Agent> {
    let mut agents: Vec<(Agent, Span)> = latest.into_iter().collect();
    agents.sort_by_key(|(agent, at)| (std::cmp::Reverse(*at), *agent));
    agents.into_iter().map(|(agent, _)| agent).collect()
}
