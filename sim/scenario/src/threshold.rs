//! Expected results: properties, points to reach, and thresholds.

use chat_types::Span;
use serde_json::{Map, Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::{Problem, Read};
use super::fault::PointOf;
use super::fields::Fields;
use super::form::Form;
use super::forms::{Word, expected, names, text, words};
use super::lists::Distinct;
use super::node::{Node, Value, shortened};
use super::schemas::Schemas;
use super::text::Text;
use sim_model::names::{METRICS, PROPERTIES};
use sim_model::plan::{Compare, Figure, Threshold};

/// The kind of a metric, which decides its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// How long something took.
    Duration,
    /// The wait in a queue, where others may overtake.
    Line,
    /// How evenly something was shared.
    Share,
    /// Bytes.
    Bytes,
    /// How often something happened.
    Count,
}

impl Measure {
    /// The kind of this metric.
    fn of(metric: &str) -> Self {
        match metric {
            "message_latency" | "request_latency" | "commit_latency" => Self::Duration,
            "queue_wait" | "stick_wait" => Self::Line,
            "stick_turns" | "matches" => Self::Share,
            "bytes_per_message" => Self::Bytes,
            _ => Self::Count,
        }
    }

    /// The figures, each with an example.
    fn accepted(self) -> &'static str {
        match self {
            Self::Duration => "p(95)<2s, max<=10s, mean<500ms",
            Self::Line => "p(95)<2s, max<=10s, mean<500ms, overtaken==0",
            Self::Share => "jain>0.8, max<=20, mean>1",
            Self::Bytes => "p(95)<2000, mean<900",
            Self::Count => "count==0, rate<0.01",
        }
    }

    fn has(self, figure: Figure) -> bool {
        match figure {
            Figure::Percentile(_) => {
                matches!(self, Self::Duration | Self::Line | Self::Bytes)
            }
            Figure::Max => matches!(self, Self::Duration | Self::Line | Self::Share),
            Figure::Mean => self != Self::Count,
            Figure::Overtaken => self == Self::Line,
            Figure::Jain => self == Self::Share,
            Figure::Count | Figure::Rate => self == Self::Count,
        }
    }
}

words! {
    Property("a property") => &'static str = all names(&PROPERTIES)
}

type PropertyList = Distinct<Word<Property>, 1>;

/// `all`, or a list of properties; in the order of the table.
pub(crate) enum Properties {}

impl Form for Properties {
    type Of = Vec<&'static str>;
    const WHAT: &'static str = "a list of properties, or `all`";
    const EXAMPLE: &'static str = "all";

    fn read(node: &Node, context: &mut Context) -> Read<Self::Of> {
        if !matches!(node.value, Value::List(_)) {
            if matches!(&node.value, Value::Text(text) if text == "all") {
                return Ok(PROPERTIES.to_vec());
            }
            let accepted = format!("`all`, or a list of {}", PROPERTIES.join(", "));
            return Err(expected(node, Self::WHAT, &accepted));
        }
        let mut named = PropertyList::read(node, context)?;
        named.sort_by_key(|name| PROPERTIES.iter().position(|property| property == name));
        Ok(named)
    }

    fn write(named: &Self::Of, context: &Context) -> Option<Text> {
        if *named == PROPERTIES {
            return Some(Text::plain("all"));
        }
        PropertyList::write(named, context)
    }

    fn schema(schemas: &mut Schemas) -> Json {
        json!({ "anyOf": [{ "const": "all" }, PropertyList::schema(schemas)] })
    }
}

/// Points that a run must reach.
pub(crate) type Sometimes = Distinct<Word<PointOf>>;

/// A map from metrics to their thresholds.
pub(crate) enum Thresholds {}

impl Form for Thresholds {
    type Of = Vec<Threshold>;
    const WHAT: &'static str = "thresholds";
    const EXAMPLE: &'static str = "{ lost: \"count==0\" }";

    fn read(node: &Node, _: &mut Context) -> Read<Vec<Threshold>> {
        let (fields, mut problems) = Fields::named(node, Self::WHAT, METRICS.to_vec())?;
        let mut thresholds = Vec::new();
        for metric in METRICS {
            let Some(node) = fields.get(metric) else {
                continue;
            };
            let items = if let Value::List(items) = &node.value {
                items
            } else {
                std::slice::from_ref(node)
            };
            for item in items {
                thresholds.extend(problems.keep(threshold(item, metric)));
            }
        }
        problems.finish(Some(thresholds))
    }

    /// Thresholds of one metric are adjacent, as the parser orders them.
    fn write(thresholds: &Vec<Threshold>, _: &Context) -> Option<Text> {
        let metrics = thresholds.chunk_by(|a, b| a.metric == b.metric);
        Some(Text::map(metrics.map(|same| {
            let expressions = same.iter().map(|one| Text::in_quotes(&one.expression));
            (same[0].metric, Some(Text::List(expressions.collect())))
        })))
    }

    fn schema(_: &mut Schemas) -> Json {
        let metrics = METRICS
            .iter()
            .map(|metric| ((*metric).to_owned(), expressions(metric)));
        json!({
            "type": "object",
            "properties": metrics.collect::<Map<_, _>>(),
            "additionalProperties": false
        })
    }
}

