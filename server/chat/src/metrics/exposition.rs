//! The forms in which metrics are written: `OpenMetrics`, and the text format 0.0.4 that preceded it.

use std::fmt::{self, Write as _};

use super::rows::{About, RowShape};
use super::{BOUNDS, Row, Sample, Samples};

/// A form of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exposition {
    /// `OpenMetrics` 1.0.0.
    OpenMetrics,
    /// The text format 0.0.4 of Prometheus, which all its relatives read.
    Text,
}

impl Exposition {
    /// The form that a request asks for by its `Accept` headers; the text format if it does not say.
    #[must_use]
    pub fn asked_by<'a>(accepted: impl Iterator<Item = &'a str>) -> Self {
        let (mut open, mut text) = (0.0_f32, 0.0_f32);
        for range in accepted.flat_map(|ranges| ranges.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let of = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.trim() == name);
                found.map(|(_, value)| value.trim())
            };
            // A quality (RFC 9110, section 12.4.2).
            let weight: Option<f32> = of("q").map_or(Some(1.0), |q| q.parse().ok());
            let weight = weight.filter(|q| (0.0..=1.0).contains(q)).unwrap_or(0.0);
            match (kind.as_str(), of("version")) {
                ("application/openmetrics-text", None | Some("1.0.0")) => open = open.max(weight),
                ("text/plain" | "text/*" | "*/*", _) => text = text.max(weight),
                _ => {}
            }
        }
        match open > 0.0 && open >= text {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    /// The content type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The series of these scopes as one text: each metric is there once.
    #[must_use]
    pub fn of<'a>(self, scopes: impl IntoIterator<Item = &'a Samples>) -> String {
        let scopes: Vec<_> = scopes.into_iter().collect();
        let mut out = String::new();
        for row in Row::ALL {
            let samples: Vec<_> = scopes.iter().map(|scope| scope.of(*row)).collect();
            let about = row.about();
            if samples.iter().any(|labelled| !labelled.is_empty()) {
                // Text can always be written to memory.
                let _ = self.write_head(&about, &mut out);
            }
            for (scope, labelled) in scopes.iter().zip(&samples) {
                for (values, sample) in &**labelled {
                    let own = about.labels.iter().copied().zip(values.split(' '));
                    let realm = scope.realm.iter().map(|realm| ("realm", &**realm));
                    let labels = (realm.collect(), own.collect());
                    let _ = write_sample(&about, labels, sample, &mut out);
                }
            }
        }
        if self == Self::OpenMetrics {
            out.push_str("# EOF\n");
        }
        out
    }

    /// The text format names a counter and an information by their samples, and has no type for an
    /// information.
    fn write_head(self, about: &About, out: &mut String) -> fmt::Result {
        let (end, kind) = match (about.shape, self) {
            (RowShape::Count | RowShape::Sum, Self::OpenMetrics) => ("", "counter"),
            (RowShape::Count | RowShape::Sum, Self::Text) => ("_total", "counter"),
            (RowShape::Info, Self::OpenMetrics) => ("", "info"),
            (RowShape::Info, Self::Text) => ("_info", "gauge"),
            (RowShape::Number | RowShape::Seconds, _) => ("", "gauge"),
            (RowShape::Times, _) => ("", "histogram"),
        };
        let name = name(about);
        writeln!(out, "# HELP {name}{end} {}.", about.help)?;
        writeln!(out, "# TYPE {name}{end} {kind}")
    }
}

/// The name of a metric. Those of the process have the names that all exporters use.
fn name(about: &About) -> String {
    match about.name.starts_with("process_") {
        true => about.name.into(),
        false => format!("talking_stick_{}", about.name),
    }
}

/// Labels with their values.
type Labels<'a> = Vec<(&'a str, &'a str)>;

