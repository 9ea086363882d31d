//! Properties, points to reach, and thresholds.

use serde_json::{Map, Value, json};

use super::forms::one_of;
use crate::threshold::Measure;
use sim_model::names::{METRICS, PROPERTIES};
use sim_model::outcome::Point;

/// `properties`.
pub(super) fn properties() -> Value {
    json!({
        "description": "The properties to judge; all by default.",
        "anyOf": [
            { "const": "all" },
            {
                "type": "array",
                "items": one_of(&PROPERTIES),
                "minItems": 1,
                "uniqueItems": true
            }
        ]
    })
}

/// `expect_sometimes`.
pub(super) fn expect_sometimes() -> Value {
    let points: Vec<&str> = Point::ALL.iter().map(|point| point.name()).collect();
    json!({
        "description": "Points that the run must reach; otherwise it proves nothing.",
        "type": "array",
        "items": one_of(&points),
        "uniqueItems": true
    })
}

/// `thresholds`.
pub(super) fn thresholds() -> Value {
    let metrics: Map<String, Value> = METRICS
        .iter()
        .map(|metric| ((*metric).to_owned(), expressions(metric)))
        .collect();
    json!({
        "description": "Limits on metrics: a metric, and one or more comparisons.",
        "type": "object",
        "properties": metrics,
        "additionalProperties": false
    })
}

fn expressions(metric: &str) -> Value {
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
