//! Turns of members: what one does with an input, reported to the judges and carried out.

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_cluster::{AppendId, Member, Now, Output};
use chat_core::{Address, Call, Counters, Earlier, Hub, Output as NodeOutput, Position, Ticket};
use chat_types::{Continuity, Span, Time};
use sim_model::cluster::ClusterFact;
use sim_model::history::{ClusterEvent, Observer as _, RunEvent, WorldRecord};
use sim_model::outcome::Point;
use sim_model::plan::OwnerReads;
use sim_model::protocol::Refusal;
use sim_model::server::ServerRecord;

use super::applied;
use crate::World;
use crate::host;
use crate::translate;

/// The owner's node before a turn, or after it.
#[derive(Clone, Debug, Default)]
struct NodeState {
    sequence: u64,
    position: Position,
    /// For each entry of the batch in flight, the call that it decides.
    batch: Vec<Option<Ticket>>,
    append: Option<AppendId>,
    is_busy: bool,
    is_unknown: bool,
    has_left: bool,
}

impl NodeState {
    fn of(member: &Member) -> Self {
        let node = member.owned_node();
        Self {
            sequence: member.sequence(),
            position: member.hub().position(),
            batch: node.map_or_else(Vec::new, |node| node.batch().map(|(_, of)| of).collect()),
            append: member.append_id(),
            is_busy: member.is_log_busy(),
            is_unknown: node.is_some_and(|node| node.check_storage(Time::MAX).is_err()),
            has_left: member.has_left(),
        }
    }

    /// Whether the batch in flight is committed after the turn.
    fn is_committed(&self, after: &Self) -> bool {
        !self.batch.is_empty() && after.position > self.position
    }
}

const fn is_push(output: &Output) -> bool {
    matches!(output, Output::Node(NodeOutput::StreamReady(_)))
}

/// What a fault does at a milestone within a turn, after the turn.
#[derive(Clone, Debug)]
pub(super) enum Deferred {
    /// An operator acts.
    Submit(Ticket, Address, Arc<Call>),
    /// A server shuts down for this time.
    Stop(usize, Span),
    /// The owner looks at its timers.
    Wake,
    /// The servers' clocks are set forward.
    JumpClock(Span),
}

impl World<'_, '_> {
    /// Lets a member act, reports to the judges what it did as the owner, and carries out its
    /// outputs.
    pub(super) fn member_turn(&mut self, site: usize, act: impl FnOnce(&mut Member, Now)) {
        let is_within = std::mem::replace(&mut self.cluster_mut().is_turning, true);
        assert!(!is_within, "turns follow one another");
        self.take_turn_of(site, act);
        self.cluster_mut().is_turning = false;
        while let Some(deferred) = self.cluster_mut().deferred.pop_front() {
            match deferred {
                Deferred::Submit(ticket, from, ask) => self.submit_to_owner(ticket, from, &ask),
                Deferred::Stop(site, down_for) => self.stop_member(site, down_for),
                Deferred::Wake => self.wake_owner(),
                Deferred::JumpClock(by) => self.jump_clock(by),
            }
        }
    }

    fn take_turn_of(&mut self, site: usize, act: impl FnOnce(&mut Member, Now)) {
        let now = self.member_now(site);
        let is_owner = self.cluster().owner == Some(site);
        let process = self.cluster().process(site);
        let Some(member) = &mut self.cluster_mut().sites[site].member else {
            return;
        };
        let mut before = NodeState::of(member);
        act(member, now);
        let outputs: Vec<Output> = std::iter::from_fn(|| member.poll_output()).collect();
        let after = NodeState::of(member);
        let applied = applied(site, member, before.sequence);
        self.cluster_mut().witness.follow(&outputs);
        self.tell_servers(applied.as_ref());
        self.tell_append(site, before.append, after.append);
        let has = |what: &dyn Fn(&Output) -> bool| outputs.iter().any(what);
        let is_lost = is_owner && has(&|output| matches!(output, Output::LostOwnership { .. }));
        // A server may learn late of its claim, when another one owns the log. It takes no call.
        let newest = self.cluster().epoch;
        if has(&|output| matches!(output, Output::BecameOwner { epoch } if *epoch > newest)) {
            self.becomes_owner(site);
            before = NodeState {
                sequence: after.sequence,
                position: after.position,
                ..NodeState::default()
            };
        }
        if self.cluster().owner == Some(site) {
            if !is_lost {
                self.report_batch(&before, &after);
            }
            self.report_lease(site, now, is_lost);
            // Milestones come before the answers to what was committed.
            self.reach_milestones();
            if !self.cluster().is_there(process) {
                return;
            }
            if after.has_left && !before.has_left {
                self.observers
                    .observe_server(now.wall, &ServerRecord::Finished);
            }
        }
        // Answers precede the next batch, which holds what they imply. Streams are read after it.
        let (pushes, others): (Vec<Output>, Vec<Output>) = outputs.into_iter().partition(is_push);
        self.carry_out(site, others, is_lost);
        if self.cluster().owner == Some(site) {
            self.report_next_batch(&before, &after);
        }
        self.carry_out(site, pushes, is_lost);
        self.active_faults.end_turn_of_answers();
        if after.has_left && !before.has_left {
            self.owner_lost(&BTreeMap::new());
        }
        self.end_if_stopped(site);
        self.schedule_member(site);
    }

