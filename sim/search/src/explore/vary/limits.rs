//! Draws the server's limits and durations, small enough to be reached.

use chat_types::config::{Bucket, Limit, Matching, RateLimit, StickRule};
use chat_types::{Config, Span};

use super::dice::Dice;

/// Draws the server's configuration.
pub(super) fn draw(server: &mut Config, dice: &mut Dice) {
    matching(server, dice);
    times(server, dice);
    if dice.coin() {
        rooms(server, dice);
        words(server, dice);
        memory(server, dice);
        load(server, dice);
    }
}

/// Draws some limits so small that two or three users reach them, or so large that none does.
pub(super) fn tighten(server: &mut Config, users: u32, dice: &mut Dice) {
    let few = [
        (&mut server.max_participants, "max_participants", (1, users)),
        (&mut server.max_per_address, "max_per_address", (1, 3)),
        (&mut server.max_rooms, "max_rooms", (1, 3)),
        (&mut server.max_rooms_each, "max_rooms_each", (1, 2)),
        (&mut server.max_members, "max_members", (2, 3)),
        (&mut server.max_queue, "max_queue", (1, 2)),
        (&mut server.inbox_limit, "inbox_limit", (2, 5)),
        (&mut server.max_answer, "max_answer", (1, 4)),
        (&mut server.max_answer_bytes, "max_answer_bytes", (1, 9)),
        (&mut server.max_pending, "max_pending", (1, 3)),
        (&mut server.max_message, "max_message", (1, 5)),
        (&mut server.max_append, "max_append", (1, 5)),
        (&mut server.max_draft, "max_draft", (1, 9)),
    ];
    for (value, name, (low, high)) in few {
        if dice.one_in(12) {
            *value = dice.between(low, high);
            dice.say(format!("{name} {value}"));
        }
    }
    let (ms, hour) = (Span::millis, Span::secs(3_600));
    let times = [
        (
            &mut server.interest_patience,
            "patience",
            [ms(0), ms(1), ms(50), ms(5_000), hour],
        ),
        (
            &mut server.idle_timeout,
            "idle",
            [ms(100), ms(200), ms(400), ms(10_000), hour],
        ),
        (
            &mut server.queue_timeout,
            "queue",
            [ms(100), ms(200), ms(400), ms(10_000), hour],
        ),
        (
            &mut server.reconnect_grace,
            "grace",
            [ms(1), ms(10), ms(100), ms(10_000), hour],
        ),
        (
            &mut server.stick_lease,
            "lease",
            [ms(10), ms(50), ms(5_000), ms(20_000), hour],
        ),
        (
            &mut server.unused_timeout,
            "unused",
            [ms(10), ms(50), ms(100), ms(10_000), hour],
        ),
    ];
    for (value, name, those) in times {
        if dice.one_in(6) {
            *value = dice.pick(&those);
            dice.say(format!("{name} {value}"));
        }
    }
}

/// Draws the matching where all users look for partners.
pub(super) fn line(server: &mut Config, dice: &mut Dice) {
    let interests = Matching::Interests;
    server.matching = dice.pick(&[Matching::Fifo, Matching::Random, interests, interests]);
    let (ms, hour) = (Span::millis, Span::secs(3_600));
    server.interest_patience = dice.pick(&[ms(50), ms(300), ms(1_000), ms(3_000), hour, hour]);
    let matching = format!("{:?}", server.matching).to_lowercase();
    dice.say(format!(
        "{matching} matching, patience {}",
        server.interest_patience
    ));
}

/// Draws another matching rule for the restart of a server that matched by interests.
pub(super) fn no_longer_by_interests(server: &mut Config, dice: &mut Dice) {
    let ms = Span::millis;
    server.matching = dice.pick(&[Matching::Fifo, Matching::Random, Matching::Random]);
    server.interest_patience = dice.pick(&[ms(300), ms(1_000), ms(3_000)]);
    let matching = format!("{:?}", server.matching).to_lowercase();
    dice.say(format!(
        "then {matching} matching, patience {}",
        server.interest_patience
    ));
}

