//! The judge of one run: its auditor, its counts, and its judgement.

use std::collections::BTreeMap;

use chat_types::Time;
use sim_model::history::{Observer, Record, What, WorldRecord};
use sim_model::outcome::{Counts, PropertyResult, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::{Agent, User};
use sim_model::server::ServerRecord;

use crate::auditor::Auditor;
use crate::counts::Messages;
use crate::findings::{Findings, Property};
use crate::witness::Witness;

/// Judges the records of one run by the plan's properties.
///
/// If the server's own records are known (its journal, its calls and its streams), the auditor
/// judges the run exactly and completely. A virtual world always has these records. A live server
/// with an accessible journal would have them too: its run would need [`Judge::new`], and a driver
/// that observes [`ServerRecord`]s. A live run without a journal is judged by the witness, which
/// reports only certain violations and counts what it cannot judge.
#[derive(Clone, Debug)]
pub struct Judge {
    method: Method,
    findings: Findings,
    messages: Messages,
    /// The client of each participant.
    owners: BTreeMap<User, Agent>,
}

/// The source of the facts that a run is judged by.
#[derive(Clone, Debug)]
enum Method {
    /// By the server's own records.
    Audit(Box<Auditor>),
    /// By the clients' histories alone.
    Witness(Box<Witness>),
}

/// The judgement of a run.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The result of each property of the plan. `fairness` and `latency` are not decided yet: they
    /// follow from the thresholds, over all seeds.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The first hundred violations, in the order of time; `seed` is 0.
    pub violations: Vec<Violation>,
    /// The counts of messages.
    pub counts: Counts,
    /// The most times that each virtual user was overtaken during one wait in the queue.
    pub overtaken: BTreeMap<Agent, u64>,
}

impl Observer for Judge {
    fn observe(&mut self, record: &Record<'_>) {
        if let What::Answered {
            outcome: Ok(answer),
            ..
        } = record.what
            && let Some(user) = answer.caller()
        {
            self.owners.insert(user, record.agent);
        }
        self.messages.record(record);
        if let Method::Witness(witness) = &mut self.method {
            witness.record(record, &mut self.findings);
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let (Method::Audit(auditor), WorldRecord::Sizes { at, sizes }) =
            (&mut self.method, *record)
            && !self.findings.is_closed()
        {
            for &(what, size, limit) in sizes {
                auditor.size(at, what, size, limit);
            }
            take_found(auditor, &mut self.findings);
        }
    }

    fn observe_server(&mut self, record: &ServerRecord<'_>) {
        if let Method::Audit(auditor) = &mut self.method
            && !self.findings.is_closed()
        {
            auditor.record(record);
            take_found(auditor, &mut self.findings);
        }
    }
}

impl Judge {
    /// A judge of a run with the server's records, before the first record. Only the plan's
    /// properties are judged.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self::by(Method::Audit(Box::new(Auditor::new(plan))), plan)
    }

    /// A judge of a run with only the clients' histories.
    #[must_use]
    pub fn live(plan: &Plan) -> Self {
        Self::by(Method::Witness(Box::new(Witness::new(plan))), plan)
    }

    fn by(method: Method, plan: &Plan) -> Self {
        Self {
            method,
            findings: Findings::new(plan),
            messages: Messages::default(),
            owners: BTreeMap::new(),
        }
    }

    /// Whether a difference was found: its consequences are not judged.
    #[must_use]
    pub const fn violated(&self) -> bool {
        self.findings.is_closed()
    }

    /// Ends the judgement of a run that ended at `now`.
    #[must_use]
    pub fn finish(mut self, now: Time) -> Judgement {
        let mut overtaken: BTreeMap<Agent, u64> = BTreeMap::new();
        match &mut self.method {
            Method::Witness(witness) => witness.finish(&mut self.findings),
            Method::Audit(auditor) => {
                if !self.findings.is_closed() {
                    auditor.finish(now);
                    take_found(auditor, &mut self.findings);
                }
                auditor.count(&mut self.findings);
                for (user, times) in auditor.model().overtaken() {
                    if let Some(agent) = self.owners.get(user) {
                        let most = overtaken.entry(*agent).or_default();
                        *most = (*most).max(*times);
                    }
                }
            }
        }
        let mut counts = self.messages.finish();
        let broken = |property| self.findings.broken(property);
        counts.lost = broken(Property::NoLostMessages);
        counts.duplicated = broken(Property::NoDuplicates);
        counts.reordered = broken(Property::RoomOrder);
        counts.phantom = broken(Property::NoPhantoms);
        Judgement {
            properties: self.findings.results(),
            counts,
            overtaken,
            violations: self.findings.into_violations(),
        }
    }
}

fn take_found(auditor: &mut Auditor, findings: &mut Findings) {
    if let Some(finding) = auditor.take_found() {
        findings.add(finding);
    }
}

#[cfg(test)]
mod tests {
    use sim_model::protocol::Answer;
    use sim_model::server::{Decided, Entry};

    use super::*;
    use crate::witness::tests::story::plan;

    /// The model stops at the first difference, so its sizes are those of that instant.
    #[test]
    fn sizes_are_not_judged_behind_a_difference() {
        let mut judge = Judge::new(&plan());
        let entry = Entry::Tick;
        judge.observe_server(&ServerRecord::Committed {
            position: 7,
            at: Time(0),
            entry: &entry,
            ticket: None,
            said: &Decided {
                outcome: Ok(Answer::Done),
                answer_at: Time(0),
            },
        });
        assert!(judge.violated());
        let sizes = [("rooms", 1, 10)];
        judge.observe_world(&WorldRecord::Sizes {
            at: Time(2),
            sizes: &sizes,
        });
        let found = judge.finish(Time(3)).violations;
        let properties: Vec<&str> = found.iter().map(|v| v.property.as_str()).collect();
        assert_eq!(properties, ["durability"]);
    }
}
