//! Measurements by persona, phase and room.
//!
//! A latency or a wait belongs to the user that sent or waited, that of a later reader to the
//! reader; each belongs to the phase in which it was meant to start. The number of groups is limited:
//! further personas and phases count together, and all rooms but those with the longest latencies.

use chat_types::Time;
use sim_model::outcome::{BriefResult, GroupResult, GroupResults, MOST_GROUPS, RoomResult, START};
use sim_model::plan::{Metric, Plan, Workload};
use sim_model::protocol::{Agent, Room};

use super::MICROS;
use super::distribution::Measurements;

/// One measurement, with what it belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) what: Metric,
    /// The user that sent, called or waited.
    pub(crate) agent: Agent,
    /// The recipient of a message.
    pub(crate) recipient: Option<Agent>,
    pub(crate) room: Option<Room>,
    /// When it was meant to start.
    pub(crate) since: Time,
    /// Its length in microseconds.
    pub(crate) took: u64,
    /// Whether it was still open when the run ended.
    pub(crate) open: bool,
}

impl Sample {
    /// What this agent waited for, from `since` until `until`, when it ended.
    pub(super) const fn of(what: Metric, agent: Agent, (since, until): (Time, Time)) -> Self {
        Self {
            what,
            agent,
            recipient: None,
            room: None,
            since,
            took: until.since(since).0,
            open: false,
        }
    }
}

/// The measurements of one group. Most groups measure one thing or two.
#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    name: String,
    pub(super) refused: u64,
    pub(super) measured: Measurements,
}

impl Group {
    fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::default()
        }
    }

    fn merge(&mut self, other: &Self) {
        self.refused += other.refused;
        self.measured.merge(&other.measured);
    }

    fn result(&self) -> Option<GroupResult> {
        let metrics = self.measured.results();
        (self.refused > 0 || !metrics.is_empty()).then(|| GroupResult {
            name: self.name.clone(),
            refused: self.refused,
            metrics,
        })
    }
}

/// The measurements by persona, phase and room.
#[derive(Clone, Debug, Default)]
pub(super) struct Groups {
    /// The last one is all others.
    personas: Vec<Group>,
    /// The persona of each user, in the order of arrival; users of the steps form have none.
    of_agents: Vec<usize>,
    /// The last one is the time after the phases.
    phases: Vec<Group>,
    /// The end of each phase, and its group.
    ends: Vec<(Time, usize)>,
    pub(super) rooms: Rooms,
}

impl Groups {
    /// The groups of a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut groups = Self::default();
        if let Workload::Phases { phases, personas } = &plan.workload {
            for persona in personas.iter().take(MOST_GROUPS) {
                groups.personas.push(Group::named(&persona.name));
            }
            let mut end = START;
            for phase in phases {
                end += phase.duration;
                let of_name = |group: &Group| group.name == phase.name;
                let place = groups.phases.iter().position(of_name);
                let place = place.unwrap_or(groups.phases.len()).min(MOST_GROUPS);
                if place == groups.phases.len() && place < MOST_GROUPS {
                    groups.phases.push(Group::named(&phase.name));
                }
                groups.ends.push((end, place));
            }
            groups.personas.push(Group::named("others"));
            groups.phases.push(Group::named("after the phases"));
        }
        groups
    }

    /// A user of this persona arrived; users arrive in the order of their numbers.
    pub(super) fn arrive(&mut self, agent: Agent, persona: usize) {
        self.of_agents.resize(agent.0 as usize, usize::MAX);
        self.of_agents.push(persona);
    }

    /// Counts a measurement.
    pub(super) fn add(&mut self, sample: Sample) {
        if sample.what.of_persona().is_none() {
            return;
        }
        let of = match sample.recipient {
            Some(reader) if sample.what == Metric::LaterLatency => reader,
            Some(_) | None => sample.agent,
        };
        self.change(of, sample.since, |group| group.measured.add(sample));
        self.rooms.add(sample);
    }

    /// Counts a refused call.
    pub(super) fn refuse(&mut self, agent: Agent, room: Option<Room>, intended: Time) {
        self.change(agent, intended, |group| group.refused += 1);
        self.rooms.of(room).refused += 1;
    }

    /// Changes the groups of a user's persona, and of the phase of an instant.
    fn change(&mut self, agent: Agent, at: Time, change: impl Fn(&mut Group)) {
        let persona = self.of_agents.get(agent.0 as usize);
        let place = self.ends.partition_point(|(end, _)| *end <= at);
        let phase = self.ends.get(place).map_or(usize::MAX, |(_, group)| *group);
        for (groups, index) in [
            (&mut self.personas, persona.copied()),
            (&mut self.phases, Some(phase)),
        ] {
            if let (Some(index), Some(last)) = (index, groups.len().checked_sub(1)) {
                change(&mut groups[index.min(last)]);
            }
        }
    }

    /// The measurements of a persona, and the number of its refused calls.
    pub(super) fn of_persona(&self, name: &str) -> Option<&Group> {
        self.personas.iter().find(|group| group.name == name)
    }

    /// Adds the measurements of another seed of the plan.
    pub(super) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.personas, &other.personas),
            (&mut self.phases, &other.phases),
        ] {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                mine.merge(theirs);
            }
        }
        self.rooms.merge(&other.rooms);
    }

    /// The figures; groups without any are left out.
    pub(super) fn results(&self) -> GroupResults {
        GroupResults {
            personas: self.personas.iter().filter_map(Group::result).collect(),
            phases: self.phases.iter().filter_map(Group::result).collect(),
            rooms: self.rooms.results(),
        }
    }
}

