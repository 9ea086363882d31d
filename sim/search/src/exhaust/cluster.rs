//! Every interleaving of two members and a short log, to a given depth.
//!
//! One member is the owner, the other follows. From there, every action is tried in every state: an
//! append lands, lands without a report, is lost or is refused; a report or a record arrives, or a
//! read of a fate finds nothing; a member's next deadline passes while the other one stands still;
//! a client writes; the owner resigns. Appends, reports and reads that are on their way may take any
//! order, and any time.
//!
//! States are merged if both members, all that is on its way, and the judge are equal. At each state
//! every member is read in a copy, so that an answer under a stale lease is a violation.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::{AppendId, Member, MemberId, Now, Outcome, Output, ReadId, Settings};
use chat_core::{
    Address, Addressees, Answer, Call, Command, Earlier, Event, OwnerReads, Read, Response, Ticket,
};
use chat_journal::Identity;
use chat_types::config::{Limit, RateLimit, StickRule};
use chat_types::{Config, Span, Time};

use super::fingerprint::fingerprint_shown;
use sim_judge::cluster::{ClusterFact, ClusterJudge, text_of, write_of};
use sim_model::protocol::Op;
use sim_user::Credential;
use sim_world::{applied, translate};

/// The writes of one path.
const WRITES: u64 = 2;

/// The most records behind the first ones: three appends of either member.
const APPENDS: u64 = 3;

/// The most messages on their way.
const FLYING: usize = 4;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An append arrives at the log, and its report is on its way.
    Land(usize),
    /// An append arrives at the log, and its report is lost.
    LandUnreported(usize),
    /// An append is lost.
    Lose(usize),
    /// An append is refused before it is proposed.
    Refuse(usize),
    /// A report arrives.
    Report(usize),
    /// A read of a fate finds what the log has.
    Find(usize),
    /// A read of a fate finds nothing.
    FindNothing(usize),
    /// The next record arrives at the member.
    Deliver(usize),
    /// The member's next deadline passes.
    Timeout(usize),
    /// A client writes at the member.
    Write(usize),
    /// The owner gives up the log.
    Resign(usize),
}

/// The result of a search.
#[derive(Clone, Debug, Default)]
pub struct ClusterSearch {
    /// The number of different states.
    pub states: u64,
    /// The number of steps that were tried.
    pub steps: u64,
    /// The first path that violates a rule, the rule, and what was seen.
    pub broken: Option<(Vec<Step>, &'static str, String)>,
}

#[derive(Clone, Debug)]
struct TinyCluster {
    now: Time,
    members: [Member; 2],
    log: Vec<Vec<u8>>,
    first: u64,
    /// Appends on their way: the member, and what the log ends with if it takes these bytes.
    requests: Vec<(usize, AppendId, u64, Vec<u8>)>,
    reports: Vec<(usize, AppendId, Outcome)>,
    reads: Vec<(usize, ReadId, u64)>,
    writes: u64,
    has_resigned: bool,
    judge: ClusterJudge,
}

/// Searches all paths of at most this many steps.
#[must_use]
pub fn cluster(depth: u32) -> ClusterSearch {
    let mut search = Search::default();
    search.visit(&TinyCluster::new(), depth);
    search.found
}

#[derive(Default)]
struct Search {
    /// The states with the largest number of steps that was tried from each.
    known: BTreeMap<u64, u32>,
    path: Vec<Step>,
    found: ClusterSearch,
}

impl Search {
    fn visit(&mut self, state: &TinyCluster, left: u32) {
        let key = state.key();
        let tried = self.known.get(&key).copied();
        if tried >= Some(left) {
            return;
        }
        self.found.states += u64::from(tried.is_none());
        self.known.insert(key, left);
        if left == 0 {
            return;
        }
        for step in state.steps() {
            let mut next = state.clone();
            self.path.push(step);
            self.found.steps += 1;
            next.apply(step);
            next.look();
            if let Some(violation) = next.judge.violations.first() {
                let (rule, detail) = (violation.rule.name(), violation.detail.clone());
                self.found.broken = Some((self.path.clone(), rule, detail));
            } else {
                self.visit(&next, left - 1);
            }
            if self.found.broken.is_some() {
                return;
            }
            self.path.pop();
        }
    }
}

impl TinyCluster {
    /// The first member is the owner, and has a client; the second one has applied all of it.
    fn new() -> Self {
        let now = Time(0);
        let member =
            |number| Member::new(settings(number), clocks(now)).expect("the configuration fits");
        let mut tiny = Self {
            now,
            members: [member(0), member(1)],
            log: Vec::new(),
            first: 0,
            requests: Vec::new(),
            reports: Vec::new(),
            reads: Vec::new(),
            writes: 0,
            has_resigned: false,
            judge: ClusterJudge::default(),
        };
        tiny.apply(Step::Timeout(0));
        tiny.settle();
        tiny.submit(0, REGISTRATION, registration());
        tiny.settle();
        tiny.first = tiny.log.len() as u64;
        tiny
    }

