//! What lasts on a lane, as bands: faults, and, of several servers and of their log, who owns the chat and
//! what goes wrong.

use chat_types::Span;

use super::drawing::LaneDrawing;
use super::{Band, Fate, Lane, Role};
use sim_model::history::{ClusterEvent, server_name};
use sim_model::plan::{Fault, Strikes};
use sim_model::protocol::Agent;

/// What lasts, on one lane: its kind, and its words.
pub(super) type Lasting = (&'static str, &'static str);

pub(super) const SERVER_DOWN: Lasting = ("crash", "server down");
const OWNS: Lasting = ("owner", "owns the chat");
const DOWN: Lasting = ("crash", "down");
const PAUSED: Lasting = ("suspend", "suspended");
const CUT: Lasting = ("partition", "cut off");
const DRIFTING: Lasting = ("slow_disk", "clock drifts");
const DOUBLING: Lasting = ("slow_disk", "reports twice");
const LEADERLESS: Lasting = ("fail_disk", "no leader");

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
            self.fault_band(self.selection.server, fault.at, fault);
        }
    }

    fn fault_band(&mut self, lane: usize, at: Span, fault: &Fault) {
        let (until, kind) = (at + fault.kind.length(), fault.kind.row().key);
        self.band(lane, at, until, kind, &fault.kind.state());
    }

    /// The lanes of the servers and of their log, if there are several.
    pub(super) fn cluster_lanes(&self) -> Vec<Lane> {
        if self.plan.servers == 1 {
            return Vec::new();
        }
        let servers = (0..self.plan.servers).map(Some);
        let lane = |server| Lane::new(server_name(server), String::new(), Role::Member);
        servers.chain([None]).map(lane).collect()
    }

    /// Draws an event of a server, or of the log.
    pub(super) fn cluster_event(&mut self, at: Span, server: Option<u32>, what: ClusterEvent) {
        // The servers are behind all other lanes, and the log is the last one.
        let first = self.selection.lanes.len() + 1;
        let servers = self.plan.servers;
        let lane = first + server.unwrap_or(servers) as usize;
        match what {
            ClusterEvent::BecameOwner { epoch } => {
                // An owner that has not noticed yet.
                for other in first..first + servers as usize {
                    self.ends(other, at, OWNS);
                }
                let words = format!("owns the chat, epoch {epoch}");
                self.point(lane, at, words, Fate::Fine);
                self.lasting.insert((lane, OWNS), at);
            }
            ClusterEvent::LostOwnership => {
                self.ends(lane, at, OWNS);
                self.point(lane, at, what.words().to_owned(), Fate::Broken);
            }
            ClusterEvent::Crashed | ClusterEvent::Stopped => {
                self.ends(lane, at, OWNS);
                self.ends(lane, at, PAUSED);
                self.point(lane, at, what.words().to_owned(), Fate::Broken);
                self.lasting.insert((lane, DOWN), at);
            }
            ClusterEvent::Started => self.ends(lane, at, DOWN),
            ClusterEvent::Paused => self.begins(lane, at, PAUSED),
            ClusterEvent::Continued => self.ends(lane, at, PAUSED),
            ClusterEvent::CutOff => self.begins(lane, at, CUT),
            ClusterEvent::Connected => self.ends(lane, at, CUT),
            ClusterEvent::ClockDrifts => self.begins(lane, at, DRIFTING),
            ClusterEvent::ClockRuns => self.ends(lane, at, DRIFTING),
            ClusterEvent::ReportsDoubled => self.begins(lane, at, DOUBLING),
            ClusterEvent::ReportsSingle => self.ends(lane, at, DOUBLING),
            ClusterEvent::NoLeader => self.begins(lane, at, LEADERLESS),
            ClusterEvent::Leader => self.ends(lane, at, LEADERLESS),
            ClusterEvent::RecordLost | ClusterEvent::RecordFlipped => {
                self.point(lane, at, what.words().to_owned(), Fate::Broken);
            }
        }
    }

    fn begins(&mut self, lane: usize, at: Span, what: Lasting) {
        self.lasting.entry((lane, what)).or_insert(at);
    }

    pub(super) fn ends(&mut self, lane: usize, at: Span, what: Lasting) {
        if let Some(since) = self.lasting.remove(&(lane, what)) {
            let (kind, words) = what;
            self.band(lane, since, at, kind, words);
        }
    }

    /// Ends all that lasts at the end of the run.
    pub(super) fn end_lasting(&mut self) {
        let lasting: Vec<(usize, Lasting)> = self.lasting.keys().copied().collect();
        for (lane, what) in lasting {
            self.ends(lane, self.last, what);
        }
    }
}

fn strikes(fault: &Fault, what: Strikes) -> bool {
    fault.kind.row().strikes == what
}
