//! What single users sent, received and experienced, as lanes that a page can draw: of as many users
//! as a bounded number of events allows.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::diagram::{Band, Event, Fate, Kind, lane_events};
use sim_model::outcome::{Charts, RunResult, Series};
use sim_model::plan::Plan;
use sim_model::protocol::Agent;
use sim_model::run_log::RunLog;

/// The most users with a lane.
const LANES: usize = 80;
/// The most events of all lanes, and of one: the first ones.
const EVENTS: usize = 1_200;
const EACH: usize = 80;

/// The lanes of several users.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct UserLanes {
    /// The users, by their place in the list of users.
    pub users: Vec<u32>,
    /// Labels of events, which refer to them by their places here.
    pub labels: Vec<String>,
    /// The events of all lanes, ordered by their beginning.
    pub events: Vec<LaneEvent>,
    /// Faults. The lane of the server has the number of users.
    pub bands: Vec<Band>,
    /// The number of events that each lane leaves out, in the order of users.
    pub left_out: Vec<u64>,
}

/// An event of a lane: the lane, the kind, the label, the fate, when it began, when it arrived and
/// when it was served. Times are microseconds since the start of the run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LaneEvent(
    usize,
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
    let agents = choose(series, result, charts);
    let named = |agent: &u32| (Agent(*agent), series.users[*agent as usize].who.to_string());
    let (events, bands) = lane_events(plan, log, agents.iter().map(named).collect());
    packed(agents, events, bands)
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

/// As many lanes as the number of events allows.
fn packed(mut users: Vec<u32>, all: Vec<Event>, mut bands: Vec<Band>) -> UserLanes {
    let mut by_lane: Vec<Vec<Event>> = vec![Vec::new(); users.len()];
    for event in all {
        // Events of the server alone are in the bands.
        if let Some(lane) = by_lane.get_mut(event.lane)
            && !event.idle
        {
            lane.push(event);
        }
    }
    let mut taken = 0;
    let fits = |events: &&Vec<Event>| {
        taken += events.len().min(EACH);
        taken <= EVENTS
    };
    let kept = by_lane.iter().take_while(fits).count();
    let server = users.len();
    users.truncate(kept);
    bands.retain(|band| band.lane < kept || band.lane == server);
    for band in &mut bands {
        band.lane = band.lane.min(kept);
    }
    let mut lanes = UserLanes {
        left_out: by_lane[..kept]
            .iter()
            .map(|events| events.len().saturating_sub(EACH) as u64)
            .collect(),
        users,
        bands,
        ..UserLanes::default()
    };
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let by_lane = by_lane.into_iter().take(kept);
    for event in by_lane.flat_map(|lane| lane.into_iter().take(EACH)) {
        let next = known.len();
        let label = *known.entry(event.label.clone()).or_insert(next);
        if label == next {
            lanes.labels.push(event.label);
        }
        lanes.events.push(LaneEvent(
            event.lane,
            event.kind,
            label,
            event.fate,
            event.from_us,
            event.to_us,
            event.served_us,
        ));
    }
    lanes.events.sort_by_key(|event| event.4);
    lanes
}
