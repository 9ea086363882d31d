//! A run that can be copied while it is in progress, for exploring by splitting.

use std::cell::RefCell;
use std::rc::Rc;

use chat_core::Position;

use sim_model::draw::Actor;
use sim_model::history::Observer;
use sim_model::outcome::{Point, WorldOutcome};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use super::abstraction::{Facet, FacetSet, activity, facets, points};
use super::observers::{Observers, alone};
use super::{Phase, World};

/// A run that is stepped, and can be copied with its observer.
pub struct Split<'a, O> {
    pub(super) world: World<'a, 'static>,
    observer: Rc<RefCell<O>>,
    /// The state at the last look, with its points and the counts of the core's coverage.
    position: Option<Position>,
    points: [u64; Point::ALL.len()],
    activity: Vec<u64>,
    here: FacetSet,
}

impl<'a, O: Observer + Clone + 'static> Split<'a, O> {
    /// Starts the run of a seed, with its plan's recipe.
    #[must_use]
    pub fn begin(plan: &'a Plan, seed: u64, observer: O) -> Self {
        let observer = Rc::new(RefCell::new(observer));
        let observers = Observers::new(Some(observer.clone()));
        let mut world = World::new(plan, seed, observers, Actor::Swaps);
        world.begin();
        Self {
            world,
            observer,
            position: None,
            points: [0; Point::ALL.len()],
            activity: Vec::new(),
            here: FacetSet::default(),
        }
    }

    /// Takes the next step. Returns whether there are more.
    pub fn step(&mut self) -> bool {
        self.world.step();
        self.world.phase != Phase::Over
    }

    /// The number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.world.steps
    }

    /// The turns that the run took.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.world.random_key.recipe
    }

    /// Adds the facets that the state has entered since the last look. States after the heal are
    /// not looked at: no faults follow there.
    pub fn look(&mut self, entered: &mut Vec<Facet>) {
        if self.world.phase != Phase::Safety {
            return;
        }
        let node = self.world.server.node();
        let position = node.map(|node| node.hub().position());
        let tally = &self.world.observers.points.tally;
        if tally.points != self.points {
            points(&self.points, tally, entered);
            self.points = tally.points;
        }
        if position == self.position {
            return;
        }
        activity(&mut self.activity, tally, entered);
        self.position = position;
        let mut here = FacetSet::default();
        facets(&self.world, &mut here);
        let is_new = |facet: &&Facet| !self.here.has(**facet);
        entered.extend(here.iter().filter(is_new));
        self.here = here;
    }

    /// A copy of the run with new randomness from here on. Branch 0 continues like the original.
    #[must_use]
    pub fn branch(&self, branch: u32) -> Self {
        let observer = Rc::new(RefCell::new(self.observer.borrow().clone()));
        Self {
            world: self.world.branch(branch, observer.clone()),
            observer,
            position: self.position,
            points: self.points,
            activity: self.activity.clone(),
            here: self.here.clone(),
        }
    }

    /// The results of the run, which must be over, and its observer.
    #[must_use]
    pub fn finish(self) -> (WorldOutcome, O) {
        let ran = self.world.ran();
        (ran, alone(self.observer))
    }
}
