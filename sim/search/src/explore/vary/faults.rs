//! Draws the faults and their times.

use chat_types::config::Matching;
use chat_types::{Config, Span, StickMove, TimerKind};

use super::dice::{Dice, ratio};
use super::{limits, texts};
use sim_model::outcome::Point;
use sim_model::plan::{
    ClientHarm, Fault, FaultKind, Harm, Milestone, OperatorAct, OperatorVerb, Outage, Plan,
    Reached, Stored, Strikes, Victims,
};

/// Draws the faults, but none one time in `none_in`.
pub(super) fn maybe(none_in: u64, plan: &mut Plan, dice: &mut Dice) {
    if dice.one_in(none_in) {
        plan.faults.clear();
        return dice.say("no faults");
    }
    draw(plan, dice);
}

/// Draws the faults: some of the scenario's own at other times, and additional ones. All of them
/// end within the plan's duration.
fn draw(plan: &mut Plan, dice: &mut Dice) {
    let own = std::mem::take(&mut plan.faults);
    let end = plan.duration;
    let (timed, own): (Vec<Fault>, Vec<Fault>) =
        own.into_iter().partition(|fault| fault.milestone.is_some());
    for mut fault in timed {
        if dice.coin() {
            fault.shorten(end);
            add(fault, plan, dice);
        }
    }
    for kind in kinds(own, &plan.server, end, dice) {
        // Most events happen early.
        let within = if dice.coin() { end } else { Span(end.0 / 4) };
        let at = dice.before(within);
        let mut fault = Fault::once(at, kind);
        fault.shorten(Span(end.0 - at.0));
        if !matches!(fault.kind, FaultKind::Configure(_)) && dice.one_in(4) {
            fault.at = Span::ZERO;
            fault.milestone = Some(milestone(dice));
            // Faults lose answers at milestones only: at random times the network loses them.
            if dice.one_in(3) {
                fault.kind = FaultKind::LoseReplies;
            }
        }
        add(fault, plan, dice);
    }
    move_before_starts(&mut plan.faults, dice);
    plan.faults.sort_by_key(|fault| fault.at);
    // A registration must last longer than a packet, or a late copy has a second effect. A clock
    // jump shortens it.
    let mut ahead = Span::secs(5);
    for fault in &plan.faults {
        if let FaultKind::ClockJump { by } = fault.kind {
            ahead = ahead + by;
        }
    }
    let forget_after = &mut plan.server.forget_after;
    *forget_after = (*forget_after).max(ahead);
}

/// Moves changes of configuration before the last outage, because they take effect at the next
/// start, and damage of files, too. Marks are damaged during the outage: a running server replaces
/// them.
fn move_before_starts(faults: &mut [Fault], dice: &mut Dice) {
    let downs = faults
        .iter()
        .filter(|fault| matches!(fault.kind, FaultKind::Down { .. }));
    let Some((last, down_for)) = downs.map(|fault| (fault.at, fault.kind.length())).max() else {
        return;
    };
    let mut before = |most: Span| dice.before(most.max(Span::millis(1)));
    for fault in faults {
        let strikes = fault.kind.row().strikes;
        if matches!(strikes, Strikes::OutageFiles) && fault.milestone.is_none() {
            fault.at = last + before(down_for);
        } else if matches!(strikes, Strikes::NextStart | Strikes::OutageFiles) && fault.at >= last {
            fault.at = before(last);
        }
    }
}

/// Adds a fault, and says so.
fn add(fault: Fault, plan: &mut Plan, dice: &mut Dice) {
    // Only the steps form names users.
    dice.say(format!("{} {}", fault.at, fault.words(&[])));
    plan.faults.push(fault);
}

/// Faults that matter to users on breaks: restarts of the server, and a journal that cannot be
/// written.
pub(super) fn of_breaks() -> Vec<Fault> {
    let mut faults = of_restarts(Span::secs(1));
    faults.push(at_any_time(failing(Span::secs(1))));
    faults
}

/// Restarts of the server, mostly with another configuration, so that waiting state is restored.
pub(super) fn of_restarts(down_for: Span) -> Vec<Fault> {
    let down = |how| at_any_time(FaultKind::Down { down_for, how });
    [Outage::Stop, Outage::Crash, Outage::Stop, Outage::Crash]
        .map(down)
        .into()
}

