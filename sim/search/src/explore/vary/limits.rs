//! Draws the server's limits and durations, small enough to be reached.

use chat_types::config::{Limit, Matching, RateLimit, StickRule};
use chat_types::{Config, Span};

use super::dice::Dice;

/// An hour in milliseconds: longer than most runs.
const HOUR: u64 = 3_600_000;

/// Draws the server's configuration.
pub(super) fn draw(server: &mut Config, dice: &mut Dice) {
    matching(server, dice);
    times(server, dice);
    if dice.coin() {
        limits(server, dice);
    }
}

/// Limits with their names, and the least and the most that is drawn for each.
type Rows<'r, 's> = &'r mut [(&'s mut u32, &'static str, u32, u32)];

/// Draws each of these limits one time in `one_in`, and records it.
fn some(one_in: u64, rows: Rows<'_, '_>, dice: &mut Dice) {
    for (value, name, low, high) in rows {
        if dice.one_in(one_in) {
            **value = dice.between(*low, *high);
            dice.say(format!("{name} {value}"));
        }
    }
}

/// Draws some limits so small that two or three users reach them, or so large that none does.
pub(super) fn tighten(server: &mut Config, users: u32, dice: &mut Dice) {
    let few = &mut [
        (&mut server.max_participants, "max_participants", 1, users),
        (&mut server.max_per_address, "max_per_address", 1, 3),
        (&mut server.max_rooms, "max_rooms", 1, 3),
        (&mut server.max_rooms_each, "max_rooms_each", 1, 2),
        (&mut server.max_members, "max_members", 2, 3),
        (&mut server.max_queue, "max_queue", 1, 2),
        (&mut server.inbox_limit, "inbox_limit", 2, 5),
        (&mut server.max_answer, "max_answer", 1, 4),
        (&mut server.max_answer_bytes, "max_answer_bytes", 1, 9),
        (&mut server.max_pending, "max_pending", 1, 3),
        (&mut server.max_message, "max_message", 1, 5),
        (&mut server.max_append, "max_append", 1, 5),
        (&mut server.max_draft, "max_draft", 1, 9),
    ];
    some(12, few, dice);
    let times = [
        (&mut server.interest_patience, "patience", [0, 1, 50, 5_000]),
        (&mut server.idle_timeout, "idle", [100, 200, 400, 10_000]),
        (&mut server.queue_timeout, "queue", [100, 200, 400, 10_000]),
        (&mut server.reconnect_grace, "grace", [1, 10, 100, 10_000]),
        (&mut server.stick_lease, "lease", [10, 50, 5_000, 20_000]),
        (&mut server.unused_timeout, "unused", [10, 50, 100, 10_000]),
    ];
    for (value, name, [a, b, c, d]) in times {
        if dice.one_in(6) {
            *value = dice.ms(&[a, b, c, d, HOUR]);
            dice.say(format!("{name} {value}"));
        }
    }
}

/// Draws the matching where all users look for partners.
pub(super) fn line(server: &mut Config, dice: &mut Dice) {
    let interests = Matching::Interests;
    let rules = [Matching::Fifo, Matching::Random, interests, interests];
    let patience = [50, 300, 1_000, 3_000, HOUR, HOUR];
    matched_by(&rules, &patience, server, dice, "");
}

/// Draws another matching rule for the restart of a server that matched by interests.
pub(super) fn no_longer_by_interests(server: &mut Config, dice: &mut Dice) {
    let rules = [Matching::Fifo, Matching::Random, Matching::Random];
    matched_by(&rules, &[300, 1_000, 3_000], server, dice, "then ");
}

/// Draws one of these rules, and one of these times of patience in milliseconds.
fn matched_by(rules: &[Matching], ms: &[u64], server: &mut Config, dice: &mut Dice, when: &str) {
    server.matching = dice.pick(rules);
    server.interest_patience = dice.ms(ms);
    let (matching, patience) = (server.matching, server.interest_patience);
    dice.say(format!("{when}{matching} matching, patience {patience}"));
}

