//! Mishaps: additional faults after a turn of a recipe.
//!
//! Exploring splits a run where its state is new or rare. At such a point a race of two steps is
//! often half done, and what it lacks is not another delay but a fault at this moment: a mute, a
//! cut, or a lost answer. Half of all turns draw such a mishap, which the plan does not contain. It
//! depends on the turn alone, so a recipe replays it.

use chat_types::Span;

use super::event_queue::Event;
use super::{Phase, START, World};
use sim_model::draw::{Draw, Ratio};
use sim_model::history::FaultRecord;
use sim_model::plan::{
    ClientHarm, Fault, FaultKind, LEASE_DRIFT, MemberHarm, OperatorAct, OperatorVerb, Outage,
    Victims, Which,
};

/// The largest delay until it strikes: within a round trip, or while clients wait for one another.
const SOON: [Span; 3] = [Span::millis(1), Span::millis(30), Span::millis(300)];

/// Its approximate duration.
const LONG_MS: [u64; 4] = [50, 300, 1_000, 3_000];

/// The operators' acts: mostly those that take away the stick, the room or the place in the queue.
const VERBS: [OperatorVerb; 11] = [
    OperatorVerb::Kick,
    OperatorVerb::Kick,
    OperatorVerb::Mute,
    OperatorVerb::Mute,
    OperatorVerb::Ban,
    OperatorVerb::Close,
    OperatorVerb::Unmute,
    OperatorVerb::Unban,
    OperatorVerb::MuteAddress,
    OperatorVerb::BanAddress,
    OperatorVerb::UnbanAddress,
];

/// The kinds of outages.
const OUTAGES: [Outage; 3] = [Outage::Crash, Outage::CrashUnsynced, Outage::Stop];

impl World<'_, '_> {
    /// Draws whether a mishap follows soon, and which.
    pub(super) fn draw_mishap(&mut self, draw: &mut Draw) {
        let end = START + self.plan.duration;
        let soon = SOON[draw.index(SOON.len())];
        let at = self.now() + Span(draw.below(soon.0));
        // In whole milliseconds, as scenarios are written.
        let left = Span::millis(end.since(at).as_millis());
        if draw.below(2) == 0 || self.phase != Phase::Safety || left < Span::millis(2) {
            return;
        }
        let long = Span::millis(LONG_MS[draw.index(LONG_MS.len())]).min(left - Span::millis(1));
        let kind = self.mishap(long, draw);
        let fault = Fault::once(at.since(START), kind);
        let index = self.faults.len() + self.mishaps.len();
        let index = u32::try_from(index).expect("a recipe has few turns");
        self.tell_fault(&FaultRecord::Mishap(Box::new(fault.clone())));
        self.mishaps.push(fault);
        self.events.schedule(at, Event::FaultBegins(index));
    }

    fn mishap(&self, duration: Span, draw: &mut Draw) -> FaultKind {
        let third = Ratio::new(1, 3).unwrap_or_default();
        let victims = Victims::Share(third);
        match draw.below(14) {
            0..=6 => FaultKind::Operator(OperatorAct::drawn(VERBS[draw.index(VERBS.len())])),
            7 => FaultKind::Clients {
                what: ClientHarm::Suspend,
                victims,
                duration,
            },
            8 => FaultKind::FailDisk {
                duration,
                unknown: draw.below(2) == 0,
            },
            9..=11 if self.server.cluster.is_some() => FaultKind::Member {
                what: MemberHarm::ALL[draw.index(MemberHarm::ALL.len())].within(self.plan.reads),
                which: Which::ALL[draw.index(Which::ALL.len())],
                duration,
                percent: LEASE_DRIFT,
            },
            // A long journal is not kept if the plan has no crash, so the server cannot recover.
            9 | 10 if self.server.can_crash() => FaultKind::Down {
                down_for: duration,
                how: OUTAGES[draw.index(OUTAGES.len())],
            },
            9..=11 => FaultKind::Clients {
                what: ClientHarm::Partition,
                victims,
                duration,
            },
            _ => FaultKind::LoseReplies,
        }
    }

    /// A fault of the plan, or a mishap; their numbers follow those of the plan.
    pub(super) fn fault(&self, index: u32) -> &Fault {
        let mut all = self.faults.iter().chain(&self.mishaps);
        all.nth(index as usize).expect("a fault has a number")
    }
}
