//! A run that can be copied while it goes on, for those who explore by splitting.

use chat_core::Position;

use sim_model::draw::Actor;
use sim_model::outcome::{Point, Ran};
use sim_model::plan::Plan;
use sim_model::recipe::Recipe;

use super::abstraction::{Facet, FacetSet, deeds, facets, points};
use super::watch::{Onlooker, Watch};
use super::{Phase, World};

/// A run that is taken step by step, and copied while it goes on.
pub struct Split<'a> {
    world: World<'a, 'static>,
    looked: Looked,
}

/// What was there at the last look.
#[derive(Clone)]
struct Looked {
    position: Option<Position>,
    points: [u64; Point::ALL.len()],
    /// How often the core did what is counted in coverage.
    deeds: Vec<u64>,
    here: FacetSet,
}

impl<'a> Split<'a> {
    /// Begins the run of a seed, as its plan's recipe has it.
    #[must_use]
    pub fn begin(plan: &'a Plan, seed: u64, observer: Option<Onlooker<'static>>) -> Self {
        let mut world = World::new(plan, seed, Watch::new(observer), Actor::Swaps);
        world.begin();
        let looked = Looked {
            position: None,
            points: [0; Point::ALL.len()],
            deeds: Vec::new(),
            here: FacetSet::default(),
        };
        Self { world, looked }
    }

    /// Takes the next step. Whether there are more.
    pub fn step(&mut self) -> bool {
        self.world.step();
        self.world.phase != Phase::Over
    }

    /// How many steps were taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.world.steps
    }

    /// Where the run left the history of its seed.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        self.world.recipe()
    }

    /// Adds the facets that the state entered since the last look. What comes after the heal is
    /// looked at no more: nothing can go wrong there any longer.
    pub fn look(&mut self, entered: &mut Vec<Facet>) {
        if self.world.phase != Phase::Safety {
            return;
        }
        let node = self.world.server.node.as_ref();
        let position = node.map(|node| node.hub().position());
        let tally = self.world.watch.sightings.tally();
        if *tally.points() != self.looked.points {
            points(&self.looked.points, tally, entered);
            self.looked.points = *tally.points();
        }
        if position == self.looked.position {
            return;
        }
        deeds(&mut self.looked.deeds, tally, entered);
        self.looked.position = position;
        let mut here = FacetSet::default();
        facets(&self.world, &mut here);
        let is_new = |facet: &&Facet| !self.looked.here.has(**facet);
        entered.extend(here.iter().filter(is_new));
        self.looked.here = here;
    }

    /// A copy of the run in which chance is drawn anew from here; of branch 0, one that goes on like
    /// this one. `observer` observes it from here.
    #[must_use]
    pub fn branch(&self, branch: u32, observer: Option<Onlooker<'static>>) -> Self {
        Self {
            world: self.world.branch(branch, observer),
            looked: self.looked.clone(),
        }
    }

    /// What the run was. It must be over.
    #[must_use]
    pub fn finish(self) -> Ran {
        self.world.ran()
    }
}
