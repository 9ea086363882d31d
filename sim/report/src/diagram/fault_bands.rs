//! The faults of a lane, as bands.

use chat_types::Span;

use super::Band;
use super::drawing::LaneDrawing;
use sim_model::plan::{Fault, Strikes};
use sim_model::protocol::Agent;

impl LaneDrawing<'_> {
    pub(super) fn band(
        &mut self,
        lane: usize,
        from: Span,
        to: Span,
        kind: &'static str,
        label: &str,
    ) {
        self.bands.push(Band {
            lane,
            from_us: from.0,
            to_us: to.0,
            kind,
            label: label.to_owned(),
        });
    }

    /// A fault of the plan affects these users.
    pub(super) fn fault_started(&mut self, at: Span, fault: usize, victims: &[u32]) {
        let fault = self.plan.faults.get(fault);
        let Some(fault) = fault.filter(|fault| strikes(fault, Strikes::Clients)) else {
            return;
        };
        for victim in victims {
            if let Some(&lane) = self.lanes.get(&Agent(*victim)) {
                self.fault_band(lane, at, fault);
            }
        }
    }

    /// Disk faults are not observed; they are taken from the plan, if they start at a fixed time.
    pub(super) fn disk_bands(&mut self) {
        let at_times =
            |fault: &&Fault| fault.milestone.is_none() && strikes(fault, Strikes::Appends);
        for fault in self.plan.faults.iter().filter(at_times) {
            self.fault_band(self.server, fault.at, fault);
        }
    }

    fn fault_band(&mut self, lane: usize, at: Span, fault: &Fault) {
        let (until, kind) = (at + fault.kind.length(), fault.kind.row().key);
        self.band(lane, at, until, kind, &fault.kind.state());
    }
}

fn strikes(fault: &Fault, what: Strikes) -> bool {
    fault.kind.row().strikes == what
}