/// Draws limits for a restart that the state before it has passed: pair rooms with more turns, and
/// bosses that have been alert for longer.
pub(super) fn shorten(server: &mut Config, dice: &mut Dice) {
    server.turn_limit = Limit::At(dice.between(1, 3));
    server.boss_alertness = 100;
    server.boss_alertness_cooldown = dice.ms(&[1_000, 2_000, 5_000]);
    let (turns, cooldown) = (server.turn_limit, server.boss_alertness_cooldown);
    dice.say(format!(
        "then turn_limit {turns}, a boss that calms in {cooldown}"
    ));
}

/// Draws the size of inboxes where operators act: half of them so small that acts fall into gaps.
pub(super) fn of_inboxes(server: &mut Config, dice: &mut Dice) {
    if dice.coin() {
        server.inbox_limit = dice.pick(&[2, 3, 5]);
        dice.say(format!("inbox_limit {}", server.inbox_limit));
    }
}

/// Draws the matching where all users wait without a stream: patience ends within the grace period.
pub(super) fn absent(server: &mut Config, dice: &mut Dice) {
    server.matching = Matching::Interests;
    server.interest_patience = dice.ms(&[50, 300, 1_000]);
    server.reconnect_grace = dice.ms(&[2_000, 5_000]);
    let (patience, grace) = (server.interest_patience, server.reconnect_grace);
    dice.say(format!("patience {patience}, grace {grace}"));
}

/// Draws the limits of a room and the durations in it, where all users are in one room.
pub(super) fn crowd(server: &mut Config, dice: &mut Dice) {
    server.max_members = dice.pick(&[2, 3, 4, server.max_members, server.max_members]);
    server.history_limit = dice.pick(&[1, 2, 4, server.history_limit, server.history_limit]);
    server.reconnect_grace = dice.ms(&[50, 300, 2_000]);
    server.idle_timeout = dice.ms(&[300, 1_000, 5_000]);
    server.stick_lease = dice.ms(&[100, 300, 1_000, 5_000]);
    let (members, history) = (server.max_members, server.history_limit);
    let (grace, idle) = (server.reconnect_grace, server.idle_timeout);
    let lease = server.stick_lease;
    let lasts = format!("grace {grace}, idle {idle}, lease {lease}");
    dice.say(format!("{members} members, history {history}, {lasts}"));
}

/// Draws limits of delayed answers and pending calls where all users take breaks. A repeated break
/// joins the first one only where it would otherwise be refused.
pub(super) fn rest(server: &mut Config, dice: &mut Dice) {
    let (held, each) = (&mut server.max_held, &mut server.max_held_each);
    for value in [held, each, &mut server.max_pending] {
        *value = dice.pick(&[1, 2, *value, *value]);
    }
    let (held, each, pending) = (server.max_held, server.max_held_each, server.max_pending);
    dice.say(format!(
        "max_held {held}, {each} each, max_pending {pending}"
    ));
    // A boss that notices every break, and calms down between breaks, or is still alert after a
    // restart.
    server.boss_alertness = 100;
    server.boss_alertness_cooldown = dice.ms(&[1_000, 15_000, 60_000, 60_000]);
}

/// Draws the behaviour of bosses, sometimes noticing every break, or none.
pub(super) fn bosses(server: &mut Config, dice: &mut Dice) {
    let (alertness, cooldown) = (server.boss_alertness, server.boss_alertness_cooldown);
    server.boss_alertness = dice.pick(&[alertness, alertness, 0, 50, 80, 100, 100]);
    let secs = Span::secs;
    server.boss_alertness_cooldown =
        dice.pick(&[cooldown, cooldown, secs(0), secs(1), secs(3), secs(15)]);
    let (alertness, cooldown) = (server.boss_alertness, server.boss_alertness_cooldown);
    dice.say(format!("boss {alertness} %, calms in {cooldown}"));
    let few = &mut [
        (&mut server.max_held, "max_held", 1, 4),
        (&mut server.max_held_each, "max_held_each", 1, 2),
        (&mut server.max_excuse, "max_excuse", 1, 20),
    ];
    some(4, few, dice);
}

fn matching(server: &mut Config, dice: &mut Dice) {
    use Matching::{Fifo, Interests, Random};
    let own = server.matching;
    server.matching = dice.pick(&[own, own, Fifo, Random, Interests]);
    match server.matching {
        Fifo => {}
        Random => dice.say("random matching"),
        Interests => {
            server.interest_patience = dice.ms(&[0, 300, 1_000]);
            dice.say(format!("interests, patience {}", server.interest_patience));
        }
    }
    let own = server.stick;
    server.stick = dice.pick(&[own, own, StickRule::Required, StickRule::Optional]);
    if server.stick == StickRule::Optional {
        dice.say("stick optional");
    }
}

