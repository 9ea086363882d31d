//! The comments in the file of a shrunk scenario: the answer of each call, and the violation.

use chat_types::Span;

use crate::panics::catch_panic;
use crate::runner::RunSeed;
use sim_model::history::{ClientEvent, Observer, RunEvent};
use sim_model::outcome::{Notes, Progress, START, Violation};
use sim_model::plan::{Plan, ScriptStep, Workload};
use sim_model::protocol::{Agent, CallId};
use sim_model::words::answered;

/// The longest time from a step to the violation that it causes.
const SOON: Span = Span::millis(500);

/// The comments for a plan, from a run of it.
pub(super) fn of(plan: &Plan, violation: &Violation, run: RunSeed<'_>) -> Notes {
    let Workload::Steps { steps, .. } = &plan.workload else {
        return Notes::default();
    };
    let mut recorder = AnswerRecorder {
        steps,
        calls: Vec::new(),
        answers: vec![None; steps.len()],
    };
    let _ = catch_panic(|| run(plan, plan.seed, &Progress::default(), Some(&mut recorder)));
    let mut notes: Vec<String> = recorder
        .answers
        .into_iter()
        .zip(steps)
        .map(|(answer, step)| answer.unwrap_or_else(|| unanswered(step)))
        .collect();
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
        faults: Vec::new(),
    }
}

fn unanswered(step: &ScriptStep) -> String {
    match step.what {
        sim_model::plan::Step::Call(_) => "no answer".to_owned(),
        sim_model::plan::Step::Await { .. }
        | sim_model::plan::Step::Think(_)
        | sim_model::plan::Step::Loop { .. }
        | sim_model::plan::Step::Choose(_)
        | sim_model::plan::Step::Disconnect(_) => String::new(),
    }
}

/// Records the answer of each step.
struct AnswerRecorder<'a> {
    steps: &'a [ScriptStep],
    /// The step of each call.
    calls: Vec<(Agent, CallId, usize)>,
    answers: Vec<Option<String>>,
}

impl Observer for AnswerRecorder<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        let RunEvent::Client(record) = event else {
            return;
        };
        if let ClientEvent::Called { call, op, .. } = record.what {
            let taken = |index: &usize| self.calls.iter().any(|(_, _, of)| of == index);
            let step = (0..self.steps.len()).find(|index| {
                let step = &self.steps[*index];
                let now = START + step.at == record.at && step.user == record.agent.0;
                let same = matches!(&step.what, sim_model::plan::Step::Call(_)) && now;
                same && !taken(index)
            });
            if let Some(step) = step {
                self.calls.push((record.agent, call, step));
                // The answer of a read is its content.
                if op.verb() == "check" {
                    self.answers[step] = Some(String::new());
                }
            }
        } else if let ClientEvent::Answered {
            call, op, outcome, ..
        } = record.what
        {
            let of =
                |(agent, id, _): &&(Agent, CallId, usize)| (*agent, *id) == (record.agent, call);
            if let Some((_, _, step)) = self.calls.iter().find(of) {
                self.answers[*step] = Some(answered(op, outcome).unwrap_or_default());
            }
        }
    }
}
