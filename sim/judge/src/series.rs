//! Records the figures of a run over time.

use chat_types::{Span, Time};
use hdrhistogram::Histogram;
use rustc_hash::FxHashSet;

use super::{BucketLatency, ObservedFault, Series, UserRow};
use sim_model::history::{ClientEvent, Observer, Record, Retry, WorldRecord};
use sim_model::messages_in_flight::{Learned, MessagesInFlight, Times};
use sim_model::outcome::START;
use sim_model::protocol::{Agent, Answer, CallId, InboxEvent, Membership, Op, Outcome};

/// The most buckets. A run that outgrows them gets buckets of twice the length.
const BUCKETS: usize = 120;

/// The first length of a bucket.
const SHORTEST: Span = Span::millis(10);

/// The most messages of the sample. When there are more, every other one is dropped, and half as
/// many are taken from then on.
const SAMPLE: usize = 600;

/// The most users that are listed.
const USERS: usize = 2_000;

/// The most faults that are listed.
const FAULTS: usize = 200;

/// The name of a start that the server refused, as of a fault.
const START_REFUSED: &str = "start refused";

/// The largest latency of the histograms: a day in microseconds.
const LARGEST: u64 = 24 * 3_600 * 1_000_000;

/// The figures that are counted in each bucket.
#[derive(Clone, Copy)]
enum Count {
    Arrived,
    Left,
    EnteredLine,
    LeftLine,
    MessagesOffered,
    MessagesAccepted,
    CallsOffered,
    CallsAnswered,
    Refused,
}

const COUNTS: usize = Count::Refused as usize + 1;

#[derive(Clone, Debug, Default)]
struct Bucket {
    counts: [u64; COUNTS],
    latency: Option<Histogram<u32>>,
    longest: u64,
}

/// The state of one user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct UserState {
    is_present: bool,
    in_line: bool,
    has_arrived: bool,
}

/// A fault that is not in the plan.
#[derive(Clone, Debug)]
struct RecordedFault {
    at: Span,
    until: Option<Span>,
    kind: String,
    words: String,
}

/// The observer.
#[derive(Clone, Debug)]
pub struct SeriesRecorder {
    seed: u64,
    length: Span,
    buckets: Vec<Bucket>,
    in_flight: MessagesInFlight,
    /// Calls with an unanswered earlier attempt, which may have taken effect.
    retried: FxHashSet<(Agent, CallId)>,
    states: Vec<UserState>,
    users: Vec<UserRow>,
    sample: Vec<(Span, Span)>,
    measured: u64,
    every: u64,
    faults: Vec<RecordedFault>,
    ended: Span,
}

impl Bucket {
    fn add(&mut self, other: Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.longest = self.longest.max(other.longest);
        match (&mut self.latency, other.latency) {
            (Some(mine), Some(theirs)) => {
                // Both have the same bounds, so no value is out of range.
                let added = mine.add(&theirs);
                debug_assert!(added.is_ok());
            }
            (mine @ None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }

    fn latency(&self) -> Option<BucketLatency> {
        let histogram = self.latency.as_ref()?;
        let quantile = |percent| {
            let value = histogram.value_at_percentile(percent).min(self.longest);
            milliseconds(Span(value))
        };
        Some(BucketLatency {
            count: histogram.len(),
            p50: quantile(50.0),
            p95: quantile(95.0),
            p99: quantile(99.0),
            max: milliseconds(Span(self.longest)),
        })
    }
}

impl SeriesRecorder {
    /// A recorder of the run of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            length: SHORTEST,
            buckets: Vec::new(),
            in_flight: MessagesInFlight::default(),
            retried: FxHashSet::default(),
            states: Vec::new(),
            users: Vec::new(),
            sample: Vec::new(),
            measured: 0,
            every: 1,
            faults: Vec::new(),
            ended: Span::ZERO,
        }
    }

    /// The figures until now.
    #[must_use]
    pub fn series(&self) -> Series {
        let counts = |count: Count| {
            let buckets = self.buckets.iter();
            buckets.map(move |bucket| bucket.counts[count as usize])
        };
        // The number at the end of each bucket, of those that came and have not gone.
        let level = |came: Count, gone: Count| {
            let changes = counts(came).zip(counts(gone));
            let mut level = 0_u64;
            changes
                .map(|(came, gone)| {
                    level = (level + came).saturating_sub(gone);
                    level
                })
                .collect()
        };
        Series {
            seed: self.seed,
            bucket_ms: milliseconds(self.length),
            ended_ms: milliseconds(self.ended),
            arrived: counts(Count::Arrived).collect(),
            present: level(Count::Arrived, Count::Left),
            in_line: level(Count::EnteredLine, Count::LeftLine),
            messages_offered: counts(Count::MessagesOffered).collect(),
            messages_accepted: counts(Count::MessagesAccepted).collect(),
            calls_offered: counts(Count::CallsOffered).collect(),
            calls_answered: counts(Count::CallsAnswered).collect(),
            refused: counts(Count::Refused).collect(),
            latency: self.buckets.iter().map(Bucket::latency).collect(),
            sample: self
                .sample
                .iter()
                .map(|(at, took)| (milliseconds(*at), milliseconds(*took)))
                .collect(),
            sampled_of: self.measured,
            users: self.users.clone(),
            users_left_out: (self.states.len() - self.users.len()) as u64,
            faults: self.faults.iter().map(|one| self.observed(one)).collect(),
        }
    }

