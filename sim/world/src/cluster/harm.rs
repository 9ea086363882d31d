//! What goes wrong with servers and their log, and its end.

use std::collections::BTreeMap;

use chat_cluster::Member;
use chat_types::{Span, Time};
use sim_model::cluster::ClusterFact;
use sim_model::history::{ClusterEvent, WorldRecord};
use sim_model::plan::{LogHarm, MemberHarm, Outage, Which};
use sim_model::server::ServerRecord;

use super::chance::Purpose;
use super::log::{Harm, REPLICAS, USUAL_LAG};
use super::machine_clock::RIGHT;
use super::number;
use super::turns::Deferred;
use crate::World;
use crate::event_queue::Event;

/// How late a replica is that is behind.
const BEHIND: Span = Span::secs(5);

/// The record that is harmed is one of so many next ones.
const NEXT_RECORDS: u64 = 8;

impl World<'_, '_> {
    /// All servers go down, and start again.
    pub(crate) fn cluster_goes_down(&mut self, how: Outage, down_for: Span) {
        self.cluster_mut().is_down = true;
        self.tell_world(&WorldRecord::Down { how });
        for site in 0..self.cluster().sites.len() {
            match how {
                Outage::Stop => self.stop_member(site, down_for),
                Outage::Crash | Outage::CrashUnsynced => self.crash_member(site, down_for),
            }
        }
    }

    /// Strikes one server.
    pub(crate) fn strike_member(
        &mut self,
        (what, percent): (MemberHarm, u32),
        which: Which,
        duration: Span,
    ) {
        let Some(site) = self.struck(which) else {
            return;
        };
        let until = self.now() + duration;
        match what {
            MemberHarm::Crash => self.crash_member(site, duration),
            MemberHarm::Stop => self.stop_member(site, duration),
            MemberHarm::Pause => self.pause_member(site, until),
            MemberHarm::Freeze => {
                let now = self.now();
                self.cluster_mut().sites[site].clock.stand(now, until);
                self.pause_member(site, until);
            }
            MemberHarm::Fast | MemberHarm::Slow => {
                let now = self.now();
                let place = &mut self.cluster_mut().sites[site];
                let rate = match what == MemberHarm::Fast {
                    true => RIGHT + percent,
                    false => RIGHT - percent,
                };
                place.clock.turn(now, rate);
                place.drifts_until = place.drifts_until.max(until);
                self.tell(Some(site), ClusterEvent::ClockDrifts);
                self.clock_turned(site, until);
            }
            MemberHarm::Cut | MemberHarm::Mute | MemberHarm::Deaf => {
                let place = &mut self.cluster_mut().sites[site];
                if what != MemberHarm::Deaf {
                    place.mute_until = place.mute_until.max(until);
                }
                if what != MemberHarm::Mute {
                    place.deaf_until = place.deaf_until.max(until);
                }
                self.tell(Some(site), ClusterEvent::CutOff);
                self.continues_at(site, until);
            }
        }
    }

    /// The server's clock has another rate from now on, until an instant.
    fn clock_turned(&mut self, site: usize, until: Time) {
        self.continues_at(site, until);
        self.cluster_mut().sites[site].due_at = Time::MAX;
        self.schedule_member(site);
    }

    fn continues_at(&mut self, site: usize, at: Time) {
        self.events
            .schedule(at, Event::MemberContinues(number(site)));
    }

    /// The server that a fault strikes, if there is one.
    fn struck(&mut self, which: Which) -> Option<usize> {
        let (now, cluster) = (self.now(), self.cluster());
        match which {
            Which::Owner => cluster.owner,
            Which::Standby => {
                let is_standby = |site: &usize| {
                    Some(*site) != cluster.owner && cluster.sites[*site].member.is_some()
                };
                let standbys: Vec<usize> = (0..cluster.sites.len()).filter(is_standby).collect();
                let chosen = cluster.below(now, (Purpose::Struck, 0), standbys.len() as u64);
                standbys.get(usize::try_from(chosen).ok()?).copied()
            }
        }
    }

    fn crash_member(&mut self, site: usize, down_for: Span) {
        if self.cluster().sites[site].member.is_none() {
            return;
        }
        let is_owner = self.cluster().owner == Some(site);
        if is_owner {
            self.report_collections();
        }
        self.end_member(site, down_for, ClusterEvent::Crashed);
        if is_owner {
            self.owner_lost(&BTreeMap::new());
        }
        self.close_door(site);
    }

    fn end_member(&mut self, site: usize, down_for: Span, how: ClusterEvent) {
        let place = &mut self.cluster_mut().sites[site];
        place.member = None;
        place.stopping = None;
        place.paused_until = Time(0);
        self.tell(Some(site), how);
        self.tell_fact(&ClusterFact::AppendEnded(site as u64));
        self.tell_fact(&ClusterFact::ProcessEnded(site as u64));
        self.schedule_in(down_for, Event::MemberStarts(number(site)));
    }

    /// The server finishes its calls and hands over, if it is the owner. Then its process ends.
    pub(super) fn stop_member(&mut self, site: usize, down_for: Span) {
        if self.cluster().is_turning {
            let deferred = Deferred::Stop(site, down_for);
            return self.cluster_mut().deferred.push_back(deferred);
        }
        let now = self.now();
        let is_owner = self.cluster().owner == Some(site);
        let place = &mut self.cluster_mut().sites[site];
        if place.member.is_none() || place.stopping.is_some() || place.paused_until > now {
            return;
        }
        place.stopping = Some(down_for);
        if is_owner {
            self.tell_server(&ServerRecord::Stopping);
        }
        self.member_turn(site, Member::resign);
    }

