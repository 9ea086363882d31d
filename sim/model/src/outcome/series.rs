//! The figures of one run over time, and its users, for the charts of a report.
//!
//! They are recorded by an observer (`series/recorder.rs`) at a bounded cost: a fixed number of
//! buckets, a bounded sample of latencies and a bounded list of users. All bounds are reached in a
//! way that depends on the run alone, so that one seed gives the same bytes.

mod lanes;
mod recorder;

use serde::{Serialize, Serializer};
use sim_model::user_name::UserName;

pub use lanes::{UserLanes, user_lanes};
pub use recorder::SeriesRecorder;

/// The figures of one run, in buckets of equal length. Times are milliseconds since its beginning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The seed of the run.
    pub seed: u64,
    /// The length of a bucket.
    pub bucket_ms: f64,
    /// When the last record was made.
    pub ended_ms: f64,
    /// Users that arrived.
    pub arrived: Vec<u64>,
    /// Users present at the end of the bucket: arrived, and neither finished nor gone for good.
    pub present: Vec<u64>,
    /// Users in the queue at the end of the bucket, as they know it.
    pub in_line: Vec<u64>,
    /// Sends and pushes, by their intended time.
    pub messages_offered: Vec<u64>,
    /// Sends and pushes that were answered with success.
    pub messages_accepted: Vec<u64>,
    /// Calls of any kind, by their intended time.
    pub calls_offered: Vec<u64>,
    /// Calls that were answered.
    pub calls_answered: Vec<u64>,
    /// Answers that are refusals.
    pub refused: Vec<u64>,
    /// The latencies of messages that were first seen in the bucket.
    pub latency: Vec<Option<BucketLatency>>,
    /// A sample of messages: when each was first seen, and its latency.
    pub sample: Vec<(f64, f64)>,
    /// The number of measured messages, of which the sample is an even selection.
    pub sampled_of: u64,
    /// The first users, in the order of their arrival.
    pub users: Vec<UserRow>,
    /// The number of later users.
    pub users_left_out: u64,
    /// Faults that are not in the plan: starts that the server refused, and what the nemesis of a live
    /// run did; shown among those of the plan.
    #[serde(skip)]
    pub faults: Vec<ObservedFault>,
}

/// A fault that the recorder observed.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedFault {
    /// Its beginning, in milliseconds of the run.
    pub at_ms: f64,
    /// Its length, in milliseconds.
    pub for_ms: f64,
    /// Its name.
    pub kind: String,
    /// A description.
    pub words: String,
}

/// Latencies of messages in one bucket, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "quantiles are named as everywhere")]
pub struct BucketLatency {
    pub count: u64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

/// One user of the run. There may be many, so that a page has it as a list of its fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserRow {
    /// Its id and its name in the scenario.
    pub who: UserName,
    /// When it arrived.
    pub arrived_ms: f64,
    /// When it finished or left for good; none if it did neither.
    pub left_ms: Option<f64>,
    /// Its calls.
    pub calls: u64,
    /// Its answers that are refusals.
    pub refused: u64,
    /// Its accepted messages.
    pub sent: u64,
    /// The messages that it received.
    pub received: u64,
}

impl Serialize for UserRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let texts = (self.who.user, &self.who.name);
        let counts = (self.calls, self.refused, self.sent, self.received);
        (texts, self.arrived_ms, self.left_ms, counts).serialize(serializer)
    }
}
