//! Outages of the server: a shutdown or a crash, and the restart.

use std::sync::Arc;

use chat_core::{Entry, Position, Ticket};
use chat_types::{Span, Time};
use sim_model::protocol::Refusal;
use sim_model::server::ServerRecord;

use super::event_queue::Event;
use super::in_flight::{InFlight, RequestOrigin, RequestStage};
use super::race_schedule::Direction;
use super::{START, World};
use crate::disk::Decisions;
use sim_model::history::{Observer as _, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::{Harm, Outage, Stored};

impl World<'_, '_> {
    /// Starts a shutdown: new calls are refused, and the server goes down when admitted ones are
    /// finished.
    pub(super) fn stop(&mut self, down_for: Span) {
        if self.server.cluster.is_some() {
            return self.cluster_goes_down(Outage::Stop, down_for);
        }
        let Some(node) = self.server.node_mut() else {
            return;
        };
        node.shut_down();
        self.server.stopping = Some(down_for);
        self.tell_server(&ServerRecord::Stopping);
        self.pump();
    }

    /// Goes down if a stopping server has finished all admitted calls.
    pub(super) fn finish_stopping(&mut self) {
        let Some(down_for) = self.server.stopping else {
            return;
        };
        let at = self.server_now();
        if !self.server.node_mut().is_some_and(|node| node.finish(at)) {
            return;
        }
        self.server.stopping = None;
        self.tell_server(&ServerRecord::Finished);
        self.hand_out();
        self.crash(Outage::Stop, down_for);
    }

    /// Crashes the server and breaks every connection.
    pub(super) fn crash(&mut self, how: Outage, down_for: Span) {
        if self.server.cluster.is_some() {
            return self.cluster_goes_down(how, down_for);
        }
        let now = self.now();
        // The next life may have other limits.
        self.report_collections();
        let Some(node) = self.server.alone.take() else {
            return;
        };
        self.server.stopping = None;
        self.schedule_in(down_for, Event::Restart);
        let at = self.server_now();
        let batch: Vec<Entry> = node.batch().map(|(entry, _)| entry.clone()).collect();
        match how {
            Outage::Stop | Outage::Crash => self.server.disk.keep_unsynced(batch, at),
            Outage::CrashUnsynced if batch.is_empty() => {}
            Outage::CrashUnsynced => self.observers.reach(Point::UnsyncedLost),
        }
        self.server.life += 1;
        self.server.appending = false;
        self.server.due_at = Time::MAX;
        self.server.lose_queue(now);
        self.tell_server(&ServerRecord::Crashed);
        self.tell_world(&WorldRecord::Down { how });
        for ticket in self.in_flight.streams() {
            self.break_stream(ticket);
            self.in_flight.remove(ticket);
        }
        // Requests at the server are lost with it. Those in the network reach no server, or the
        // next one.
        for ticket in self.in_flight.requests_at(&[RequestStage::AtServer]) {
            self.lose_request(ticket);
        }
        self.lose_acts();
    }

    /// The answers to operators' acts are lost.
    pub(super) fn lose_acts(&mut self) {
        let is_act = |entry: &InFlight| matches!(entry, InFlight::Operator(_));
        for ticket in self.in_flight.find(is_act) {
            if let Some(InFlight::Operator(act)) = self.in_flight.remove(ticket) {
                self.record_possible_act(act);
            }
        }
    }

    pub(super) fn lose_request(&mut self, ticket: Ticket) {
        if let Some(InFlight::Request(request)) = self.in_flight.remove(ticket)
            && let RequestOrigin::Stream { agent, stream } = request.origin
        {
            let latency = self.latency(agent, Direction::Client);
            self.schedule_in(latency, Event::StreamDown { agent, stream });
        }
    }

    pub(super) fn restart(&mut self) {
        if self.server.cluster.is_some() || self.server.node().is_some() {
            return;
        }
        if self.is_refused() {
            return;
        }
        let server_now = self.server_now();
        if self.server.disk.has_snapshot() {
            self.observers.reach(Point::FromSnapshot);
        }
        let observers = &mut self.observers;
        let reported = self.server.reported;
        let look = |place: (Position, Time), entry: &Entry, (before, now): Decisions<'_>| {
            let (Position(position), at) = place;
            let after = now.as_ref().map_err(Refusal::from);
            if place.0 > reported {
                let committed = ServerRecord::Committed {
                    position,
                    at,
                    entry,
                    ticket: None,
                    said: after,
                    posted: None,
                };
                observers.observe_server(server_now, &committed);
            } else if let Some(before) = before.filter(|before| *before != now) {
                let before = before.as_ref().map_err(Refusal::from);
                let redecided = ServerRecord::Redecided {
                    position,
                    before,
                    after,
                };
                observers.observe_server(server_now, &redecided);
            }
        };
        let config = &self.server.config;
        let continuity = self.server.disk.continuity();
        let (node, (damage, owed, state)) = self.server.disk.recover(config, look);
        self.server.reported = node.hub().position();
        // The counters restart from zero, so that work before the crash is not counted twice.
        self.server.counters = node.hub().counters().clone();
        self.server.alone = Some(node);
        self.server.collect_posted();
        self.tell_server(&ServerRecord::RecoveredDamaged {
            damage: &damage,
            owed,
            state,
        });
        let config = &Arc::clone(&self.server.config);
        self.tell_server(&ServerRecord::Restarted { config, continuity });
        self.report_collections();
        self.tell_world(&WorldRecord::Restarted);
        self.pump();
    }

    /// Damages a stored file, if there is one of this kind.
    pub(super) fn damage_disk(&mut self, what: Harm, of: Stored) {
        if let Some(damage) = &self.server.disk.damage(self.seed, what, of) {
            self.tell_world(&WorldRecord::DiskDamaged { damage });
        }
    }

    /// Starts the server from damaged files, if there are any. If that is refused, an operator
    /// brings a sound copy later.
    fn is_refused(&mut self) -> bool {
        let at = self.server_now();
        let config = &self.server.config;
        let Some((damage, owed, start)) = self.server.disk.start_damaged(at, config) else {
            return false;
        };
        let damage = &damage;
        let refusal = match start {
            Ok(state) => {
                self.tell_server(&ServerRecord::RecoveredDamaged {
                    damage,
                    owed,
                    state: Some(state),
                });
                self.observers.reach(Point::DamageSurvived);
                if state == owed[0] && state != owed[1] {
                    self.server.disk.drop_unmarked();
                }
                return false;
            }
            Err(refusal) => refusal,
        };
        let accepted = refusal.accepted.as_ref();
        self.tell_server(&ServerRecord::StartRefused {
            damage,
            whole: refusal.whole,
            accepted: accepted.map(|(state, _)| *state),
            next: accepted.map(|(_, next)| next),
        });
        self.observers.reach(Point::StartRefused);
        let at = self.now().since(START);
        self.timeline.mark(at, "start refused", None);
        let why = &refusal.why;
        self.tell_world(&WorldRecord::StartRefused { why });
        self.server.disk.restore();
        self.schedule_in(self.server.restore_after, Event::Restart);
        true
    }
}
