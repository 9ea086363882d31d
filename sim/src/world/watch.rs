//! Everybody who is told what happens: the judges, the metrics, and whoever else looks on.

use chat_core::{Span, Time};
use sim_model::server::ServerRecord;

use crate::coverage::Coverage;
use crate::history::{Observer, Record, What, Wire, WorldRecord};
use crate::metrics::Metrics;
use crate::names::EVENTS;
use crate::plan::Plan;
use crate::sometimes::{Point, Sightings, Tally};
use sim_judge::{Judge, Judgement};

/// Told of every record. It changes nothing in the world.
pub(crate) struct Watch<'o> {
    pub(super) judge: Judge,
    pub(super) metrics: Metrics,
    pub(super) sightings: Sightings,
    /// Events that clients received, by the place of their type in `EVENTS`.
    pub(super) received: [u64; EVENTS.len()],
    pub(super) also: Option<&'o mut dyn Observer>,
}

impl<'o> Watch<'o> {
    pub(crate) fn new(plan: &Plan, also: Option<&'o mut (dyn Observer + '_)>) -> Self {
        Self::by(Judge::new(plan), plan, also)
    }

    /// A watch over a live server, of which no journal is known.
    pub(crate) fn live(plan: &Plan, also: Option<&'o mut (dyn Observer + '_)>) -> Self {
        Self::by(Judge::live(plan), plan, also)
    }

    fn by(judge: Judge, plan: &Plan, also: Option<&'o mut (dyn Observer + '_)>) -> Self {
        Self {
            judge,
            metrics: Metrics::new(plan),
            sightings: Sightings::new(),
            received: [0; EVENTS.len()],
            also: also.map(|observer| observer as &mut dyn Observer),
        }
    }

    pub(crate) fn reach(&mut self, point: Point) {
        self.sightings.tally_mut().reach(point);
    }

    /// What of the core's behaviour was reached, to count in it.
    pub(crate) fn coverage(&mut self) -> &mut Coverage {
        self.sightings.tally_mut().coverage_mut()
    }

    pub(crate) fn record_commit(&mut self, took: Span) {
        self.metrics.record_commit(took);
    }

    pub(crate) fn finish(mut self, now: Time) -> (Judgement, Metrics, Tally) {
        for (event, times) in EVENTS.iter().zip(self.received) {
            self.coverage().received(event, times);
        }
        (
            self.judge.finish(now),
            self.metrics,
            self.sightings.into_tally(),
        )
    }
}

impl Observer for Watch<'_> {
    fn observe(&mut self, record: &Record<'_>) {
        if let What::Received { saw, .. } = record.what {
            self.received[saw.number()] += 1;
        }
        self.judge.observe(record);
        self.metrics.observe(record);
        self.sightings.observe(record);
        self.also.observe(record);
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        self.judge.observe_world(record);
        self.metrics.observe_world(record);
        self.sightings.observe_world(record);
        self.also.observe_world(record);
    }

    fn observe_wire(&mut self, wire: &Wire<'_>) {
        self.also.observe_wire(wire);
    }

    fn observe_server(&mut self, record: &ServerRecord<'_>) {
        self.judge.observe_server(record);
        self.also.observe_server(record);
    }
}