fn threshold(node: &Node, metric: &'static str) -> Read<Threshold> {
    let measure = Measure::of(metric);
    let wrong = |message: String| {
        Problem::new(
            node.place,
            message,
            format!(
                "accepted for {metric}: {}; compared by < <= > >= or ==",
                measure.accepted()
            ),
        )
    };
    let expression = text(node, "a threshold")?;
    let shown = shortened(expression);
    let (figure_text, rest) = expression
        .find(['<', '>', '=', '!'])
        .map(|at| expression.split_at(at))
        .ok_or_else(|| wrong(format!("`{shown}` compares nothing")))?;
    let figure = figure(figure_text.trim()).ok_or_else(|| {
        let words = ["max", "mean", "overtaken", "jain", "count", "rate"];
        // A `p95` is too short for the edit distance, but a common mistake.
        let guess = if figure_text.starts_with('p') {
            "; a percentile is written p(95)".to_owned()
        } else {
            did_you_mean(figure_text.trim(), &words)
        };
        wrong(format!(
            "`{}` is no figure{guess}",
            shortened(figure_text.trim())
        ))
    })?;
    if !measure.has(figure) {
        return Err(wrong(format!(
            "{metric} has no figure `{}`",
            figure_text.trim()
        )));
    }
    let (compare, bound_text) = compare(rest)
        .ok_or_else(|| wrong(format!("`{shown}` does not compare by < <= > >= or ==")))?;
    let bound = bound(measure, figure, bound_text.trim()).map_err(wrong)?;
    Ok(Threshold {
        metric,
        expression: expression.to_owned(),
        figure,
        compare,
        bound,
    })
}

fn figure(text: &str) -> Option<Figure> {
    Some(match text {
        "max" => Figure::Max,
        "mean" => Figure::Mean,
        "overtaken" => Figure::Overtaken,
        "jain" => Figure::Jain,
        "count" => Figure::Count,
        "rate" => Figure::Rate,
        other => {
            let percent = number(other.strip_prefix("p(")?.strip_suffix(')')?)?;
            if percent <= 0.0 || percent > 100.0 {
                return None;
            }
            Figure::Percentile(percent)
        }
    })
}

fn compare(text: &str) -> Option<(Compare, &str)> {
    [
        ("<=", Compare::AtMost),
        (">=", Compare::AtLeast),
        ("==", Compare::Equal),
        ("<", Compare::Below),
        (">", Compare::Above),
    ]
    .into_iter()
    .find_map(|(sign, compare)| Some((compare, text.strip_prefix(sign)?)))
}

/// The bound: milliseconds for durations, else the plain number.
fn bound(measure: Measure, figure: Figure, text: &str) -> Result<f64, String> {
    let shown = shortened(text);
    let takes_time =
        matches!(measure, Measure::Duration | Measure::Line) && figure != Figure::Overtaken;
    if takes_time {
        let span = Span::parse(text)
            .map_err(|_| format!("`{shown}` is not a duration, as in 500ms or 2s"))?;
        return Ok(span.0 as f64 / 1_000.0);
    }
    let value = number(text).ok_or_else(|| format!("`{shown}` is not a number"))?;
    if matches!(figure, Figure::Jain | Figure::Rate) && value > 1.0 {
        return Err(format!("`{shown}` is beyond 1, and the figure never is"));
    }
    if matches!(figure, Figure::Overtaken | Figure::Count) && value != libm::floor(value) {
        return Err(format!("`{shown}` is not a whole number"));
    }
    Ok(value)
}

/// Digits, with an optional fraction.
fn number(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        && text.starts_with(|c: char| c.is_ascii_digit())
        && text.ends_with(|c: char| c.is_ascii_digit())
        && text.len() <= 15;
    plain.then(|| text.parse().ok()).flatten()
}

/// The expressions of a metric, as patterns.
fn expressions(metric: &str) -> Json {
    const PERCENTILE: &str = r"p\([0-9]+(\.[0-9]+)?\)";
    const COMPARED: &str = r"\s*(<=|>=|==|<|>)\s*";
    const TIME: &str = r"[0-9]+(\.[0-9]{1,6})?(us|ms|s|m|h|d)";
    const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";
    const WHOLE: &str = r"[0-9]+(\.0+)?";
    let of = |figures: &str, bound: &str| format!("({figures}){COMPARED}{bound}");
    let times = of(&format!("{PERCENTILE}|max|mean"), TIME);
    let measure = Measure::of(metric);
    let pattern = match measure {
        Measure::Duration => times,
        Measure::Line => format!("{times}|{}", of("overtaken", WHOLE)),
        Measure::Share => of("jain|max|mean", NUMBER),
        Measure::Bytes => of(&format!("{PERCENTILE}|mean"), NUMBER),
        Measure::Count => format!("{}|{}", of("count", WHOLE), of("rate", NUMBER)),
    };
    let expression = json!({
        "type": "string",
        "description": format!("Such as {}.", measure.accepted()),
        "pattern": format!(r"^\s*({pattern})\s*$")
    });
    json!({ "anyOf": [expression, { "type": "array", "items": expression }] })
}
