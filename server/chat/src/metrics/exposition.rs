//! The forms in which metrics are written: `OpenMetrics`, and the text format 0.0.4 that preceded it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::iter;

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
        let (mut open, mut text) = (0, 0);
        for range in accepted.flat_map(|ranges| ranges.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
            let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
            let of = |name: &str| {
                let found = parameters.iter().find(|(key, _)| key.trim() == name);
                found.map(|(_, value)| value.trim())
            };
            let weight = of("q").map_or(1_000, thousandths);
            match (kind.as_str(), of("version")) {
                ("application/openmetrics-text", None | Some("1.0.0")) => open = open.max(weight),
                ("text/plain" | "text/*" | "*/*", _) => text = text.max(weight),
                _ => {}
            }
        }
        match open > 0 && open >= text {
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

    /// One text in this form of several in `OpenMetrics`.
    #[must_use]
    pub fn of(self, parts: &[String]) -> String {
        let open_metrics = merged(parts);
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Text => text(&open_metrics),
        }
    }
}

/// A metric: what is said of it, and its samples.
#[derive(Default)]
struct Metric<'a> {
    about: Vec<&'a str>,
    samples: Vec<&'a str>,
}

/// One text of several: each metric is there once, with the samples of all parts.
fn merged(parts: &[String]) -> String {
    let (mut metrics, mut places) = (Vec::new(), BTreeMap::new());
    for part in parts {
        let mut place = 0;
        for line in part.lines().filter(|line| *line != "# EOF") {
            let Some(about) = line.strip_prefix("# ") else {
                let metric: &mut Metric<'_> = &mut metrics[place];
                metric.samples.push(line);
                continue;
            };
            let name = about.split(' ').nth(1).unwrap_or_default();
            place = *places.entry(name).or_insert_with(|| {
                metrics.push(Metric::default());
                metrics.len() - 1
            });
            if !metrics[place].about.contains(&line) {
                metrics[place].about.push(line);
            }
        }
    }
    let lines = metrics
        .iter()
        .flat_map(|metric| metric.about.iter().chain(&metric.samples));
    let lines = lines.chain(iter::once(&"# EOF"));
    lines.flat_map(|line| [*line, "\n"]).collect()
}

/// A quality of an Accept header (RFC 9110, section 12.4.2), in thousandths.
fn thousandths(text: &str) -> u32 {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(digits(whole) && digits(fraction) && fraction.len() <= 3) {
        return 0;
    }
    let padded = format!("{whole}{fraction:0<3}");
    padded.parse().unwrap_or(0).min(1_000)
}

/// The text format names a counter and an information by their samples, has no type for an
/// information, and no end.
fn text(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest.split_once(' ');
            continue;
        }
        let typed = line.strip_prefix("# TYPE ");
        let Some((name, kind)) = typed.and_then(|rest| rest.split_once(' ')) else {
            if line != "# EOF" {
                out.extend([line, "\n"]);
            }
            continue;
        };
        let (end, kind) = match kind {
            "counter" => ("_total", "counter"),
            "info" => ("_info", "gauge"),
            other => ("", other),
        };
        if let Some((_, about)) = help.take() {
            // Text can always be written to memory.
            let _ = writeln!(out, "# HELP {name}{end} {about}");
        }
        let _ = writeln!(out, "# TYPE {name}{end} {kind}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let open = "# HELP a_calls Calls.\n# TYPE a_calls counter\na_calls_total{of=\"# TYPE\"} 1\n\
                    # HELP a_build What runs.\n# TYPE a_build info\na_build_info{version=\"1\"} 1\n\
                    # HELP a_rooms Rooms.\n# TYPE a_rooms gauge\na_rooms 2\n# EOF\n";
        let text = "# HELP a_calls_total Calls.\n# TYPE a_calls_total counter\n\
                    a_calls_total{of=\"# TYPE\"} 1\n\
                    # HELP a_build_info What runs.\n# TYPE a_build_info gauge\n\
                    a_build_info{version=\"1\"} 1\n\
                    # HELP a_rooms Rooms.\n# TYPE a_rooms gauge\na_rooms 2\n";
        assert_eq!(Exposition::Text.of(&[open.into()]), text);
        assert_eq!(Exposition::OpenMetrics.of(&[open.into()]), open);
    }

    #[test]
    fn a_metric_of_several_parts_is_there_once_with_all_samples() {
        let part = |metric: &str, sample: &str| {
            format!("# HELP {metric} It.\n# TYPE {metric} gauge\n{metric}{sample}\n# EOF\n")
        };
        let parts = [
            part("a", "{r=\"1\"} 1"),
            part("b", " 2"),
            part("a", "{r=\"2\"} 3"),
        ];
        let merged = "# HELP a It.\n# TYPE a gauge\na{r=\"1\"} 1\na{r=\"2\"} 3\n\
                      # HELP b It.\n# TYPE b gauge\nb 2\n# EOF\n";
        assert_eq!(Exposition::OpenMetrics.of(&parts), merged);
    }
}
