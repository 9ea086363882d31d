//! Expected results: properties, points to reach, and thresholds.

use chat_types::Span;
use serde_json::{Map, Value as Json, json};

use super::closest::did_you_mean;
use super::context::Context;
use super::error::{Problems, Read};
use super::fault::PointOf;
use super::fields::Fields;
use super::form::Form;
use super::forms::{DURATION_PATTERN, Distinct, Word, expected, names, text, words};
use super::node::{Entry, Node, Value, shortened};
use super::schemas::Schemas;
use super::text::Text;
use sim_model::names::PROPERTIES;
use sim_model::outcome::MOST_GROUPS;
use sim_model::plan::{Compare, Figure, Metric, Quantity, Threshold, limited};

words! { Property("a property") => &'static str = all names(&PROPERTIES) }

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

/// A map from metrics to their thresholds. A metric may name a persona, in the notation of k6:
/// `queue_wait{persona:penpal}`.
pub(crate) enum Thresholds {}

impl Form for Thresholds {
    type Of = Vec<Threshold>;
    const WHAT: &'static str = "thresholds";
    const EXAMPLE: &'static str = "{ lost: \"count==0\" }";

    fn read(node: &Node, context: &mut Context) -> Read<Vec<Threshold>> {
        let has_persona = |key: &str| key.contains('{');
        let metrics = Metric::NAMES.to_vec();
        let (fields, mut problems) = Fields::named(node, Self::WHAT, metrics, has_persona)?;
        let mut thresholds = Vec::new();
        for &metric in Metric::ALL {
            if let Some(node) = fields.get(metric.name()) {
                thresholds.extend(all(node, metric, None, &mut problems));
            }
        }
        let entries = node.entries().iter();
        for entry in entries.filter(|entry| has_persona(&entry.key)) {
            if let Some((metric, persona)) = problems.keep(named_persona(entry, context)) {
                thresholds.extend(all(&entry.node, metric, Some(persona), &mut problems));
            }
        }
        problems.finish(Some(thresholds))
    }

    /// Thresholds of one metric are adjacent, as the parser orders them.
    fn write(thresholds: &Vec<Threshold>, _: &Context) -> Option<Text> {
        let same = |a: &Threshold, b: &Threshold| (a.metric, &a.persona) == (b.metric, &b.persona);
        let metrics = thresholds.chunk_by(same);
        Some(Text::map(metrics.map(|same| {
            let expressions = same.iter().map(|one| Text::in_quotes(&one.expression));
            let key = Text::quoted(&limited(same[0].metric.name(), same[0].persona.as_deref()));
            (key, Some(Text::List(expressions.collect())))
        })))
    }

    fn schema(_: &mut Schemas) -> Json {
        let all = Metric::ALL.iter();
        let metrics = all.clone().map(|metric| {
            let expressions = expressions(metric.quantity());
            (metric.name().to_owned(), expressions)
        });
        let by_persona = all.filter_map(|metric| {
            let pattern = format!(r"^{}\{{persona:.+\}}$", metric.name());
            Some((pattern, expressions(metric.of_persona()?)))
        });
        json!({
            "type": "object",
            "properties": metrics.collect::<Map<_, _>>(),
            "patternProperties": Map::from_iter(by_persona),
            "additionalProperties": false
        })
    }
}

/// The metric and the persona of a key.
fn named_persona<'k>(entry: &'k Entry, context: &Context) -> Read<(Metric, &'k str)> {
    let (metric, tag) = entry.key.split_once('{').unwrap_or((&entry.key, ""));
    let tag = tag.strip_suffix('}').and_then(|tag| tag.split_once(':'));
    let Some(("persona", persona)) = tag else {
        return entry.place.refuse(
            format!("`{}` names no persona", shortened(&entry.key)),
            "a metric and a persona, as in `queue_wait{persona:penpal}`",
        );
    };
    let known = Metric::named(metric).filter(|metric| metric.of_persona().is_some());
    let Some(metric) = known else {
        let by_persona = Metric::ALL
            .iter()
            .filter(|metric| metric.of_persona().is_some());
        let by_persona: Vec<&str> = by_persona.map(|metric| metric.name()).collect();
        let guess = did_you_mean(metric, &by_persona);
        let what = format!("`{}` is not measured by persona", shortened(metric));
        let accepted = format!("measured by persona: {}", by_persona.join(", "));
        let wrong = entry.place.wrong(what, accepted);
        return Err(wrong.labelled(format!("here{guess}")));
    };
    let Some(personas) = &context.personas else {
        return Ok((metric, persona));
    };
    let measured = personas.iter().map(String::as_str).take(MOST_GROUPS);
    let measured: Vec<&str> = measured.collect();
    if measured.contains(&persona) {
        return Ok((metric, persona));
    }
    let shown = measured[..measured.len().min(20)].join(", ");
    let accepted = match measured.len() {
        0 => "personas are listed under `scenarios`, which this scenario has not".to_owned(),
        1..=20 => format!("accepted here, as listed under `scenarios`: {shown}"),
        _ => format!("one of the first {MOST_GROUPS} under `scenarios`: {shown}, …"),
    };
    let guess = did_you_mean(persona, &measured);
    let shown = shortened(persona);
    let what = match personas.iter().any(|known| known == persona) {
        true => format!("the persona `{shown}` has no figures of its own"),
        false => format!("there is no persona `{shown}`"),
    };
    let wrong = entry.place.wrong(what, accepted);
    Err(wrong.labelled(format!("here{guess}")))
}

