//! Tests every interleaving of the tiny worlds, to a small depth: enough states are visited, all
//! properties hold, and the counts are deterministic.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use sim_model::outcome::{Searched, TinyWorld};
use sim_search::exhaust::{Options, search};

fn searched(world: TinyWorld, depth: u32, jobs: usize) -> Searched {
    let options = Options {
        users: 3,
        depth,
        faults: 1,
        jobs: NonZeroUsize::new(jobs).expect("some job"),
    };
    search(world, &options, &mut |_| ControlFlow::Continue(()))
}

/// The properties that both worlds exercise.
const BOTH: &str = "no_lost_messages no_duplicates room_order no_phantoms idempotent_requests \
                    durability bounded";

/// A world has many states, and each exercised property held, with checks.
fn assert_holds(world: TinyWorld, exercised: &str) {
    let found = searched(world, 4, 2);
    assert!(found.states > 500, "{} states", found.states);
    assert!(found.merged > 500, "{} merged", found.merged);
    let broken = found.counterexample.as_ref().map(|path| path.sentence());
    assert_eq!(broken, None, "{:#?}", found.counterexample);
    for name in BOTH.split(' ').chain(exercised.split(' ')) {
        let result = found.tally.properties().find(|(known, _)| *known == name);
        let (_, result) = result.expect("all safety properties are judged");
        assert_eq!(result.held, Some(true), "{name}");
        assert!(result.checks > 0, "{name} was never put to the test");
    }
}

#[test]
fn the_queue_holds_whatever_comes_between() {
    assert_holds(
        TinyWorld::Queue,
        "single_match fifo_matching room_lifecycle",
    );
}

#[test]
fn the_room_holds_whatever_comes_between() {
    assert_holds(TinyWorld::Room, "stick_exclusion stick_order");
}

#[test]
fn the_counts_are_the_same_with_any_number_of_jobs() {
    for &world in TinyWorld::ALL {
        let one = searched(world, 3, 1);
        let many = searched(world, 3, 3);
        let counts = |found: &Searched| {
            let checks = found.tally.properties();
            let checks = checks.map(|(name, result)| (name, result.checks));
            let steps = (found.transitions, found.merged, found.unchanged);
            (found.by_depth.clone(), steps, checks.collect::<Vec<_>>())
        };
        assert_eq!((one.states, counts(&one)), (many.states, counts(&many)));
        assert_eq!(one.by_depth.iter().sum::<u64>(), one.states);
        let led_somewhere = one.states - 1 + one.merged + one.unchanged;
        assert_eq!(one.transitions, led_somewhere, "each step is accounted for");
    }
}

#[test]
fn one_step_more_reaches_more() {
    let [near, far] = [2, 3].map(|depth| searched(TinyWorld::Queue, depth, 2));
    assert!(far.states > near.states);
    assert_eq!(far.by_depth[..3], near.by_depth[..]);
}
