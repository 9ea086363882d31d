//! The network between members and the log: what a member sends, and what arrives.

use std::sync::Arc;

use chat_cluster::{Alarm, AppendId, Outcome, Output, ReadId, Source};
use chat_types::{Span, Time};
use sim_model::cluster::ClusterFact;
use sim_model::outcome::Point;

use super::chance::Purpose;
use super::{Cluster, Process};
use crate::World;
use crate::disk::Unsynced;
use crate::event_queue::Event;

/// How soon records that a replica does not show yet are looked for again.
const LOOK_AGAIN: Span = Span::millis(50);

/// The most time between a report and its second copy.
const SECOND_WITHIN: Span = Span::secs(3);

/// What is on its way.
#[derive(Clone, Debug)]
pub(super) enum Packet {
    Append {
        from: Process,
        id: AppendId,
        expected: u64,
        bytes: Arc<[u8]>,
        /// How long its report takes back.
        back: Span,
    },
    Report {
        to: Process,
        id: AppendId,
        outcome: Outcome,
        copy: ReportCopy,
    },
    Read {
        from: Process,
        id: ReadId,
        sequence: u64,
        source: Source,
    },
    Found {
        to: Process,
        id: ReadId,
        bytes: Option<Arc<[u8]>>,
    },
    /// New records for a member that follows a replica.
    Records {
        to: Process,
    },
    /// A record that the member has received before.
    RecordAgain {
        to: Process,
        sequence: u64,
        bytes: Arc<[u8]>,
    },
    Snapshot {
        to: Process,
    },
}

/// Whether a report has come before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReportCopy {
    First,
    Second,
}

impl Packet {
    /// The member that receives it; none for the log.
    const fn receiver(&self) -> Option<Process> {
        match self {
            Self::Append { .. } | Self::Read { .. } => None,
            Self::Report { to, .. }
            | Self::Found { to, .. }
            | Self::Records { to }
            | Self::RecordAgain { to, .. }
            | Self::Snapshot { to } => Some(*to),
        }
    }
}

impl Cluster {
    fn put(&mut self, packet: Packet) -> u32 {
        if let Some(index) = self.free_packets.pop() {
            self.packets[index as usize] = Some(packet);
            return index;
        }
        self.packets.push(Some(packet));
        u32::try_from(self.packets.len() - 1).expect("fewer packets than fit in memory")
    }

    fn take(&mut self, index: u32) -> Option<Packet> {
        let packet = self.packets.get_mut(index as usize)?.take();
        self.free_packets.push(index);
        packet
    }
}

impl World<'_, '_> {
    fn send_packet(&mut self, at: Time, packet: Packet) {
        let index = self.cluster_mut().put(packet);
        self.events.schedule(at, Event::Packet(index));
    }

