//! The judge of one run: its auditor, its counts, and its judgement.

use std::collections::BTreeMap;

use chat_types::Time;
use rustc_hash::FxHashMap;
use sim_model::cluster::ClusterFact;
use sim_model::history::{ClientEvent, Observer, Record, RunEvent, WorldRecord};
use sim_model::outcome::{Counts, PropertyResult, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::{Agent, Response, User};
use sim_model::server::ServerRecord;

use crate::auditor::Auditor;
use crate::cluster::{ClusterJudge, ClusterRule};
use crate::difference::Difference;
use crate::findings::{Finding, Findings, Property};
use crate::model::Model;
use crate::properties;
use crate::reconciler::Reconciler;
use crate::witness::Witness;
use crate::woken::{WakingFault, Woken};

/// Judges the records of one run by the plan's properties.
///
/// If the server's own records are known (its journal, its calls and its streams), the auditor
/// judges the run exactly and completely. A virtual world always has these records. A live run is
/// judged by the witness, which reports only certain violations and counts what it cannot judge.
/// With the journal of its server, a reconciler judges the decisions, and what clients received.
#[derive(Debug)]
pub struct Judge {
    method: Method,
    findings: Findings,
    /// With several servers: the judge of who owns their log, and whether they agree.
    cluster: Option<Box<ClusterJudge>>,
    /// The judge of the wakers of users that sleep.
    woken: Woken,
    /// The client of each participant.
    owners: FxHashMap<User, Agent>,
}

/// The source of the facts that a run is judged by.
#[derive(Clone, Debug)]
enum Method {
    /// By the server's own records.
    Audit(Box<Auditor>),
    /// By the clients' histories.
    Live(Box<Live>),
}

/// The judges of a live run.
#[derive(Clone, Debug)]
struct Live {
    witness: Witness,
    /// What the witness found.
    witnessed: Findings,
    /// The judge by the server's journal, if that is read after the run.
    reconciler: Option<Reconciler>,
}

/// The judgement of a run.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The result of each property of the plan. `fairness` and `latency` are not decided yet: they
    /// follow from the thresholds, over all seeds.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The first hundred violations, in the order of time; `seed` is 0.
    pub violations: Vec<Violation>,
    /// The counts of messages that break a rule; no others.
    pub counts: Counts,
    /// The most times that each virtual user was overtaken during one wait in the queue, by number.
    pub overtaken: Vec<u64>,
}

/// A derived `Clone` is inline: each crate that copies a judge would have all of its code.
impl Clone for Judge {
    fn clone(&self) -> Self {
        Self {
            method: self.method.clone(),
            findings: self.findings.clone(),
            cluster: self.cluster.clone(),
            woken: self.woken.clone(),
            owners: self.owners.clone(),
        }
    }
}

impl Observer for Judge {
    fn observe(&mut self, event: RunEvent<'_>) {
        match event {
            RunEvent::Client(record) => self.record_client(record),
            RunEvent::World(at, record) => self.record_world(at, record),
            RunEvent::Server(at, record) => self.record_server(at, record),
            RunEvent::Cluster(at, fact) => self.record_cluster(at, fact),
            RunEvent::Network(..)
            | RunEvent::Fault(..)
            | RunEvent::Committed(_)
            | RunEvent::Arrived(..) => {}
        }
    }
}

impl Judge {
    fn record_client(&mut self, record: &Record<'_>) {
        if let ClientEvent::Answered {
            outcome: Ok(Response::Done(reply)),
            ..
        } = record.what
            && let Some(user) = reply.caller()
        {
            self.owners.insert(user, record.agent);
        }
        if let Method::Live(live) = &mut self.method {
            live.witness.record(record, &mut live.witnessed);
            if let Some(reconciler) = &mut live.reconciler {
                reconciler.observe(record);
            }
        }
    }

