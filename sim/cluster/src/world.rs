//! The event loop of one history.

mod connections;
mod mishaps;

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::{AppendId, Member, Outcome, ReadId, Reads, Source};
use chat_core::{Call, Ticket};

use chat_types::{Span, Time, mix, mix_bytes};
use sim_judge::cluster::{ClusterFact, ClusterJudge};
use sim_model::draw::{Actor, Draw};

use crate::clients::{CLIENTS, Client, Numbers, Received};
use crate::faults::{END, Fault, HEALED, draw_faults};
use crate::site::{MEMBERS, Site};
use sim_world::applied;
use sim_world::log::SharedLog;

/// How often the log delivers records to a member.
const DELIVERY: Span = Span::millis(7);

/// A call that a member had for this long must be answered.
const ANSWER_WITHIN: Span = Span::secs(12);

/// A client must have had a write accepted within this time before the end.
const SERVED_WITHIN: Span = Span::secs(12);

/// The most events of one history: a member that spins is a bug.
const MOST_EVENTS: u64 = 3_000_000;

/// The result of one history.
#[derive(Clone, Debug)]
pub struct Ended {
    /// The judge, with its violations.
    pub judge: ClusterJudge,
    /// The facts, in their order.
    pub facts: Vec<(Time, ClusterFact)>,
    /// A fingerprint of the facts.
    pub hash: u64,
    /// What happened how often, by name.
    pub counts: BTreeMap<&'static str, u64>,
}

#[derive(Clone, Debug)]
enum Event {
    Wake {
        site: usize,
        wake: u64,
    },
    Call {
        site: usize,
        client: usize,
        ticket: Ticket,
        call: Box<Call>,
    },
    /// An append arrives at the log.
    Append {
        from: Sender,
        id: AppendId,
        expected: u64,
        bytes: Vec<u8>,
    },
    Report {
        to: Sender,
        id: AppendId,
        outcome: Outcome,
    },
    /// A request for a record arrives at the log.
    Read {
        from: Sender,
        id: ReadId,
        sequence: u64,
        source: Source,
    },
    Found {
        to: Sender,
        id: ReadId,
        bytes: Option<Arc<[u8]>>,
    },
    Snapshot {
        to: Sender,
    },
    /// The log delivers what is new.
    Deliver(usize),
    Answer {
        client: usize,
        ticket: Ticket,
        received: Box<Received>,
    },
    Act(usize),
    GiveUp {
        client: usize,
        ticket: Ticket,
    },
    Fault(Fault),
    Start {
        site: usize,
        from_snapshot: u64,
    },
    Resume,
}

/// A process of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sender {
    site: usize,
    incarnation: u64,
}

/// The faults of appends and of reports that are active now.
#[derive(Clone, Copy, Debug, Default)]
struct ActiveFaults {
    unreported_until: Time,
    reports_lost_until: Time,
    doubled_until: Time,
    slow_until: Time,
    slow: Span,
    refused_until: Time,
    rejects: u64,
}

struct World {
    now: Time,
    events: BTreeMap<(Time, u64), Event>,
    next_event: u64,
    draw: Draw,
    log: SharedLog,
    sites: Vec<Site>,
    clients: Vec<Client>,
    numbers: Numbers,
    active: ActiveFaults,
    /// The calls that members have: who made them, when, and to which process.
    calls: BTreeMap<Ticket, (usize, Time, Sender)>,
    leases: Vec<u64>,
    judge: ClusterJudge,
    facts: Vec<(Time, ClusterFact)>,
    hash: u64,
    counts: BTreeMap<&'static str, u64>,
}

/// Runs the history of a seed to its end, or to the first violation.
///
/// # Panics
/// A member's invariant is broken, which is a finding.
#[must_use]
pub fn run_seed(seed: u64) -> Ended {
    let mut world = World::new(seed);
    let mut events = 0_u64;
    while let Some(((at, _), event)) = world.events.pop_first() {
        if at > END || !world.judge.violations().is_empty() {
            break;
        }
        events += 1;
        assert!(events < MOST_EVENTS, "the history does not advance");
        world.now = at;
        world.happen(event);
        world.watch_leases();
    }
    world.end()
}

/// One history in four has strict reads.
fn draw_reads(seed: u64) -> Reads {
    match Draw::new(seed, Actor::Vary).below(4) {
        0 => Reads::Strict,
        _ => Reads::Leased,
    }
}

