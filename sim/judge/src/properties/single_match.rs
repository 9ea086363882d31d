//! `single_match`: a match joins two who wait, neither with itself, nor with one it blocks, nor
//! twice at once, nor after it left the line, nor without a shared interest on which one insists.

use sim_model::protocol::{Code, Decided, Reply};

use super::{Rule, decision, events, refuses};
use crate::comparison::Comparison;
use crate::difference::{Decision, is_alike};
use crate::findings::Property;
use crate::model::Body;

pub(super) const RULE: Rule = Rule {
    property: Property::SingleMatch,
    counts: &[Comparison::Queue, Comparison::Found],
    breaks: |difference, _| {
        let [owed, seen] = events(difference);
        let found = |what: Option<&Body>| matches!(what, Some(Body::Found(_)));
        let matched = |outcome: &Decided| matches!(outcome, Ok(Reply::Matched { .. }));
        (found(seen)
            && !owed
                .zip(seen)
                .is_some_and(|(owed, seen)| is_alike(owed, seen)))
            || decision(difference).is_some_and(|Decision { owed, said, .. }| {
                matched(said)
                    || matches!(
                        (owed, said),
                        (Ok(Reply::LeftQueue { .. }), Ok(Reply::LeftQueue { .. }))
                    )
                    || (refuses(difference, Code::AlreadyChatting) && !matched(owed))
            })
            || refuses(difference, Code::AlreadyWaiting)
    },
};
