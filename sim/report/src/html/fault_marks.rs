//! The faults of one run, as a page shows them: each with its beginning, its length and its words.

use chat_types::Span;
use serde::Serialize;

use sim_model::outcome::Mark;
use sim_model::outcome::{ObservedFault, Series};
use sim_model::plan::{Fault, FaultKind, Stored};

#[derive(Serialize)]
pub(super) struct FaultMark {
    at_ms: f64,
    for_ms: f64,
    kind: String,
    words: String,
}

/// The faults of the plan, and those that were observed beside them, by time. A fault that waits for
/// a milestone is where `marks` say that it began, or nowhere.
pub(super) fn fault_marks(
    faults: &[Fault],
    marks: &[Mark],
    series: Option<&Series>,
) -> Vec<FaultMark> {
    let began = |index| marks.iter().find(|mark| mark.fault == Some(index));
    let planned = faults.iter().enumerate().filter_map(|(index, fault)| {
        let at = match fault.milestone {
            None => fault.at,
            Some(_) => began(index)?.at,
        };
        Some(of_fault(at, fault))
    });
    let observed = series.iter().flat_map(|series| &series.faults);
    let mut marks: Vec<FaultMark> = planned.chain(observed.map(of_observed)).collect();
    marks.sort_by(|a, b| a.at_ms.total_cmp(&b.at_ms));
    marks
}

/// What a damage is called in the plot, where several lie side by side.
const fn damaged(file: Stored) -> &'static str {
    match file {
        Stored::Journal => "journal damaged",
        Stored::Snapshot => "snapshot damaged",
        Stored::Mark => "marks damaged",
    }
}

fn of_observed(fault: &ObservedFault) -> FaultMark {
    let fault = fault.clone();
    FaultMark {
        at_ms: fault.at_ms,
        for_ms: fault.for_ms,
        kind: fault.kind,
        words: fault.words,
    }
}

fn of_fault(at: Span, fault: &Fault) -> FaultMark {
    let (kind, length, words) = match &fault.kind {
        FaultKind::Down { down_for, how } => {
            let words = format!("server down for {down_for} ({})", how.words());
            ("down", *down_for, words)
        }
        FaultKind::Configure(_) => (
            "configure",
            Span::ZERO,
            "from its next start on, the server is configured otherwise".to_owned(),
        ),
        FaultKind::Partition { duration, .. } => {
            ("partition", *duration, format!("links cut for {duration}"))
        }
        FaultKind::SlowReaders { duration, .. } => (
            "slow readers",
            *duration,
            format!("nothing read for {duration}"),
        ),
        FaultKind::SlowDisk { factor, duration } => (
            "slow disk",
            *duration,
            format!("commits take {factor} times as long for {duration}"),
        ),
        FaultKind::FailDisk { duration, unknown } => {
            let fate = if *unknown { ", their fate unknown" } else { "" };
            (
                "disk fails",
                *duration,
                format!("appends fail for {duration}{fate}"),
            )
        }
        FaultKind::DamageDisk { what, of, .. } => (damaged(*of), Span::ZERO, what.of(*of)),
        FaultKind::Suspend { duration, .. } => (
            "suspend",
            *duration,
            format!("processes stopped for {duration}"),
        ),
        FaultKind::Member { duration, .. } | FaultKind::Log { duration, .. } => {
            let words = fault.kind.of_servers().unwrap_or_default();
            (fault.kind.label(), *duration, words)
        }
        FaultKind::ClockJump { by } => (
            "clock jump",
            Span::ZERO,
            format!("the server's clock jumps by {by}"),
        ),
        FaultKind::LoseReplies => {
            let words = "the next answers get lost".to_owned();
            ("replies lost", Span::ZERO, words)
        }
        FaultKind::Operator(_) => ("operator", Span::ZERO, "an operator acts".to_owned()),
    };
    let when = fault.milestone.map(|milestone| format!(", at {milestone}"));
    FaultMark {
        at_ms: at.0 as f64 / 1_000.0,
        for_ms: length.0 as f64 / 1_000.0,
        kind: kind.to_owned(),
        words: words + &when.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use sim_model::outcome::Timeline;
    use sim_model::plan::{Milestone, Need, Reached};

    use super::*;

    #[test]
    fn a_fault_that_waits_is_where_it_began_or_nowhere() {
        let planned = |seconds, milestone| Fault {
            at: Span::secs(seconds),
            kind: FaultKind::LoseReplies,
            milestone,
            repeats: None,
            need: Need::Required,
        };
        let waits = Some(Milestone {
            reached: Reached::Stick("queued"),
            count: 1,
        });
        let faults = [planned(1, waits), planned(2, waits), planned(3, None)];
        let mut timeline = Timeline::new(Span::secs(1));
        timeline.mark(Span::secs(3), "replies lost", Some(2));
        timeline.mark(Span::secs(7), "replies lost", Some(0));
        let marks = fault_marks(&faults, &timeline.marks, None);
        let times: Vec<f64> = marks.iter().map(|mark| mark.at_ms).collect();
        assert_eq!(times, [3_000.0, 7_000.0]);
    }
}
