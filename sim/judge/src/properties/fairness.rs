//! Per-metric thresholds: Jain's index over turns and matches, longest wait, most times
//! overtaken.

use sim_model::plan::{Figure, Quantity, Threshold};

/// Whether a threshold belongs to `fairness`.
#[must_use]
pub fn is_meant(threshold: &Threshold) -> bool {
    match threshold.figure {
        Figure::Jain | Figure::Overtaken => true,
        Figure::Max => matches!(
            threshold.metric.quantity(),
            Quantity::Line | Quantity::Share
        ),
        Figure::Mean => threshold.metric.quantity() == Quantity::Share,
        Figure::Percentile(_) | Figure::Count | Figure::Rate => false,
    }
}
