//! Several servers in place of one, with faults of servers and of their log.

use chat_types::Span;
use sim_model::names::properties_of;
use sim_model::plan::{
    Fault, FaultKind, LEASE_DRIFT, LogHarm, MemberHarm, Outage, OwnerReads, Plan, ServersNeeded,
    Which,
};

use super::dice::Dice;
use super::faults;

/// The number of servers.
const SERVERS: u32 = 3;

/// The durations around which those of faults are drawn: shorter than the lease, about the silence
/// after which another server claims the log, and longer.
const LENGTHS: [Span; 4] = [
    Span::millis(300),
    Span::secs(2),
    Span::secs(4),
    Span::secs(9),
];

/// By how many percent clocks are wrong that leases do not allow for.
const LARGE_DRIFTS: [u32; 2] = [25, 50];

/// The longest run that several servers are drawn for. They append a record a second, and each applies it: a
/// week takes as much time as thousands of short runs.
const LONGEST: Span = Span::secs(3_600);

/// Draws whether several servers take the place of one. A plan with several keeps them.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    if plan.servers == 1 && (plan.duration > LONGEST || !dice.one_in(6)) {
        return;
    }
    let sleeps = plan.workload.sleeps();
    let all = properties_of(plan.servers, sleeps);
    plan.servers = plan.servers.max(SERVERS);
    if plan.properties == all {
        plan.properties = properties_of(plan.servers, sleeps);
    }
    // Several servers have no files of their own, and one configuration.
    plan.faults.retain_mut(|fault| {
        if let FaultKind::Down { how, .. } = &mut fault.kind
            && *how == Outage::CrashUnsynced
        {
            *how = Outage::Crash;
        }
        fault.kind.row().servers != Some(ServersNeeded::One)
    });
    let count = dice.between(0, faults::most(4, plan.duration));
    if dice.one_in(3) {
        plan.reads = OwnerReads::Strict;
    }
    let (servers, reads) = (plan.servers, plan.reads.name());
    dice.say(format!(
        "{servers} servers, {reads} reads, {count} of their faults"
    ));
    for _ in 0..count {
        let at = dice.before(plan.duration);
        let left = Span::millis((plan.duration - at).as_millis());
        if left > Span::ZERO {
            let kind = fault(left, plan.reads, dice);
            plan.faults.push(Fault::once(at, kind));
        }
    }
    plan.faults.sort_by_key(|fault| fault.at);
}

fn fault(most: Span, reads: OwnerReads, dice: &mut Dice) -> FaultKind {
    let duration = dice.around(&LENGTHS).min(most);
    match dice.between(0, 3) {
        0 => FaultKind::Log {
            what: dice.pick(LogHarm::ALL),
            duration,
        },
        _ => {
            let what = dice.pick(MemberHarm::ALL).within(reads);
            let may_be_large = what.is_drift() && reads == OwnerReads::Strict;
            FaultKind::Member {
                what,
                which: dice.pick(&[Which::Owner, Which::Owner, Which::Standby]),
                duration,
                percent: match may_be_large && dice.one_in(2) {
                    true => dice.pick(&LARGE_DRIFTS),
                    false => LEASE_DRIFT,
                },
            }
        }
    }
}