    /// Lets all that is on its way arrive.
    fn settle(&mut self) {
        loop {
            if !self.requests.is_empty() {
                self.apply(Step::Land(0));
            } else if !self.reports.is_empty() {
                self.apply(Step::Report(0));
            } else if self.members[1].sequence() < self.log.len() as u64 {
                self.apply(Step::Deliver(1));
            } else {
                return;
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let appended = self.log.len() as u64 - self.first;
        for (index, (_, _, expected, _)) in self.requests.iter().enumerate() {
            let lands = *expected == self.log.len() as u64;
            if !lands || appended < APPENDS {
                steps.extend([Step::Land(index), Step::LandUnreported(index)]);
            }
            steps.extend([Step::Lose(index), Step::Refuse(index)]);
        }
        steps.extend((0..self.reports.len()).map(Step::Report));
        for index in 0..self.reads.len() {
            steps.extend([Step::Find(index), Step::FindNothing(index)]);
        }
        for member in 0..self.members.len() {
            if self.members[member].sequence() < self.log.len() as u64 {
                steps.push(Step::Deliver(member));
            }
            if self.requests.len() + self.reports.len() + self.reads.len() < FLYING {
                steps.push(Step::Timeout(member));
                if self.writes < WRITES {
                    steps.push(Step::Write(member));
                }
                if !self.has_resigned && self.members[member].has_lease(clocks(self.now)) {
                    steps.push(Step::Resign(member));
                }
            }
        }
        steps
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Land(index) | Step::LandUnreported(index) => {
                let (member, id, expected, bytes) = self.requests.remove(index);
                let outcome = self.land(expected, bytes);
                if let Step::Land(_) = step {
                    self.reports.push((member, id, outcome));
                }
            }
            Step::Lose(index) | Step::Refuse(index) => {
                let (member, id, ..) = self.requests.remove(index);
                if let Step::Refuse(_) = step {
                    self.reports.push((member, id, Outcome::Busy));
                }
            }
            Step::Report(index) => {
                let (member, id, outcome) = self.reports.remove(index);
                self.turn(member, |member, now| member.published(now, id, outcome));
            }
            Step::Find(index) | Step::FindNothing(index) => {
                let (member, id, sequence) = self.reads.remove(index);
                let finds = matches!(step, Step::Find(_));
                let found = self.record(sequence).filter(|_| finds);
                self.turn(member, |member, now| {
                    member.found(now, id, found.as_deref())
                });
            }
            Step::Deliver(member) => {
                let sequence = self.members[member].sequence() + 1;
                let bytes = self.record(sequence).unwrap_or_default();
                self.turn(member, |member, now| member.record(now, sequence, &bytes));
            }
            Step::Timeout(member) => {
                let due = self.members[member].poll_timeout();
                let wall = due.wall.map(|due| due.since(clocks(self.now).wall));
                let boot = due.boot.map(|due| due.since(self.now));
                if let Some(rest) = wall.into_iter().chain(boot).min() {
                    self.now += rest;
                }
                self.turn(member, |member, now| member.handle_timeout(now));
            }
            Step::Resign(member) => {
                self.has_resigned = true;
                self.turn(member, Member::resign);
            }
            Step::Write(member) => {
                self.writes += 1;
                self.submit(member, Ticket(self.writes), write(self.writes));
            }
        }
    }

    fn submit(&mut self, member: usize, ticket: Ticket, call: Call) {
        self.turn(member, |member, now| {
            member.submit(now, ticket, ADDRESS, call)
        });
    }

    fn record(&self, sequence: u64) -> Option<Vec<u8>> {
        let index = usize::try_from(sequence.checked_sub(1)?).ok()?;
        self.log.get(index).cloned()
    }

    fn land(&mut self, expected: u64, bytes: Vec<u8>) -> Outcome {
        if expected != self.log.len() as u64 {
            return Outcome::WrongLast;
        }
        self.log.push(bytes.clone());
        let sequence = self.log.len() as u64;
        self.tell(&ClusterFact::Appended { sequence, bytes });
        Outcome::Acknowledged(sequence)
    }

    fn turn(&mut self, member: usize, act: impl FnOnce(&mut Member, Now)) {
        let now = clocks(self.now);
        let before = self.members[member].sequence();
        act(&mut self.members[member], now);
        while let Some(output) = self.members[member].poll_output() {
            self.emit(member, output);
        }
        if let Some(applied) = applied(member, &self.members[member], before) {
            self.tell(&applied);
        }
    }

    fn tell(&mut self, fact: &ClusterFact) {
        self.judge.observe_at(self.now, fact);
    }

    fn emit(&mut self, member: usize, output: Output) {
        if let Output::Publish {
            id,
            expected,
            bytes,
        } = output
        {
            self.requests.push((member, id, expected, bytes.to_vec()));
        } else if let Output::Read { id, sequence, .. } = output {
            self.reads.push((member, id, sequence));
        } else if let Output::Node(chat_core::Output::Reply { ticket, outcome }) = output {
            if ticket.0 <= WRITES {
                self.tell(&match outcome {
                    Ok(_) => ClusterFact::Accepted(ticket.0),
                    Err(_) => ClusterFact::NotDone(ticket.0),
                });
            }
        } else if let Output::Moved { ticket, earlier } = &output {
            let is_sure = *earlier != Earlier::Unknown;
            if ticket.0 <= WRITES && is_sure {
                self.tell(&ClusterFact::NotDone(ticket.0));
            }
        } else if let Output::Alarm(_) = output {
            self.tell(&ClusterFact::Stranded(member as u64));
        }
    }

    /// Reads at every member, and asks who would take calls.
    fn look(&mut self) {
        let now = clocks(self.now);
        let mut holders = Vec::new();
        for (read, member) in (0..).zip(self.members.clone()) {
            if member.has_lease(now) {
                holders.push(read);
            }
            self.tell(&ClusterFact::ReadBegan(read));
            if let Some((shown, more)) = history_of(member, now) {
                self.tell(&ClusterFact::Read {
                    read,
                    member: read,
                    shown,
                    more,
                });
            }
        }
        self.tell(&ClusterFact::Leases(holders));
    }

    /// A fingerprint of all that the future depends on.
    fn key(&self) -> u64 {
        let members = self.members.each_ref().map(|member| member.outline());
        let log = (self.log.len(), self.log.last());
        let on_their_way = (&self.requests, &self.reports, &self.reads);
        let acts = (self.writes, self.has_resigned, self.judge.accepted.len());
        let all = (self.now, members, log, on_their_way, acts);
        fingerprint_shown(0, format_args!("{all:?}"))
    }
}

/// The ticket of the client's registration, and that of its reads. The ticket of a write is its number.
const REGISTRATION: Ticket = Ticket(1_000);
const READ: Ticket = Ticket(2_000);

/// The only client, and its address.
const CLIENT: Credential = Credential {
    secret: 1,
    is_new: false,
};
const ADDRESS: Address = Address(1);

/// The clocks of both members at this time.
const fn clocks(now: Time) -> Now {
    Now {
        wall: Time(1_000_000_000 + now.0),
        boot: now,
    }
}

/// The settings of a member.
fn settings(number: u64) -> Settings {
    let identity = Identity {
        realm: 0x7515,
        seed: 11,
        secret: [3; 32],
    };
    Settings {
        id: MemberId {
            number,
            incarnation: 1,
        },
        address: number.to_string().into(),
        origin: identity.origin(),
        config: Config {
            stick: StickRule::Optional,
            rate_limit: RateLimit::None,
            turn_limit: Limit::None,
            idle_timeout: Span::secs(3_600),
            unused_timeout: Span::secs(3_600),
            history_limit: 100_000,
            max_pending: 3,
            ..Config::default()
        },
        snapshot_every: 60,
        reads: OwnerReads::Lease,
    }
}

/// A call of the client, without a request key.
fn call(who: Credential, op: Op) -> Call {
    Arc::unwrap_or_clone(translate::call(who, ADDRESS, None, op))
}

fn registration() -> Call {
    let login = Command::Login {
        username: "ann".into(),
        room: "hall".into(),
    };
    let is_new = true;
    call(Credential { is_new, ..CLIENT }, Op::Command(login))
}

fn write(write: u64) -> Call {
    let message = Command::SendMessage {
        room: None,
        text: text_of(write).into(),
        epoch: None,
        to: Addressees::ALL,
    };
    call(CLIENT, Op::Command(message))
}

/// The writes that a member shows to a read, and whether there are older ones. None if it refuses the
/// read.
fn history_of(mut member: Member, now: Now) -> Option<(Vec<u64>, bool)> {
    let read = Op::by_handle(Read::History {
        room: None,
        before: None,
        limit: 100_000,
    });
    member.submit(now, READ, ADDRESS, call(CLIENT, read));
    while let Some(output) = member.poll_output() {
        if let Output::Node(chat_core::Output::Reply {
            ticket: READ,
            outcome: Ok(Response::Read(Answer::History { messages, more, .. })),
        }) = output
        {
            return Some((messages.iter().filter_map(written).collect(), more));
        }
    }
    None
}

fn written(event: &Arc<Event>) -> Option<u64> {
    let (_, text) = event.body.message()?;
    write_of(text)
}

#[cfg(test)]
mod tests {
    use super::cluster;

    #[test]
    fn every_order_of_a_few_steps_holds() {
        let found = cluster(4);
        assert_eq!(found.broken, None);
        assert!(found.states > 500, "{} states", found.states);
    }
}
