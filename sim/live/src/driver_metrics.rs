//! The driver's metrics of a live run: its own delay, latencies without the correction for it, and
//! the calls sent.

use chat_types::{Span, Time};
use sim_model::outcome::Tally;
use sim_model::point_counter::PointCounter;

use super::driver_load::DriverLoad;
use sim_judge::RunJudge;
use sim_judge::metrics::Metrics;
use sim_judge::metrics::distribution::Distribution;
use sim_judge::metrics::throughput::{CallCounts, Throughput};
use sim_model::history::{ClientEvent, Observer, Record, RunEvent};
use sim_model::outcome::{LiveNow, MetricResult, Requests, Starts};
use sim_model::protocol::OpKind;

/// An arrival that starts this much later than planned, in microseconds, counts as late.
const LATE: u64 = 10_000;

/// Receives every record, and every deadline of the driver.
pub(super) struct DriverMetrics<'o> {
    judge: RunJudge,
    also: Option<&'o mut dyn Observer>,
    /// The points that clients can observe.
    points: PointCounter,
    /// Metrics with calls measured from when they left.
    uncorrected: Metrics,
    /// The delays of the driver's actions.
    delay: Distribution,
    pub(super) load: DriverLoad,
    pub(super) starts: Starts,
    pub(super) requests: Requests,
    /// The number of calls that were intended, and that were answered.
    pub(super) throughput: Throughput,
    /// Latencies from the intended start to the answer, of calls that do not wait.
    latency: Distribution,
    /// The last update of the progress, and the calls until then.
    last_progress: (Time, CallCounts),
}

/// The time between two updates of the progress.
const TELL_EVERY: Span = Span::millis(200);

impl<'o> DriverMetrics<'o> {
    pub(super) fn new(judge: RunJudge, also: Option<&'o mut dyn Observer>, now: Time) -> Self {
        Self {
            judge,
            also,
            points: PointCounter::default(),
            uncorrected: Metrics::default(),
            delay: Distribution::new(),
            load: DriverLoad::new(now),
            starts: Starts::default(),
            requests: Requests::default(),
            throughput: Throughput::default(),
            latency: Distribution::new(),
            last_progress: (Time(0), CallCounts::default()),
        }
    }

    /// The content of the live line, if an update is due.
    pub(super) fn progress(&mut self, now: Time) -> Option<LiveNow> {
        let (before, calls) = self.last_progress;
        let passed = now.since(before);
        if passed < TELL_EVERY {
            return None;
        }
        let all = self.throughput.calls();
        self.last_progress = (now, all);
        let each_second = |n: u64| n * 1_000_000 / passed.0.max(1);
        Some(LiveNow {
            offered: each_second(all.offered - calls.offered),
            answered: each_second(all.answered - calls.answered),
            p99_us: self.latency.percentile(99.0),
            failed: self.requests.failed,
        })
    }

    /// Records that an action due at `due` happens now.
    pub(super) fn record_delay(&mut self, due: Time, now: Time) {
        let delay = now.since(due);
        self.delay.record(delay.0);
        self.load.record(delay);
    }

    /// Records that an arrival planned at `due` starts now.
    pub(super) fn record_start(&mut self, due: Time, now: Time) {
        self.starts.started += 1;
        self.starts.late += u64::from(now.since(due).0 > LATE);
    }

    /// The driver's delay, in milliseconds.
    pub(super) fn delay(&self) -> MetricResult {
        self.delay.result(1_000.0)
    }

    /// A copy of the judge, which continues from here.
    pub(super) fn judge(&self) -> RunJudge {
        self.judge.clone()
    }

    /// The judge of the run, and the points reached.
    pub(super) fn finish(self) -> (RunJudge, Tally) {
        (self.judge, self.points.into_tally())
    }

    /// A metric with calls measured from when they left.
    pub(super) fn uncorrected(&self, name: &str) -> MetricResult {
        let (mut all, _) = self.uncorrected.results();
        all.remove(name).unwrap_or_default()
    }
}

impl Observer for DriverMetrics<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        self.points.observe(event);
        self.judge.observe(event);
        self.also.observe(event);
        self.throughput.observe(event);
        let RunEvent::Client(record) = event else {
            return;
        };
        let mut what = record.what;
        if let ClientEvent::Called { intended, .. } = &mut what {
            *intended = record.at;
        } else if let ClientEvent::Answered {
            op,
            called_at,
            intended,
            ..
        } = &mut what
        {
            if !matches!(op.kind(), OpKind::Check | OpKind::Break) {
                self.latency.record(record.at.since(*intended).0);
            }
            *intended = *called_at;
        } else if !matches!(what, ClientEvent::Received { .. }) {
            // No latency depends on these.
            return;
        }
        let uncorrected = Record { what, ..*record };
        self.uncorrected.observe(RunEvent::Client(&uncorrected));
    }
}