    /// Carries out a member's outputs. Those of its node are for clients, while it is the owner. The
    /// calls that an owner could not answer go back to their doors.
    fn carry_out(&mut self, site: usize, outputs: Vec<Output>, is_lost: bool) {
        let mut moved = BTreeMap::new();
        let mut has_departed = false;
        for output in outputs {
            match output {
                Output::Node(output) => {
                    let is_owner = self.cluster().owner == Some(site);
                    let is_answer = matches!(output, NodeOutput::Reply { .. });
                    if let NodeOutput::Reply { ticket, .. } = output {
                        self.tell_fact(&ClusterFact::Answered {
                            member: site as u64,
                            call: ticket.0,
                        });
                    }
                    if is_owner && (is_answer || !is_lost) {
                        let (at, node) = (self.server_now(), self.server.node());
                        let cursor = |ticket| node.and_then(|node| node.stream_cursor(ticket));
                        let sent = host::sent(&mut self.observers, at, output, cursor);
                        self.hand_out_one(sent);
                    }
                }
                Output::Admitted(ticket) => {
                    if self.cluster().owner == Some(site) {
                        self.tell_server(&ServerRecord::Admitted { ticket });
                    }
                }
                Output::Moved { ticket, earlier } => {
                    self.tell_fact(&ClusterFact::GivenBack(ticket.0));
                    moved.insert(ticket, earlier);
                }
                Output::LostOwnership { .. } => {
                    has_departed = true;
                    if is_lost {
                        self.tell(Some(site), ClusterEvent::LostOwnership);
                        self.owner_lost(&moved);
                    }
                }
                Output::BecameOwner { .. } | Output::Applied { .. } => {}
                output @ (Output::Publish { .. }
                | Output::Read { .. }
                | Output::Fetch { .. }
                | Output::StoreSnapshot
                | Output::FetchSnapshot
                | Output::Alarm(_)) => self.send_output(site, output),
            }
        }
        if has_departed {
            self.tell_fact(&ClusterFact::Departed(site as u64));
        }
        if is_lost {
            return;
        }
        let is_owner = self.cluster().owner == Some(site);
        for (ticket, earlier) in moved {
            if is_owner {
                self.tell_server(&ServerRecord::GivenBack { ticket });
            }
            self.back_to_door(ticket, earlier);
        }
    }

    /// Tells the judge of the servers what the turn has applied, and who takes calls after it.
    fn tell_servers(&mut self, applied: Option<&ClusterFact>) {
        if let Some(applied) = applied {
            self.tell_fact(applied);
        }
        // Strict reads do not rely on clocks, by which leases may overlap.
        if self.plan.reads == OwnerReads::Lease {
            let sites = 0..self.cluster().sites.len();
            let takes_calls = sites.filter(|site| self.takes_calls(*site));
            let leases = takes_calls.map(|site| site as u64).collect();
            self.tell_fact(&ClusterFact::Leases(leases));
        }
        self.tell_hindrances();
    }

    pub(crate) fn tell_fact(&mut self, fact: &ClusterFact) {
        let at = self.now();
        self.observers.observe(RunEvent::Cluster(at, fact));
    }

    /// Tells the judge of the servers which of them the log, the network or their machines hinder.
    pub(crate) fn tell_hindrances(&mut self) {
        let now = self.now();
        if self.server.cluster.is_none() {
            return;
        }
        let is_slow = self.active_faults.disk_factor(now) > 1;
        let is_disk_bad = is_slow || self.active_faults.disk_fails(now).is_some();
        for site in 0..self.cluster().sites.len() {
            if is_disk_bad {
                self.not_well(Some(site));
            }
            let is_hindered = is_disk_bad || self.cluster().is_hindered(site, now);
            let was = &mut self.cluster_mut().sites[site].is_hindered;
            if std::mem::replace(was, is_hindered) != is_hindered {
                let member = site as u64;
                self.tell_fact(&match is_hindered {
                    true => ClusterFact::Hindered(member),
                    false => ClusterFact::Unhindered(member),
                });
            }
        }
    }

    /// Tells the judge of the servers that an append of a server begins, or is over.
    fn tell_append(&mut self, site: usize, before: Option<AppendId>, after: Option<AppendId>) {
        let member = site as u64;
        if before != after && before.is_some() {
            self.tell_fact(&ClusterFact::AppendEnded(member));
        }
        if before != after && after.is_some() {
            self.tell_fact(&ClusterFact::AppendBegan(member));
        }
    }

