//! A run that can be copied while it goes on, for those who explore by splitting.

use chat_core::Position;

use super::abstraction::{Facet, FacetSet, deeds, facets, points};
use super::watch::Watch;
use super::{Phase, World};
use crate::draw::Actor;
use crate::engine::Splits;
use crate::metrics::Metrics;
use crate::plan::Plan;
use crate::recipe::Recipe;
use crate::runner::SeedOutcome;
use crate::sometimes::Point;

/// A run, and what of it was looked at.
struct Split<'a> {
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

/// Begins the run of a seed, as its plan's recipe has it.
#[must_use]
pub fn begin(plan: &Plan, seed: u64) -> Box<dyn Splits<'_, Metrics> + '_> {
    let mut world = World::new(plan, seed, Watch::new(plan, None), Actor::Swaps);
    world.begin();
    let looked = Looked {
        position: None,
        points: [0; Point::ALL.len()],
        deeds: Vec::new(),
        here: FacetSet::default(),
    };
    Box::new(Split { world, looked })
}

impl<'a> Splits<'a, Metrics> for Split<'a> {
    fn step(&mut self) -> bool {
        self.world.step();
        self.world.phase != Phase::Over
    }

    fn steps(&self) -> u64 {
        self.world.steps
    }

    fn recipe(&self) -> &Recipe {
        self.world.recipe()
    }

    /// What comes after the heal is looked at no more: nothing can go wrong there any longer.
    fn look(&mut self, entered: &mut Vec<Facet>) {
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

    fn branch(&self, branch: u32) -> Box<dyn Splits<'a, Metrics> + 'a> {
        Box::new(Split {
            world: self.world.branch(branch),
            looked: self.looked.clone(),
        })
    }

    fn finish(self: Box<Self>) -> SeedOutcome<Metrics> {
        self.world.outcome()
    }
}
