//! `stick_exclusion`: at most one member holds the stick; speech in a stick room carries the epoch
//! of the holder's grant, and a stale one is refused; epochs count up by one; a push releases the
//! stick; a lease ends when it must, neither before nor after.

use sim_model::protocol::{Code, Decided, Reply};

use super::{Rule, concerns, decision, events, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;
use crate::model::Body;

pub(super) const RULE: Rule = Rule {
    property: Property::StickExclusion,
    counts: &[
        Comparison::Granted,
        Comparison::StickEnded,
        Comparison::Speech,
    ],
    breaks: |difference, _| {
        refuses(difference, Code::StickRequired)
            || holds_wrongly(difference)
            || concerns(difference, Comparison::StickEnded)
            || grants_differ(difference)
            || epochs_differ(difference)
    },
};

/// Whether only one of the two decisions grants the stick, or both with different epochs or leases.
fn holds_wrongly(difference: &Difference) -> bool {
    let grant = |outcome: &Decided| match outcome {
        Ok(Reply::Stick {
            place,
            epoch,
            lease_until,
            ..
        }) => Some((*place == 0, *epoch, *lease_until)),
        _ => None,
    };
    decision(difference).is_some_and(|decision| grant(&decision.owed) != grant(&decision.said))
}

/// Whether an unexpected grant was observed: with another epoch or lease, or at another time. The
/// right grant to another member is a violation of the order.
fn grants_differ(difference: &Difference) -> bool {
    let grant = |what: Option<&Body>| match what {
        Some(Body::StickGranted { epoch, lease, .. }) => Some((*epoch, *lease)),
        _ => None,
    };
    let [owed, seen] = events(difference);
    grant(seen).is_some() && grant(owed) != grant(seen)
}

fn epochs_differ(difference: &Difference) -> bool {
    let epoch = |what: Option<&Body>| match what {
        Some(Body::Message { epoch, .. }) => Some(*epoch),
        _ => None,
    };
    let [owed, seen] = events(difference);
    epoch(owed)
        .zip(epoch(seen))
        .is_some_and(|(owed, seen)| owed != seen)
}
