//! The receivers of a world's records: the tally of points, and an observer.

use std::cell::RefCell;
use std::rc::Rc;

use sim_model::history::{Observer, RunEvent};
use sim_model::outcome::Point;
use sim_model::point_counter::PointCounter;
use sim_model::server::ServerRecord;

/// A shared observer of a run. Its owner can read it after the run, or copy it when the run is
/// copied.
pub(crate) type SharedObserver<'o> = Rc<RefCell<dyn Observer + 'o>>;

/// The observer of a world that was dropped.
pub(crate) fn alone<O>(observer: Rc<RefCell<O>>) -> O {
    let observer = Rc::into_inner(observer);
    let observer = observer.expect("a world that is over has let its observer go");
    observer.into_inner()
}

/// Receives every record. It does not change the world.
#[derive(Clone)]
pub(crate) struct Observers<'o> {
    pub(super) points: PointCounter,
    pub(super) observer: Option<SharedObserver<'o>>,
    /// Whether the observer uses records of traffic.
    pub(super) sees_traffic: bool,
    /// Whether the process of the server is suspended. What happens at its border meanwhile comes
    /// with the news that its deadlines cannot be met.
    pub(super) is_paused: bool,
}

impl<'o> Observers<'o> {
    pub(crate) fn new(observer: Option<SharedObserver<'o>>) -> Self {
        let traffic = observer.as_ref().map(|it| it.borrow().sees_traffic());
        Self {
            points: PointCounter::default(),
            observer,
            sees_traffic: traffic.unwrap_or_default(),
            is_paused: false,
        }
    }

    pub(crate) fn reach(&mut self, point: Point) {
        self.points.tally.reach(point);
    }
}

impl Observer for Observers<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        let mut observer = self.observer.as_ref().map(|it| it.borrow_mut());
        if let RunEvent::Server(at, _) = event {
            if let Some(observer) = observer.as_mut().filter(|_| self.is_paused) {
                observer.observe_server(at, &ServerRecord::Excused);
            }
        } else {
            self.points.observe(event);
        }
        if let Some(observer) = &mut observer {
            observer.observe(event);
        }
    }
}
