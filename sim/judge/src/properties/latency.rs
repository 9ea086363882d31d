//! Quantiles of durations, from the intended start.

use super::fairness;
use sim_model::plan::{Figure, Threshold};

/// Whether a threshold belongs to `latency`.
#[must_use]
pub fn is_meant(threshold: &Threshold) -> bool {
    let of_time = match threshold.figure {
        Figure::Percentile(_) | Figure::Mean | Figure::Max => true,
        Figure::Jain | Figure::Overtaken | Figure::Count | Figure::Rate => false,
    };
    threshold.metric.is_duration() && of_time && !fairness::is_meant(threshold)
}
