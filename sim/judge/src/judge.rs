//! The judge of one run: its auditor, its counts, and what they come to.

use std::collections::BTreeMap;

use chat_types::Time;
use sim_model::history::{Observer, Record, What, WorldRecord};
use sim_model::outcome::{Counts, PropertyResult, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::{Agent, Answer, User};
use sim_model::server::ServerRecord;

use crate::auditor::Auditor;
use crate::counts::Messages;
use crate::findings::{Findings, Property};

/// Judges the records of one run by the plan's properties.
#[derive(Clone, Debug)]
pub struct Judge {
    auditor: Auditor,
    findings: Findings,
    messages: Messages,
    /// Whose client each participant is.
    owners: BTreeMap<User, Agent>,
}

/// What a run comes to.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// Each property that the plan names. `fairness` and `latency` are still open: they follow
    /// from the thresholds, over all seeds.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The first hundred, in the order of time; `seed` is 0.
    pub violations: Vec<Violation>,
    /// Messages.
    pub counts: Counts,
    /// The most times that anyone was passed over.
    pub overtaken: Overtaken,
    /// The most times that each virtual user was passed over, by its number.
    pub overtaken_users: Vec<(Agent, Overtaken)>,
}

/// The most times that anyone was passed over during one wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overtaken {
    /// In the queue.
    pub queue: u64,
    /// Waiting for a stick.
    pub stick: u64,
}

impl Observer for Judge {
    fn observe(&mut self, record: &Record<'_>) {
        if let What::Answered {
            outcome:
                Ok(
                    Answer::LoggedIn { user, .. }
                    | Answer::Waiting { user, .. }
                    | Answer::Matched { user, .. }
                    | Answer::OnBreak { user, .. },
                ),
            ..
        } = record.what
        {
            self.owners.insert(*user, record.agent);
        }
        self.messages.record(record);
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        if let WorldRecord::Sizes { at, sizes } = *record {
            for &(what, size, limit) in sizes {
                self.auditor.size(at, what, size, limit);
            }
            self.take_found();
        }
    }

    fn observe_server(&mut self, record: &ServerRecord<'_>) {
        if self.findings.is_closed() {
            return;
        }
        self.auditor.record(record);
        self.take_found();
    }
}

impl Judge {
    /// A judge that has seen nothing yet. Only the plan's properties are judged.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            auditor: Auditor::new(plan),
            findings: Findings::new(plan),
            messages: Messages::default(),
            owners: BTreeMap::new(),
        }
    }

    fn take_found(&mut self) {
        if let Some(finding) = self.auditor.take_found() {
            self.findings.add(finding);
        }
    }

    /// Whether a safety property is known to be violated.
    #[must_use]
    pub const fn violated(&self) -> bool {
        self.findings.safety_is_broken()
    }

    /// The run is over, at this time.
    #[must_use]
    pub fn finish(mut self, now: Time) -> Judgement {
        if !self.findings.is_closed() {
            self.auditor.finish(now);
            self.take_found();
        }
        self.auditor.count(&mut self.findings);
        let mut counts = self.messages.finish();
        let broken = |property| self.findings.broken(property);
        counts.lost = broken(Property::NoLostMessages);
        counts.duplicated = broken(Property::NoDuplicates);
        counts.reordered = broken(Property::RoomOrder);
        counts.phantom = broken(Property::NoPhantoms);
        let mut users: BTreeMap<Agent, Overtaken> = BTreeMap::new();
        for (user, times) in self.auditor.model().overtaken() {
            if let Some(agent) = self.owners.get(user) {
                let most = &mut users.entry(*agent).or_default().queue;
                *most = (*most).max(*times);
            }
        }
        let queue = users.values().map(|most| most.queue).max();
        Judgement {
            properties: results(&self.findings),
            counts,
            overtaken: Overtaken {
                queue: queue.unwrap_or_default(),
                stick: 0,
            },
            overtaken_users: users.into_iter().collect(),
            violations: self.findings.into_violations(),
        }
    }
}

fn results(findings: &Findings) -> BTreeMap<&'static str, PropertyResult> {
    let judged = Property::ALL.into_iter();
    let judged = judged.filter(|&property| findings.judges(property));
    judged
        .map(|property| {
            let checks = findings.checks(property);
            let held = if findings.broken(property) > 0 {
                Some(false)
            } else {
                (checks > 0).then_some(true)
            };
            let class = property.class();
            let result = PropertyResult {
                held,
                checks,
                class,
            };
            (property.name(), result)
        })
        .collect()
}
