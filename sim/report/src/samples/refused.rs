//! A run whose messages were all refused.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::plan::persona;
use super::{FinishedRun, passed};
use sim_model::outcome::Verdict;
use sim_model::plan::{Persona, Step, Verb, Workload};
use sim_model::protocol::Plain;

/// No message was accepted, because of limits.
pub(crate) fn refused() -> FinishedRun {
    let mut run = passed();
    run.plan.expect_sometimes.clear();
    let speaker = Persona {
        flow: Arc::from([Step::Call(Verb::Plain(Plain::Push))]),
        ..(*persona("speaker", 1)).clone()
    };
    run.plan.workload = Workload::Phases {
        phases: Vec::new(),
        personas: vec![Arc::new(speaker)],
    };
    run.summary.by_persona = vec![260];
    let result = &mut run.summary.result;
    result.verdict = Verdict::Unjudged;
    result.exit_code = 4;
    result.counts.accepted = 0;
    result.counts.refused = result.counts.attempted;
    result.refusals = BTreeMap::from([
        ("address_full".to_owned(), 203),
        ("chat_ended".to_owned(), 400),
        ("rate_limited".to_owned(), 1_131),
    ]);
    run
}