    /// Ends the process of a member that shuts down, once it owns the log no more.
    pub(super) fn end_if_stopped(&mut self, site: usize) {
        let place = &self.cluster().sites[site];
        let is_passive = |member: &Member| member.owned_node().is_none();
        let is_over = place.member.as_ref().is_some_and(is_passive);
        if let Some(down_for) = place.stopping.filter(|_| is_over) {
            if self.cluster().owner == Some(site) {
                self.owner_lost(&BTreeMap::new());
            }
            self.end_member(site, down_for, ClusterEvent::Stopped);
            self.close_door(site);
        }
    }

    fn pause_member(&mut self, site: usize, until: Time) {
        let place = &mut self.cluster_mut().sites[site];
        if place.member.is_none() {
            return;
        }
        place.paused_until = place.paused_until.max(until);
        if self.cluster().owner == Some(site) {
            self.observers.is_paused = true;
        }
        self.tell(Some(site), ClusterEvent::Paused);
        self.continues_at(site, until);
        self.schedule_member(site);
    }

    /// A suspension or a cut may be over.
    pub(crate) fn member_continues(&mut self, site: u32) {
        let (site, now) = (site as usize, self.now());
        let place = &mut self.cluster_mut().sites[site];
        let was_paused = place.paused_until > Time(0) && place.paused_until <= now;
        if was_paused {
            place.paused_until = Time(0);
        }
        let was_cut = place.cut_until() == now;
        if was_cut {
            self.tell(Some(site), ClusterEvent::Connected);
        }
        let place = &mut self.cluster_mut().sites[site];
        if place.drifts_until == now {
            place.clock.turn(now, RIGHT);
            place.due_at = Time::MAX;
            self.tell(Some(site), ClusterEvent::ClockRuns);
            self.schedule_member(site);
        }
        if was_paused && self.cluster().sites[site].member.is_some() {
            self.tell(Some(site), ClusterEvent::Continued);
            self.continue_owner(site);
            self.wake_member(site);
        }
    }

    /// What the owner should have done while it was suspended is due from now on.
    fn continue_owner(&mut self, site: usize) {
        if self.cluster().owner != Some(site) {
            return;
        }
        self.observers.is_paused = false;
        self.tell_server(&ServerRecord::Excused);
        for ticket in self.in_flight.streams() {
            self.push(ticket);
        }
    }

    /// Strikes the log.
    pub(crate) fn strike_log(&mut self, what: LogHarm, duration: Span) {
        let now = self.now();
        let until = now + duration;
        let cluster = self.cluster_mut();
        let replica = cluster.below(now, (Purpose::Replica, 0), REPLICAS as u64);
        let replica = usize::try_from(replica).unwrap_or_default();
        let ahead = cluster.below(now, (Purpose::Record, 0), NEXT_RECORDS);
        let sequence = cluster.log.last() + 1 + ahead;
        match what {
            LogHarm::NoLeader => {
                // The leader ends, and this replica follows it after a while.
                cluster.log.leader = replica;
                let leaderless_until = &mut cluster.log.leaderless_until;
                *leaderless_until = until.max(*leaderless_until);
                self.tell(None, ClusterEvent::NoLeader);
            }
            LogHarm::Lag => {
                cluster.log.replicas[replica].lag = BEHIND;
                self.not_well(None);
            }
            // One replica's disk is bad, so that the others have every record.
            LogHarm::Lose | LogHarm::Flip => {
                let (harm, event) = match what == LogHarm::Lose {
                    true => (Harm::Lost, ClusterEvent::RecordLost),
                    false => (Harm::Flipped, ClusterEvent::RecordFlipped),
                };
                cluster.log.replicas[0].harm.insert(sequence, harm);
                self.tell(None, event);
                self.tell_fact(&ClusterFact::Harmed);
            }
            LogHarm::Double => {
                cluster.doubled_until = cluster.doubled_until.max(until);
                self.tell(None, ClusterEvent::ReportsDoubled);
            }
        }
    }

    /// The end of what struck the log.
    pub(crate) fn heal_log(&mut self, what: LogHarm) {
        match what {
            LogHarm::NoLeader => self.tell(None, ClusterEvent::Leader),
            LogHarm::Lag => {
                let replicas = self.cluster_mut().log.replicas.iter_mut();
                let lags = replicas.map(|replica| std::mem::replace(&mut replica.lag, USUAL_LAG));
                // All are mended, not only those up to the first.
                if lags.filter(|lag| *lag != USUAL_LAG).count() > 0 {
                    self.not_well(None);
                }
            }
            LogHarm::Double => {
                let now = self.now();
                if self.cluster().doubled_until <= now {
                    self.tell(None, ClusterEvent::ReportsSingle);
                }
            }
            LogHarm::Lose | LogHarm::Flip => {}
        }
    }

    /// Nothing is wrong any more, except the harm to one replica.
    pub(crate) fn heal_cluster(&mut self) {
        let now = self.now();
        if self.server.cluster.is_none() {
            return;
        }
        self.heal_log(LogHarm::Lag);
        if self.cluster().doubled_until > now {
            self.cluster_mut().doubled_until = now;
            self.heal_log(LogHarm::Double);
        }
        let leaderless_until = &mut self.cluster_mut().log.leaderless_until;
        *leaderless_until = now.min(*leaderless_until);
        for site in 0..self.cluster().sites.len() {
            let place = &mut self.cluster_mut().sites[site];
            place.mute_until = place.mute_until.min(now);
            place.deaf_until = place.deaf_until.min(now);
            place.paused_until = place.paused_until.min(now);
            place.drifts_until = place.drifts_until.min(now);
            place.clock.go_on(now);
            self.member_continues(number(site));
            self.member_starts(number(site));
        }
    }
}