    fn observed(&self, fault: &RecordedFault) -> ObservedFault {
        let until = fault.until.unwrap_or(self.ended).max(fault.at);
        ObservedFault {
            at_ms: milliseconds(fault.at),
            for_ms: milliseconds(Span(until.0 - fault.at.0)),
            kind: fault.kind.clone(),
            words: fault.words.clone(),
        }
    }

    fn begin_fault(&mut self, at: Time, kind: &str, words: String) {
        if self.faults.len() < FAULTS {
            self.faults.push(RecordedFault {
                at: at.since(START),
                until: None,
                kind: kind.to_owned(),
                words,
            });
        }
    }

    fn end_fault(&mut self, at: Time, kind: &str) {
        let mut open = self.faults.iter_mut().rev();
        if let Some(fault) = open.find(|fault| fault.kind == kind && fault.until.is_none()) {
            fault.until = Some(at.since(START));
        }
    }

    /// The bucket of this instant. Buckets get twice as long until there is one.
    fn bucket(&mut self, at: Span) -> &mut Bucket {
        let index = loop {
            match usize::try_from(at.0 / self.length.0) {
                Ok(index) if index < BUCKETS => break index,
                Ok(_) | Err(_) => self.double(),
            }
        };
        if self.buckets.len() <= index {
            self.buckets.resize_with(index + 1, Bucket::default);
        }
        &mut self.buckets[index]
    }

    fn double(&mut self) {
        self.length = self.length.times(2);
        let mut pairs = std::mem::take(&mut self.buckets).into_iter();
        while let Some(mut first) = pairs.next() {
            if let Some(second) = pairs.next() {
                first.add(second);
            }
            self.buckets.push(first);
        }
    }

    fn count(&mut self, at: Span, count: Count) {
        self.bucket(at).counts[count as usize] += 1;
    }

    fn state(&mut self, agent: Agent) -> &mut UserState {
        let index = agent.0 as usize;
        if index >= self.states.len() {
            self.states.resize(index + 1, UserState::default());
            let listed = self.states.len().min(USERS);
            self.users.resize_with(listed, UserRow::default);
        }
        &mut self.states[index]
    }

    fn row(&mut self, agent: Agent) -> Option<&mut UserRow> {
        self.users.get_mut(agent.0 as usize)
    }

    fn arrive(&mut self, record: &Record<'_>, at: Span) {
        let state = self.state(record.agent);
        if !state.has_arrived {
            *state = UserState {
                is_present: true,
                has_arrived: true,
                in_line: false,
            };
            self.count(at, Count::Arrived);
            if let Some(row) = self.row(record.agent) {
                row.arrived_ms = milliseconds(at);
                record.name.clone_into(&mut row.who.name);
            }
        }
        if let (Some(user), Some(row)) = (record.user, self.row(record.agent)) {
            row.who.user = Some(user).filter(|user| user.is_numbered());
        }
    }

    fn leave(&mut self, agent: Agent, at: Span) {
        if std::mem::take(&mut self.state(agent).is_present) {
            self.count(at, Count::Left);
            if let Some(row) = self.row(agent) {
                row.left_ms = Some(milliseconds(at));
            }
        }
    }

    fn line(&mut self, agent: Agent, at: Span, in_line: bool) {
        let was = std::mem::replace(&mut self.state(agent).in_line, in_line);
        match (was, in_line) {
            (false, true) => self.count(at, Count::EnteredLine),
            (true, false) => self.count(at, Count::LeftLine),
            (true, true) | (false, false) => {}
        }
    }

    fn called(&mut self, agent: Agent, op: &Op, intended: Span) {
        self.count(intended, Count::CallsOffered);
        if speaks(op) {
            self.count(intended, Count::MessagesOffered);
        }
        let Some(row) = self.row(agent) else { return };
        row.calls += 1;
    }

    fn answered(
        &mut self,
        (at, agent): (Span, Agent),
        call: CallId,
        intended: Span,
        outcome: &Outcome,
    ) {
        let is_retried = self.retried.remove(&(agent, call));
        self.count(at, Count::CallsAnswered);
        match outcome {
            Ok(Answer::Sent { room, room_seq, .. }) => {
                self.count(at, Count::MessagesAccepted);
                if let Some(row) = self.row(agent) {
                    row.sent += 1;
                }
                let half = Times::Sent(agent, START + intended);
                let took = self.in_flight.learn(*room, *room_seq, half);
                self.measure(at, took);
            }
            Ok(Answer::Waiting { .. }) => self.line(agent, at, true),
            Ok(Answer::Matched { .. } | Answer::LeftQueue { .. }) => self.line(agent, at, false),
            Ok(_) => {}
            // An earlier attempt of the call may have been accepted.
            Err(refusal) if refusal.is_retryable() && is_retried => {}
            Err(_) => {
                self.count(at, Count::Refused);
                if let Some(row) = self.row(agent) {
                    row.refused += 1;
                }
            }
        }
    }

