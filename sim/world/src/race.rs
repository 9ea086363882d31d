//! The race schedule: it perturbs the order of what is concurrent, so that rare orders come early.
//!
//! Each client has a priority, and its packets take a time near the network's shortest if that is
//! high and near its longest if it is low. At a few moments whoever sends next falls behind all
//! others. That is probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010), where a
//! packet's delay stands for a thread's turn. Besides, some deliveries hug something that they may
//! race with: they come just before, at or just after a deadline of the server's, their client's
//! own, or another client's delivery, if that lies within what the network could do to them.
//! Requests that wait for service at once are served in any order.
//!
//! It stays within the model: no packet is faster or slower than the network's own distribution
//! allows, and a stream keeps its order. It ends with the heal, since progress is promised of a
//! network that is fair in the long run. Its draws come from a generator of its own, so that a
//! plain run is what it was.

use std::collections::VecDeque;

use chat_types::{Span, Time};

use super::{Phase, START, World};
use sim_model::draw::{Actor, Draw, Quantiles};
use sim_model::plan::{Plan, Race, Schedule};

/// Deliveries that others may hug, the latest written last.
const REMEMBERED: usize = 16;

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Toward {
    /// From a client to the server.
    Server,
    /// From the server to a client.
    Client,
}

/// What the race schedule remembers.
#[derive(Clone, Debug)]
pub(super) struct Racing {
    draw: Draw,
    race: Race,
    /// By client: where its packets' delays lie among all delays, from 0 (shortest) to `u64::MAX`.
    places: Vec<u64>,
    /// When somebody is to fall behind, the earliest last.
    changes: Vec<Time>,
    /// Deliveries under way: whose, and when.
    under_way: VecDeque<(u32, Time)>,
}

impl Racing {
    /// None if the plan's schedule is the plain one.
    pub(super) fn new(plan: &Plan, seed: u64) -> Option<Self> {
        let Schedule::Race(race) = plan.schedule else {
            return None;
        };
        let mut draw = Draw::new(seed, Actor::Schedule);
        let mut changes: Vec<Time> = (1..race.depth)
            .map(|_| {
                // Half of them early, when most of the users arrive.
                let within = plan.duration.0 >> (2 * draw.below(2));
                START + Span(draw.below(within))
            })
            .collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Some(Self {
            draw,
            race,
            places: Vec::new(),
            changes,
            under_way: VecDeque::new(),
        })
    }

    /// Orders are drawn from another generator from here on, and so are all priorities.
    pub(super) fn key_again(&mut self, draw: Draw) {
        self.draw = draw;
        self.places.clear();
    }

    /// Where the delays of this client's packets lie.
    fn place(&mut self, agent: u32, now: Time) -> u64 {
        while self.places.len() <= agent as usize {
            // The upper eighth is left to those who have fallen behind.
            self.places.push(self.draw.below(u64::MAX / 8 * 7));
        }
        if self.changes.last().is_some_and(|at| *at <= now) {
            self.changes.pop();
            self.places[agent as usize] = u64::MAX - self.draw.below(u64::MAX / 16);
        }
        self.places[agent as usize]
    }

    /// A delay near the client's place among all delays.
    fn by_priority(&mut self, agent: u32, now: Time, latency: &Quantiles) -> Span {
        let place = self.place(agent, now);
        let jitter = self.draw.below(u64::MAX / 16);
        Span(latency.at(place.saturating_add(jitter)))
    }

    /// One of these moments, or close to it, if it lies within reach of a packet sent now.
    fn hug(&mut self, now: Time, latency: &Quantiles, moments: &[Time], lead: u64) -> Option<Span> {
        let (least, most) = (now + Span(latency.at(0)), now + Span(latency.max()));
        let near: Vec<Time> = moments
            .iter()
            .copied()
            .filter(|at| (least..=most).contains(at))
            .collect();
        let chosen = self.draw.below(near.len() as u64);
        let moment = *near.get(usize::try_from(chosen).ok()?)?;
        let at = match self.draw.below(4) {
            0 => moment,
            1 => Time(moment.0 - 1),
            2 => Time(moment.0 + 1),
            // What arrives takes a while to be served and committed.
            _ => Time(moment.0.saturating_sub(self.draw.below(lead + 1))),
        };
        Some(at.clamp(least, most).since(now))
    }

    /// Which of so many that wait is next.
    pub(super) fn next_of(&mut self, waiting: usize) -> usize {
        usize::try_from(self.draw.below(waiting as u64)).unwrap_or(0)
    }
}

impl World<'_, '_> {
    /// How long the client's next packet takes by the race schedule, if there is one.
    pub(super) fn raced(&mut self, agent: u32, toward: Toward) -> Option<Span> {
        if self.phase != Phase::Safety {
            return None;
        }
        let now = self.agenda.now();
        let latency = &self.plan.network.latency;
        let race = self.race.as_mut()?;
        let mut delay = None;
        if race.draw.chance(race.race.hug) {
            let others = race.under_way.iter().filter(|(of, _)| *of != agent);
            let mut moments: Vec<Time> = others.map(|(_, at)| *at).collect();
            let mut lead = 0;
            match toward {
                Toward::Server => {
                    let capacity = &self.plan.capacity;
                    lead = (capacity.service.max() + capacity.commit.max()) / 4;
                    let due = self
                        .server
                        .node
                        .as_mut()
                        .and_then(|node| node.poll_timeout());
                    let ahead = self.server.clock_ahead;
                    // A deadline counts for as much as all the deliveries together.
                    let due = due.map(|due| Time(due.0.saturating_sub(ahead.0)));
                    let weight = moments.len().max(1);
                    moments.extend(
                        due.into_iter()
                            .flat_map(|due| std::iter::repeat_n(due, weight)),
                    );
                }
                Toward::Client => {
                    moments.extend(self.clients[agent as usize].user.poll_timeout());
                }
            }
            delay = race.hug(now, latency, &moments, lead);
        }
        let delay = delay.unwrap_or_else(|| race.by_priority(agent, now, latency));
        if race.under_way.len() == REMEMBERED {
            race.under_way.pop_front();
        }
        race.under_way.push_back((agent, now + delay));
        Some(delay)
    }
}
