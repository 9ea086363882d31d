//! Figures of parts of a run: of its personas, its phases and its rooms.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MetricResult;

/// The most personas, and the most phases, with figures of their own.
pub const MOST_GROUPS: usize = 50;

/// Figures by persona, phase and room. Each list has a limited number of groups; its last one may be
/// all others together, so that the numbers of a list add up to those of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupResults {
    /// By the persona of the user that sent, waited or was refused.
    pub personas: Vec<GroupResult>,
    /// By the phase in which the send, the wait or the refused call was meant to start. Phases of
    /// one name are one.
    pub phases: Vec<GroupResult>,
    /// By room, those with the longest latency first. A call without a room is one of the others.
    pub rooms: Vec<RoomResult>,
}

/// The figures of one persona, or of one phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// The number of refused calls.
    pub refused: u64,
    /// `message_latency`, `queue_wait` and `stick_wait`, each if it was measured.
    pub metrics: BTreeMap<String, MetricResult>,
}

/// The figures of one room.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoomResult {
    /// Its name, with several seeds with its seed.
    pub name: String,
    /// The number of refused calls.
    pub refused: u64,
    /// `message_latency` and `stick_wait`, each if it was measured.
    pub metrics: BTreeMap<String, BriefResult>,
}

/// A metric of a room, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the names say it")]
pub struct BriefResult {
    pub count: u64,
    pub mean: f64,
    pub max: f64,
}
