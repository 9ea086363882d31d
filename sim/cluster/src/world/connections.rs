//! Between members, the log and clients: what is sent, and what arrives of it.

use chat_cluster::{Alarm, AppendId, LogSnapshot, Outcome, Output, ReadId, Source};
use chat_core::Ticket;
use chat_types::{Span, Time};
use sim_judge::cluster::ClusterFact;

use super::{DELIVERY, Event, Sender, World};
use crate::clients::Received;
use crate::site::origin;
use sim_world::log::REPLICAS;

impl World {
    /// Carries out an output of a member, which leaves it at `at`.
    pub(super) fn emit(&mut self, site: usize, at: Time, output: Output) {
        let from = self.sender(site);
        let arrives = at + self.hop();
        match output {
            Output::Publish {
                id,
                expected,
                bytes,
            } => self.publish(from, arrives, (id, expected, &bytes)),
            Output::Read {
                id,
                sequence,
                source,
            } => {
                if self.sites[site].out_cut_until <= at {
                    let event = Event::Read {
                        from,
                        id,
                        sequence,
                        source,
                    };
                    self.schedule(arrives, event);
                }
            }
            Output::Fetch { from, attempt } => {
                let place = &mut self.sites[site];
                place.replica = usize::try_from(attempt).unwrap_or_default() % REPLICAS;
                place.next_record = from;
                self.count("fetches");
            }
            Output::Node(chat_core::Output::Reply { ticket, outcome }) => {
                self.reply(arrives, ticket, Received::Node(outcome));
            }
            Output::Applied { .. } | Output::Admitted(_) | Output::Node(_) => {}
            Output::Moved(refusal) => {
                self.count("moved");
                let member = self.sites[site].member.as_ref();
                let owner = member.and_then(|member| member.owner()?.address.parse().ok());
                let owner = owner.filter(|owner| *owner != site);
                let earlier = refusal.earlier;
                self.reply(arrives, refusal.ticket, Received::Moved { owner, earlier });
            }
            Output::BecameOwner { .. } => self.count("owners"),
            Output::LostOwnership { .. } => self.count("lost ownerships"),
            Output::StoreSnapshot => self.store(site),
            Output::FetchSnapshot => {
                self.count("snapshots fetched");
                self.schedule(arrives, Event::Snapshot { to: from });
            }
            Output::Alarm(Alarm::Hole { .. }) => self.count("holes"),
            Output::Alarm(Alarm::Damaged { .. }) => self.count("damaged records"),
            Output::Alarm(Alarm::Diverged { .. } | Alarm::Unreadable { .. }) => {
                self.fact(ClusterFact::Stranded(site as u64));
            }
        }
    }

    fn publish(
        &mut self,
        from: Sender,
        arrives: Time,
        (id, expected, bytes): (AppendId, u64, &[u8]),
    ) {
        self.count("appends");
        if self.sites[from.site].out_cut_until > arrives {
            return;
        }
        let mut at = arrives;
        if self.active.slow_until > self.now && self.draw.below(3) == 0 {
            at = arrives + Span(self.draw.below(self.active.slow.0));
        }
        let event = Event::Append {
            from,
            id,
            expected,
            bytes: bytes.to_vec(),
        };
        self.schedule(at, event);
    }

    /// An append arrives at the log.
    pub(super) fn append(&mut self, from: Sender, id: AppendId, expected: u64, bytes: &[u8]) {
        let outcome = if !self.log.has_leader(self.now) {
            if self.draw.below(2) == 0 {
                return self.count("appends without a leader");
            }
            Outcome::Busy
        } else if self.active.refused_until > self.now && self.draw.below(2) == 0 {
            match self.active.rejects {
                0 => Outcome::Busy,
                _ => Outcome::Rejected,
            }
        } else {
            self.log.append(self.now, expected, bytes)
        };
        if let Outcome::Acknowledged(sequence) = outcome {
            let bytes = bytes.to_vec();
            self.fact(ClusterFact::Appended { sequence, bytes });
            if self.active.doubled_until > self.now && self.draw.below(2) == 0 {
                // The append arrives twice: the second time it is refused because of the first.
                let (at, to) = (self.now + self.hop(), from);
                let outcome = Outcome::WrongLast;
                self.schedule(at, Event::Report { to, id, outcome });
            }
        }
        let is_unreported = self.active.unreported_until > self.now;
        let is_stormy = self.active.reports_lost_until > self.now;
        if is_unreported || (is_stormy && self.draw.below(3) == 0) {
            return self.count("reports lost");
        }
        let copies = 1 + u64::from(self.active.doubled_until > self.now);
        for _ in 0..copies {
            let at = self.now + self.hop();
            let to = from;
            self.schedule(at, Event::Report { to, id, outcome });
        }
    }

    /// A request for one record arrives at the log.
    pub(super) fn read(&mut self, from: Sender, id: ReadId, sequence: u64, source: Source) {
        let bytes = match source {
            Source::Leader if self.log.has_leader(self.now) => self.log.read_leader(sequence),
            Source::Leader => return,
            Source::Replica(number) => {
                let replica = usize::try_from(number).unwrap_or_default() % REPLICAS;
                self.log.read_replica(self.now, replica, sequence)
            }
        };
        self.count("reads of a fate");
        let at = self.now + self.hop();
        let to = from;
        self.schedule(at, Event::Found { to, id, bytes });
    }

    /// The log delivers what is new on the replica that a member follows.
    pub(super) fn deliver(&mut self, site: usize) {
        self.schedule(self.now + DELIVERY, Event::Deliver(site));
        let place = &self.sites[site];
        if place.member.is_none() || place.paused_until > self.now || place.in_cut_until > self.now
        {
            return;
        }
        let replica = place.replica;
        let visible = self.log.visible(self.now, replica);
        while self.sites[site].next_record <= visible && self.sites[site].paused_until <= self.now {
            let sequence = self.sites[site].next_record;
            if self.sites[site].replica != replica {
                return;
            }
            self.sites[site].next_record += 1;
            if let Some(bytes) = self.log.read_replica(self.now, replica, sequence) {
                self.turn(site, |member, now| member.record(now, sequence, &bytes));
            }
        }
    }

    fn store(&mut self, site: usize) {
        let Some(member) = &self.sites[site].member else {
            return;
        };
        self.log.store(member.sequence(), member.snapshot().into());
        self.count("snapshots");
    }

    pub(super) fn give_snapshot(&mut self, to: Sender, event: &Event) {
        if self.is_here(to)
            && self.ready(to.site, event)
            && let Some(bytes) = self.log.newest_snapshot()
        {
            let snapshot = LogSnapshot::read(&origin(), bytes).expect("a member wrote it");
            self.turn(to.site, |member, now| member.snapshot_found(now, snapshot));
        }
    }

    fn reply(&mut self, arrives: Time, ticket: Ticket, received: Received) {
        if let Some((client, _, _)) = self.calls.remove(&ticket) {
            let received = Box::new(received);
            let event = Event::Answer {
                client,
                ticket,
                received,
            };
            self.schedule(arrives, event);
        }
    }
}