    fn record_world(&mut self, at: Time, record: &WorldRecord<'_>) {
        if let WorldRecord::Waker { agent, what } = *record
            && !self.findings.is_closed
        {
            let broken = self.woken.record(at, agent, what);
            return self.add_of_waker(at, broken);
        }
        if let Method::Audit(auditor) = &mut self.method
            && let WorldRecord::Sizes {
                sizes,
                lists,
                archived,
            } = *record
            && !self.findings.is_closed
        {
            if let Some(lists) = lists {
                auditor.listed(at, lists, archived);
            }
            for &(what, size, limit) in sizes {
                auditor.size(at, what, size, limit);
            }
            self.findings.add_found(auditor.found.take());
        }
    }

    fn add_of_waker(&mut self, at: Time, broken: Option<(User, WakingFault)>) {
        if let Some((reader, fault)) = broken {
            let difference = Difference::Waking { reader, fault };
            let finding = Finding::of(Property::Woken, at, difference);
            self.findings.add(finding);
        }
    }

    fn record_server(&mut self, at: Time, record: &ServerRecord<'_>) {
        if self.findings.is_closed {
            return;
        }
        if let Method::Audit(auditor) = &mut self.method {
            auditor.record(at, record);
            self.findings.add_found(auditor.found.take());
        } else if let Method::Live(live) = &mut self.method
            && let Some(reconciler) = &mut live.reconciler
        {
            reconciler.record(at, record);
            self.findings.add_found(reconciler.auditor.found.take());
        }
    }

    fn record_cluster(&mut self, at: Time, fact: &ClusterFact) {
        let Some(cluster) = self.cluster.as_mut().filter(|_| !self.findings.is_closed) else {
            return;
        };
        cluster.observe_at(at, fact);
        take_violation(at, cluster, &mut self.findings);
    }

    /// A judge of a run with the server's records, before the first record. Only the plan's
    /// properties are judged.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self::by(Method::Audit(Box::new(Auditor::new(plan))), plan)
    }

    /// A judge of the entries of a journal, without calls and clients.
    #[must_use]
    pub fn of_journal(plan: &Plan) -> Self {
        Self::by(Method::Audit(Box::new(Auditor::of_journal(plan))), plan)
    }

    /// A judge by the clients' histories. With `began`, the start of the run by the server's clock, it also
    /// judges by the entries of the journal, which it observes after the run.
    #[must_use]
    pub fn live(plan: &Plan, began: Option<Time>) -> Self {
        let live = Live {
            witness: Witness::new(plan),
            witnessed: Findings::new(plan),
            reconciler: began.map(|began| Reconciler::new(plan, began)),
        };
        Self::by(Method::Live(Box::new(live)), plan)
    }

    fn by(method: Method, plan: &Plan) -> Self {
        Self {
            method,
            findings: Findings::new(plan),
            cluster: (plan.servers > 1).then(|| Box::new(ClusterJudge::of(plan))),
            woken: Woken::default(),
            owners: FxHashMap::default(),
        }
    }

    /// Whether a difference was found: its consequences are not judged.
    #[must_use]
    pub const fn violated(&self) -> bool {
        self.findings.is_closed
    }

    /// Whether the entries so far have an equal for all that clients received. True without a journal.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let Method::Live(live) = &self.method else {
            return true;
        };
        let reconciler = live.reconciler.as_ref();
        self.violated() || reconciler.is_none_or(Reconciler::is_complete)
    }

    /// Ends the judgement of a run that ended at `now`.
    #[must_use]
    pub fn finish(mut self, now: Time) -> Judgement {
        if !self.findings.is_closed {
            let late = self.woken.look_for_late(now);
            self.add_of_waker(now, late);
        }
        self.findings.exercise(Property::Woken, self.woken.checks);
        let (mut findings, mut cluster) = (self.findings, self.cluster);
        let model = match self.method {
            Method::Audit(mut auditor) => {
                if !findings.is_closed {
                    auditor.look_for_late(now);
                    findings.add_found(auditor.found.take());
                }
                if let Some(cluster) = &mut cluster
                    && !findings.is_closed
                {
                    cluster.look_for_late(now);
                    take_violation(now, cluster, &mut findings);
                }
                properties::count(&auditor.tally, &mut findings);
                for rule in ClusterRule::ALL {
                    let checks = cluster.as_ref().map_or(0, |judge| judge.checks(*rule));
                    findings.exercise(rule.property(), checks);
                }
                auditor.model
            }
            Method::Live(live) => {
                let mut witnessed = live.witnessed;
                live.witness.finish(&mut witnessed);
                match live.reconciler {
                    Some(reconciler) => {
                        let model = reconciler.finish(&mut findings);
                        findings.join(witnessed);
                        model
                    }
                    None => {
                        findings = witnessed;
                        Model::default()
                    }
                }
            }
        };
        let mut overtaken = Vec::new();
        let of_users = model.overtaken.iter();
        for (agent, times) in
            of_users.filter_map(|(user, times)| Some((self.owners.get(user)?, times)))
        {
            let most: &mut u64 = agent.item_of(&mut overtaken);
            *most = (*most).max(*times);
        }
        let broken = |property| findings.broken(property);
        Judgement {
            properties: findings.results(),
            counts: Counts {
                lost: broken(Property::NoLostMessages),
                duplicated: broken(Property::NoDuplicates),
                reordered: broken(Property::RoomOrder),
                phantom: broken(Property::NoPhantoms),
                ..Counts::default()
            },
            overtaken,
            violations: findings.into_violations(),
        }
    }
}