/// The most rooms with figures of their own.
const SHOWN: usize = 10;

/// The most rooms of one run that are measured apart.
const MEASURED: usize = 1 << 16;

/// The count, the sum and the largest of some values.
#[derive(Clone, Copy, Debug, Default)]
struct Brief {
    count: u64,
    sum: u64,
    max: u64,
}

impl Brief {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    fn result(self) -> Option<BriefResult> {
        (self.count > 0).then(|| BriefResult {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 / MICROS,
            max: self.max as f64 / MICROS,
        })
    }
}

/// The measurements of one room.
#[derive(Clone, Copy, Debug, Default)]
struct OfRoom {
    refused: u64,
    message: Brief,
    stick: Brief,
}

impl OfRoom {
    fn merge(&mut self, other: Self) {
        self.refused += other.refused;
        self.message.merge(other.message);
        self.stick.merge(other.stick);
    }

    const fn is_empty(&self) -> bool {
        self.refused == 0 && self.message.count == 0 && self.stick.count == 0
    }

    /// What makes a room worse than another.
    const fn badness(&self) -> (u64, u64, u64) {
        (self.message.max, self.stick.max, self.refused)
    }

    fn result(self, name: String) -> RoomResult {
        let metrics = [
            (Metric::MessageLatency, self.message),
            (Metric::StickWait, self.stick),
        ];
        let of = |(what, brief): (Metric, Brief)| Some((what.name().to_owned(), brief.result()?));
        RoomResult {
            name,
            refused: self.refused,
            metrics: metrics.into_iter().filter_map(of).collect(),
        }
    }
}

/// The measurements by room.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    /// The rooms of the run that goes on, by number.
    running: Vec<OfRoom>,
    /// The worst rooms of ended runs, with their seeds; the worst first.
    worst: Vec<(u64, Room, OfRoom)>,
    /// All others.
    others: OfRoom,
    /// The number of ended runs.
    runs: u64,
}

impl Rooms {
    fn of(&mut self, room: Option<Room>) -> &mut OfRoom {
        let Some(place) = room.and_then(|Room(room)| usize::try_from(room).ok()) else {
            return &mut self.others;
        };
        if place >= MEASURED {
            return &mut self.others;
        }
        if place >= self.running.len() {
            self.running.resize(place + 1, OfRoom::default());
        }
        &mut self.running[place]
    }

    fn add(&mut self, sample: Sample) {
        let of = if sample.what == Metric::MessageLatency {
            &mut self.of(sample.room).message
        } else if sample.what == Metric::StickWait {
            &mut self.of(sample.room).stick
        } else {
            return;
        };
        of.merge(Brief {
            count: 1,
            sum: sample.took,
            max: sample.took,
        });
    }

    pub(super) fn end(&mut self, seed: u64) {
        let rooms = std::mem::take(&mut self.running);
        for (number, of) in (0..).zip(rooms).filter(|(_, of)| !of.is_empty()) {
            self.worst.push((seed, Room(number), of));
        }
        self.runs += 1;
        self.cut();
    }

    fn merge(&mut self, other: &Self) {
        self.worst.extend(&other.worst);
        self.others.merge(other.others);
        self.runs += other.runs;
        self.cut();
    }

    /// Counts all but the worst rooms together.
    fn cut(&mut self) {
        // A stable sort: of equal ones, the first seed and room.
        self.worst
            .sort_by_key(|(_, _, of)| std::cmp::Reverse(of.badness()));
        for (_, _, of) in self.worst.drain(SHOWN.min(self.worst.len())..) {
            self.others.merge(of);
        }
    }

    fn results(&self) -> Vec<RoomResult> {
        let worst = self.worst.iter().map(|(seed, Room(room), of)| {
            of.result(match self.runs {
                0 | 1 => format!("room_{room}"),
                _ => format!("room_{room} of seed {seed}"),
            })
        });
        let others = (!self.others.is_empty()).then(|| self.others.result("others".to_owned()));
        worst.chain(others).collect()
    }
}