/// Draws the durations on which races depend.
fn times(server: &mut Config, dice: &mut Dice) {
    let times: [(&mut Span, &[u64]); 4] = [
        (&mut server.stick_lease, &[100, 300, 1_000, 2_000]),
        (&mut server.reconnect_grace, &[50, 200, 1_000, 2_000]),
        (&mut server.idle_timeout, &[500, 1_000, 2_000, 5_000]),
        (&mut server.unused_timeout, &[200, 1_000, 5_000]),
    ];
    let [lease, grace, idle, unused] = times.map(|(value, ms)| {
        *value = dice.own_or_ms(*value, ms);
        *value
    });
    dice.say(format!(
        "lease {lease} · grace {grace} · idle {idle} · unused {unused}"
    ));
    if dice.one_in(6) {
        // Longer than a packet takes: a late copy of an expired registration would register another
        // participant.
        server.forget_after = dice.ms(&[5_000, 15_000]);
        dice.say(format!("forget after {}", server.forget_after));
    }
}

fn limits(server: &mut Config, dice: &mut Dice) {
    if dice.one_in(3) {
        let turns = dice.between(1, 6);
        server.turn_limit = dice.pick(&[Limit::None, Limit::At(1), Limit::At(turns)]);
        dice.say(format!("turn_limit {}", server.turn_limit));
    }
    let of_address = &mut server.max_reports_per_address;
    let few = &mut [
        (&mut server.max_participants, "max_participants", 3, 30),
        (&mut server.max_per_address, "max_per_address", 1, 6),
        (&mut server.max_rooms, "max_rooms", 1, 10),
        (&mut server.max_queue, "max_queue", 1, 4),
        (&mut server.max_members, "max_members", 2, 6),
        (&mut server.max_rooms_each, "max_rooms_each", 1, 3),
        (&mut server.max_ended_rooms, "max_ended_rooms", 1, 2),
        (&mut server.max_message, "max_message", 1, 40),
        (&mut server.max_draft, "max_draft", 1, 60),
        (&mut server.max_append, "max_append", 1, 40),
        (&mut server.max_interests, "max_interests", 1, 2),
        (&mut server.inbox_limit, "inbox_limit", 2, 30),
        (&mut server.history_limit, "history_limit", 1, 5),
        // With smaller answers, a user with a slow network could not drain within the promised time.
        (&mut server.max_answer, "max_answer", 10, 20),
        // With fewer keys, a late retry in a slow network would not be recognised.
        (&mut server.remembered_keys, "remembered_keys", 32, 64),
        (&mut server.max_blocks, "max_blocks", 1, 2),
        (&mut server.max_reports, "max_reports", 1, 2),
        (of_address, "max_reports_per_address", 1, 2),
        (&mut server.max_bans, "max_bans", 1, 2),
        (&mut server.max_streams, "max_streams", 1, 2),
    ];
    some(4, few, dice);
    if dice.one_in(4) {
        server.max_wait = dice.ms(&[0, 300, 2_000]);
        dice.say(format!("max_wait {}", server.max_wait));
    }
    let load = &mut [
        (&mut server.max_pending, "max_pending", 4, 16),
        (&mut server.max_batch, "max_batch", 1, 4),
    ];
    some(4, load, dice);
    let (all, of_address) = (&mut server.rate_limit, &mut server.address_rate_limit);
    let registrations = &mut server.registration_rate_limit;
    let rates = [
        (all, "rate_limit", 4, [5, 10, 20], 8),
        (of_address, "address_rate_limit", 8, [5, 10, 20], 8),
        (registrations, "registration_rate_limit", 8, [1, 5, 10], 4),
    ];
    for (limit, name, one_in, per_second, burst) in rates {
        if dice.one_in(one_in) {
            *limit = RateLimit::rate(dice.pick(&per_second), dice.between(1, burst));
            dice.say(format!("{name} {limit}"));
        }
    }
}
