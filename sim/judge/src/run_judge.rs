//! The judge and the metrics of one run, and the outcome of the run.

use std::collections::BTreeMap;

use sim_model::history::{Observer, RunEvent};
use sim_model::outcome::{Counts, PropertyResult, Stuck, ThresholdResult, Violation, WorldOutcome};
use sim_model::plan::Plan;

use crate::judge::Judge;
use crate::metrics::{Metrics, stuck};

/// The judge of a run and its metrics. They do not change the run.
#[derive(Clone, Debug)]
pub struct RunJudge {
    /// The judge.
    pub judge: Judge,
    /// The metrics.
    pub metrics: Metrics,
}

/// The outcome of one seed's run.
#[derive(Clone, Debug)]
pub struct SeedOutcome {
    /// What the world or the live driver recorded of the run.
    pub ran: WorldOutcome,
    /// The result of each judged property, by name.
    pub properties: BTreeMap<&'static str, PropertyResult>,
    /// The violations, in the order of time. The code that merges seeds sets the seed.
    pub violations: Vec<Violation>,
    /// The counts of messages.
    pub counts: Counts,
    /// The metrics, which can be merged with those of other seeds.
    pub metrics: Metrics,
    /// The thresholds, with the values of this seed.
    pub thresholds: Vec<ThresholdResult>,
    /// The stuck users.
    pub stuck: Vec<Stuck>,
}

impl RunJudge {
    /// The judge of a run with the server's records.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self::by(Judge::new(plan), plan)
    }

    /// This judge of a run, with metrics.
    #[must_use]
    pub fn by(judge: Judge, plan: &Plan) -> Self {
        let metrics = Metrics::of(plan);
        Self { judge, metrics }
    }

    /// Ends the run of this plan, and returns its outcome.
    #[must_use]
    pub fn finish(self, plan: &Plan, ran: WorldOutcome) -> SeedOutcome {
        let mut metrics = self.metrics;
        let judgement = self.judge.finish(ran.ended_at);
        let (stuck, alone) = stuck(&ran, &metrics);
        metrics.let_off.alone = alone;
        let name = |index: usize| ran.users[index].shown();
        metrics.end_run(ran.seed, ran.ended_at, &judgement.overtaken, &name);
        let judged = judgement.counts;
        let counts = Counts {
            skipped: ran.skipped,
            lost: judged.lost,
            duplicated: judged.duplicated,
            reordered: judged.reordered,
            phantom: judged.phantom,
            ..metrics.counts
        };
        SeedOutcome {
            thresholds: metrics.thresholds(plan, &counts, stuck.len() as u64),
            ran,
            properties: judgement.properties,
            violations: judgement.violations,
            counts,
            metrics,
            stuck,
        }
    }
}

impl Observer for RunJudge {
    fn observe(&mut self, event: RunEvent<'_>) {
        self.judge.observe(event);
        // No metric is of the server's acts, which are most events.
        if !matches!(event, RunEvent::Server(..)) {
            self.metrics.observe(event);
        }
    }

    fn sees_traffic(&self) -> bool {
        false
    }
}
