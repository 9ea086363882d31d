//! The figures of one run over time, and its users, for the charts of a report: a fixed number of
//! buckets, a bounded sample of latencies and a bounded list of users. All bounds are reached in a
//! way that depends on the run alone, so that one seed gives the same bytes.

use std::collections::BTreeMap;
use std::fmt;

use chat_types::Span;
use serde::{Serialize, Serializer};

use super::milliseconds;
use crate::protocol::Room;
use crate::user_name::UserName;

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
    /// By metric, the latencies and waits that ended in each bucket.
    pub measured: BTreeMap<&'static str, Vec<Option<BucketFigures>>>,
    /// By metric, the longest latencies and waits, the longest first.
    pub slowest: BTreeMap<&'static str, Vec<Slow>>,
    /// The thresholds on a latency or wait of all users, over time.
    pub limits: Vec<Limit>,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObservedFault {
    /// Its beginning.
    #[serde(rename = "at_ms", serialize_with = "milliseconds::serialize")]
    pub at: Span,
    /// Its length.
    #[serde(rename = "for_ms", serialize_with = "milliseconds::serialize")]
    pub length: Span,
    /// Its name.
    pub kind: String,
    /// A description.
    pub words: String,
}

/// One of the longest latencies or waits.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slow {
    /// The user that sent, called or waited.
    pub user: UserName,
    /// The first recipient of a message.
    pub recipient: Option<UserName>,
    /// Its room, if it had one.
    pub room: Option<Room>,
    /// When it was meant to start.
    #[serde(rename = "since_ms", serialize_with = "milliseconds::serialize")]
    pub since: Span,
    /// Its length.
    #[serde(rename = "took_ms", serialize_with = "milliseconds::serialize")]
    pub took: Span,
    /// Whether it had not ended when the run did.
    pub open: bool,
}

/// `user_7 (penpal#12), seen by user_3 (penpal#4), in room_2: 5.7s from 1.2s on`
impl fmt::Display for Slow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.user.fmt(f)?;
        if let Some(recipient) = &self.recipient {
            write!(f, ", seen by {recipient}")?;
        }
        if let Some(room) = self.room {
            write!(f, ", in {room}")?;
        }
        write!(f, ": {} from {} on", self.took, self.since)?;
        if self.open {
            f.write_str(", and not ended")?;
        }
        Ok(())
    }
}

/// A threshold over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// The metric.
    pub metric: &'static str,
    /// The expression as the scenario has it, such as `p(95)<2s`.
    pub expression: String,
    /// The bound.
    pub bound_ms: f64,
    /// The buckets whose own values do not keep it.
    pub crossed: Vec<usize>,
}

/// Latencies or waits of one bucket, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "quantiles are named as everywhere")]
pub struct BucketFigures {
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
