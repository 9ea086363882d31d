//! How soon a thing comes that nothing holds up, and from when on nothing does.

use chat_core::{Span, Time};

use super::Clock;
use crate::plan::{Delivery, FaultKind, Net, Plan, Workload};

/// How long anything may take beside its ways through the network and to the disk.
const SLACK: Span = Span::secs(2);

/// Requests that may be served before one's own, at the longest that each may take.
const IN_LINE: u64 = 64;

/// What the plan says of how soon things come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calm {
    /// Whether nothing goes wrong in the whole run: nothing is lost, and no fault strikes.
    from_the_start: bool,
    /// A way there, a commit, and a way back.
    pub(crate) within: Span,
}

impl Calm {
    pub(crate) fn new(plan: &Plan) -> Self {
        let network = &plan.network;
        let sure = [network.loss, network.stream_break];
        let (mut lost, mut longest) = (false, network.latency.max());
        if let Workload::Steps { users, steps } = &plan.workload {
            let openings = users.iter().flat_map(|user| &user.opens);
            for net in steps.iter().map(|step| &step.net).chain(openings) {
                each_delivery(net, &mut |delivery| match delivery {
                    Delivery::Lost => lost = true,
                    Delivery::After(span) => longest = longest.max(span.0),
                });
            }
        }
        let harmless = |kind: &FaultKind| matches!(kind, FaultKind::Operator(_));
        let ways = Span(longest).times(2);
        let commits = Span(plan.capacity.commit.max()).times(2);
        let service = Span(plan.capacity.service.max()).times(IN_LINE);
        Self {
            from_the_start: !lost
                && sure.iter().all(|ratio| !ratio.is_possible())
                && plan.faults.iter().all(|fault| harmless(&fault.kind)),
            within: ways + commits + service + SLACK,
        }
    }

    /// Since when nothing holds anything up.
    pub(crate) fn since(&self, clock: &Clock) -> Option<Time> {
        if self.from_the_start {
            return Some(Time(0));
        }
        clock.healed_at
    }
}

/// Everything that is spelled out for a request.
fn each_delivery(net: &Net, tell: &mut impl FnMut(Delivery)) {
    let pushes = net.push.iter().map(|(_, delivery)| *delivery);
    let own = [net.request, net.duplicate, net.reply];
    for delivery in own.into_iter().flatten().chain(pushes) {
        tell(delivery);
    }
    for retry in &net.retries {
        let of = [retry.request, retry.duplicate, retry.reply];
        of.into_iter().flatten().for_each(&mut *tell);
    }
}