fn write_sample(
    about: &About,
    (realm, own): (Labels<'_>, Labels<'_>),
    sample: &Sample,
    out: &mut String,
) -> fmt::Result {
    let name = name(about);
    let mut line = |end: &str, bound: Option<&str>, value: &str| {
        let bound = bound.map(|bound| ("le", bound));
        let labels = realm.iter().chain(&bound).chain(&own);
        let labels = labels.map(|(name, value)| format!("{name}=\"{value}\""));
        let labels: Vec<_> = labels.collect();
        match labels.is_empty() {
            true => writeln!(out, "{name}{end} {value}"),
            false => writeln!(out, "{name}{end}{{{}}} {value}", labels.join(",")),
        }
    };
    let (number, mut buffer) = (sample.number.to_string(), dtoa::Buffer::new());
    let seconds = buffer.format(sample.seconds);
    match about.shape {
        RowShape::Count => line("_total", None, &number),
        RowShape::Number => line("", None, &number),
        RowShape::Sum => line("_total", None, seconds),
        RowShape::Seconds => line("", None, seconds),
        RowShape::Info => line("_info", None, &number),
        RowShape::Times => {
            line("_sum", None, seconds)?;
            line("_count", None, &number)?;
            let mut all = 0;
            for (bound, times) in BOUNDS.iter().zip(sample.buckets) {
                all += times;
                let mut buffer = dtoa::Buffer::new();
                line("_bucket", Some(buffer.format(*bound)), &all.to_string())?;
            }
            line("_bucket", Some("+Inf"), &number)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::metrics::Metrics;

    #[test]
    fn the_form_is_the_one_that_is_asked_for() {
        let prometheus = "application/openmetrics-text;version=1.0.0;q=0.5,\
                          application/openmetrics-text;version=0.0.1;q=0.4,\
                          text/plain;version=0.0.4;q=0.3,*/*;q=0.2";
        for (accept, form) in [
            (None, Exposition::Text),
            (Some("*/*"), Exposition::Text),
            (Some("text/plain; version=0.0.4"), Exposition::Text),
            (Some("text/html"), Exposition::Text),
            (
                Some("application/openmetrics-text"),
                Exposition::OpenMetrics,
            ),
            (
                Some("Application/OpenMetrics-Text; version=1.0.0"),
                Exposition::OpenMetrics,
            ),
            (
                Some("application/openmetrics-text; version=0.0.1"),
                Exposition::Text,
            ),
            (Some("application/openmetrics-text;q=0"), Exposition::Text),
            (
                Some("application/openmetrics-text;q=0.2, text/plain;q=0.9"),
                Exposition::Text,
            ),
            (
                Some("application/openmetrics-text;q=9e99, */*"),
                Exposition::Text,
            ),
            (Some(prometheus), Exposition::OpenMetrics),
        ] {
            assert_eq!(Exposition::asked_by(accept.into_iter()), form, "{accept:?}");
        }
    }

    #[test]
    fn the_text_format_names_metrics_by_their_samples() {
        let metrics = Metrics::new(Some("arena"));
        metrics.set(Row::Rooms, "", 2);
        let text = Exposition::Text.of(metrics.of_realm());
        let open = Exposition::OpenMetrics.of(metrics.of_realm());
        let calls = "talking_stick_calls_total{realm=\"arena\",tool=\"push\"} 0\n";
        let rooms = "# HELP talking_stick_rooms Rooms, ended ones among them.\n\
                     # TYPE talking_stick_rooms gauge\ntalking_stick_rooms{realm=\"arena\"} 2\n";
        for form in [&text, &open] {
            assert!(form.contains(calls) && form.contains(rooms), "{form}");
        }
        assert!(text.contains("# TYPE talking_stick_calls_total counter\n"));
        assert!(open.contains("# TYPE talking_stick_calls counter\n"));
        assert!(open.ends_with("\n# EOF\n") && !text.contains("# EOF"));
    }

    #[test]
    fn times_are_counted_in_buckets_that_contain_one_another() {
        let metrics = Metrics::default();
        for span in [20, 81, 90_000_000] {
            metrics.took(Row::CommitSeconds, "", Duration::from_micros(span));
        }
        let text = Exposition::Text.of(metrics.of_realm());
        for line in [
            "_sum 90.000101",
            "_count 3",
            "_bucket{le=\"0.00002\"} 1",
            "_bucket{le=\"0.00008\"} 1",
            "_bucket{le=\"0.00032\"} 2",
            "_bucket{le=\"+Inf\"} 3",
        ] {
            let line = format!("talking_stick_commit_seconds{line}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }
}
