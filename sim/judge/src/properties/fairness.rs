//! Per-metric thresholds: Jain's index over turns and matches, longest wait, most times
//! overtaken.

use sim_model::plan::{Figure, Threshold};

/// Whether a threshold belongs to `fairness`.
#[must_use]
pub fn is_meant(threshold: &Threshold) -> bool {
    match threshold.figure {
        Figure::Jain | Figure::Overtaken => true,
        Figure::Max => matches!(
            threshold.metric,
            "queue_wait" | "stick_wait" | "stick_turns" | "matches"
        ),
        Figure::Mean => matches!(threshold.metric, "stick_turns" | "matches"),
        Figure::Percentile(_) | Figure::Count | Figure::Rate => false,
    }
}
