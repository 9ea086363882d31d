//! Faults, and when they occur.

use chat_types::{Config, Span};
use sim_model::names::{STICK_MOVES, TIMERS};

use super::ends::End;
use super::error::{Problem, Read};
use super::fields::Fields;
use super::forms::{count, expected, list, listed, possible_ratio, some_time, span, truth};
use super::node::{Node, Value};
use super::script::Users;
use sim_model::outcome::Point;
use sim_model::plan::{
    Fault, FaultKind, Milestone, Need, OperatorAct, OperatorVerb, Outage, Reached, Victims,
};

/// The kinds of faults; each fault has exactly one of these keys.
pub(super) const KINDS: [&str; 11] = [
    "crash",
    "stop",
    "configure",
    "partition",
    "slow_readers",
    "suspend",
    "slow_disk",
    "fail_disk",
    "clock_jump",
    "lose",
    "operator",
];
pub(super) const FAULT_KEYS: [&str; 16] = [
    "at",
    "at_milestone",
    "crash",
    "stop",
    "down_for",
    "lose_unsynced",
    "partition",
    "slow_readers",
    "suspend",
    "slow_disk",
    "fail_disk",
    "clock_jump",
    "configure",
    "lose",
    "operator",
    "optional",
];
pub(super) const MILESTONES: [&str; 3] = ["sometimes", "stick", "timer"];
pub(super) const MILESTONE_KEYS: [&str; 4] = ["sometimes", "stick", "timer", "count"];
/// The largest `count` of a milestone.
pub(super) const MAX_COUNT: u32 = 1_000_000;
pub(super) const VICTIM_KEYS: [&str; 3] = ["share", "users", "for"];
pub(super) const SLOW_DISK_KEYS: [&str; 2] = ["factor", "for"];
pub(super) const FAIL_DISK_KEYS: [&str; 2] = ["for", "unknown"];
/// The words for operators' actions.
pub(super) const ACTS: [&str; OperatorVerb::ALL.len()] = {
    let mut words = [""; OperatorVerb::ALL.len()];
    let mut index = 0;
    while index < words.len() {
        words[index] = OperatorVerb::ALL[index].name();
        index += 1;
    }
    words
};
pub(super) const ACT_KEYS: [&str; 1] = ["user"];

/// The faults ordered by time, and the place and end of each.
pub(super) fn faults(
    node: &Node,
    users: Users<'_>,
    server: &Config,
) -> Read<(Vec<Fault>, Vec<End>)> {
    let mut faults = Vec::new();
    let mut ends = Vec::new();
    for item in list(node, "faults")? {
        let fault = fault(item, users, server)?;
        ends.push(End {
            place: item.place,
            at: fault.at + lasts(&fault.kind),
        });
        faults.push(fault);
    }
    // A stable sort: faults at the same time keep the order of the file.
    faults.sort_by_key(|fault| fault.at);
    Ok((faults, ends))
}

fn fault(node: &Node, users: Users<'_>, server: &Config) -> Read<Fault> {
    let fields = Fields::read(node, "a fault", &FAULT_KEYS)?;
    let milestone = fields.get("at_milestone").map(milestone).transpose()?;
    let at = match (fields.get("at"), milestone) {
        (None, Some(_)) => Span::ZERO,
        (Some(_), _) | (None, None) => span(fields.need("at", "at: 10s")?)?,
    };
    let (key, node) = fields.one_of(&KINDS, "partition: { share: 1/4, for: 3s }")?;
    if key != "crash" {
        fields.refuse(&["lose_unsynced"], "it goes with `crash`")?;
    }
    if key != "crash" && key != "stop" {
        fields.refuse(&["down_for"], "it goes with `crash` or `stop`")?;
    }
    let need = match fields.get("optional").map(truth).transpose()? {
        Some(true) => Need::Optional,
        Some(false) | None => Need::Required,
    };
    let kind = match key {
        "crash" => crash(node, &fields)?,
        "stop" => stop(node, &fields)?,
        "configure" => FaultKind::Configure(Box::new(super::server::changed(server, node)?)),
        "partition" => {
            let (victims, duration) = victims(node, "`partition`", users)?;
            FaultKind::Partition { victims, duration }
        }
        "slow_readers" => {
            let (victims, duration) = victims(node, "`slow_readers`", users)?;
            FaultKind::SlowReaders { victims, duration }
        }
        "suspend" => {
            let (victims, duration) = victims(node, "`suspend`", users)?;
            FaultKind::Suspend { victims, duration }
        }
        "slow_disk" => slow_disk(node)?,
        "fail_disk" => fail_disk(node)?,
        "clock_jump" => FaultKind::ClockJump {
            by: some_time(node)?,
        },
        "lose" => {
            listed(node, "what can get lost", &["replies"])?;
            FaultKind::LoseReplies
        }
        _ => FaultKind::Operator(operator(node, users)?),
    };
    Ok(Fault {
        at,
        milestone,
        kind,
        need,
    })
}

