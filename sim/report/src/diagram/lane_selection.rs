//! The choice of a diagram's participants: those the violation is about, those its sentence names,
//! and others of their rooms, as far as lanes allow.

use std::collections::{BTreeMap, VecDeque};

use chat_types::Span;

use super::{Lane, Role};
use crate::trace::Follow;
use sim_model::outcome::{PANIC, START, Violation};
use sim_model::protocol::{Agent, Room, User};
use sim_model::run_log::{Entry, Logged, RunLog};

/// The most lanes of participants: more do not fit side by side.
const LANES: usize = 7;

/// The lanes of participants that are neither affected nor named, unless there are none of those.
const OTHERS: usize = 3;

/// A participant that was inactive in a room for this long is not shown as a roommate.
const ROOMMATE_WITHIN: Span = Span::secs(60);

/// The participants of the diagram, and its subject.
#[derive(Debug, Default)]
pub(super) struct LaneSelection {
    /// From left to right, without the server.
    pub(super) lanes: Vec<(Agent, Lane)>,
    /// How many of them are to the left of the server.
    pub(super) server: usize,
    /// The number of others of the same rooms without a lane.
    pub(super) left_out: u64,
    /// When the violation was found.
    pub(super) violation: Span,
    /// When the subject of the violation was observed, if that was earlier.
    pub(super) subject: Option<Span>,
    /// The event that the violation is about.
    pub(super) place: Option<(Room, u64)>,
}

/// The participants of a run, to choose from.
#[derive(Debug)]
pub(super) struct LaneSelector<'l> {
    log: &'l RunLog,
    violation: &'l Violation,
    /// When the last of them was active.
    pub(super) last: Span,
    /// When the named event was first observed or accepted.
    subject: Option<Span>,
    agents: BTreeMap<User, Agent>,
    active: BTreeMap<Agent, Span>,
    roommates: BTreeMap<Room, BTreeMap<Agent, Span>>,
}

impl<'l> LaneSelector<'l> {
    /// Those that were active up to the violation.
    pub(super) fn of(log: &'l RunLog, violation: &'l Violation) -> Self {
        let mut selector = Self {
            log,
            violation,
            last: Span::ZERO,
            subject: None,
            agents: BTreeMap::new(),
            active: BTreeMap::new(),
            roommates: BTreeMap::new(),
        };
        for entry in &log.entries {
            selector.read(entry);
        }
        selector
    }

    /// When the violation was found. A panic ends the run.
    fn until(&self) -> Span {
        match self.violation.property == PANIC {
            true => self.last,
            false => self.violation.at,
        }
    }

    /// The participants to show; `None` if there was no activity.
    pub(super) fn choose(self) -> Option<LaneSelection> {
        let mut chosen: Vec<(Agent, Lane)> = Vec::new();
        let mut add = |agent: Agent, user: Option<User>, role: Role, most: usize| {
            if chosen.len() < most && !chosen.iter().any(|one| one.0 == agent) {
                chosen.push((agent, self.lane(agent, user, role)));
            }
            chosen.len()
        };
        let violation = self.violation;
        let mut main = 0;
        for (users, role) in [
            (&violation.users, Role::Concerned),
            (&violation.subject.others, Role::Named),
        ] {
            for user in users {
                if let Some(agent) = self.agents.get(user) {
                    main = add(*agent, Some(*user), role, LANES);
                }
            }
        }
        let roommates = self.roommates();
        let (others, role) = if roommates.is_empty() && main == 0 {
            let mut latest = by_time(self.active.clone());
            latest.truncate(LANES);
            (latest, Role::Bystander)
        } else {
            (roommates, Role::Roommate)
        };
        let seats = match main {
            0 => LANES,
            main => LANES.min(main + OTHERS),
        };
        for agent in &others {
            add(*agent, None, role, seats);
        }
        let has_no_lane = |agent: &&Agent| chosen.iter().all(|one| one.0 != **agent);
        let left_out = others.iter().filter(has_no_lane).count() as u64;
        // The most affected participants are beside the server, so that arrows are short: the first to
        // the left, the second to the right, and so on outward.
        let mut lanes = VecDeque::new();
        for (index, one) in chosen.into_iter().enumerate() {
            match index % 2 {
                0 => lanes.push_front(one),
                _ => lanes.push_back(one),
            }
        }
        (!lanes.is_empty()).then(|| LaneSelection {
            server: lanes.len().div_ceil(2),
            lanes: lanes.into(),
            left_out,
            violation: self.until(),
            subject: self.subject,
            place: violation.subject.place,
        })
    }

    /// The user to follow, with its name: of a virtual user, its last one. `None` for a room, and if
    /// it was never active.
    pub(super) fn user(&self, follow: &Follow) -> Option<(User, &str)> {
        let mut clients = self.log.clients.iter();
        let (agent, client) = clients.find(|(agent, client)| match follow {
            Follow::User(user) => self.agents.get(user) == Some(agent),
            Follow::Name(name) => client.name == *name,
            Follow::Room(_) => false,
        })?;
        let user = match follow {
            Follow::User(user) => *user,
            Follow::Name(_) | Follow::Room(_) => self.last_user(*agent)?,
        };
        Some((user, &client.name))
    }

    fn last_user(&self, agent: Agent) -> Option<User> {
        let mut users = self.agents.iter().rev();
        users.find(|(_, of)| **of == agent).map(|(user, _)| *user)
    }

    /// Recently active participants of the affected rooms, latest first.
    fn roommates(&self) -> Vec<Agent> {
        let until = self.until();
        let mut rooms = self.violation.subject.rooms.clone();
        if rooms.is_empty() {
            let concerned = self.violation.users.iter();
            let concerned = concerned.filter_map(|user| self.agents.get(user));
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
        let all = self.roommates.iter();
        let seen = all.filter_map(|(room, members)| Some((*members.get(&agent)?, *room)));
        seen.max().map(|(_, room)| room)
    }

    fn lane(&self, agent: Agent, user: Option<User>, role: Role) -> Lane {
        let known = || self.last_user(agent);
        let name = self.log.clients[&agent].name.clone();
        match user.or_else(known) {
            Some(user) => Lane::new(user.to_string(), name, role),
            None => Lane::new(name, String::new(), role),
        }
    }

    fn read(&mut self, entry: &Entry) {
        let at = entry.at.since(START);
        let in_time = at <= self.violation.at || self.violation.property == PANIC;
        let is_shown = entry.is_of_client() && in_time;
        let Some(agent) = entry.agent.filter(|_| is_shown) else {
            return;
        };
        self.last = at;
        self.active.insert(agent, at);
        if let Some(user) = entry.user {
            self.agents.entry(user).or_insert(agent);
        }
        let (room, place) = if let Logged::Answered {
            is_first: true,
            room,
            place,
            ..
        } = entry.what
        {
            (room, place)
        } else if let Logged::Received { place, .. } = entry.what {
            (place.map(|(room, _)| room), place)
        } else {
            return;
        };
        if let Some(room) = room {
            self.roommates.entry(room).or_default().insert(agent, at);
        }
        if place.is_some() && place == self.violation.subject.place {
            self.subject.get_or_insert(at);
        }
    }
}

/// Latest first.
fn by_time(latest: BTreeMap<Agent, Span>) -> Vec<Agent> {
    let mut agents: Vec<(Agent, Span)> = latest.into_iter().collect();
    agents.sort_by_key(|(agent, at)| (std::cmp::Reverse(*at), *agent));
    agents.into_iter().map(|(agent, _)| agent).collect()
}
