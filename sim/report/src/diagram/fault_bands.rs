//! The faults of a lane, as bands.

use chat_types::Span;

use super::Band;
use super::recorder::LaneRecorder;
use sim_model::plan::{Fault, FaultKind};
use sim_model::protocol::Agent;

impl LaneRecorder<'_> {
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

    /// A user closed all connections, for some time or permanently.
    pub(super) fn record_disconnect(&mut self, at: Span, agent: Agent, length: Option<Span>) {
        if let Some(&lane) = self.lanes.get(&agent) {
            let until = length.map_or(Span(u64::MAX), |length| at + length);
            self.band(lane, at, until, "disconnect", "disconnected");
        }
    }

    /// A fault of the plan affects these users.
    pub(super) fn fault_started(&mut self, at: Span, fault: usize, victims: &[u32]) {
        let Some(fault) = self.plan.faults.get(fault) else {
            return;
        };
        let (kind, duration, label) = match &fault.kind {
            FaultKind::Partition { duration, .. } => ("partition", *duration, "link cut"),
            FaultKind::SlowReaders { duration, .. } => ("slow_readers", *duration, "reads nothing"),
            FaultKind::Suspend { duration, .. } => ("suspend", *duration, "suspended"),
            FaultKind::Down { .. }
            | FaultKind::Configure(_)
            | FaultKind::SlowDisk { .. }
            | FaultKind::FailDisk { .. }
            | FaultKind::DamageDisk { .. }
            | FaultKind::Member { .. }
            | FaultKind::Log { .. }
            | FaultKind::ClockJump { .. }
            | FaultKind::LoseReplies
            | FaultKind::Operator(_) => return,
        };
        for victim in victims {
            if let Some(&lane) = self.lanes.get(&Agent(*victim)) {
                self.band(lane, at, at + duration, kind, label);
            }
        }
    }

    /// Disk faults are not observed; they are taken from the plan, if they start at a fixed time.
    pub(super) fn disk_bands(&mut self) {
        let at_times = |fault: &&Fault| fault.milestone.is_none();
        for fault in self.plan.faults.iter().filter(at_times) {
            let (kind, duration, label) = match &fault.kind {
                FaultKind::SlowDisk { factor, duration } => {
                    ("slow_disk", *duration, format!("disk {factor}× slower"))
                }
                FaultKind::FailDisk {
                    duration,
                    unknown: true,
                } => (
                    "fail_disk",
                    *duration,
                    "disk fails, fate unknown".to_owned(),
                ),
                FaultKind::FailDisk { duration, .. } => {
                    ("fail_disk", *duration, "disk fails".to_owned())
                }
                FaultKind::Down { .. }
                | FaultKind::Configure(_)
                | FaultKind::Partition { .. }
                | FaultKind::SlowReaders { .. }
                | FaultKind::DamageDisk { .. }
                | FaultKind::Member { .. }
                | FaultKind::Log { .. }
                | FaultKind::Suspend { .. }
                | FaultKind::ClockJump { .. }
                | FaultKind::LoseReplies
                | FaultKind::Operator(_) => continue,
            };
            self.band(self.server, fault.at, fault.at + duration, kind, &label);
        }
    }
}
