//! Records the figures of a run over time.

use std::collections::BTreeMap;

use chat_types::{Span, Time};

use crate::metrics::{MICROS, Measurements, Metrics, Sample, is_met, speaks};
use sim_model::history::{ClientEvent, Observer, Record, RunEvent, WorldRecord};
use sim_model::outcome::{BucketFigures, Limit, ObservedFault, START, Series, Slow, UserRow};
use sim_model::plan::{Figure, Metric, Threshold};
use sim_model::protocol::{Agent, Body, InboxEvent, Membership, Op, Outcome, Reply, Response};
use sim_model::user_name::{UserName, is_numbered};

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

/// The longest latencies and waits of each metric that are listed.
const SLOWEST: usize = 20;

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
    measured: Measurements,
}

/// The state of one user, and its row in the list.
#[derive(Clone, Debug, Default)]
struct UserState {
    row: UserRow,
    in_line: bool,
    has_arrived: bool,
}

/// The observer.
#[derive(Clone, Debug, Default)]
pub struct SeriesRecorder {
    seed: u64,
    thresholds: Vec<Threshold>,
    length: Span,
    buckets: Vec<Bucket>,
    metrics: Metrics,
    /// Those of each metric that is sampled.
    slowest: [Vec<Sample>; Metric::ALL.len()],
    states: Vec<UserState>,
    sample: Vec<(Span, Span)>,
    measured: u64,
    every: u64,
    /// The faults, and whether each is over. Until then its length is not known.
    faults: Vec<(ObservedFault, bool)>,
    ended: Span,
}

impl Bucket {
    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts) {
            *mine += theirs;
        }
        self.measured.merge(&other.measured);
    }

    fn figures(&self, what: Metric) -> Option<BucketFigures> {
        let measured = self.measured.get(what)?.result(MICROS);
        Some(BucketFigures {
            count: measured.count,
            p50: measured.p50?,
            p95: measured.p95?,
            p99: measured.p99?,
            max: measured.max?,
        })
    }
}

