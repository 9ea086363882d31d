//! The search: breadth first, so that the first violation has a shortest path.
//!
//! A state is stored as its last action and its predecessor. To continue from it, its path is run
//! again from the beginning, which needs far less memory than storing worlds.

use std::ops::{ControlFlow, Range};

use rustc_hash::FxHashMap;

use super::tiny::Tiny;
use super::worlds::{actions, begin, plan};
use super::{Options, look};
use crate::panics::catch_panic;
use crate::runner::{Ended, in_order};
use sim_judge::Judgement;
use sim_model::outcome::{
    Action, Class, Interrupt, Judged, Progress, SearchProgress, Searched, TinyWorld,
};

/// The number of states that are expanded before their results are merged.
const BATCH: usize = 2_048;

/// The result of expanding one state.
#[derive(Debug, Default)]
struct Expansion {
    /// The successor states: the action, the key and the number of faults.
    children: Vec<(Action, u64, u8)>,
    /// The number of actions that changed nothing.
    unchanged: u64,
    tally: Judged,
    /// A violation after this last action; without an action, if the path itself shows it once it
    /// is drained.
    broken: Option<Option<Action>>,
}

/// Adds the judgement of a path to the tally. It has no thresholds.
fn tell(tally: &mut Judged, judgement: &Judgement) {
    let judged = judgement.properties.iter();
    for (name, result) in judged.filter(|(name, _)| Class::of(name) != Class::Threshold) {
        tally.add(name, result);
    }
}

/// Receives the progress, and decides whether to continue.
type Watch<'w> = &'w mut dyn FnMut(SearchProgress) -> ControlFlow<()>;

/// Searches one world, and reports progress now and then. The counts do not depend on the number of
/// threads.
#[must_use]
pub fn search(world: TinyWorld, options: &Options, watch: Watch<'_>) -> Searched {
    search_from(world, begin(world, &plan(), options.users), options, watch)
}

/// Searches a world from this state on.
pub(super) fn search_from(
    world: TinyWorld,
    root: Tiny,
    options: &Options,
    watch: Watch<'_>,
) -> Searched {
    let mut search = Search {
        world,
        options,
        links: Vec::new(),
        known: FxHashMap::default(),
        found: Searched {
            world,
            users: options.users,
            depth: options.depth,
            faults: options.faults,
            states: 1,
            by_depth: vec![1],
            ..Searched::default()
        },
        root,
    };
    let end = search.root.clone().finish();
    search.known.insert(search.root.key(&end), 0);
    let mut layer = vec![None];
    for depth in 0..options.depth {
        let next = search.go_on(depth, &layer, watch);
        if search.found.counterexample.is_some() || next.is_empty() {
            break;
        }
        search.found.by_depth.push(next.len() as u64);
        layer = next.map(Some).collect();
    }
    search.found
}

struct Search<'o> {
    world: TinyWorld,
    options: &'o Options,
    root: Tiny,
    /// Each state: its predecessor and its last action.
    links: Vec<(u32, Action)>,
    /// The keys of known states, each with its smallest number of faults.
    known: FxHashMap<u64, u8>,
    found: Searched,
}

impl Search<'_> {
    /// Expands all states of a depth, the first of which is none; returns the new ones.
    fn go_on(&mut self, depth: u32, states: &[Option<usize>], watch: Watch<'_>) -> Range<usize> {
        let first_new = self.links.len();
        for batch in states.chunks(BATCH) {
            let so_far = SearchProgress {
                world: self.world,
                depth,
                states: self.known.len() as u64,
            };
            if watch(so_far).is_break() {
                return first_new..first_new;
            }
            for (state, expansion) in batch.iter().zip(self.expand_all(depth, batch)) {
                self.merge(*state, expansion);
                if self.found.counterexample.is_some() {
                    return first_new..first_new;
                }
            }
        }
        first_new..self.links.len()
    }

    /// Expands each of these states, on all threads; the results are in the order of the states.
    fn expand_all(&self, depth: u32, states: &[Option<usize>]) -> Vec<Expansion> {
        let count = states.len() as u64;
        let expand = |index: u64, _: &Progress| {
            let index = usize::try_from(index).expect("it is below their number");
            self.expand(depth, states[index])
        };
        let mut all = Vec::new();
        let mut take = |_, ended: Ended<Expansion>| {
            all.push(ended.expect("an expansion catches what panics in it"));
            ControlFlow::Continue(())
        };
        let jobs = (self.options.jobs, &Interrupt::default());
        in_order(count, jobs, &expand, &mut take, &mut |_| {});
        all
    }

    fn expand(&self, depth: u32, state: Option<usize>) -> Expansion {
        // What is tried counts as broken until it is judged, so that a panic in it does.
        let mut expansion = Expansion {
            broken: Some(None),
            ..Expansion::default()
        };
        let _panicked = catch_panic(|| self.expand_state(depth, state, &mut expansion));
        expansion
    }

    fn expand_state(&self, depth: u32, state: Option<usize>, expansion: &mut Expansion) {
        let here = run(&self.root, &self.path(state));
        let end = here.clone().finish();
        if depth == 0 {
            tell(&mut expansion.tally, &end.judgement);
        }
        if !end.judgement.violations.is_empty() {
            return;
        }
        let before = here.key(&end);
        for action in actions(self.world, &here, self.options.faults) {
            expansion.broken = Some(Some(action));
            let mut there = here.clone();
            there.apply(action);
            let end = there.clone().finish();
            tell(&mut expansion.tally, &end.judgement);
            if !end.judgement.violations.is_empty() {
                return;
            }
            let key = there.key(&end);
            if key == before {
                expansion.unchanged += 1;
            } else {
                expansion.children.push((action, key, there.faults));
            }
        }
        expansion.broken = None;
    }

    /// Merges the result of one state, in the order of states.
    fn merge(&mut self, state: Option<usize>, expansion: Expansion) {
        let found = &mut self.found;
        found.transitions += expansion.unchanged + expansion.children.len() as u64;
        found.unchanged += expansion.unchanged;
        found.tally.merge(&expansion.tally);
        for (action, key, faults) in expansion.children {
            // The futures after more faults are included in those after fewer.
            let known = self.known.get(&key).is_some_and(|fewest| *fewest <= faults);
            if !known {
                self.known.insert(key, faults);
                let from = state.map_or(u32::MAX, |state| {
                    u32::try_from(state).expect("fewer states than fit into memory")
                });
                self.links.push((from, action));
            } else {
                found.merged += 1;
            }
        }
        found.states = self.known.len() as u64;
        if let Some(last) = expansion.broken {
            let mut path = self.path(state);
            path.extend(last);
            let found = look(&self.root, &path);
            self.found.tally.broken(&found);
            self.found.counterexample = Some(found);
        }
    }

    fn path(&self, state: Option<usize>) -> Vec<Action> {
        let mut path = Vec::new();
        let mut state = state;
        while let Some((from, action)) = state.and_then(|state| self.links.get(state)) {
            path.push(*action);
            state = usize::try_from(*from).ok();
        }
        path.reverse();
        path
    }
}

/// The world after these actions.
pub(super) fn run(root: &Tiny, path: &[Action]) -> Tiny {
    let mut tiny = root.clone();
    for action in path {
        tiny.apply(*action);
    }
    tiny
}
