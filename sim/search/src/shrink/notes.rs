//! The comments in the file of a shrunk scenario: the answer of each call, and the violation.

use chat_types::Span;

use crate::panics::catch_panic;
use crate::runner::RunSeed;
use sim_model::outcome::{Notes, Progress, START, Violation};
use sim_model::plan::{Plan, ScriptStep, Step, Workload};
use sim_model::run_log::{Call, RunLog};

/// The longest time from a step to the violation that it causes.
const SOON: Span = Span::millis(500);

/// The comments for a plan, from a run of it.
pub(super) fn of(plan: &Plan, violation: &Violation, run: RunSeed<'_>) -> Notes {
    if matches!(plan.workload, Workload::Phases { .. }) {
        return Notes::default();
    }
    let steps = plan.workload.steps();
    let mut log = RunLog::default();
    let _ = catch_panic(|| run(plan, plan.seed, &Progress::default(), Some(&mut log)));
    let mut calls: Vec<Option<&Call>> = vec![None; steps.len()];
    for call in &log.calls {
        let its = steps.iter().zip(&calls).position(|(step, taken)| {
            let now = START + step.at == call.at && step.user == call.agent.0;
            matches!(step.what, Step::Call(_)) && now && taken.is_none()
        });
        if let Some(step) = its {
            calls[step] = Some(call);
        }
    }
    let note = |(step, call): (&ScriptStep, Option<&Call>)| {
        if let Some(answer) = call.and_then(|call| call.answered) {
            let said = log.entries[answer].said.as_ref();
            return said.map_or_else(String::new, |(_, words)| words.clone());
        }
        // The answer of a read is its content.
        let is_check = call.is_some_and(|call| call.op.verb() == "check");
        let is_unanswered = matches!(step.what, Step::Call(_)) && !is_check;
        let words = if is_unanswered { "no answer" } else { "" };
        words.to_owned()
    };
    let mut notes: Vec<String> = steps.iter().zip(calls).map(note).collect();
    // A violation is found soon after its cause; otherwise no step is marked.
    let shown = steps
        .iter()
        .rposition(|step| (step.at..=step.at + SOON).contains(&violation.at));
    if let Some(note) = shown.and_then(|index| notes.get_mut(index)) {
        let dash = if note.is_empty() { "" } else { " " };
        note.push_str(&format!("{dash}← {}", violation.property));
    }
    Notes {
        head: vec![
            format!("{}: {}", violation.property, violation.detail),
            "Shrunk from a longer run; the network's decisions are spelled out.".to_owned(),
        ],
        steps: notes,
    }
}
