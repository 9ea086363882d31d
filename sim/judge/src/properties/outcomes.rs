//! `outcomes`: each call has the answer or the refusal that the protocol prescribes, where no other
//! property has the rule.

use super::Rule;
use crate::compared::Compared;
use crate::findings::Property;

pub(super) const RULE: Rule = Rule {
    property: Property::Outcomes,
    counts: &[
        Compared::Refusal,
        Compared::Answer,
        Compared::Login,
        Compared::Typing,
        Compared::Leave,
    ],
    breaks: |_, _| true,
};
