//! Keeps each record of a run for the lanes that it is on; `html/diagram.js` draws them.

use super::LaneRecorder;
use crate::diagram::call_description::describe_call;
use crate::diagram::{Fate, Rule};
use sim_model::history::{ClientEvent, NetworkRecord, Observer, Record, RunEvent, WorldRecord};
use sim_model::words;

impl Observer for LaneRecorder<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Client(record) => self.record_client(record),
            RunEvent::World(record) => self.record_world(record),
            RunEvent::Network(record) => self.record_network(record),
            RunEvent::Server(_)
            | RunEvent::Cluster(..)
            | RunEvent::Committed(_)
            | RunEvent::Arrived(..) => {}
        }
    }
}

impl LaneRecorder<'_> {
    fn record_client(&mut self, record: &Record<'_>) {
        let at = self.since_start(record.at);
        self.last = at;
        let agent = record.agent;
        let Some(&lane) = self.lanes.get(&agent) else {
            return;
        };
        match record.what {
            ClientEvent::Called { call, op, key, .. } => {
                self.descriptions
                    .insert((agent, call), describe_call(op, key));
            }
            ClientEvent::Answered {
                call, op, outcome, ..
            }
            | ClientEvent::AnsweredAgain { call, op, outcome } => {
                self.heard(at, lane, (agent, call), op, outcome);
            }
            ClientEvent::Received {
                seq, event, path, ..
            } => self.received(record, lane, seq, event, path),
            ClientEvent::Abandoned { op, .. } => {
                self.point(lane, at, format!("gave up {}", op.verb()), Fate::Broken);
            }
            ClientEvent::StreamOpened => self.record_opened(at, agent, lane),
            ClientEvent::StreamClosed => {
                self.point(lane, at, "stream closed".to_owned(), Fate::Broken)
            }
            ClientEvent::Forgot { .. } => {
                self.point(lane, at, "forgot its handle".to_owned(), Fate::Broken)
            }
            ClientEvent::Vanished => self.point(lane, at, "gone for good".to_owned(), Fate::Broken),
            ClientEvent::Finished { .. } => {
                self.point(lane, at, "flow finished".to_owned(), Fate::Fine)
            }
            ClientEvent::Drained => self.point(lane, at, "inbox drained".to_owned(), Fate::Fine),
            ClientEvent::Stuck { waiting_for } => {
                self.point(lane, at, format!("stuck, no {waiting_for}"), Fate::Broken);
            }
            // The attempt itself is recorded at the network.
            ClientEvent::Retried { .. } => {}
        }
    }

    fn record_world(&mut self, record: &WorldRecord<'_>) {
        let server = self.server;
        match *record {
            WorldRecord::Down { at, how } => {
                let at = self.since_start(at);
                self.down_since = Some(at);
                self.point(server, at, how.words().to_owned(), Fate::Broken);
            }
            WorldRecord::Restarted { at } => {
                let at = self.since_start(at);
                if let Some(since) = self.down_since.take() {
                    self.band(server, since, at, "crash", "server down");
                }
                self.point(server, at, "up again".to_owned(), Fate::Fine);
            }
            WorldRecord::ClockJumped { at, by } => {
                let at = self.since_start(at);
                self.point(server, at, format!("clock jumps by {by}"), Fate::Broken);
            }
            WorldRecord::Cluster { at, server, what } => {
                let at = self.since_start(at);
                self.cluster_event(at, server, what);
            }
            WorldRecord::DiskDamaged { at, .. }
            | WorldRecord::StartRefused { at, .. }
            | WorldRecord::FaultMade { at, .. }
            | WorldRecord::FaultMended { at, .. }
            | WorldRecord::Operated { at, .. } => {
                let at = self.since_start(at);
                if let Some(words) = words::world(record) {
                    self.point(server, at, words, Fate::Broken);
                }
            }
            WorldRecord::Healed { at } => {
                let at = self.since_start(at);
                self.healed = Some(at);
                self.disk_bands();
                for band in &mut self.bands {
                    band.to_us = band.to_us.min(at.0).max(band.from_us);
                }
                self.rules.push(Rule {
                    at_us: at.0,
                    label: "all faults healed".to_owned(),
                });
            }
            WorldRecord::Ended { at } => {
                self.last = self.since_start(at);
                if self.healed.is_none() {
                    self.disk_bands();
                }
            }
            WorldRecord::Sizes { .. } => {}
        }
    }

    fn record_network(&mut self, record: &NetworkRecord<'_>) {
        match *record {
            NetworkRecord::Sent {
                at,
                agent,
                call,
                attempt,
                fate,
                copy,
            } => {
                let at = self.since_start(at);
                self.sent(at, (agent, call, attempt), fate, false);
                if let Some(copy) = copy {
                    self.sent(at, (agent, call, attempt), copy, true);
                }
            }
            NetworkRecord::Served {
                at,
                agent,
                call,
                attempt,
                ..
            } => {
                let at = self.since_start(at);
                self.record_served(at, (agent, call, attempt));
            }
            NetworkRecord::Replied {
                at,
                agent,
                call,
                attempt,
                refused,
                fate,
                ..
            } => {
                let at = self.since_start(at);
                self.replied(at, (agent, call, attempt), refused, fate);
            }
            NetworkRecord::Opening {
                at, agent, fate, ..
            } => {
                let at = self.since_start(at);
                self.record_opening(at, agent, fate);
            }
            NetworkRecord::Pushed {
                at,
                agent,
                first_seq,
                events,
                fate,
            } => {
                let at = self.since_start(at);
                self.record_push(at, agent, (first_seq, events), fate);
            }
            NetworkRecord::Opened { .. } => {}
            NetworkRecord::StreamBroke { at, agent } => {
                let at = self.since_start(at);
                if let Some(&lane) = self.lanes.get(&agent) {
                    self.point(lane, at, "stream breaks".to_owned(), Fate::Broken);
                }
            }
            NetworkRecord::Disconnected { at, agent, length } => {
                let at = self.since_start(at);
                self.record_disconnect(at, agent, length);
            }
            // Its effect is recorded at the affected users.
            NetworkRecord::Mishap { .. } | NetworkRecord::RoomNamed { .. } => {}
            NetworkRecord::FaultApplied { at, fault, victims } => {
                let at = self.since_start(at);
                self.fault_started(at, fault, victims);
            }
        }
    }
}
