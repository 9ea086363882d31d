//! The observers of a run besides its judge.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Mutex;

use sim_judge::SeriesRecorder;
use sim_model::history::{Observer, Record, WorldRecord};
use sim_report::trace::TraceWriter;

use crate::report_server::lock;

pub(super) type TraceFile = TraceWriter<BufWriter<File>>;

/// The trace, and the figures for the report.
#[derive(Clone, Copy)]
pub(super) struct Observers<'a> {
    pub(super) trace: Option<&'a Mutex<TraceFile>>,
    pub(super) series: Option<&'a Mutex<SeriesRecorder>>,
}

impl Observers<'_> {
    pub(super) const fn is_empty(&self) -> bool {
        self.trace.is_none() && self.series.is_none()
    }

    fn each(&self, mut tell: impl FnMut(&mut dyn Observer)) {
        if let Some(trace) = self.trace {
            tell(&mut *lock(trace));
        }
        if let Some(series) = self.series {
            tell(&mut *lock(series));
        }
    }
}

impl Observer for Observers<'_> {
    fn observe(&mut self, record: &Record<'_>) {
        self.each(|observer| observer.observe(record));
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        self.each(|observer| observer.observe_world(record));
    }
}
