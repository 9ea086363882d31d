//! The receivers of a world's records: the tally of points, and an observer.

use std::cell::RefCell;
use std::rc::Rc;

use chat_types::Span;
use sim_model::history::{Observer, Record, Wire, WorldRecord};
use sim_model::outcome::{Coverage, Point, Tally};
use sim_model::server::ServerRecord;
use sim_model::sightings::Sightings;

/// A shared observer of a run. Its owner can read it after the run, or copy it when the run is
/// copied.
pub type SharedObserver<'o> = Rc<RefCell<dyn Observer + 'o>>;

/// Receives every record. It does not change the world.
pub(crate) struct Observers<'o> {
    pub(super) sightings: Sightings,
    observer: Option<SharedObserver<'o>>,
}

impl<'o> Observers<'o> {
    pub(crate) fn new(observer: Option<SharedObserver<'o>>) -> Self {
        Self {
            sightings: Sightings::new(),
            observer,
        }
    }

    /// A copy that continues from here with another observer.
    pub(super) fn with<'n>(&self, observer: Option<SharedObserver<'n>>) -> Observers<'n> {
        Observers {
            sightings: self.sightings.clone(),
            observer,
        }
    }

    pub(crate) fn reach(&mut self, point: Point) {
        self.sightings.tally_mut().reach(point);
    }

    /// The coverage of the core's behaviour, for counting.
    pub(crate) fn coverage(&mut self) -> &mut Coverage {
        self.sightings.tally_mut().coverage_mut()
    }

    /// The tally of the whole run.
    pub(crate) fn finish(self) -> Tally {
        self.sightings.into_tally()
    }
}

impl Observer for Observers<'_> {
    fn observe(&mut self, record: &Record<'_>) {
        self.sightings.observe(record);
        if let Some(observer) = &self.observer {
            observer.borrow_mut().observe(record);
        }
    }

    fn observe_world(&mut self, record: &WorldRecord<'_>) {
        self.sightings.observe_world(record);
        if let Some(observer) = &self.observer {
            observer.borrow_mut().observe_world(record);
        }
    }

    fn observe_wire(&mut self, wire: &Wire<'_>) {
        if let Some(observer) = &self.observer {
            observer.borrow_mut().observe_wire(wire);
        }
    }

    fn observe_server(&mut self, record: &ServerRecord<'_>) {
        if let Some(observer) = &self.observer {
            observer.borrow_mut().observe_server(record);
        }
    }

    fn observe_commit(&mut self, took: Span) {
        if let Some(observer) = &self.observer {
            observer.borrow_mut().observe_commit(took);
        }
    }
}