/// Draws limits for a restart that the state before it has passed: pair rooms with more turns, and
/// bosses that have been alert for longer.
pub(super) fn shorten(server: &mut Config, dice: &mut Dice) {
    server.turn_limit = Limit::At(dice.between(1, 3));
    server.boss_alertness = 100;
    server.boss_alertness_cooldown = dice.pick(&[Span::secs(1), Span::secs(2), Span::secs(5)]);
    dice.say(format!(
        "then turn_limit {}, a boss that calms in {}",
        server.turn_limit, server.boss_alertness_cooldown
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
    let ms = Span::millis;
    server.interest_patience = dice.pick(&[ms(50), ms(300), ms(1_000)]);
    server.reconnect_grace = dice.pick(&[ms(2_000), ms(5_000)]);
    dice.say(format!(
        "patience {}, grace {}",
        server.interest_patience, server.reconnect_grace
    ));
}

/// Draws the limits of a room and the durations in it, where all users are in one room.
pub(super) fn crowd(server: &mut Config, dice: &mut Dice) {
    let ms = Span::millis;
    server.max_members = dice.pick(&[2, 3, 4, server.max_members, server.max_members]);
    server.history_limit = dice.pick(&[1, 2, 4, server.history_limit, server.history_limit]);
    server.reconnect_grace = dice.pick(&[ms(50), ms(300), ms(2_000)]);
    server.idle_timeout = dice.pick(&[ms(300), ms(1_000), ms(5_000)]);
    server.stick_lease = dice.pick(&[ms(100), ms(300), ms(1_000), ms(5_000)]);
    dice.say(format!(
        "{} members, history {}, grace {}, idle {}, lease {}",
        server.max_members,
        server.history_limit,
        server.reconnect_grace,
        server.idle_timeout,
        server.stick_lease
    ));
}

/// Draws limits of delayed answers and pending calls where all users take breaks. A repeated break
/// joins the first one only where it would otherwise be refused.
pub(super) fn rest(server: &mut Config, dice: &mut Dice) {
    server.max_held = dice.pick(&[1, 2, server.max_held, server.max_held]);
    let each = server.max_held_each;
    server.max_held_each = dice.pick(&[1, 2, each, each]);
    server.max_pending = dice.pick(&[1, 2, server.max_pending, server.max_pending]);
    dice.say(format!(
        "max_held {}, {} each, max_pending {}",
        server.max_held, server.max_held_each, server.max_pending
    ));
    // A boss that notices every break, and calms down between breaks, or is still alert after a
    // restart.
    server.boss_alertness = 100;
    let secs = Span::secs;
    server.boss_alertness_cooldown = dice.pick(&[secs(1), secs(15), secs(60), secs(60)]);
}

/// Draws the behaviour of bosses, sometimes noticing every break, or none.
pub(super) fn bosses(server: &mut Config, dice: &mut Dice) {
    server.boss_alertness = dice.pick(&[
        server.boss_alertness,
        server.boss_alertness,
        0,
        50,
        80,
        100,
        100,
    ]);
    let cooldown = server.boss_alertness_cooldown;
    let secs = Span::secs;
    server.boss_alertness_cooldown =
        dice.pick(&[cooldown, cooldown, secs(0), secs(1), secs(3), secs(15)]);
    dice.say(format!(
        "boss {} %, calms in {}",
        server.boss_alertness, server.boss_alertness_cooldown
    ));
    limit(&mut server.max_held, "max_held", (1, 4), dice);
    limit(&mut server.max_held_each, "max_held_each", (1, 2), dice);
    limit(&mut server.max_excuse, "max_excuse", (1, 20), dice);
}

fn matching(server: &mut Config, dice: &mut Dice) {
    server.matching = dice.pick(&[
        server.matching,
        server.matching,
        Matching::Fifo,
        Matching::Random,
        Matching::Interests,
    ]);
    match server.matching {
        Matching::Fifo => {}
        Matching::Random => dice.say("random matching"),
        Matching::Interests => {
            let none = Span::ZERO;
            server.interest_patience = dice.pick(&[none, Span::millis(300), Span::secs(1)]);
            dice.say(format!("interests, patience {}", server.interest_patience));
        }
    }
    server.stick = dice.pick(&[
        server.stick,
        server.stick,
        StickRule::Required,
        StickRule::Optional,
    ]);
    if server.stick == StickRule::Optional {
        dice.say("stick optional");
    }
}

/// Draws the durations on which races depend.
fn times(server: &mut Config, dice: &mut Dice) {
    let ms = Span::millis;
    server.stick_lease = dice.pick(&[server.stick_lease, ms(100), ms(300), ms(1_000), ms(2_000)]);
    server.reconnect_grace = dice.pick(&[
        server.reconnect_grace,
        ms(50),
        ms(200),
        ms(1_000),
        ms(2_000),
    ]);
    server.idle_timeout = dice.pick(&[
        server.idle_timeout,
        ms(500),
        ms(1_000),
        ms(2_000),
        ms(5_000),
    ]);
    server.unused_timeout = dice.pick(&[server.unused_timeout, ms(200), ms(1_000), ms(5_000)]);
    dice.say(format!(
        "lease {} · grace {} · idle {} · unused {}",
        server.stick_lease, server.reconnect_grace, server.idle_timeout, server.unused_timeout
    ));
    if dice.one_in(6) {
        // Longer than a packet takes: a late copy of an expired registration would register another
        // participant.
        server.forget_after = dice.pick(&[ms(5_000), ms(15_000)]);
        dice.say(format!("forget after {}", server.forget_after));
    }
}

/// Draws a limit one time in four, and records it.
fn limit(value: &mut u32, name: &str, (low, high): (u32, u32), dice: &mut Dice) {
    if dice.one_in(4) {
        *value = dice.between(low, high);
        dice.say(format!("{name} {value}"));
    }
}

fn rooms(server: &mut Config, dice: &mut Dice) {
    if dice.one_in(3) {
        let turns = dice.between(1, 6);
        server.turn_limit = dice.pick(&[Limit::None, Limit::At(1), Limit::At(turns)]);
        dice.say(format!("turn_limit {}", server.turn_limit));
    }
    limit(
        &mut server.max_participants,
        "max_participants",
        (3, 30),
        dice,
    );
    limit(&mut server.max_per_address, "max_per_address", (1, 6), dice);
    limit(&mut server.max_rooms, "max_rooms", (1, 10), dice);
    limit(&mut server.max_queue, "max_queue", (1, 4), dice);
    limit(&mut server.max_members, "max_members", (2, 6), dice);
    limit(&mut server.max_rooms_each, "max_rooms_each", (1, 3), dice);
    limit(&mut server.max_ended_rooms, "max_ended_rooms", (1, 2), dice);
}

fn words(server: &mut Config, dice: &mut Dice) {
    limit(&mut server.max_message, "max_message", (1, 40), dice);
    limit(&mut server.max_draft, "max_draft", (1, 60), dice);
    limit(&mut server.max_append, "max_append", (1, 40), dice);
    limit(&mut server.max_interests, "max_interests", (1, 2), dice);
}

fn memory(server: &mut Config, dice: &mut Dice) {
    limit(&mut server.inbox_limit, "inbox_limit", (2, 30), dice);
    limit(&mut server.history_limit, "history_limit", (1, 5), dice);
    // With smaller answers, a user with a slow network could not drain within the promised time.
    limit(&mut server.max_answer, "max_answer", (10, 20), dice);
    // With fewer keys, a late retry in a slow network would not be recognised.
    limit(
        &mut server.remembered_keys,
        "remembered_keys",
        (32, 64),
        dice,
    );
    limit(&mut server.max_blocks, "max_blocks", (1, 2), dice);
    limit(&mut server.max_reports, "max_reports", (1, 2), dice);
    limit(
        &mut server.max_reports_per_address,
        "max_reports_per_address",
        (1, 2),
        dice,
    );
    limit(&mut server.max_bans, "max_bans", (1, 2), dice);
    limit(&mut server.max_streams, "max_streams", (1, 2), dice);
    if dice.one_in(4) {
        server.max_wait = dice.pick(&[Span::ZERO, Span::millis(300), Span::secs(2)]);
        dice.say(format!("max_wait {}", server.max_wait));
    }
}

fn load(server: &mut Config, dice: &mut Dice) {
    limit(&mut server.max_pending, "max_pending", (4, 16), dice);
    limit(&mut server.max_batch, "max_batch", (1, 4), dice);
    if dice.one_in(4) {
        server.rate_limit = RateLimit::Bucket(Bucket {
            per_second: dice.pick(&[5, 10, 20]),
            burst: dice.between(1, 8),
        });
        dice.say(format!("rate_limit {}", server.rate_limit));
    }
    if dice.one_in(8) {
        server.address_rate_limit = RateLimit::Bucket(Bucket {
            per_second: dice.pick(&[5, 10, 20]),
            burst: dice.between(1, 8),
        });
        dice.say(format!("address_rate_limit {}", server.address_rate_limit));
    }
    if dice.one_in(8) {
        server.registration_rate_limit = RateLimit::Bucket(Bucket {
            per_second: dice.pick(&[1, 5, 10]),
            burst: dice.between(1, 4),
        });
        let limit = server.registration_rate_limit;
        dice.say(format!("registration_rate_limit {limit}"));
    }
}