    fn received(&mut self, at: Span, agent: Agent, saw: &InboxEvent<'_>) {
        match saw {
            InboxEvent::Message { room, room_seq, .. } => {
                if let Some(row) = self.row(agent) {
                    row.received += 1;
                }
                let half = Times::Seen(START + at);
                let took = self.in_flight.learn(*room, *room_seq, half);
                self.measure(at, took);
            }
            InboxEvent::Found { .. } => self.line(agent, at, false),
            InboxEvent::Gap { rooms, .. } => {
                let matched =
                    |lost: &sim_model::protocol::LostRange| lost.you == Some(Membership::Matched);
                if rooms.iter().any(matched) {
                    self.line(agent, at, false);
                }
            }
            InboxEvent::Stick { .. }
            | InboxEvent::Ended { .. }
            | InboxEvent::PartnerAway { .. }
            | InboxEvent::PartnerBack { .. }
            | InboxEvent::Member { .. }
            | InboxEvent::Moderation { .. } => {}
        }
    }

    /// Records the latency of a message, if it is known now.
    fn measure(&mut self, at: Span, learned: Option<Learned>) {
        let Some(took) = learned.map(|learned| Span(learned.took)) else {
            return;
        };
        let bucket = self.bucket(at);
        bucket.longest = bucket.longest.max(took.0);
        #[expect(
            clippy::expect_used,
            reason = "the bounds are constants that the histogram accepts"
        )]
        let histogram = bucket
            .latency
            .get_or_insert_with(|| Histogram::new_with_bounds(1, LARGEST, 2).expect("valid"));
        histogram.saturating_record(took.0);
        if self.measured.is_multiple_of(self.every) {
            self.sample.push((at, took));
        }
        self.measured += 1;
        if self.sample.len() > SAMPLE {
            let mut index = 0;
            self.sample.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.every *= 2;
        }
    }
}

impl Observer for SeriesRecorder {
    fn observe(&mut self, record: &Record<'_>) {
        let (at, agent) = (record.at.since(START), record.agent);
        self.ended = self.ended.max(at);
        self.arrive(record, at);
        match record.what {
            ClientEvent::Called { op, intended, .. } => {
                self.called(agent, op, intended.since(START));
            }
            ClientEvent::Answered {
                call,
                intended,
                outcome,
                ..
            } => self.answered((at, agent), call, intended.since(START), outcome),
            ClientEvent::Received {
                event, first: true, ..
            } => self.received(at, agent, event),
            ClientEvent::Retried {
                call,
                why: Retry::Silence | Retry::Dropped,
            } => {
                self.retried.insert((agent, call));
            }
            ClientEvent::Abandoned { call, .. } => {
                self.retried.remove(&(agent, call));
            }
            ClientEvent::Forgot { .. } => self.line(agent, at, false),
            ClientEvent::Vanished => {
                self.line(agent, at, false);
                self.leave(agent, at);
            }
            ClientEvent::Finished { .. } => self.leave(agent, at),
            ClientEvent::Received { .. }
            | ClientEvent::Retried { .. }
            | ClientEvent::AnsweredAgain { .. }
            | ClientEvent::StreamOpened
            | ClientEvent::StreamClosed
            | ClientEvent::Drained
            | ClientEvent::Stuck { .. } => {}
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        match *record {
            WorldRecord::Ended { at } => self.ended = self.ended.max(at.since(START)),
            WorldRecord::StartRefused { at, why } => {
                let words =
                    format!("the server is down until an operator brings a sound copy: {why}");
                self.begin_fault(at, START_REFUSED, words);
            }
            WorldRecord::Restarted { at } => self.end_fault(at, START_REFUSED),
            WorldRecord::FaultMade { at, name } => {
                self.begin_fault(at, name, "by the nemesis".to_owned());
            }
            WorldRecord::FaultMended { at, name } => self.end_fault(at, name),
            WorldRecord::Down { .. }
            | WorldRecord::Cluster { .. }
            | WorldRecord::ClockJumped { .. }
            | WorldRecord::DiskDamaged { .. }
            | WorldRecord::Operated { .. }
            | WorldRecord::Healed { .. }
            | WorldRecord::Sizes { .. } => {}
        }
    }
}

const fn speaks(op: &Op) -> bool {
    matches!(op, Op::Send { .. } | Op::Push { .. })
}

fn milliseconds(span: Span) -> f64 {
    span.0 as f64 / 1_000.0
}

#[cfg(test)]
mod tests;
