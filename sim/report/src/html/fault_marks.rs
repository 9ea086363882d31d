//! The faults of one run, as a page shows them: each with its beginning, its length and its words.

use sim_model::outcome::{Mark, ObservedFault, Series};
use sim_model::plan::{Fault, ScriptUser};

/// The faults of the plan, and those that were observed beside them, by time. A fault that waits for
/// a milestone is where `marks` say that it began, or nowhere.
pub(super) fn fault_marks(
    faults: &[Fault],
    users: &[ScriptUser],
    marks: &[Mark],
    series: Option<&Series>,
) -> Vec<ObservedFault> {
    let began = |index| marks.iter().find(|mark| mark.fault == Some(index));
    let planned = faults.iter().enumerate().filter_map(|(index, fault)| {
        let at = match fault.milestone {
            None => fault.at,
            Some(_) => began(index)?.at,
        };
        Some(ObservedFault {
            at_ms: at.0 as f64 / 1_000.0,
            for_ms: fault.kind.length().0 as f64 / 1_000.0,
            kind: fault.kind.row().label.to_owned(),
            words: fault.words(users),
        })
    });
    let observed = series.iter().flat_map(|series| &series.faults);
    let mut all: Vec<ObservedFault> = planned.chain(observed.cloned()).collect();
    all.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    all
}

#[cfg(test)]
mod tests {
    use chat_types::Span;
    use sim_model::outcome::Timeline;
    use sim_model::plan::{FaultKind, Milestone, Reached};

    use super::*;

    #[test]
    fn a_fault_that_waits_is_where_it_began_or_nowhere() {
        let planned = |seconds, milestone| Fault {
            milestone,
            ..Fault::once(Span::secs(seconds), FaultKind::LoseReplies)
        };
        let waits = Some(Milestone {
            reached: Reached::Stick("queued"),
            count: 1,
        });
        let faults = [planned(1, waits), planned(2, waits), planned(3, None)];
        let mut timeline = Timeline::new(Span::secs(1));
        timeline.mark(Span::secs(3), "replies lost", Some(2));
        timeline.mark(Span::secs(7), "replies lost", Some(0));
        let marks = fault_marks(&faults, &[], &timeline.marks, None);
        let times: Vec<f64> = marks.iter().map(|mark| mark.at_ms).collect();
        assert_eq!(times, [3_000.0, 7_000.0]);
    }
}