/// The thresholds in the value of one key.
fn all(
    node: &Node,
    metric: Metric,
    persona: Option<&str>,
    problems: &mut Problems,
) -> Vec<Threshold> {
    let items = if let Value::List(items) = &node.value {
        items
    } else {
        std::slice::from_ref(node)
    };
    let read = items.iter().map(|item| threshold(item, metric, persona));
    read.filter_map(|read| problems.keep(read)).collect()
}

fn threshold(node: &Node, metric: Metric, persona: Option<&str>) -> Read<Threshold> {
    let limited = limited(metric.name(), persona);
    let of_persona = persona.and_then(|_| metric.of_persona());
    let quantity = of_persona.unwrap_or(metric.quantity());
    let wrong = |message: String| {
        node.place.wrong(
            message,
            format!(
                "accepted for {limited}: {}; compared by < <= > >= or ==",
                quantity.examples()
            ),
        )
    };
    let expression = text(node, "a threshold")?;
    let shown = shortened(expression);
    let (figure_text, rest) = expression
        .find(['<', '>', '=', '!'])
        .map(|at| expression.split_at(at))
        .ok_or_else(|| wrong(format!("`{shown}` compares nothing")))?;
    let named = figure_text.trim();
    let figure = figure(named).ok_or_else(|| {
        let words = FIGURES.map(|(word, _)| word);
        // A `p95` is too short for the edit distance, but a common mistake.
        let guess = if figure_text.starts_with('p') {
            "; a percentile is written p(95)".to_owned()
        } else {
            did_you_mean(named, &words)
        };
        wrong(format!("`{}` is no figure{guess}", shortened(named)))
    })?;
    if !quantity.has(figure) {
        return Err(wrong(format!("{limited} has no figure `{named}`")));
    }
    let (compare, bound_text) = compare(rest)
        .ok_or_else(|| wrong(format!("`{shown}` does not compare by < <= > >= or ==")))?;
    let bound = bound(quantity, figure, bound_text.trim()).map_err(wrong)?;
    Ok(Threshold {
        metric,
        persona: persona.map(str::to_owned),
        expression: expression.to_owned(),
        figure,
        compare,
        bound,
    })
}

/// The figures that are one word.
const FIGURES: [(&str, Figure); 6] = [
    ("max", Figure::Max),
    ("mean", Figure::Mean),
    ("overtaken", Figure::Overtaken),
    ("jain", Figure::Jain),
    ("count", Figure::Count),
    ("rate", Figure::Rate),
];

fn figure(text: &str) -> Option<Figure> {
    if let Some((_, figure)) = FIGURES.iter().find(|(word, _)| *word == text) {
        return Some(*figure);
    }
    let percent = number(text.strip_prefix("p(")?.strip_suffix(')')?)?;
    (percent > 0.0 && percent <= 100.0).then_some(Figure::Percentile(percent))
}

fn compare(text: &str) -> Option<(Compare, &str)> {
    let mut signs = Compare::ALL.iter();
    signs.find_map(|compare| Some((*compare, text.strip_prefix(compare.name())?)))
}

/// The bound: milliseconds for durations, else the plain number.
fn bound(quantity: Quantity, figure: Figure, text: &str) -> Result<f64, String> {
    let shown = shortened(text);
    let takes_time =
        matches!(quantity, Quantity::Duration | Quantity::Line) && figure != Figure::Overtaken;
    if takes_time {
        let span = Span::parse(text)
            .map_err(|_| format!("`{shown}` is not a duration, as in 500ms or 2s"))?;
        return Ok(span.0 as f64 / 1_000.0);
    }
    let value = match text.strip_suffix('%').filter(|_| figure == Figure::Rate) {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    let value = value.ok_or_else(|| format!("`{shown}` is not a number"))?;
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

/// The expressions of a kind of metric, as patterns.
fn expressions(quantity: Quantity) -> Json {
    const PERCENTILE: &str = r"p\([0-9]+(\.[0-9]+)?\)";
    const COMPARED: &str = r"\s*(<=|>=|==|<|>)\s*";
    const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";
    const WHOLE: &str = r"[0-9]+(\.0+)?";
    let of = |figures: &str, bound: &str| format!("({figures}){COMPARED}{bound}");
    let times = of(&format!("{PERCENTILE}|max|mean"), DURATION_PATTERN);
    let pattern = match quantity {
        Quantity::Duration => times,
        Quantity::Line => format!("{times}|{}", of("overtaken", WHOLE)),
        Quantity::Share => of("jain|max|mean", NUMBER),
        Quantity::Bytes => of(&format!("{PERCENTILE}|mean"), NUMBER),
        Quantity::Count => format!(
            "{}|{}",
            of("count", WHOLE),
            of("rate", &format!("{NUMBER}%?"))
        ),
        Quantity::Times => of("count", WHOLE),
    };
    let expression = json!({
        "type": "string",
        "description": format!("Such as {}.", quantity.examples()),
        "pattern": format!(r"^\s*({pattern})\s*$")
    });
    json!({ "anyOf": [expression, { "type": "array", "items": expression }] })
}
