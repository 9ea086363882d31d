//! Faults as a steps scenario states them: with named victims, and an end.

use chat_types::Span;
use sim_model::plan::{Fault, FaultKind, OperatorAct, Victims};

/// The fault with named victims; none if it had none. An operator named this room.
pub(super) fn named(fault: &Fault, struck: Option<Vec<u32>>, room: Option<u64>) -> Option<Fault> {
    let of = |_: &Victims| {
        let those = struck.clone().filter(|those| !those.is_empty());
        those.map(Victims::Users)
    };
    let one = || struck.as_ref().and_then(|those| those.first().copied());
    let kind = match &fault.kind {
        FaultKind::Partition { victims, duration } => FaultKind::Partition {
            victims: of(victims)?,
            duration: *duration,
        },
        FaultKind::SlowReaders { victims, duration } => FaultKind::SlowReaders {
            victims: of(victims)?,
            duration: *duration,
        },
        FaultKind::Suspend { victims, duration } => FaultKind::Suspend {
            victims: of(victims)?,
            duration: *duration,
        },
        FaultKind::Operator(act) => {
            let user = Some(one()?);
            let act = act.clone();
            FaultKind::Operator(OperatorAct { user, room, ..act })
        }
        // Each lost answer is recorded as such.
        FaultKind::LoseReplies => return None,
        FaultKind::Down { .. }
        | FaultKind::Configure(_)
        | FaultKind::SlowDisk { .. }
        | FaultKind::FailDisk { .. }
        | FaultKind::DamageDisk { .. }
        | FaultKind::Member { .. }
        | FaultKind::Log { .. }
        | FaultKind::ClockJump { .. } => fault.kind.clone(),
    };
    Some(Fault {
        kind,
        ..fault.clone()
    })
}

/// The fault, cut off at the heal. In the steps form, the safety phase continues after that time.
pub(super) fn until_healed(mut fault: Fault, healed: Span) -> Fault {
    let left = healed - fault.at;
    if let Some(length) = fault.kind.length_mut() {
        *length = (*length).min(left);
    }
    fault
}
