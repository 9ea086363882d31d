//! What single users sent, received and experienced, as lanes that a page can draw: of as many users
//! as a bounded number of events allows.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::diagram::{Band, Event, Fate, Kind, lane_events};
use sim_model::outcome::{Charts, RunResult, Series};
use sim_model::plan::Plan;
use sim_model::run_log::RunLog;

/// The most users with a lane.
const LANES: usize = 80;
/// The most events of all lanes, and of one: the first ones.
const EVENTS: usize = 1_200;
const EACH: usize = 80;

/// The lanes of several users.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserLanes {
    /// Labels of events, which refer to them by their places here.
    pub labels: Vec<String>,
    /// What each user sent, received and experienced.
    pub users: Vec<UserLane>,
    /// Faults. The lane of the server has the number of users.
    pub bands: Vec<Band>,
}

/// The lane of a user.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UserLane {
    /// The user, by its place in the list of users.
    pub user: u32,
    /// Its first events, ordered by their beginning.
    pub events: Vec<LaneEvent>,
    /// The number of later events.
    pub left_out: u64,
}

/// An event of a lane: the kind, the label, the fate, when it began, when it arrived and when it was
/// served. Times are microseconds since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneEvent(
    Kind,
    usize,
    Fate,
    u64,
    Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")] Option<u64>,
);

/// The lanes of this run of the series: of those that were stuck, of those with
/// the longest latencies and waits, and of the first to arrive.
#[must_use]
pub fn user_lanes(
    plan: &Plan,
    series: &Series,
    (result, charts): (&RunResult, &Charts),
    log: &RunLog,
) -> UserLanes {
    let chosen = choose(series, result, charts);
    let (events, mut bands) = lane_events(plan, log, &chosen);
    let mut by_lane: Vec<Vec<Event>> = vec![Vec::new(); chosen.len()];
    for event in events.into_iter().filter(|event| !event.idle) {
        // Events of the server alone are in the bands.
        if let Some(lane) = by_lane.get_mut(event.lane) {
            lane.push(event);
        }
    }
    let (mut taken, server) = (0, chosen.len());
    let fits = |(_, events): &(u32, Vec<Event>)| {
        taken += events.len().min(EACH);
        taken <= EVENTS
    };
    let (mut labels, mut users): (Vec<String>, Vec<UserLane>) = (Vec::new(), Vec::new());
    for (user, all) in chosen.into_iter().zip(by_lane).take_while(fits) {
        let left_out = all.len().saturating_sub(EACH) as u64;
        let mut events = Vec::new();
        for event in all.into_iter().take(EACH) {
            let known = labels.iter().position(|label| *label == event.label);
            let label = known.unwrap_or(labels.len());
            if label == labels.len() {
                labels.push(event.label);
            }
            let (from, to, served) = (event.from_us, event.to_us, event.served_us);
            events.push(LaneEvent(event.kind, label, event.fate, from, to, served));
        }
        users.push(UserLane {
            user,
            events,
            left_out,
        });
    }
    let kept = users.len();
    bands.retain(|band| band.lane < kept || band.lane == server);
    for band in &mut bands {
        band.lane = band.lane.min(kept);
    }
    UserLanes {
        labels,
        users,
        bands,
    }
}

fn choose(series: &Series, result: &RunResult, charts: &Charts) -> Vec<u32> {
    let by_name: BTreeMap<&str, u32> = (0..)
        .zip(&series.users)
        .map(|(index, row)| (row.who.name.as_str(), index))
        .collect();
    let of_seed = |seed: u64| seed == series.seed;
    let stuck = result.stuck.iter().filter(|stuck| of_seed(stuck.seed));
    let waits = charts.queue.worst.iter().take(LANES / 4);
    let waits = waits.filter(|wait| of_seed(wait.seed));
    let slowest = series.slowest.values();
    let slowest = slowest.flat_map(|all| all.iter().take(LANES / 16));
    let named = stuck
        .map(|stuck| stuck.who.name.as_str())
        .chain(slowest.map(|slow| slow.user.name.as_str()))
        .chain(waits.map(|wait| wait.who.name.as_str()));
    let first = named.filter_map(|name| by_name.get(name).copied());
    let mut chosen: Vec<u32> = Vec::new();
    for agent in first.chain((0..).zip(&series.users).map(|(agent, _)| agent)) {
        if chosen.len() < LANES && !chosen.contains(&agent) {
            chosen.push(agent);
        }
    }
    chosen
}
