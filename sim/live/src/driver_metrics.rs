//! The driver's metrics of a live run: its own delay, latencies without the correction for it, and
//! the calls sent; and how busy its own threads were.

use chat_types::{Span, Time};

use super::clock::{Clock, Worked};
use sim_judge::RunJudge;
use sim_judge::metrics::distribution::Distribution;
use sim_judge::metrics::{CallCounts, Metrics};
use sim_model::history::{ClientEvent, Observer, Record, RunEvent};
use sim_model::outcome::{LiveNow, MetricResult, Requests, Starts};
use sim_model::point_counter::PointCounter;
use sim_model::protocol::OpKind;

/// An arrival that starts this much later than planned, in microseconds, counts as late.
const LATE: u64 = 10_000;

/// Receives every record, and every deadline of the driver.
pub(super) struct DriverMetrics<'o> {
    pub(super) judge: RunJudge,
    also: Option<&'o mut dyn Observer>,
    /// The points that clients can observe.
    pub(super) points: PointCounter,
    /// Metrics with calls measured from when they left.
    uncorrected: Metrics,
    /// The delays of the driver's actions, in microseconds.
    pub(super) delay: Distribution,
    pub(super) load: DriverLoad,
    pub(super) starts: Starts,
    pub(super) requests: Requests,
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
            delay: Distribution::default(),
            load: DriverLoad::new(now),
            starts: Starts::default(),
            requests: Requests::default(),
            latency: Distribution::default(),
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
        let all = self.judge.metrics.calls;
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

/// From this delay on, an action is late.
const LATE_ACTION: Span = Span::millis(5);

/// The least length of a window.
const WINDOW: Span = Span::millis(200);

/// From this share of a thread's time on, the thread is the bottleneck.
const BUSY: f64 = 0.8;

/// How busy the driver's own threads were while it was late.
///
/// Late actions alone do not show that the driver is the bottleneck: on a machine whose processors
/// are taken by others, the server's among them, a driver with little work is late as well. So the
/// processor time of the driver is measured, over the windows that have a late action.
#[derive(Clone, Copy, Debug)]
pub(super) struct DriverLoad {
    /// The beginning of the present window, and the processor time until then.
    began: (Time, Worked),
    is_late: bool,
    /// The length of all windows with a late action, and the processor time in them.
    late: Span,
    worked: Worked,
}

impl DriverLoad {
    /// No load yet. Called by the thread that owns the users, as `end_window` is.
    pub(super) fn new(now: Time) -> Self {
        Self {
            began: (now, Clock::worked()),
            is_late: false,
            late: Span::ZERO,
            worked: Worked::default(),
        }
    }

    /// Records the delay of an action.
    pub(super) fn record(&mut self, delay: Span) {
        self.is_late |= delay >= LATE_ACTION;
    }

    /// Ends the present window if it is long enough.
    pub(super) fn end_window(&mut self, now: Time) {
        let (began, _) = self.began;
        if now.since(began) >= WINDOW {
            self.end_window_with(now, Clock::worked());
        }
    }

    fn end_window_with(&mut self, now: Time, worked: Worked) {
        let (began, before) = self.began;
        if self.is_late {
            self.late = self.late + now.since(began);
            self.worked.all += worked.all.saturating_sub(before.all);
            self.worked.owner += worked.owner.saturating_sub(before.owner);
        }
        self.began = (now, worked);
        self.is_late = false;
    }

    /// The share of the time for which the busier of the owner and the other threads worked while
    /// the driver was late; 0 if it never was.
    pub(super) fn busy(&self, others: usize) -> f64 {
        let late = self.late.0 as f64 / 1e6;
        if late <= 0.0 {
            return 0.0;
        }
        let owner = self.worked.owner.as_secs_f64();
        let rest = self.worked.all.as_secs_f64() - owner;
        (owner / late).max(rest / late / others.max(1) as f64)
    }
}

/// The remark on a late driver: its own delay, beside the latency of requests that it is a part of,
/// and how busy it was.
pub(super) fn remark(delay: &MetricResult, request: &MetricResult, busy: f64) -> Option<String> {
    let [late, whole] = [delay, request].map(|metric| metric.p99.unwrap_or_default());
    if late * 1_000.0 < LATE_ACTION.0 as f64 {
        return None;
    }
    let figures = format!(
        "it was {late:.0}ms late itself (p99) of a request's {whole:.0}ms (p99), and worked {:.0}% \
         of that time",
        busy * 100.0
    );
    Some(if late * 2.0 < whole {
        format!("the driver was no bottleneck, but every latency includes its delay: {figures}")
    } else if busy >= BUSY {
        format!("the driver, not the server, was the bottleneck: {figures}")
    } else {
        format!("the driver waited for a processor of this machine: {figures}")
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn worked(all: u64, owner: u64) -> Worked {
        Worked {
            all: Duration::from_millis(all),
            owner: Duration::from_millis(owner),
        }
    }

    #[test]
    fn only_windows_with_a_late_action_count() {
        let mut load = DriverLoad {
            began: (Time(0), Worked::default()),
            is_late: false,
            late: Span::ZERO,
            worked: Worked::default(),
        };
        load.record(Span::millis(4));
        load.end_window_with(Time(1_000_000), worked(2_000, 1_000));
        assert_eq!(load.busy(1), 0.0);
        load.record(Span::millis(5));
        load.end_window_with(Time(2_000_000), worked(2_500, 1_100));
        assert!((load.busy(1) - 0.4).abs() < 1e-9, "{}", load.busy(1));
        assert!((load.busy(4) - 0.1).abs() < 1e-9, "{}", load.busy(4));
    }

    #[test]
    fn the_driver_is_the_bottleneck_only_where_it_was_busy_and_half_of_a_latency() {
        let of = |p99: f64| MetricResult {
            p99: Some(p99),
            ..MetricResult::default()
        };
        let told = |late: f64, whole: f64, busy: f64| remark(&of(late), &of(whole), busy);
        assert_eq!(told(4.9, 5.0, 1.0), None);
        assert_eq!(
            told(40.0, 60.0, 0.93).unwrap(),
            "the driver, not the server, was the bottleneck: it was 40ms late itself (p99) of a \
             request's 60ms (p99), and worked 93% of that time"
        );
        let waited = told(40.0, 60.0, 0.2).unwrap();
        assert!(
            waited.starts_with("the driver waited for a processor"),
            "{waited}"
        );
        let part = told(40.0, 90.0, 1.0).unwrap();
        assert!(part.starts_with("the driver was no bottleneck"), "{part}");
    }
}
