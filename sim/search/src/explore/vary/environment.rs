//! Draws the network, the server's times, and clients' retries.

use chat_types::Span;

use super::dice::{Dice, ratio, table, written};
use super::users;
use sim_model::draw::{Quantiles, Ratio, Shape};
use sim_model::plan::{Capacity, Client, Plan};

/// Latencies, from almost none to very long. Most have a spread, without which there are no races.
const LATENCIES: [Shape; 5] = [
    lognormal(1_000, 10_000),
    lognormal(5_000, 80_000),
    lognormal(20_000, 250_000),
    lognormal(50_000, 200_000),
    lognormal(80_000, 600_000),
];

const fn lognormal(p50: u64, p99: u64) -> Shape {
    Shape::Lognormal { p50, p99 }
}

/// Draws the network's random behaviour.
pub(super) fn network(plan: &mut Plan, dice: &mut Dice) {
    let network = &mut plan.network;
    let own = network.latency.shape();
    let shape = match dice.between(0, 7) {
        0 => own,
        1 => Shape::Fixed(Span::millis(1).0),
        2 => Shape::Uniform(0, Span::millis(100).0),
        _ => dice.pick(&LATENCIES),
    };
    if shape != own {
        network.latency = table(shape);
    }
    dice.say(format!("latency {}", written(shape)));
    let chances = [
        ("loss", &mut network.loss, [200, 50, 20, 8]),
        ("duplicate", &mut network.duplicate, [200, 50, 10, 4]),
        ("stream break", &mut network.stream_break, [200, 50, 20, 8]),
    ];
    for (name, chance, one_in) in chances {
        match dice.between(0, 4) {
            0 => {}
            1 | 2 => *chance = Ratio::NEVER,
            _ => *chance = ratio(1, dice.pick(&one_in)),
        }
        if chance.is_possible() {
            dice.say(format!("{name} {chance}"));
        }
    }
    if dice.one_in(6) {
        let addresses = dice.between(1, 4);
        network.addresses = Some(addresses);
        dice.say(format!("from {addresses} addresses"));
    }
}

/// Draws so few addresses and places for each that some participants must be forgotten.
pub(super) fn few_addresses(plan: &mut Plan, dice: &mut Dice) {
    let (addresses, places) = (dice.between(1, 2), dice.between(2, 4));
    plan.network.addresses = Some(addresses);
    plan.server.max_per_address = places;
    dice.say(format!(
        "from {addresses} addresses, {places} users of each"
    ));
}

/// A slow journal with few pending entries, and a network that duplicates calls: a repetition finds
/// its first attempt waiting, and would otherwise be refused.
pub(super) fn narrow_journal(plan: &mut Plan, dice: &mut Dice) {
    let commit = dice.pick(&[
        Shape::Fixed(Span::millis(30).0),
        Shape::Uniform(0, Span::millis(200).0),
    ]);
    plan.capacity.commit = table(commit);
    let pending = dice.pick(&[1, 1, 2, 3]);
    let duplicate = ratio(1, dice.pick(&[2, 4]));
    (plan.server.max_pending, plan.network.duplicate) = (pending, duplicate);
    let commit = written(commit);
    dice.say(format!(
        "commit {commit}, max_pending {pending}, duplicate {duplicate}"
    ));
}

/// A journal so slow that many calls wait for one batch, and take effect at one instant.
pub(super) fn slow_journal(plan: &mut Plan, dice: &mut Dice) {
    let commit = Shape::Fixed(dice.ms(&[30, 150]).0);
    plan.capacity.commit = table(commit);
    dice.say(format!("commit {}", written(commit)));
}

/// Draws clients' retries.
fn client(plan: &mut Plan, dice: &mut Dice) {
    let own = plan.client;
    if dice.coin() {
        plan.client = Client {
            timeout: dice.own_or_ms(own.timeout, &[50, 150, 300, 1_000]),
            backoff: dice.between(1, 3),
            max: dice.own_or_ms(own.max, &[200, 1_000, 4_000]),
            attempts: dice.pick(&[own.attempts, 1, 2, 4, 20]),
        };
        // A client whose timeout is shorter than a usual round trip never receives an answer.
        let usual = |table: &Quantiles| table.at(u64::MAX / 100 * 99);
        let capacity = &plan.capacity;
        let served = usual(&capacity.service) + usual(&capacity.commit);
        let round_trip = Span(2 * usual(&plan.network.latency) + served);
        let growth = u64::from(plan.client.backoff).saturating_pow(plan.client.attempts - 1);
        let longest = plan.client.timeout.times(growth).min(plan.client.max);
        if longest.max(plan.client.timeout) < round_trip {
            plan.client.timeout = Span::millis(round_trip.as_millis() + 1);
        }
        let drawn = plan.client;
        dice.say(format!(
            "timeout {} ×{} to {}, {} attempts",
            drawn.timeout, drawn.backoff, drawn.max, drawn.attempts
        ));
    }
}

/// Draws frequent snapshots, so that a crash recovers from one and shows what it lacks.
pub(super) fn snapshots(capacity: &mut Capacity, dice: &mut Dice) {
    if !dice.one_in(5) {
        capacity.snapshot_every = dice.pick(&[1, 1, 2, 5, 10, 20, 50]);
        dice.say(format!("snapshot every {}", capacity.snapshot_every));
    }
}

/// Draws the server's times, and clients' retries.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    let users = u32::try_from(users::arriving(plan)).unwrap_or(u32::MAX);
    let capacity = &mut plan.capacity;
    if dice.one_in(3) {
        let (at_once, slow) = (Shape::Fixed(1), lognormal(500, 3_000));
        let service = dice.pick(&[at_once, Shape::Uniform(0, 2_000), slow]);
        let slow = lognormal(5_000, 40_000);
        let commit = dice.pick(&[at_once, Shape::Uniform(0, 10_000), slow]);
        capacity.service = table(service);
        capacity.commit = table(commit);
        let (service, commit) = (written(service), written(commit));
        dice.say(format!("service {service} · commit {commit}"));
    }
    snapshots(capacity, dice);
    if dice.one_in(6) {
        // Clients that retry in step must fit into the queue for service.
        capacity.queue = dice.between(4, 16).max(users.div_ceil(4));
        dice.say(format!("line for service {}", capacity.queue));
    }
    client(plan, dice);
}
