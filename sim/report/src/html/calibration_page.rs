//! The data of the page about both servers: all measurements, and a few sentences.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::calibrated::apart;
use crate::server_comparison::{METRICS, NOT_IN_IT, QUANTILES};
use crate::{CalibrationReport, calibration_yaml, figures};

#[derive(Serialize)]
pub(super) struct CalibrationPage<'a> {
    version: &'a str,
    done: &'a CalibrationReport,
    yaml: String,
    /// In the order of display.
    metrics: [&'static str; METRICS.len()],
    quantiles: [&'static str; 3],
    titles: BTreeMap<&'static str, String>,
    /// The differences between the servers: a metric, and a sentence.
    parts: Vec<(String, String)>,
    not_in_it: &'static str,
}

/// The data that the page's programs read.
pub(super) fn page<'a>(done: &'a CalibrationReport, version: &'a str) -> CalibrationPage<'a> {
    let parts = done.sides.iter().flat_map(|sides| &sides.parts);
    CalibrationPage {
        version,
        done,
        yaml: calibration_yaml(&done.measured, version),
        metrics: METRICS,
        quantiles: QUANTILES,
        titles: METRICS.map(|name| (name, figures::title(name))).into(),
        parts: parts.map(apart).collect(),
        not_in_it: NOT_IN_IT,
    }
}

/// `Virtual and live · brief`
pub(super) fn title(done: &CalibrationReport) -> String {
    match &done.sides {
        Some(sides) => format!("Virtual and live · {}", sides.scenario),
        None => format!("Measured · {}", done.measured.target),
    }
}
