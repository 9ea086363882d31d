//! The metrics. A row says all that is known of one but how it is measured, which
//! `sim_judge::metrics` does. And the thresholds on them.

/// What a metric measures, which decides its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The duration of an act.
    Duration,
    /// The wait in a line, where others may overtake.
    Line,
    /// The share of each user in what all asked for.
    Share,
    /// A size in bytes.
    Bytes,
    /// The number of events among a number of attempts.
    Count,
    /// The number of events alone, without a rate.
    Times,
}

/// Whose values a metric has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    /// Those of all users.
    All,
    /// Those of all users, and those of each persona and phase.
    Each,
}

/// Declares the metrics: the name, the name in a table, what is measured, and of whom.
macro_rules! metrics {
    ($($variant:ident $name:literal $title:literal $quantity:ident $of:ident,)*) => {
        chat_types::listed! {
            /// A metric, in the order of tables; `docs/scenario-reference.md` says what it measures.
            Metric { $(#[doc = concat!("`", $name, "`")] $variant $name $title,)* }
        }

        impl Metric {
            /// Its name in a table.
            #[must_use]
            pub const fn title(self) -> &'static str {
                self.word(1)
            }

            /// What it measures.
            #[must_use]
            pub const fn quantity(self) -> Quantity {
                match self { $(Self::$variant => Quantity::$quantity,)* }
            }

            const fn of(self) -> Of {
                match self { $(Self::$variant => Of::$of,)* }
            }
        }
    };
}

metrics! {
    MessageLatency "message_latency" "message" Duration Each,
    LaterLatency "later_latency" "later readers" Duration Each,
    QueueWait "queue_wait" "queue wait" Line Each,
    StickWait "stick_wait" "stick wait" Line Each,
    BreakWait "break_wait" "break wait" Duration Each,
    AdmissionWait "admission_wait" "admission wait" Duration Each,
    RequestLatency "request_latency" "request" Duration All,
    CommitLatency "commit_latency" "commit" Duration All,
    StickTurns "stick_turns" "stick turns" Share All,
    Matches "matches" "matches" Share All,
    BytesPerMessage "bytes_per_message" "bytes/message" Bytes All,
    Lost "lost" "lost" Count All,
    Duplicated "duplicated" "duplicated" Count All,
    Reordered "reordered" "reordered" Count All,
    Phantom "phantom" "phantom" Count All,
    Gapped "gapped" "gapped" Count All,
    Refused "refused" "refused" Count Each,
    Unanswered "unanswered" "unanswered" Count All,
    Retries "retries" "retries" Count All,
    Stuck "stuck" "stuck" Count All,
    LeftOut "left_out" "left out" Count All,
}

impl Metric {
    /// Whether its values are durations.
    #[must_use]
    pub const fn is_duration(self) -> bool {
        matches!(self.quantity(), Quantity::Duration | Quantity::Line)
    }

    /// Whether each value is recorded, so that it has quantiles.
    #[must_use]
    pub const fn is_distribution(self) -> bool {
        self.is_duration() || matches!(self.quantity(), Quantity::Bytes)
    }

    /// What it measures among the users of one persona, if it is known of each.
    #[must_use]
    pub const fn of_persona(self) -> Option<Quantity> {
        match (self.of(), self.quantity()) {
            (Of::All, _) => None,
            (Of::Each, Quantity::Count) => Some(Quantity::Times),
            (Of::Each, Quantity::Line) => Some(Quantity::Duration),
            (Of::Each, quantity) => Some(quantity),
        }
    }
}

impl Quantity {
    /// The figures, each with an example.
    #[must_use]
    pub const fn examples(self) -> &'static str {
        match self {
            Self::Duration => "p(95)<2s, max<=10s, mean<500ms",
            Self::Line => "p(95)<2s, max<=10s, mean<500ms, overtaken==0",
            Self::Share => "jain>0.8, max<=20, mean>1",
            Self::Bytes => "p(95)<2000, mean<900",
            Self::Count => "count==0, rate<0.01",
            Self::Times => "count==0",
        }
    }

    /// Whether it has this figure.
    #[must_use]
    pub const fn has(self, figure: Figure) -> bool {
        match figure {
            Figure::Percentile(_) => matches!(self, Self::Duration | Self::Line | Self::Bytes),
            Figure::Max => matches!(self, Self::Duration | Self::Line | Self::Share),
            Figure::Mean => !matches!(self, Self::Count | Self::Times),
            Figure::Overtaken => matches!(self, Self::Line),
            Figure::Jain => matches!(self, Self::Share),
            Figure::Count => matches!(self, Self::Count | Self::Times),
            Figure::Rate => matches!(self, Self::Count),
        }
    }
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
    /// The largest number of times that a user was bypassed.
    Overtaken,
    /// Jain's index.
    Jain,
    /// The number of values.
    Count,
    /// The share of attempts that succeeded, from 0 to 1.
    Rate,
}

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

chat_types::listed! {
    /// A comparison by its sign. A sign that begins with another stands before that one.
    Compare {
        /// At most the bound.
        AtMost "<=",
        /// At least the bound.
        AtLeast ">=",
        /// The bound.
        Equal "==",
        /// Less than the bound.
        Below "<",
        /// More than the bound.
        Above ">",
    }
}
