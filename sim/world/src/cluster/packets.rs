//! The network between members and the log: what a member sends, and what arrives.

use std::sync::Arc;

use chat_cluster::{Alarm, AppendId, Outcome, Output, ReadId, Source};
use chat_types::{Span, Ticket, Time};
use sim_model::cluster::ClusterFact;
use sim_model::outcome::Point;

use super::Process;
use super::chance::Purpose;
use crate::World;
use crate::disk::Unsynced;
use crate::event_queue::Event;

/// How soon records that a replica does not show yet are looked for again.
const LOOK_AGAIN: Span = Span::millis(50);

/// The most time between a report and its second copy.
const SECOND_WITHIN: Span = Span::secs(3);

/// What is on its way from a process to the log, or back.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    /// To the log: a record for the place behind this one. Its report takes so long back.
    Append(AppendId, u64, Arc<[u8]>, Span),
    Report(AppendId, Outcome, ReportCopy),
    /// To the log: what is the record with this sequence?
    Read(ReadId, u64, Source),
    Found(ReadId, Option<Arc<[u8]>>),
    /// New records for a member that follows a replica.
    Records,
    /// A record that the member has received before.
    RecordAgain(u64, Arc<[u8]>),
    Snapshot,
}

/// Whether a report has come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportCopy {
    First,
    Second,
}

impl World<'_, '_> {
    fn send_packet(&mut self, at: Time, process: Process, packet: Packet) {
        let ticket = self.cluster_mut().packets.insert((process, packet));
        self.events.schedule(at, Event::Packet(ticket));
    }

    /// Sends what a member asks of the log.
    pub(super) fn send_output(&mut self, site: usize, output: Output) {
        let now = self.now();
        let from = self.cluster().process(site);
        let at = now + self.cluster().hop(now, (Purpose::ToLog, site as u64));
        let is_mute = self.cluster().sites[site].mute_until > now;
        match output {
            Output::Publish {
                id,
                expected,
                bytes,
            } => {
                let purpose = (Purpose::Append, site as u64);
                let bits = self.cluster().bits(now, purpose);
                let took = self.slowed(self.plan.capacity.commit.at(bits));
                let (there, back) = (Span(took.0 / 2), Span(took.0 - took.0 / 2));
                if !is_mute {
                    let packet = Packet::Append(id, expected, bytes, back);
                    self.send_packet(now + there, from, packet);
                }
            }
            Output::Read {
                id,
                sequence,
                source,
            } if !is_mute => self.send_packet(at, from, Packet::Read(id, sequence, source)),
            Output::Fetch {
                from: next,
                attempt,
            } => {
                let place = &mut self.cluster_mut().sites[site];
                let attempt = usize::try_from(attempt).unwrap_or_default();
                place.replica = (site + attempt) % super::log::REPLICAS;
                place.next_record = next;
                self.deliver_soon(site);
            }
            Output::StoreSnapshot => self.store_snapshot(site),
            Output::Alarm(Alarm::Diverged { .. } | Alarm::Unreadable { .. }) => {
                self.tell_fact(&ClusterFact::Stranded(site as u64));
            }
            Output::FetchSnapshot if !is_mute => self.send_packet(at, from, Packet::Snapshot),
            Output::Read { .. }
            | Output::FetchSnapshot
            | Output::Alarm(_)
            | Output::Applied { .. }
            | Output::Admitted(_)
            | Output::Node(_)
            | Output::Moved { .. }
            | Output::BecameOwner { .. }
            | Output::LostOwnership { .. } => {}
        }
    }

    /// A packet arrives. A suspended process reads it later; a deaf one never does, but records come
    /// again.
    pub(crate) fn packet_arrives(&mut self, ticket: Ticket) {
        let now = self.now();
        let Some((process, packet)) = self.cluster_mut().packets.remove(ticket) else {
            return;
        };
        let site = process.site;
        if !matches!(packet, Packet::Append(..) | Packet::Read(..)) {
            if !self.cluster().is_there(process) {
                return;
            }
            let place = &self.cluster().sites[site];
            let (paused_until, deaf_until) = (place.paused_until, place.deaf_until);
            if paused_until > now {
                return self.send_packet(paused_until, process, packet);
            }
            if deaf_until > now {
                if matches!(packet, Packet::Records) {
                    self.send_packet(deaf_until, process, packet);
                }
                return;
            }
        }
        match packet {
            Packet::Append(id, expected, bytes, back) => {
                self.append_arrives(process, id, (expected, &bytes), back);
            }
            Packet::Report(id, outcome, copy) => {
                if copy == ReportCopy::Second {
                    self.observers.reach(Point::ReportedTwice);
                }
                self.member_turn(site, |member, now| member.published(now, id, outcome));
            }
            Packet::Read(id, sequence, source) => self.read_arrives(process, id, sequence, source),
            Packet::Found(id, bytes) => {
                self.member_turn(site, |member, now| member.found(now, id, bytes.as_deref()));
            }
            Packet::Records => self.read_replica(process),
            Packet::RecordAgain(sequence, bytes) => {
                self.member_turn(site, |member, now| member.record(now, sequence, &bytes));
            }
            Packet::Snapshot => {
                if let Some(snapshot) = self.cluster().newest_snapshot() {
                    self.member_turn(site, |member, now| member.snapshot_found(now, snapshot));
                }
            }
        }
    }

