//! `bounded`: no collection exceeds its limit or has another size than the protocol prescribes, and
//! a gap or a refusal reports every overflow.

use sim_model::protocol::{Code, Reply};

use super::{Rule, decided_otherwise, refuses};
use crate::comparison::Comparison;
use crate::difference::Difference;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Bounded,
    counts: &[Comparison::Size, Comparison::Gap, Comparison::Page],
    breaks: |difference, _| {
        matches!(
            difference,
            Difference::Size { .. } | Difference::Kept { .. } | Difference::Gap { .. }
        ) || LIMITS.iter().any(|code| refuses(difference, *code))
            || decided_otherwise(difference, cut)
    },
};

/// The refusals because of a limit.
const LIMITS: [Code; 6] = [
    Code::QueueFull,
    Code::RoomFull,
    Code::ServerFull,
    Code::AddressFull,
    Code::DraftFull,
    Code::MessageTooLong,
];

/// The amount that was cut from an append.
const fn cut(answer: &Reply) -> Option<u32> {
    match answer {
        Reply::Draft { cut, .. } => Some(*cut),
        _ => None,
    }
}