impl SeriesRecorder {
    /// A recorder of the run of this seed, judged by these thresholds.
    #[must_use]
    pub fn new(seed: u64, thresholds: &[Threshold]) -> Self {
        Self {
            seed,
            thresholds: thresholds.to_vec(),
            length: SHORTEST,
            metrics: Metrics::sampled(),
            every: 1,
            ..Self::default()
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
            let levels = changes.scan(0_u64, |level, (came, gone)| {
                *level = (*level + came).saturating_sub(gone);
                Some(*level)
            });
            levels.collect()
        };
        let listed = self.states.iter().take(USERS);
        let sample = self.sample.iter();
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
            measured: self.measured(),
            slowest: self.slowest(),
            limits: self.limits(),
            sample: sample
                .map(|(at, took)| (milliseconds(*at), milliseconds(*took)))
                .collect(),
            sampled_of: self.measured,
            users: listed.map(|state| state.row.clone()).collect(),
            users_left_out: self.states.len().saturating_sub(USERS) as u64,
            faults: self.faults.iter().map(|one| self.observed(one)).collect(),
        }
    }

    /// Messages, and what a threshold limits.
    fn measured(&self) -> BTreeMap<&'static str, Vec<Option<BucketFigures>>> {
        let over_time = |what: &Metric| {
            let buckets = self.buckets.iter().map(|bucket| bucket.figures(*what));
            (what.name(), buckets.collect())
        };
        let limited = |what: &Metric| self.bounds().any(|one| one.metric == *what);
        let drawn = |what: &&Metric| **what == Metric::MessageLatency || limited(what);
        let sampled = self.sampled().map(|(what, _)| what);
        sampled.filter(drawn).map(over_time).collect()
    }

    fn slowest(&self) -> BTreeMap<&'static str, Vec<Slow>> {
        let who = |agent: Agent| Some(self.states.get(agent.0 as usize)?.row.who.clone());
        let slow = |sample: &Sample| Slow {
            user: who(sample.agent).unwrap_or_default(),
            recipient: sample.recipient.and_then(who),
            room: sample.room,
            since: sample.since.since(START),
            took: Span(sample.took),
            open: sample.open,
        };
        let all = self.sampled();
        all.map(|(what, samples)| (what.name(), samples.iter().map(slow).collect()))
            .collect()
    }

    /// The metrics that were sampled, each with its longest samples.
    fn sampled(&self) -> impl Iterator<Item = (&Metric, &Vec<Sample>)> {
        let all = Metric::ALL.iter().zip(&self.slowest);
        all.filter(|(_, samples)| !samples.is_empty())
    }

    /// The thresholds on lengths, over all users.
    fn bounds(&self) -> impl Iterator<Item = &Threshold> {
        self.thresholds.iter().filter(|one| {
            let figure = one.figure;
            one.persona.is_none()
                && matches!(figure, Figure::Percentile(_) | Figure::Max | Figure::Mean)
        })
    }

    fn limits(&self) -> Vec<Limit> {
        let limit = |threshold: &Threshold| {
            let what = threshold.metric;
            let is_crossed = |(index, bucket): (usize, &Bucket)| {
                let measured = bucket.measured.get(what)?;
                let value = measured.figure(threshold.figure, MICROS)?;
                (!is_met(value, threshold)).then_some(index)
            };
            let crossed = self.buckets.iter().enumerate().filter_map(is_crossed);
            Limit {
                metric: what.name(),
                expression: threshold.expression.clone(),
                bound_ms: threshold.bound,
                crossed: crossed.collect(),
            }
        };
        let is_measured = |one: &&Threshold| !self.slowest[one.metric as usize].is_empty();
        self.bounds().filter(is_measured).map(limit).collect()
    }

    fn observed(&self, (fault, is_over): &(ObservedFault, bool)) -> ObservedFault {
        let mut fault = fault.clone();
        if !is_over {
            fault.length = Span(self.ended.0.saturating_sub(fault.at.0));
        }
        fault
    }

    fn begin_fault(&mut self, at: Time, kind: &str, words: String) {
        if self.faults.len() < FAULTS {
            let fault = ObservedFault {
                at: at.since(START),
                length: Span::ZERO,
                kind: kind.to_owned(),
                words,
            };
            self.faults.push((fault, false));
        }
    }

    fn end_fault(&mut self, at: Time, kind: &str) {
        let mut open = self.faults.iter_mut().rev();
        if let Some((fault, is_over)) = open.find(|(fault, over)| fault.kind == kind && !over) {
            fault.length = at.since(START + fault.at);
            *is_over = true;
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
                first.add(&second);
            }
            self.buckets.push(first);
        }
    }

    fn count(&mut self, at: Span, count: Count) {
        self.bucket(at).counts[count as usize] += 1;
    }

    fn state(&mut self, agent: Agent) -> &mut UserState {
        agent.item_of(&mut self.states)
    }

    fn arrive(&mut self, record: &Record<'_>, at: Span) {
        let state = self.state(record.agent);
        if !state.has_arrived {
            state.has_arrived = true;
            state.row.who = UserName::new(None, record.name);
            state.row.arrived_ms = milliseconds(at);
            self.count(at, Count::Arrived);
        }
        if let Some(user) = record.user.filter(|user| is_numbered(*user)) {
            self.state(record.agent).row.who.user = Some(user);
        }
    }

    fn leave(&mut self, agent: Agent, at: Span) {
        let left_ms = &mut self.state(agent).row.left_ms;
        if left_ms.is_none() {
            *left_ms = Some(milliseconds(at));
            self.count(at, Count::Left);
        }
    }

    fn line(&mut self, agent: Agent, at: Span, in_line: bool) {
        let was = std::mem::replace(&mut self.state(agent).in_line, in_line);
        if was != in_line {
            let change = match in_line {
                true => Count::EnteredLine,
                false => Count::LeftLine,
            };
            self.count(at, change);
        }
    }

    fn called(&mut self, agent: Agent, op: &Op, intended: Span) {
        self.count(intended, Count::CallsOffered);
        if speaks(op) {
            self.count(intended, Count::MessagesOffered);
        }
        self.state(agent).row.calls += 1;
    }

    fn answered(&mut self, at: Span, agent: Agent, outcome: &Outcome) {
        self.count(at, Count::CallsAnswered);
        match outcome {
            Ok(Response::Done(Reply::Sent { .. })) => {
                self.count(at, Count::MessagesAccepted);
                self.state(agent).row.sent += 1;
            }
            Ok(Response::Done(Reply::Waiting { .. })) => self.line(agent, at, true),
            Ok(Response::Done(Reply::Matched { .. } | Reply::LeftQueue { .. })) => {
                self.line(agent, at, false)
            }
            Ok(_) | Err(_) => {}
        }
    }

    fn received(&mut self, at: Span, agent: Agent, saw: InboxEvent<'_>) {
        let is_matched = match saw {
            InboxEvent::Gap(gap) => {
                let mut rooms = gap.rooms.iter();
                rooms.any(|lost| lost.you == Some(Membership::Matched))
            }
            InboxEvent::Event(event) => matches!(event.body, Body::Found(_)),
        };
        if is_matched {
            self.line(agent, at, false);
        } else if let Some(Body::Message { .. }) = saw.body() {
            self.state(agent).row.received += 1;
        }
    }

    /// Records what the metrics measured meanwhile.
    fn measure(&mut self) {
        for sample in self.metrics.take_samples() {
            let (what, took) = (sample.what, Span(sample.took));
            let at = (sample.since + took).since(START);
            self.bucket(at).measured.of(what).record(sample.took);
            let slowest = &mut self.slowest[what as usize];
            let place = slowest.partition_point(|known| known.took >= sample.took);
            if place < SLOWEST {
                slowest.insert(place, sample);
                slowest.truncate(SLOWEST);
            }
            if what == Metric::MessageLatency {
                self.add_dot(at, took);
            }
        }
    }

    fn add_dot(&mut self, at: Span, took: Span) {
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
    fn observe(&mut self, event: RunEvent<'_>) {
        let refused = self.metrics.refused();
        if let RunEvent::Client(_) | RunEvent::World(..) = event {
            self.metrics.observe(event);
            self.measure();
        }
        if let RunEvent::Client(record) = event {
            self.record_client(record, refused);
        } else if let RunEvent::World(at, record) = event {
            self.record_world(at, record);
        }
    }
}

