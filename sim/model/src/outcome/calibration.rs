//! A live server's measure: what of a scenario it would be, and the round trips that say so.

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

/// How long the server takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Takes {
    /// For each command, one at a time.
    pub service: Spread,
    /// For each batch.
    pub commit: Spread,
}

/// How far away it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Away {
    /// Each way, for each packet.
    pub latency: Spread,
}

/// The part of a scenario that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "these are the scenario's keys")]
pub struct Block {
    pub capacity: Takes,
    pub network: Away,
}

/// How many reads there were in a second, from so many connections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stage {
    /// Each with one read at a time.
    pub connections: u32,
    /// Reads that were answered.
    pub per_second: f64,
    /// The share of its threads' time that the driver worked, from 0 to 1.
    pub driver_busy: f64,
}

/// Round trips of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trips {
    /// What was asked for.
    pub request: &'static str,
    /// How long it took, in milliseconds.
    pub took: MetricResult,
}

/// A measured server.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibration {
    /// The server, as the command line named it.
    pub target: String,
    /// The protocol that it was spoken to in.
    pub protocol: &'static str,
    /// What a scenario takes.
    #[serde(flatten)]
    pub block: Block,
    /// The cheapest request, one at a time on one connection.
    pub floor: Trips,
    /// The same for a read.
    pub read: Trips,
    /// The same for a command that is journalled.
    pub committed: Trips,
    /// Reads from more and more connections.
    pub stages: Vec<Stage>,
    /// What a reader of the figures has to know.
    pub remarks: Vec<String>,
}

impl Spread {
    /// As the simulator draws from it.
    #[must_use]
    pub fn quantiles(self) -> Quantiles {
        Quantiles::new(Shape::Lognormal {
            p50: self.p50.0,
            p99: self.p99.0,
        })
    }
}

impl Block {
    /// Has the plan's server and network take as long as the measured ones.
    pub fn apply(&self, plan: &mut Plan) {
        plan.capacity.service = Arc::new(self.capacity.service.quantiles());
        plan.capacity.commit = Arc::new(self.capacity.commit.quantiles());
        plan.network.latency = Arc::new(self.network.latency.quantiles());
    }
}
