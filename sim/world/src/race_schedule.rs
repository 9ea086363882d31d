//! The race schedule: it perturbs the order of concurrent packets, so that rare orders come early.
//!
//! Each client has a priority. Its packets have latencies near the network's shortest if the
//! priority is high, and near the longest if it is low. At a few moments the next sender falls
//! behind all others. This is probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010),
//! where a packet's delay stands for a thread's turn. In addition, some deliveries are placed next
//! to an event that they may race with: just before, at or just after a deadline of the server or
//! of their client, or another client's delivery, if the network could do so. Requests that wait
//! for service at the same time are served in any order.
//!
//! The schedule stays within the network model: no packet is faster or slower than the distribution
//! allows, and a stream keeps its order. It ends with the heal, because progress is promised for a
//! network that is fair in the long run. It has its own generator, so it does not change the draws
//! of a plain run.

use std::collections::VecDeque;

use chat_types::{Span, Time};

use super::START;
use sim_model::draw::{Actor, Draw, Quantiles};
use sim_model::plan::{Plan, Race, Schedule};

/// The number of latest deliveries that others may be placed next to.
const REMEMBERED: usize = 16;

/// The direction of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// From a client to the server.
    Server,
    /// From the server to a client.
    Client,
}

/// The way of a packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leg {
    /// The client that sends or receives it.
    pub(super) agent: u32,
    pub(super) direction: Direction,
    /// The instant.
    pub(super) at: Time,
}

/// The state of the race schedule.
#[derive(Clone, Debug)]
pub(super) struct RaceSchedule {
    draw: Draw,
    race: Race,
    /// How long before a deadline a request may have to arrive.
    lead: u64,
    /// For each client, its priority: the position of its packets' latencies among all, from 0
    /// (shortest) to `u64::MAX`.
    priorities: Vec<u64>,
    /// The moments at which a client falls behind, the earliest last.
    changes: Vec<Time>,
    /// The latest deliveries: the client and the time.
    recent_deliveries: VecDeque<(u32, Time)>,
}

impl RaceSchedule {
    /// Starts the race schedule of a plan; `None` if the plan has the plain one.
    pub(super) fn new(plan: &Plan, seed: u64) -> Option<Self> {
        let Schedule::Race(race) = plan.schedule else {
            return None;
        };
        let mut draw = Draw::new(seed, Actor::Schedule);
        let mut changes: Vec<Time> = (1..race.depth)
            .map(|_| {
                // Half of them lie early, when most users arrive.
                let within = plan.duration.0 >> (2 * draw.below(2));
                START + Span(draw.below(within))
            })
            .collect();
        changes.sort_unstable_by(|one, other| other.cmp(one));
        Some(Self {
            draw,
            race,
            lead: (plan.capacity.service.max() + plan.capacity.commit.max()) / 4,
            priorities: Vec::new(),
            changes,
            recent_deliveries: VecDeque::new(),
        })
    }

    /// Draws orders and all priorities from another generator from here on.
    pub(super) fn rekey(&mut self, draw: Draw) {
        self.draw = draw;
        self.priorities.clear();
    }

    /// The client's priority. Sometimes the next sender falls behind all others.
    fn priority(&mut self, agent: u32, now: Time) -> u64 {
        while self.priorities.len() <= agent as usize {
            // The upper eighth is reserved for clients that have fallen behind.
            self.priorities.push(self.draw.below(u64::MAX / 8 * 7));
        }
        if self.changes.last().is_some_and(|at| *at <= now) {
            self.changes.pop();
            self.priorities[agent as usize] = u64::MAX - self.draw.below(u64::MAX / 16);
        }
        self.priorities[agent as usize]
    }

    /// A latency near the client's priority.
    fn latency_by_priority(&mut self, agent: u32, now: Time, latency: &Quantiles) -> Span {
        let priority = self.priority(agent, now);
        let jitter = self.draw.below(u64::MAX / 16);
        Span(latency.at(priority.saturating_add(jitter)))
    }

    /// A latency that ends at one of these moments, or close to it, if the network could deliver
    /// then.
    fn latency_near(
        &mut self,
        now: Time,
        latency: &Quantiles,
        moments: &[Time],
        lead: u64,
    ) -> Option<Span> {
        let (least, most) = (now + Span(latency.at(0)), now + Span(latency.max()));
        let near = moments.iter().copied();
        let near: Vec<Time> = near.filter(|at| (least..=most).contains(at)).collect();
        let moment = self.draw.pick(&near)?;
        let at = match self.draw.below(4) {
            0 => moment,
            1 => Time(moment.0 - 1),
            2 => Time(moment.0 + 1),
            // An arriving request takes a while to be served and committed.
            _ => Time(moment.0.saturating_sub(self.draw.below(lead + 1))),
        };
        Some(at.clamp(least, most).since(now))
    }

    /// Draws which of the waiting requests is next.
    pub(super) fn next_of(&mut self, waiting: usize) -> usize {
        self.draw.index(waiting)
    }

    /// How long a packet takes. `due` is the next deadline where it goes.
    pub(super) fn delay(
        &mut self,
        leg: Leg,
        latency: &Quantiles,
        due: impl FnOnce() -> Option<Time>,
    ) -> Span {
        let (agent, now) = (leg.agent, leg.at);
        let mut delay = None;
        if self.draw.chance(self.race.hug) {
            let others = self.recent_deliveries.iter().filter(|(of, _)| *of != agent);
            let mut moments: Vec<Time> = others.map(|(_, at)| *at).collect();
            let (weight, lead) = match leg.direction {
                // One deadline weighs as much as all deliveries together.
                Direction::Server => (moments.len().max(1), self.lead),
                Direction::Client => (1, 0),
            };
            if let Some(due) = due() {
                moments.extend(std::iter::repeat_n(due, weight));
            }
            delay = self.latency_near(now, latency, &moments, lead);
        }
        let delay = delay.unwrap_or_else(|| self.latency_by_priority(agent, now, latency));
        if self.recent_deliveries.len() == REMEMBERED {
            self.recent_deliveries.pop_front();
        }
        self.recent_deliveries.push_back((agent, now + delay));
        delay
    }
}
