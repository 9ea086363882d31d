//! What the figures of a run must keep to.

/// What a figure must keep to.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The metric's name.
    pub metric: &'static str,
    /// The expression as written, such as `p(95)<2s`.
    pub expression: String,
    /// Which figure of the metric.
    pub figure: Figure,
    /// How it is compared.
    pub compare: Compare,
    /// With what: milliseconds for durations, else the plain number.
    pub bound: f64,
}

/// One figure of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// A percentile, in percent: `p(99.9)`.
    Percentile(f64),
    /// The largest.
    Max,
    /// The mean.
    Mean,
    /// How often anyone was overtaken, at most.
    Overtaken,
    /// Jain's index.
    Jain,
    /// How many.
    Count,
    /// How many of those attempted, from 0 to 1.
    Rate,
}

/// How a figure is compared.
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
