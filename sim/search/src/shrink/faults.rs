//! Faults as a steps scenario states them: with named victims, and an end.

use chat_types::Span;
use sim_model::plan::{Fault, FaultKind, Strikes, Victims};

/// The fault with named victims; none if it had none, or if recorded packets state it. An operator
/// named this room.
pub(super) fn named(fault: &Fault, struck: Option<Vec<u32>>, room: Option<u64>) -> Option<Fault> {
    let mut fault = fault.clone();
    let struck = struck.unwrap_or_default();
    if let Some(victims) = fault.kind.victims_mut() {
        struck.first()?;
        *victims = Victims::Users(struck);
    } else if let FaultKind::Operator(act) = &mut fault.kind {
        act.user = Some(*struck.first()?);
        act.room = room;
    }
    (fault.kind.row().strikes != Strikes::Packets).then_some(fault)
}

/// The fault, cut off at the heal. In the steps form, the safety phase continues after that time.
pub(super) fn until_healed(mut fault: Fault, healed: Span) -> Fault {
    fault.shorten(healed - fault.at);
    fault
}