/// A ban of an address, and a stop of the server soon after it: calls from there meet the stop.
pub(super) fn of_banned(dice: &mut Dice) -> [Fault; 2] {
    let ban = FaultKind::Operator(act(OperatorVerb::BanAddress, dice));
    let first = dice.pick(&[1, 2, 4]);
    let later = first + dice.pick(&[1, 2, 4]);
    [(ban, first), (STOP, later)].map(|(kind, count)| at_point(Point::Muted, count, kind))
}

/// Repeated failures of the journal, and a stop of the server soon after one of them.
pub(super) fn of_journal(dice: &mut Dice) -> Vec<Fault> {
    let mut faults = vec![at_any_time(failing(dice.ms(&[300, 300, 3_000]))); 6];
    let count = dice.between(1, 4);
    faults.push(at_point(Point::StorageUnavailable, count, STOP));
    faults
}

/// A short stop of the server.
const STOP: FaultKind = FaultKind::Down {
    down_for: Span::millis(500),
    how: Outage::Stop,
};

const fn failing(duration: Span) -> FaultKind {
    let unknown = false;
    FaultKind::FailDisk { duration, unknown }
}

/// A fault that strikes when a run reaches this point for the `count`th time.
fn at_point(point: Point, count: u32, kind: FaultKind) -> Fault {
    let reached = Reached::Sometimes(point.name());
    Fault {
        milestone: Some(Milestone { reached, count }),
        ..at_any_time(kind)
    }
}

/// Operators' actions with their weights.
type Acts = &'static [(OperatorVerb, usize)];

/// Operators' actions of every kind, mostly those that end chats and visits.
pub(super) const BUSY: Acts = &[
    (OperatorVerb::Kick, 4),
    (OperatorVerb::Close, 2),
    (OperatorVerb::Mute, 1),
    (OperatorVerb::Unmute, 1),
    (OperatorVerb::Ban, 1),
    (OperatorVerb::Unban, 1),
    (OperatorVerb::MuteAddress, 1),
    (OperatorVerb::BanAddress, 1),
    (OperatorVerb::UnbanAddress, 1),
];

/// Operators' actions that ban and mute, and those that undo them.
pub(super) const BARRING: Acts = &[
    (OperatorVerb::Ban, 3),
    (OperatorVerb::Mute, 3),
    (OperatorVerb::MuteAddress, 1),
    (OperatorVerb::Unban, 1),
    (OperatorVerb::Unmute, 1),
];

/// Repeated operators' actions of these kinds, a third of which is kept. Some actions are undone.
pub(super) fn of_operators(count: u32, verbs: Acts, dice: &mut Dice) -> Vec<Fault> {
    let verbs = verbs.iter().flat_map(|(verb, weight)| vec![*verb; *weight]);
    let verbs: Vec<OperatorVerb> = verbs.collect();
    let mut acts = Vec::new();
    for _ in 0..count {
        let verb = dice.pick(&verbs);
        let kind = FaultKind::Operator(act(verb, dice));
        acts.extend(undone(&kind).filter(|_| dice.one_in(4)));
        acts.push(kind);
    }
    acts.into_iter().map(at_any_time).collect()
}

const fn at_any_time(kind: FaultKind) -> Fault {
    Fault::once(Span::ZERO, kind)
}

/// Draws the kinds of faults: some of the scenario's own, and additional ones.
fn kinds(own: Vec<Fault>, server: &Config, end: Span, dice: &mut Dice) -> Vec<FaultKind> {
    let own = own.into_iter().filter(|_| dice.one_in(3));
    let mut faults: Vec<FaultKind> = own.map(|fault| fault.kind).collect();
    let edges = [
        Span::millis(200),
        server.reconnect_grace.min(end),
        server.stick_lease.min(end),
        server.idle_timeout.min(end),
    ];
    for _ in 0..dice.between(0, most(3, end)) {
        let kind = fault(&edges, dice);
        // A repeated fault meets the state that the first one left.
        for _ in 0..dice.pick(&[0, 0, 0, 1, 3]) {
            faults.push(kind.clone());
        }
        faults.extend(undone(&kind).filter(|_| dice.coin()));
        if matches!(kind, FaultKind::DamageDisk { .. }) {
            // A file is read at a start only.
            faults.push(down(dice.around(&edges), dice));
        }
        faults.push(kind);
    }
    let goes_down = |kind: &FaultKind| matches!(kind, FaultKind::Down { .. });
    if faults.iter().any(goes_down) && !dice.one_in(4) {
        let config = reconfigured(server, dice);
        faults.push(FaultKind::Configure(Box::new(config)));
    }
    faults
}

