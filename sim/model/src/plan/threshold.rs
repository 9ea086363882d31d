//! Thresholds on a run's metrics.

use super::metric::{Figure, Metric};

/// A threshold.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The metric.
    pub metric: Metric,
    /// The persona whose users alone are measured; all users without one.
    pub persona: Option<String>,
    /// The expression as written, such as `p(95)<2s`.
    pub expression: String,
    /// The figure of the metric.
    pub figure: Figure,
    /// The comparison.
    pub compare: Compare,
    /// The bound: in milliseconds for durations, otherwise a plain number.
    pub bound: f64,
}

/// What a threshold limits, as a scenario names it: `queue_wait`, or `queue_wait{persona:penpal}`.
#[must_use]
pub fn limited(metric: &str, persona: Option<&str>) -> String {
    match persona {
        None => metric.to_owned(),
        Some(persona) => format!("{metric}{{persona:{persona}}}"),
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Below,
    /// `<=`
    AtMost,
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `==`
    Equal,
}
