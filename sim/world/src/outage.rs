//! Outages of the server: a shutdown or a crash, and the restart.

use chat_core::{Counters, Entry, Position};
use chat_types::{Span, Time};
use sim_model::server::ServerRecord;

use super::event_queue::Event;
use super::in_flight::{InFlight, RequestOrigin, RequestStage, Slot};
use super::race_schedule::Direction;
use super::{START, World};
use crate::disk::{DamagedStart, Decisions, Refusal, Unsynced};
use crate::translate;
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
        let at = self.server_now();
        let Some(node) = self.server.node_mut() else {
            return;
        };
        node.shut_down();
        self.server.stopping = Some(down_for);
        self.observers
            .observe_server(&ServerRecord::Stopping { at });
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
        self.observers
            .observe_server(&ServerRecord::Finished { at });
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
        if !self.server.end() {
            return;
        }
        self.server.stopping = None;
        self.events.schedule(now + down_for, Event::Restart);
        let unsynced = match how {
            Outage::Stop | Outage::Crash => Unsynced::Written,
            Outage::CrashUnsynced => Unsynced::Lost,
        };
        if self.server.disk.unsynced() > 0 && unsynced == Unsynced::Lost {
            self.observers.reach(Point::UnsyncedLost);
        }
        let at = self.server_now();
        self.server.disk.crash(unsynced, at);
        self.server.life += 1;
        self.server.appending = false;
        self.server.queued = 0;
        self.server.line.clear();
        self.server.turns.clear();
        self.server.busy_until = now;
        self.server.due_at = Time::MAX;
        self.observers.observe_server(&ServerRecord::Crashed { at });
        self.observers
            .observe_world(&WorldRecord::Down { at: now, how });
        for slot in self
            .in_flight
            .find(|entry| matches!(entry, InFlight::Stream { .. }))
        {
            self.break_stream(slot);
            self.in_flight.remove(slot);
        }
        // Requests at the server are lost with it. Those in the network reach no server, or the
        // next one.
        let held = |t: &InFlight| {
            matches!(
                t,
                InFlight::Request {
                    stage: RequestStage::AtServer,
                    ..
                }
            )
        };
        for slot in self.in_flight.find(held) {
            self.lose_request(slot);
        }
        self.lose_acts();
    }

    /// The answers to operators' acts are lost.
    pub(super) fn lose_acts(&mut self) {
        for slot in self
            .in_flight
            .find(|t| matches!(t, InFlight::Operator { .. }))
        {
            if let Some(InFlight::Operator { verb, user, room }) = self.in_flight.remove(slot) {
                self.record_possible_act(verb, user, room);
            }
        }
    }

    pub(super) fn lose_request(&mut self, slot: Slot) {
        let Some(InFlight::Request { origin, .. }) = self.in_flight.remove(slot) else {
            return;
        };
        if let RequestOrigin::Stream { agent, stream } = origin {
            let at = self.now() + self.latency(agent, Direction::Client);
            self.events
                .schedule(at, Event::StreamDown { agent, stream });
        }
    }

    pub(super) fn restart(&mut self) {
        if self.server.cluster.is_some() || self.server.node().is_some() {
            return;
        }
        if self.is_refused() {
            return;
        }
        let (now, server_now) = (self.now(), self.server_now());
        if self.server.disk.has_snapshot() {
            self.observers.reach(Point::FromSnapshot);
        }
        let observers = &mut self.observers;
        let reported = self.server.reported;
        let look = |place: (Position, Time), entry: &Entry, decisions: Decisions<'_>| {
            let (Position(position), at) = place;
            let after = translate::decided(decisions.now);
            if place.0 > reported {
                observers.observe_server(&ServerRecord::Committed {
                    position,
                    at,
                    since: server_now,
                    entry,
                    ticket: None,
                    said: after,
                    posted: None,
                });
            } else if let Some(before) = decisions.before.filter(|before| *before != decisions.now)
            {
                observers.observe_server(&ServerRecord::Redecided {
                    at: server_now,
                    position,
                    before: translate::decided(before),
                    after,
                });
            }
        };
        let config = self.server.config.as_deref();
        let config = config.unwrap_or(&self.plan.server);
        let continuity = self.server.disk.continuity();
        let (node, damaged) = self.server.disk.recover(config, look);
        self.server.reported = node.hub().position();
        self.server.start(node);
        let at = self.server_now();
        self.observers
            .observe_server(&ServerRecord::RecoveredDamaged {
                at,
                damage: &damaged.what,
                owed: damaged.owed,
                state: damaged.recovered,
            });
        let config = self.server.config.as_deref();
        let config = config.unwrap_or(&self.plan.server);
        self.observers.observe_server(&ServerRecord::Restarted {
            at,
            config,
            continuity,
        });
        self.report_collections();
        // The counters restart from zero, so that work before the crash is not counted twice.
        let node = self.server.node();
        self.server.counters = node.map_or_else(Counters::default, |n| n.hub().counters().clone());
        self.observers
            .observe_world(&WorldRecord::Restarted { at: now });
        self.pump();
    }

    /// Damages a stored file, if there is one of this kind.
    pub(super) fn damage_disk(&mut self, what: Harm, of: Stored) {
        let at = self.now();
        if let Some(damage) = &self.server.disk.damage(self.seed, what, of) {
            self.observers
                .observe_world(&WorldRecord::DiskDamaged { at, damage });
        }
    }

    /// Starts the server from damaged files, if there are any. If that is refused, an operator
    /// brings a sound copy later.
    fn is_refused(&mut self) -> bool {
        let config = self.server.config.as_deref();
        let config = config.unwrap_or(&self.plan.server);
        let (now, at) = (self.now(), self.server_now());
        let Some((damage, owed, start)) = self.server.disk.start_damaged(at, config) else {
            return false;
        };
        let damage = &damage;
        match start {
            DamagedStart::Started(state) => {
                self.observers
                    .observe_server(&ServerRecord::RecoveredDamaged {
                        at,
                        damage,
                        owed,
                        state: Some(state),
                    });
                self.observers.reach(Point::DamageSurvived);
                if state == owed[0] && state != owed[1] {
                    self.server.disk.drop_unmarked();
                }
                false
            }
            DamagedStart::Refused(Refusal {
                why,
                whole,
                accepted,
            }) => {
                self.observers.observe_server(&ServerRecord::StartRefused {
                    at,
                    damage,
                    whole,
                    accepted: accepted.as_ref().map(|(state, _)| *state),
                    next: accepted.as_ref().map(|(_, next)| next),
                });
                self.observers.reach(Point::StartRefused);
                self.timeline.mark(now.since(START), "start refused", None);
                self.observers
                    .observe_world(&WorldRecord::StartRefused { at: now, why: &why });
                self.server.disk.restore();
                let restored = now + self.server.restore_after;
                self.events.schedule(restored, Event::Restart);
                true
            }
        }
    }
}