impl World {
    fn new(seed: u64) -> Self {
        let mut draw = Draw::new(seed, Actor::Server);
        let reads = draw_reads(seed);
        let sites = (0..MEMBERS).map(|n| Site::new(n, reads, &mut draw));
        let mut sites: Vec<Site> = sites.collect();
        for site in &mut sites {
            site.start(Time(0), None);
        }
        let count = u32::try_from(CLIENTS).unwrap_or_default();
        let mut world = Self {
            now: Time(0),
            events: BTreeMap::new(),
            next_event: 0,
            draw,
            log: SharedLog::default(),
            sites,
            clients: (0..count).map(|n| Client::new(seed, n, reads)).collect(),
            numbers: Numbers::default(),
            active: ActiveFaults::default(),
            calls: BTreeMap::new(),
            leases: Vec::new(),
            judge: ClusterJudge::default(),
            facts: Vec::new(),
            hash: seed,
            counts: BTreeMap::new(),
        };
        for (at, fault) in draw_faults(&mut Draw::new(seed, Actor::Faults)) {
            world.schedule(at, Event::Fault(fault));
        }
        world.schedule(HEALED, Event::Resume);
        if reads == Reads::Strict {
            world.count("histories with strict reads");
        }
        for site in 0..MEMBERS {
            world.schedule(Time(0), Event::Deliver(site));
            world.plan_wake(site);
        }
        for client in 0..CLIENTS {
            world.schedule(Time(4_000_000), Event::Act(client));
        }
        world
    }

    fn schedule(&mut self, at: Time, event: Event) {
        self.next_event += 1;
        self.events.insert((at, self.next_event), event);
    }

    fn fact(&mut self, fact: ClusterFact) {
        self.hash = mix(self.hash, self.now.0);
        self.hash = if let ClusterFact::Appended { bytes, .. } = &fact {
            mix_bytes(self.hash, bytes)
        } else {
            mix_bytes(self.hash, format!("{fact:?}").as_bytes())
        };
        self.judge.observe_at(self.now, &fact);
        self.facts.push((self.now, fact));
    }

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    fn sender(&self, site: usize) -> Sender {
        let incarnation = self.sites[site].incarnation();
        Sender { site, incarnation }
    }

    /// The site of an input, if it can take it now. A paused process takes it later.
    fn ready(&mut self, site: usize, event: &Event) -> bool {
        let place = &self.sites[site];
        if place.paused_until > self.now {
            let until = place.paused_until;
            self.schedule(until, event.clone());
            return false;
        }
        place.member.is_some()
    }

    fn is_here(&self, to: Sender) -> bool {
        self.sites[to.site].incarnation() == to.incarnation
    }

    fn happen(&mut self, event: Event) {
        match &event {
            Event::Wake { site, wake } => {
                if self.sites[*site].wake == *wake && self.ready(*site, &event) {
                    self.turn(*site, |member, now| member.handle_timeout(now));
                }
            }
            Event::Call {
                site,
                client,
                ticket,
                call,
            } => self.call(*site, *client, (*ticket, call), &event),
            Event::Append {
                from,
                id,
                expected,
                bytes,
            } => self.append(*from, *id, *expected, bytes),
            Event::Report { to, id, outcome } => {
                let (id, outcome) = (*id, *outcome);
                if self.hears(*to) && self.ready(to.site, &event) {
                    self.turn(to.site, |member, now| member.published(now, id, outcome));
                }
            }
            Event::Read {
                from,
                id,
                sequence,
                source,
            } => self.read(*from, *id, *sequence, *source),
            Event::Found { to, id, bytes } => {
                if self.hears(*to) && self.ready(to.site, &event) {
                    let bytes = bytes.as_deref();
                    self.turn(to.site, |member, now| member.found(now, *id, bytes));
                }
            }
            Event::Snapshot { to } => self.give_snapshot(*to, &event),
            Event::Deliver(site) => self.deliver(*site),
            Event::Answer {
                client,
                ticket,
                received,
            } => self.answer(*client, *ticket, received),
            Event::Act(client) => self.act(*client),
            Event::GiveUp { client, ticket } => {
                if self.clients[*client].waits_for(*ticket) {
                    let next = self.clients[*client].give_up();
                    self.schedule(self.now + next.after, Event::Act(*client));
                }
            }
            Event::Fault(fault) => self.fail(*fault),
            Event::Start {
                site,
                from_snapshot,
            } => self.start(*site, *from_snapshot),
            Event::Resume => self.heal(),
        }
    }

    fn hears(&self, to: Sender) -> bool {
        self.is_here(to) && self.sites[to.site].in_cut_until <= self.now
    }