    /// An append arrives at the log, which takes it, refuses it, or says nothing.
    fn append_arrives(
        &mut self,
        from: Process,
        id: AppendId,
        (expected, bytes): (u64, &[u8]),
        back: Span,
    ) {
        let (now, of) = (self.now(), from.site as u64);
        let fails = self.active_faults.disk_fails(now);
        let cluster = self.cluster_mut();
        let outcome = if !cluster.has_leader(now) {
            if cluster.below(now, (Purpose::Silence, of), 2) == 0 {
                return;
            }
            Outcome::Busy
        } else if fails == Some(Unsynced::Lost) {
            Outcome::Busy
        } else {
            cluster.log.append(now, expected, bytes)
        };
        if let Outcome::Acknowledged(sequence) = outcome {
            let bytes = bytes.to_vec();
            self.tell_fact(&ClusterFact::Appended { sequence, bytes });
            for site in 0..self.cluster().sites.len() {
                self.deliver_soon(site);
            }
        }
        if fails == Some(Unsynced::Written) {
            return;
        }
        let report = Packet::Report(id, outcome, ReportCopy::First);
        self.send_packet(now + back, from, report);
        if let Some(late) = self.draw_second((Purpose::SecondReport, of)) {
            // An append that comes twice itself is refused because of the first.
            let is_own = matches!(outcome, Outcome::Acknowledged(_));
            let is_refused = is_own && self.cluster().below(now, (Purpose::Refused, of), 2) == 0;
            let second = match is_refused {
                true => Outcome::WrongLast,
                false => outcome,
            };
            let report = Packet::Report(id, second, ReportCopy::Second);
            self.send_packet(now + back + late, from, report);
        }
    }

    /// How late a second copy comes, while the log sends such.
    fn draw_second(&self, purpose: (Purpose, u64)) -> Option<Span> {
        let (now, cluster) = (self.now(), self.cluster());
        let late = || cluster.below(now, purpose, SECOND_WITHIN.0);
        (cluster.doubled_until > now).then(|| Span(late()))
    }

    fn read_arrives(&mut self, from: Process, id: ReadId, sequence: u64, source: Source) {
        let now = self.now();
        let cluster = self.cluster_mut();
        let bytes = match source {
            Source::Leader if cluster.has_leader(now) => {
                cluster.log.stored(cluster.log.leader, sequence)
            }
            Source::Leader => return,
            Source::Replica(number) => {
                let replica = usize::try_from(number).unwrap_or_default() % super::log::REPLICAS;
                cluster.log.read(now, replica, sequence)
            }
        };
        let at = now + cluster.hop(now, (Purpose::Found, from.site as u64));
        self.send_packet(at, from, Packet::Found(id, bytes));
    }

    /// Sends what the member's replica will show.
    pub(super) fn deliver_soon(&mut self, site: usize) {
        let now = self.now();
        let cluster = self.cluster();
        let hop = cluster.hop(now, (Purpose::Records, site as u64));
        let at = now + cluster.log.replicas[cluster.sites[site].replica].lag + hop;
        let to = cluster.process(site);
        self.send_packet(at, to, Packet::Records);
    }

    /// Gives a member the records that its replica shows.
    fn read_replica(&mut self, to: Process) {
        let (now, site) = (self.now(), to.site);
        let replica = self.cluster().sites[site].replica;
        let visible = self.cluster_mut().log.visible(now, replica);
        loop {
            let cluster = self.cluster_mut();
            let place = &mut cluster.sites[site];
            let is_same = place.replica == replica && place.paused_until <= now;
            if !is_same || place.next_record > visible {
                break;
            }
            let sequence = place.next_record;
            place.next_record += 1;
            if let Some(bytes) = cluster.log.read(now, replica, sequence) {
                self.member_turn(site, |member, now| member.record(now, sequence, &bytes));
                let of = (sequence << 8) | site as u64;
                if let Some(late) = self.draw_second((Purpose::SecondRecord, of)) {
                    let again = Packet::RecordAgain(sequence, bytes);
                    self.send_packet(now + late, to, again);
                }
            }
            if !self.cluster().is_there(to) {
                return;
            }
        }
        let cluster = self.cluster();
        if cluster.sites[site].replica == replica && visible < cluster.log.last() {
            self.send_packet(now + LOOK_AGAIN, to, Packet::Records);
        }
    }

    fn store_snapshot(&mut self, site: usize) {
        let cluster = self.cluster_mut();
        let Some(member) = &cluster.sites[site].member else {
            return;
        };
        let (sequence, snapshot) = (member.sequence(), member.snapshot());
        cluster.log.store(sequence, snapshot.into());
        self.tell_hindrances();
    }
}