/// `{ sometimes: match, count: 3 }`, `{ stick: released_by_push }`, `{ timer: lease }`.
fn milestone(node: &Node) -> Read<Milestone> {
    let fields = Fields::read(node, "`at_milestone`", &MILESTONE_KEYS)?;
    let (key, name) = fields.one_of(&MILESTONES, "sometimes: match")?;
    let names = milestone_names(key);
    let reached = match key {
        "sometimes" => Reached::Sometimes(listed(name, "a point that a run may reach", &names)?),
        "stick" => Reached::Stick(listed(name, "a move of a stick", &names)?),
        _ => Reached::Timer(listed(name, "a kind of timer", &names)?),
    };
    let count = fields.get("count");
    Ok(Milestone {
        reached,
        count: count.map_or(Ok(1), |node| self::count(node, 1..=MAX_COUNT))?,
    })
}

/// The names of milestones, by group.
pub(super) fn milestone_names(group: &str) -> Vec<&'static str> {
    match group {
        "sometimes" => Point::ALL.iter().map(|point| point.name()).collect(),
        "stick" => STICK_MOVES.to_vec(),
        _ => TIMERS.to_vec(),
    }
}

fn crash(node: &Node, fields: &Fields<'_>) -> Read<FaultKind> {
    listed(node, "what can crash", &["server"])?;
    let lost = fields.get("lose_unsynced").map_or(Ok(false), truth)?;
    Ok(FaultKind::Down {
        down_for: down_for(fields)?,
        how: if lost {
            Outage::CrashUnsynced
        } else {
            Outage::Crash
        },
    })
}

fn stop(node: &Node, fields: &Fields<'_>) -> Read<FaultKind> {
    listed(node, "what can stop", &["server"])?;
    Ok(FaultKind::Down {
        down_for: down_for(fields)?,
        how: Outage::Stop,
    })
}

fn down_for(fields: &Fields<'_>) -> Read<Span> {
    some_time(fields.need("down_for", "down_for: 800ms")?)
}

fn victims(node: &Node, what: &'static str, users: Users<'_>) -> Read<(Victims, Span)> {
    let fields = Fields::read(node, what, &VICTIM_KEYS)?;
    let duration = some_time(fields.need("for", "for: 3s")?)?;
    let (key, node) = fields.one_of(&["share", "users"], "share: 1/4")?;
    if key == "share" {
        return Ok((Victims::Share(possible_ratio(node)?), duration));
    }
    if users.0.is_empty() {
        fields.refuse(&["users"], "only the steps form has users with names")?;
    }
    let mut named = Vec::new();
    for item in list(node, "names of users")? {
        let user = users.index(item)?;
        if named.contains(&user) {
            return Err(Problem::new(
                item.place,
                "the same user twice",
                "each user at most once",
            ));
        }
        named.push(user);
    }
    if named.is_empty() {
        return Err(expected(node, "somebody", "at least one name of a user"));
    }
    Ok((Victims::Users(named), duration))
}

fn slow_disk(node: &Node) -> Read<FaultKind> {
    let fields = Fields::read(node, "`slow_disk`", &SLOW_DISK_KEYS)?;
    Ok(FaultKind::SlowDisk {
        factor: count(fields.need("factor", "factor: 20")?, 2..=1_000_000)?,
        duration: some_time(fields.need("for", "for: 5s")?)?,
    })
}

fn fail_disk(node: &Node) -> Read<FaultKind> {
    let fields = Fields::read(node, "`fail_disk`", &FAIL_DISK_KEYS)?;
    Ok(FaultKind::FailDisk {
        duration: some_time(fields.need("for", "for: 2s")?)?,
        unknown: fields.get("unknown").map_or(Ok(false), truth)?,
    })
}

/// `operator: kick`, or `operator: { kick: { user: a } }`.
fn operator(node: &Node, users: Users<'_>) -> Read<OperatorAct> {
    let (word, user) = if matches!(node.value, Value::Map(_)) {
        let fields = Fields::read(node, "`operator`", &ACTS)?;
        let (word, value) = fields.one_of(&ACTS, "mute: {}")?;
        (word, whom(value, users)?)
    } else {
        (listed(node, "an operator's act", &ACTS)?, None)
    };
    let known = OperatorVerb::ALL.iter().find(|verb| verb.name() == word);
    let verb = *known.unwrap_or(&OperatorVerb::Mute);
    Ok(OperatorAct { verb, user })
}

fn whom(node: &Node, users: Users<'_>) -> Read<Option<u32>> {
    if matches!(node.value, Value::Empty) {
        return Ok(None);
    }
    let fields = Fields::read(node, "an operator's act", &ACT_KEYS)?;
    let Some(node) = fields.get("user") else {
        return Ok(None);
    };
    if users.0.is_empty() {
        fields.refuse(&["user"], "only the steps form has users with names")?;
    }
    users.index(node).map(Some)
}

fn lasts(kind: &FaultKind) -> Span {
    match kind {
        FaultKind::Down { down_for, .. } => *down_for,
        FaultKind::Partition { duration, .. }
        | FaultKind::SlowReaders { duration, .. }
        | FaultKind::SlowDisk { duration, .. }
        | FaultKind::FailDisk { duration, .. }
        | FaultKind::Suspend { duration, .. } => *duration,
        FaultKind::ClockJump { .. }
        | FaultKind::Configure(_)
        | FaultKind::LoseReplies
        | FaultKind::Operator(_) => Span::ZERO,
    }
}