/// The largest number of faults within this time: a few, and another for each half minute.
pub(super) fn most(few: u32, time: Span) -> u32 {
    let half_minutes = time.as_millis() / 30_000;
    few + u32::try_from(half_minutes).unwrap_or(u32::MAX).min(10)
}

/// Operators' acts, each with the one that undoes it.
const UNDONE: [(OperatorVerb, OperatorVerb); 4] = [
    (OperatorVerb::Mute, OperatorVerb::Unmute),
    (OperatorVerb::Ban, OperatorVerb::Unban),
    (OperatorVerb::MuteAddress, OperatorVerb::UnbanAddress),
    (OperatorVerb::BanAddress, OperatorVerb::UnbanAddress),
];

/// The fault that undoes an operator's act.
fn undone(kind: &FaultKind) -> Option<FaultKind> {
    let FaultKind::Operator(act) = kind else {
        return None;
    };
    let (_, verb) = UNDONE.iter().find(|(done, _)| *done == act.verb)?;
    Some(FaultKind::Operator(OperatorAct {
        verb: *verb,
        reason: None,
        ..act.clone()
    }))
}

/// Another configuration for the same users.
fn reconfigured(server: &Config, dice: &mut Dice) -> Config {
    let mut config = server.clone();
    limits::draw(&mut config, dice);
    limits::bosses(&mut config, dice);
    // Waiters keep their preferences, and are matched by the new rules.
    if server.matching == Matching::Interests && !dice.one_in(4) {
        limits::no_longer_by_interests(&mut config, dice);
    } else if dice.coin() {
        limits::line(&mut config, dice);
    }
    if dice.coin() {
        limits::shorten(&mut config, dice);
    }
    // A registration that ends before a late packet arrives would be repeated.
    config.forget_after = config.forget_after.max(server.forget_after);
    config
}

/// The milestone of a fault: an event with which most races begin.
fn milestone(dice: &mut Dice) -> Milestone {
    const POINTS: [Point; 13] = [
        Point::Match,
        Point::MatchAfterWait,
        Point::QueueLeft,
        Point::StickWaited,
        Point::StickExpired,
        Point::PartnerAway,
        Point::ReconnectInGrace,
        Point::Away,
        Point::Back,
        Point::CheckWoken,
        Point::RetryDeduplicated,
        Point::Crash,
        Point::StorageUnavailable,
    ];
    let reached = match dice.between(0, 5) {
        0..=2 => Reached::Sometimes(dice.pick(&POINTS).name()),
        3 | 4 => Reached::Stick(dice.pick(StickMove::NAMES)),
        _ => Reached::Timer(dice.pick(TimerKind::NAMES)),
    };
    let count = dice.pick(&[1, 1, 2, 3, 5]);
    Milestone { reached, count }
}

fn down(down_for: Span, dice: &mut Dice) -> FaultKind {
    FaultKind::Down {
        down_for,
        how: dice.pick(&[Outage::Stop, Outage::Crash, Outage::CrashUnsynced]),
    }
}

fn fault(edges: &[Span], dice: &mut Dice) -> FaultKind {
    let duration = dice.around(edges);
    let share = dice.pick(&[ratio(1, 8), ratio(1, 3), ratio(2, 3), ratio(1, 1)]);
    let victims = Victims::Share(share);
    let clients = |what| FaultKind::Clients {
        what,
        victims,
        duration,
    };
    match dice.between(0, 10) {
        0 | 1 => down(duration, dice),
        2 | 3 => clients(ClientHarm::Partition),
        4 => clients(ClientHarm::SlowReaders),
        5 => clients(ClientHarm::Suspend),
        6 => FaultKind::SlowDisk {
            factor: dice.pick(&[5, 50, 500]),
            duration,
        },
        7 if dice.coin() => FaultKind::FailDisk {
            duration,
            unknown: dice.coin(),
        },
        7 => FaultKind::ClockJump { by: duration },
        8 if dice.coin() => FaultKind::DamageDisk {
            what: dice.pick(Harm::ALL),
            of: dice.pick(Stored::ALL),
            restore_after: duration,
        },
        _ => FaultKind::Operator(act(dice.pick(OperatorVerb::ALL), dice)),
    }
}

fn act(verb: OperatorVerb, dice: &mut Dice) -> OperatorAct {
    let reason = dice.one_in(4).then(|| texts::reason(dice));
    OperatorAct {
        reason: reason.filter(|_| verb.has_reason()),
        ..OperatorAct::drawn(verb)
    }
}
