//! The measurement of a live server: the equivalent part of a scenario, and the round trips that it
//! was derived from.

use std::sync::Arc;

use chat_types::Span;
use serde::Serialize;

use super::MetricResult;
use crate::draw::{Quantiles, Shape};
use crate::plan::Plan;

/// A distribution by two of its quantiles, as scenarios write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The median.
    pub p50: Span,
    /// The 99th percentile.
    pub p99: Span,
}

/// The server's processing times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CapacityTimes {
    /// For each command, one at a time.
    pub service: Spread,
    /// For each batch.
    pub commit: Spread,
}

/// The network's distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct NetworkTimes {
    /// Each way, for each packet.
    pub latency: Spread,
}

/// The measured part of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "these are the scenario's keys")]
pub struct CalibrationBlock {
    pub capacity: CapacityTimes,
    pub network: NetworkTimes,
}

/// The throughput of reads with a number of connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Each with one read at a time.
    pub connections: u32,
    /// Reads that were answered.
    pub per_second: f64,
    /// The share of its threads' time that the driver used, from 0 to 1.
    pub driver_busy: f64,
}

/// Round trips of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RoundTrips {
    /// The request.
    pub request: &'static str,
    /// Its times in milliseconds.
    pub took: MetricResult,
}

/// A measured server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The server, as the command line named it.
    pub target: String,
    /// The protocol.
    pub protocol: &'static str,
    /// The part for a scenario.
    #[serde(flatten)]
    pub block: CalibrationBlock,
    /// The cheapest request, one at a time on one connection.
    pub floor: RoundTrips,
    /// A read, one at a time on one connection.
    pub read: RoundTrips,
    /// A journalled command, one at a time on one connection.
    pub committed: RoundTrips,
    /// Reads from more and more connections.
    pub stages: Vec<Stage>,
    /// Remarks for readers of the figures.
    pub remarks: Vec<String>,
}

impl Spread {
    /// The distribution for the simulator.
    #[must_use]
    pub fn quantiles(self) -> Quantiles {
        Quantiles::new(Shape::Lognormal {
            p50: self.p50.0,
            p99: self.p99.0,
        })
    }
}

impl CalibrationBlock {
    /// Sets the plan's server and network to the measured times.
    pub fn apply(&self, plan: &mut Plan) {
        plan.capacity.service = Arc::new(self.capacity.service.quantiles());
        plan.capacity.commit = Arc::new(self.capacity.commit.quantiles());
        plan.network.latency = Arc::new(self.network.latency.quantiles());
    }
}
