//! The data of the page about both servers: all measurements, and a few sentences.

use serde_json::{Value, json};

use crate::calibrated::apart;
use crate::server_comparison::{METRICS, NOT_IN_IT, QUANTILES};
use crate::{CalibrationReport, calibration_yaml, figures};

/// The data that the page's programs read, its lists in the order of display.
pub(super) fn page(done: &CalibrationReport, version: &str) -> Value {
    let titles = METRICS.map(|name| (name.to_owned(), json!(figures::title(name))));
    let parts = done.sides.iter().flat_map(|sides| &sides.parts);
    json!({
        "version": version,
        "done": done,
        "yaml": calibration_yaml(&done.measured, version),
        "metrics": METRICS,
        "quantiles": QUANTILES,
        "titles": titles.into_iter().collect::<Value>(),
        "parts": parts.map(|part| json!(apart(part))).collect::<Value>(),
        "not_in_it": NOT_IN_IT,
    })
}

/// `Virtual and live · brief`
pub(super) fn title(done: &CalibrationReport) -> String {
    match &done.sides {
        Some(sides) => format!("Virtual and live · {}", sides.scenario),
        None => format!("Measured · {}", done.measured.target),
    }
}