impl SeriesRecorder {
    /// The metrics, which had counted so many refusals before, have the record.
    fn record_client(&mut self, record: &Record<'_>, refused: u64) {
        let (at, agent) = (record.at.since(START), record.agent);
        self.ended = self.ended.max(at);
        self.arrive(record, at);
        if self.metrics.refused() > refused {
            self.count(at, Count::Refused);
            self.state(agent).row.refused += 1;
        }
        match record.what {
            ClientEvent::Called { op, intended, .. } => {
                self.called(agent, op, intended.since(START));
            }
            ClientEvent::Answered { outcome, .. } => self.answered(at, agent, outcome),
            ClientEvent::Received {
                event, first: true, ..
            } => self.received(at, agent, event),
            ClientEvent::Forgot { .. } => self.line(agent, at, false),
            ClientEvent::Vanished => {
                self.line(agent, at, false);
                self.leave(agent, at);
            }
            ClientEvent::Finished { .. } => self.leave(agent, at),
            ClientEvent::Received { .. }
            | ClientEvent::Retried { .. }
            | ClientEvent::Abandoned { .. }
            | ClientEvent::AnsweredAgain { .. }
            | ClientEvent::StreamOpened
            | ClientEvent::StreamClosed
            | ClientEvent::Drained
            | ClientEvent::Stuck { .. } => {}
        }
    }

    fn record_world(&mut self, at: Time, record: &WorldRecord<'_>) {
        match *record {
            WorldRecord::Ended => self.ended = self.ended.max(at.since(START)),
            WorldRecord::StartRefused { why } => {
                let words =
                    format!("the server is down until an operator brings a sound copy: {why}");
                self.begin_fault(at, START_REFUSED, words);
            }
            WorldRecord::Restarted => self.end_fault(at, START_REFUSED),
            WorldRecord::FaultMade { name } => {
                self.begin_fault(at, name, "by the nemesis".to_owned());
            }
            WorldRecord::FaultMended { name } => self.end_fault(at, name),
            WorldRecord::Down { .. }
            | WorldRecord::Cluster { .. }
            | WorldRecord::ClockJumped { .. }
            | WorldRecord::DiskDamaged { .. }
            | WorldRecord::Operated { .. }
            | WorldRecord::Healed
            | WorldRecord::Waker { .. }
            | WorldRecord::Sizes { .. } => {}
        }
    }
}

fn milliseconds(span: Span) -> f64 {
    span.0 as f64 / 1_000.0
}

#[cfg(test)]
mod tests;