    /// Reports what became of the batch in flight.
    fn report_batch(&mut self, before: &NodeState, after: &NodeState) {
        if before.is_committed(after) {
            for ticket in &before.batch {
                self.report_entry(*ticket);
            }
            self.count_commit();
        } else if !before.batch.is_empty() && after.batch.is_empty() {
            self.tell_server(&ServerRecord::AppendFailed);
        }
        if before.append.is_some() && after.sequence > before.sequence {
            self.tell_server(&ServerRecord::LogHas);
        }
        if before.is_busy && before.append != after.append {
            self.tell_server(&ServerRecord::LogBusy { busy: false });
        }
        if after.is_unknown && !before.is_unknown {
            self.observers.reach(Point::AppendUnknown);
            self.tell_server(&ServerRecord::AppendUnknown);
        }
    }

    /// Reports the batch that the turn formed, or another record on its way into the log.
    fn report_next_batch(&mut self, before: &NodeState, after: &NodeState) {
        let (now, at) = (self.now(), self.server_now());
        if !after.batch.is_empty() && (before.is_committed(after) || before.batch.is_empty()) {
            self.server.append_began = now;
            if let Some(node) = self.server.node()
                && host::appending(&mut self.observers, at, node)
            {
                self.observers.reach(Point::TimerFired);
            }
        }
        // A record that is no batch is on its way, and was not before.
        if after.is_busy && !(before.is_busy && before.append == after.append) {
            self.tell_server(&ServerRecord::LogBusy { busy: true });
        }
    }

    /// Reports the next entry of the log as committed.
    fn report_entry(&mut self, ticket: Option<Ticket>) {
        let next = self.cluster_mut().witness.next();
        let next = next.expect("a member applied it, and the witness with it");
        self.tell_server(&ServerRecord::Committed {
            position: next.position.0,
            at: next.at,
            entry: &next.entry,
            ticket,
            said: next.outcome.as_ref().map_err(Refusal::from),
            posted: Some(&*next.posted),
        });
        self.server.reported = next.position;
    }

    fn report_lease(&mut self, site: usize, now: Now, is_lost: bool) {
        let member = self.cluster().sites[site].member.as_ref();
        let held = !is_lost && member.is_some_and(|member| member.has_lease(now));
        if held != self.cluster().shown_lease {
            self.cluster_mut().shown_lease = held;
            if !held {
                self.observers.reach(Point::LeaseEnded);
            }
            self.observers
                .observe_server(now.wall, &ServerRecord::Lease { held });
        }
    }

    /// The member's claim is in the log. For the judges the server starts again, with the whole
    /// journal.
    fn becomes_owner(&mut self, site: usize) {
        if self.cluster().owner.is_some() {
            // The owner before it has not noticed yet. What it should have done since then, it no
            // longer may.
            self.tell_server(&ServerRecord::Excused);
            self.owner_lost(&BTreeMap::new());
        }
        while self.cluster().witness.has_next() {
            self.report_entry(None);
        }
        let cluster = self.cluster_mut();
        cluster.owner = Some(site);
        cluster.shown_lease = true;
        let was_down = std::mem::take(&mut cluster.is_down);
        let member = cluster.sites[site].member.as_ref();
        let member = member.expect("it has just acted");
        let epoch = member.place().epoch();
        cluster.epoch = epoch;
        let (hub, log) = (member.hub(), cluster.witness.hub());
        assert!(
            hub.position() == Position(0)
                || hub.position() == log.position() && hub.digest() == log.digest(),
            "server {site} owns the chat with another state than its log gives: {}",
            difference(hub, log)
        );
        let config = &member.config().clone();
        self.tell_server(&ServerRecord::Restarted {
            config,
            continuity: Continuity::Whole,
        });
        self.report_collections();
        let node = self.server.node();
        self.server.counters =
            node.map_or_else(Counters::default, |node| node.hub().counters().clone());
        self.server.life += 1;
        self.tell(Some(site), ClusterEvent::BecameOwner { epoch });
        if was_down {
            self.tell_world(&WorldRecord::Restarted);
        }
    }

    /// No server owns the chat any more: streams end, and doors repeat the calls that the owner had.
    /// `moved` is what it said of them.
    pub(super) fn owner_lost(&mut self, moved: &BTreeMap<Ticket, Earlier>) {
        self.report_collections();
        self.cluster_mut().owner = None;
        self.tell_server(&ServerRecord::Crashed);
        self.observers.is_paused = false;
        self.server.lose_queue(self.events.now());
        self.lose_connections(moved);
    }
}

/// In what the state of a new owner differs from that of its log: its place, or the first item of the
/// lists that operators read.
fn difference(owner: &Hub, log: &Hub) -> String {
    let (has, should) = (owner.position().0, log.position().0);
    if has != should {
        return format!("it is at position {has}, and the log at {should}");
    }
    let [has, should] = [owner, log].map(|hub| translate::lists(hub, true));
    let same = has
        .iter()
        .zip(&should)
        .take_while(|(one, other)| one == other);
    let at = same.count();
    match (has.get(at), should.get(at)) {
        (None, None) => format!(
            "at position {}, in a part that no list has",
            owner.position()
        ),
        (has, should) => format!("it lists {has:?}, where the log gives {should:?}"),
    }
}