    /// Sends what a member asks of the log.
    pub(super) fn send_output(&mut self, site: usize, output: Output) {
        let now = self.now();
        let from = self.cluster().process(site);
        let at = now + self.cluster().hop(now, Purpose::ToLog(site));
        let is_mute = self.cluster().sites[site].mute_until > now;
        match output {
            Output::Publish {
                id,
                expected,
                bytes,
            } => {
                let bits = self.cluster().bits(now, Purpose::Append(site));
                let took = self.slowed(self.plan.capacity.commit.at(bits));
                let (there, back) = (Span(took.0 / 2), Span(took.0 - took.0 / 2));
                if !is_mute {
                    let packet = Packet::Append {
                        from,
                        id,
                        expected,
                        bytes,
                        back,
                    };
                    self.send_packet(now + there, packet);
                }
            }
            Output::Read {
                id,
                sequence,
                source,
            } if !is_mute => {
                let packet = Packet::Read {
                    from,
                    id,
                    sequence,
                    source,
                };
                self.send_packet(at, packet);
            }
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
                let fact = ClusterFact::Stranded(site as u64);
                self.tell_fact(&fact);
            }
            Output::FetchSnapshot if !is_mute => {
                self.send_packet(at, Packet::Snapshot { to: from });
            }
            Output::Read { .. }
            | Output::FetchSnapshot
            | Output::Alarm(_)
            | Output::Applied { .. }
            | Output::Admitted(_)
            | Output::Node(_)
            | Output::Moved(_)
            | Output::BecameOwner { .. }
            | Output::LostOwnership { .. } => {}
        }
    }

    /// A packet arrives. A suspended process reads it later; a deaf one never does, but records come
    /// again.
    pub(crate) fn packet_arrives(&mut self, index: u32) {
        let now = self.now();
        let Some(packet) = self.cluster_mut().take(index) else {
            return;
        };
        if let Some(to) = packet.receiver() {
            if !self.cluster().is_there(to) {
                return;
            }
            let place = &self.cluster().sites[to.site];
            let (paused_until, deaf_until) = (place.paused_until, place.deaf_until);
            if paused_until > now {
                return self.send_packet(paused_until, packet);
            }
            if deaf_until > now {
                if matches!(packet, Packet::Records { .. }) {
                    self.send_packet(deaf_until, packet);
                }
                return;
            }
        }
        match packet {
            Packet::Append {
                from,
                id,
                expected,
                bytes,
                back,
            } => self.append_arrives(from, id, (expected, &bytes), back),
            Packet::Report {
                to,
                id,
                outcome,
                copy,
            } => {
                if copy == ReportCopy::Second {
                    self.observers.reach(Point::ReportedTwice);
                }
                self.member_turn(to.site, |member, now| member.published(now, id, outcome));
            }
            Packet::Read {
                from,
                id,
                sequence,
                source,
            } => self.read_arrives(from, id, sequence, source),
            Packet::Found { to, id, bytes } => {
                self.member_turn(to.site, |member, now| {
                    member.found(now, id, bytes.as_deref());
                });
            }
            Packet::Records { to } => self.read_replica(to),
            Packet::RecordAgain {
                to,
                sequence,
                bytes,
            } => {
                self.member_turn(to.site, |member, now| member.record(now, sequence, &bytes));
            }
            Packet::Snapshot { to } => {
                if let Some(snapshot) = self.cluster().newest_snapshot() {
                    self.member_turn(to.site, |member, now| {
                        member.snapshot_found(now, snapshot);
                    });
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
        let now = self.now();
        let fails = self.active_faults.disk_fails(now);
        let cluster = self.cluster_mut();
        let outcome = if !cluster.log.has_leader(now) {
            if cluster.below(now, Purpose::Silence(from.site), 2) == 0 {
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
            let fact = ClusterFact::Appended { sequence, bytes };
            self.tell_fact(&fact);
            for site in 0..self.cluster().sites.len() {
                self.deliver_soon(site);
            }
        }
        if fails != Some(Unsynced::Written) {
            self.report(now + back, (from, id), outcome, ReportCopy::First);
            if let Some(late) = self.draw_second(Purpose::SecondReport(from.site)) {
                // An append that comes twice itself is refused because of the first.
                let is_own = matches!(outcome, Outcome::Acknowledged(_));
                let purpose = Purpose::Refused(from.site);
                let is_refused = is_own && self.cluster().below(now, purpose, 2) == 0;
                let outcome = if is_refused {
                    Outcome::WrongLast
                } else {
                    outcome
                };
                self.report(now + back + late, (from, id), outcome, ReportCopy::Second);
            }
        }
    }

    fn report(
        &mut self,
        at: Time,
        (to, id): (Process, AppendId),
        outcome: Outcome,
        copy: ReportCopy,
    ) {
        let packet = Packet::Report {
            to,
            id,
            outcome,
            copy,
        };
        self.send_packet(at, packet);
    }

    /// How late a second copy comes, while the log sends such.
    fn draw_second(&self, purpose: Purpose) -> Option<Span> {
        let (now, cluster) = (self.now(), self.cluster());
        let late = || cluster.below(now, purpose, SECOND_WITHIN.0);
        (cluster.doubled_until > now).then(|| Span(late()))
    }

    fn read_arrives(&mut self, from: Process, id: ReadId, sequence: u64, source: Source) {
        let now = self.now();
        let cluster = self.cluster_mut();
        let bytes = match source {
            Source::Leader if cluster.log.has_leader(now) => cluster.log.read_leader(sequence),
            Source::Leader => return,
            Source::Replica(number) => {
                let replica = usize::try_from(number).unwrap_or_default() % super::log::REPLICAS;
                cluster.log.read_replica(now, replica, sequence)
            }
        };
        let at = now + cluster.hop(now, Purpose::Found(from.site));
        let to = from;
        self.send_packet(at, Packet::Found { to, id, bytes });
    }

    /// Sends what the member's replica will show.
    pub(super) fn deliver_soon(&mut self, site: usize) {
        let now = self.now();
        let cluster = self.cluster_mut();
        let hop = cluster.hop(now, Purpose::Records(site));
        let at = now + cluster.log.lag(cluster.sites[site].replica) + hop;
        let to = cluster.process(site);
        self.send_packet(at, Packet::Records { to });
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
            if let Some(bytes) = cluster.log.read_replica(now, replica, sequence) {
                self.member_turn(site, |member, now| member.record(now, sequence, &bytes));
                if let Some(late) = self.draw_second(Purpose::SecondRecord { site, sequence }) {
                    let packet = Packet::RecordAgain {
                        to,
                        sequence,
                        bytes,
                    };
                    self.send_packet(now + late, packet);
                }
            }
            if !self.cluster().is_there(to) {
                return;
            }
        }
        let cluster = self.cluster();
        if cluster.sites[site].replica == replica && visible < cluster.log.last() {
            self.send_packet(now + LOOK_AGAIN, Packet::Records { to });
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
