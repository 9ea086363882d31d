//! Per-metric thresholds: Jain's index over turns and matches, longest wait, most times
//! overtaken.

use sim_model::metric::Measure;
use sim_model::plan::{Figure, Threshold};

/// Whether a threshold belongs to `fairness`.
#[must_use]
pub fn is_meant(threshold: &Threshold) -> bool {
    match threshold.figure {
        Figure::Jain | Figure::Overtaken => true,
        Figure::Max => matches!(threshold.metric.measure(), Measure::Line | Measure::Share),
        Figure::Mean => threshold.metric.measure() == Measure::Share,
        Figure::Percentile(_) | Figure::Count | Figure::Rate => false,
    }
}