fn take_violation(at: Time, cluster: &ClusterJudge, findings: &mut Findings) {
    if let Some(violation) = cluster.violations.first() {
        let difference = Difference::Servers(violation.detail.clone());
        findings.add(Finding::of(violation.rule.property(), at, difference));
    }
}

#[cfg(test)]
mod tests {
    use chat_types::Span;
    use sim_model::protocol::Reply;
    use sim_model::server::Entry;

    use super::*;
    use crate::witness::tests::history_builder::plan;

    /// A tick at this position, with its own instant.
    fn tick(position: u64, at: Time) -> ServerRecord<'static> {
        ServerRecord::Committed {
            position,
            at,
            entry: &Entry::Tick,
            ticket: None,
            said: Ok(&Reply::Done),
            posted: None,
        }
    }

    /// The model stops at the first difference, so its sizes are those of that instant.
    #[test]
    fn sizes_are_not_judged_after_a_difference() {
        let mut judge = Judge::new(&plan());
        judge.observe_server(Time(0), &tick(7, Time(0)));
        assert!(judge.violated());
        let sizes = WorldRecord::Sizes {
            sizes: &[("rooms", 1, 10)],
            lists: None,
            archived: false,
        };
        judge.observe_world(Time(2), &sizes);
        let found = judge.finish(Time(3)).violations;
        let properties: Vec<&str> = found.iter().map(|v| v.property.as_str()).collect();
        assert_eq!(properties, ["durability"]);
    }

    /// A server that shares a log writes the instant of an entry before the log has it.
    #[test]
    fn a_batch_differs_when_it_takes_effect_and_an_entry_at_its_own_instant() {
        let differs_at = |mut judge: Judge, position: u64| {
            // No batch was due before.
            judge.observe_server(Time(9), &ServerRecord::Excused);
            judge.observe_server(Time(9), &tick(position, Time(5)));
            let found = judge.finish(Time(9)).violations;
            let found = found.iter().map(|one| (one.property.clone(), one.at));
            found.collect::<Vec<_>>()
        };
        let batch = differs_at(Judge::new(&plan()), 1);
        assert_eq!(batch, [("delivery_progress".to_owned(), Span(9))]);
        let position = differs_at(Judge::of_journal(&plan()), 2);
        assert_eq!(position, [("durability".to_owned(), Span(5))]);
    }
}