    fn call(&mut self, site: usize, client: usize, (ticket, call): (Ticket, &Call), event: &Event) {
        if self.sites[site].member.is_none() {
            // The connection is refused, and the client tries elsewhere.
            self.schedule(self.now, Event::GiveUp { client, ticket });
        } else if self.ready(site, event) {
            let sender = self.sender(site);
            self.calls.insert(ticket, (client, self.now, sender));
            let call = call.clone();
            self.turn(site, |member, now| {
                member.submit(now, ticket, chat_core::Address(1), call);
            });
        }
    }

    /// One turn of a member, and its outputs. If it is interrupted, they leave later.
    fn turn(&mut self, site: usize, act: impl FnOnce(&mut Member, chat_cluster::Now)) {
        let place = &mut self.sites[site];
        let now = place.now(self.now);
        let Some(member) = &mut place.member else {
            return;
        };
        act(member, now);
        let mut outputs = Vec::new();
        while let Some(output) = member.poll_output() {
            outputs.push(output);
        }
        let before = std::mem::replace(&mut place.reported, member.sequence());
        if let Some(applied) = applied(site, member, before) {
            self.fact(applied);
        }
        let mut emitted = self.now;
        if let Some(pause) = self.sites[site].interrupt.take() {
            emitted = self.now + pause;
            self.sites[site].pause(self.now, pause);
        }
        for output in outputs {
            self.emit(site, emitted, output);
        }
        self.plan_wake(site);
    }

    fn plan_wake(&mut self, site: usize) {
        let at = self.now;
        let place = &mut self.sites[site];
        place.wake += 1;
        let wake = place.wake;
        if let Some(due) = place.due(at) {
            self.schedule(due, Event::Wake { site, wake });
        }
    }

    fn hop(&mut self) -> Span {
        Span::micros(100 + self.draw.below(1_500))
    }

    fn answer(&mut self, client: usize, ticket: Ticket, received: &Received) {
        if self.clients[client].waits_for(ticket) {
            let next = self.clients[client].receive(self.now, received);
            for fact in next.facts {
                self.fact(fact);
            }
            self.schedule(self.now + next.after, Event::Act(client));
        }
    }

    fn act(&mut self, client: usize) {
        let (site, ticket, call, patience, began) = self.clients[client].act(&mut self.numbers);
        if let Some(began) = began {
            self.fact(began);
        }
        let arrives = self.now + self.hop();
        let call = Box::new(call);
        let event = Event::Call {
            site,
            client,
            ticket,
            call,
        };
        self.schedule(arrives, event);
        self.schedule(self.now + patience, Event::GiveUp { client, ticket });
    }

    /// Reports the members that would take a call now, whenever they change.
    fn watch_leases(&mut self) {
        let now = self.now;
        let has_lease = |(number, site): (usize, &Site)| {
            let member = site.member.as_ref()?;
            // By clocks that stand still, leases overlap.
            if site.reads == Reads::Strict {
                return None;
            }
            member.has_lease(site.now(now)).then_some(number as u64)
        };
        let leases: Vec<u64> = self
            .sites
            .iter()
            .enumerate()
            .filter_map(has_lease)
            .collect();
        if leases != self.leases {
            self.leases.clone_from(&leases);
            self.fact(ClusterFact::Leases(leases));
        }
    }

    fn end(mut self) -> Ended {
        if self.judge.violations().is_empty() {
            self.now = END;
            let members = self.sites.iter().enumerate().map(|(number, site)| {
                let sequence = site.member.as_ref().map_or(0, Member::sequence);
                (number as u64, sequence)
            });
            let members = members.collect();
            // The newest records may still be on their way.
            let due = self.log.last().saturating_sub(20);
            let is_starved = |client: &Client| client.served + SERVED_WITHIN < END;
            let starved = self.clients.iter().enumerate();
            let starved = starved.filter(|(_, client)| is_starved(client));
            let starved = starved.map(|(number, _)| number as u64).collect();
            let unanswered = self
                .calls
                .iter()
                .filter(|(_, (_, since, to))| *since + ANSWER_WITHIN < END && self.is_here(*to));
            let unanswered = unanswered.map(|(ticket, _)| ticket.0).collect();
            self.fact(ClusterFact::Ended {
                members,
                due,
                is_calm: true,
                starved,
                unanswered,
            });
        }
        Ended {
            judge: self.judge,
            facts: self.facts,
            hash: self.hash,
            counts: self.counts,
        }
    }
}
