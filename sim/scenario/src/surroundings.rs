//! The environment of users: the server's capacity, the clients' retries, and the network.

use super::error::{Problem, Read};
use super::fields::Fields;
use super::forms::{count, ratio, some_time, text, word};
use super::node::{Node, Value};
use super::tables::Tables;
use sim_model::plan::{
    Capacity, Client, Network, Race, Schedule, USUAL_CLIENT, usual_capacity, usual_network,
};
use sim_model::recipe::{EXAMPLE, Recipe, RecipeError};

pub(super) const CAPACITY_KEYS: [&str; 4] = ["service", "commit", "queue", "snapshot_every"];
pub(super) const CLIENT_KEYS: [&str; 4] = ["timeout", "backoff", "max", "attempts"];
pub(super) const SCHEDULES: [&str; 2] = ["plain", "race"];
pub(super) const RACE_KEYS: [&str; 2] = ["depth", "hug"];
/// The largest depth of a race schedule.
pub(super) const MAX_DEPTH: u32 = 100;
pub(super) const NETWORK_KEYS: [&str; 5] =
    ["latency", "loss", "duplicate", "stream_break", "addresses"];

/// The server's capacity.
pub(super) fn capacity(node: Option<&Node>, tables: &mut Tables) -> Read<Capacity> {
    let mut capacity = usual_capacity();
    let Some(node) = node else {
        return Ok(capacity);
    };
    let fields = Fields::read(node, "`capacity`", &CAPACITY_KEYS)?;
    if let Some(node) = fields.get("service") {
        capacity.service = tables.drawn_span(node)?;
    }
    if let Some(node) = fields.get("commit") {
        capacity.commit = tables.drawn_span(node)?;
    }
    if let Some(node) = fields.get("queue") {
        capacity.queue = count(node, 1..=10_000_000)?;
    }
    if let Some(node) = fields.get("snapshot_every") {
        capacity.snapshot_every = count(node, 1..=10_000_000)?;
    }
    Ok(capacity)
}

/// The clients' retries.
pub(super) fn client(node: Option<&Node>) -> Read<Client> {
    let mut client = USUAL_CLIENT;
    let Some(node) = node else {
        return Ok(client);
    };
    let fields = Fields::read(node, "`client`", &CLIENT_KEYS)?;
    if let Some(node) = fields.get("timeout") {
        client.timeout = some_time(node)?;
    }
    if let Some(node) = fields.get("backoff") {
        client.backoff = count(node, 1..=100)?;
    }
    if let Some(node) = fields.get("max") {
        client.max = some_time(node)?;
    }
    if let Some(node) = fields.get("attempts") {
        client.attempts = count(node, 1..=1_000)?;
    }
    Ok(client)
}

/// The network's random faults.
pub(super) fn network(node: Option<&Node>, tables: &mut Tables) -> Read<Network> {
    let mut network = usual_network();
    let Some(node) = node else {
        return Ok(network);
    };
    let fields = Fields::read(node, "`network`", &NETWORK_KEYS)?;
    if let Some(node) = fields.get("latency") {
        network.latency = tables.drawn_span(node)?;
    }
    if let Some(node) = fields.get("loss") {
        network.loss = ratio(node)?;
    }
    if let Some(node) = fields.get("duplicate") {
        network.duplicate = ratio(node)?;
    }
    if let Some(node) = fields.get("stream_break") {
        network.stream_break = ratio(node)?;
    }
    if let Some(node) = fields.get("addresses") {
        network.addresses = count(node, 1..=1_000_000)?;
    }
    Ok(network)
}

/// The steps at which runs branch: `s123:2,s990:1`.
pub(super) fn recipe(node: &Node) -> Read<Recipe> {
    text(node, "a recipe")?
        .parse()
        .map_err(|problem: RecipeError| Problem::new(node.place, problem.to_string(), EXAMPLE))
}

/// The order in which concurrent packets are delivered: `plain`, `race`, or a race with parameters.
pub(super) fn schedule(node: &Node) -> Read<Schedule> {
    if !matches!(node.value, Value::Map(_)) {
        let kinds = [Schedule::Plain, Schedule::Race(Race::default())];
        let words: Vec<_> = SCHEDULES.into_iter().zip(kinds).collect();
        return word(node, "a schedule", &words);
    }
    let race = Fields::read(node, "`schedule`", &["race"])?.need("race", "race: { depth: 3 }")?;
    let fields = Fields::read(race, "`race`", &RACE_KEYS)?;
    let mut race = Race::default();
    if let Some(node) = fields.get("depth") {
        race.depth = count(node, 1..=MAX_DEPTH)?;
    }
    if let Some(node) = fields.get("hug") {
        race.hug = ratio(node)?;
    }
    Ok(Schedule::Race(race))
}
