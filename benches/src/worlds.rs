//! The virtual world, the reading of scenarios, and shrinking.

use chat_core::Span;
use sim::plan::Plan;
use sim::runner::Progress;
use sim::scenario::parse;
use sim::world;

/// Two hundred agents who talk over a network that loses and doubles.
const CHAT: &str = include_str!("../scenarios/chat.yaml");

/// A scenario with most of what may stand in one.
const TOUR: &str = include_str!("../../scenarios/crash_restart.yaml");

/// A seed that is not run twice at once, as one in sixteen is.
const SEED: u64 = 1;

/// The chat, for so long.
///
/// # Panics
/// When the scenario cannot be read, which its test rules out.
#[must_use]
pub fn chat(seconds: u64) -> Plan {
    let mut plan = parse("chat.yaml", CHAT).expect("the scenario is read by a test");
    plan.duration = Span::secs(seconds);
    plan
}

/// Runs a plan with all properties, and returns its steps. Never inlined: whatever counts
/// instructions knows by this name where to count.
#[inline(never)]
#[must_use]
pub fn run(plan: &Plan) -> u64 {
    world::run(plan, SEED, &Progress::default(), None).steps
}

/// Reads a scenario. Never inlined, as `run` is not.
///
/// # Panics
/// When it cannot be read, which a test rules out.
#[inline(never)]
#[must_use]
pub fn read() -> Plan {
    parse("crash_restart.yaml", TOUR).expect("a shipped scenario is read by a test")
}

#[cfg(test)]
mod tests {
    use super::{chat, read, run};

    #[test]
    fn the_world_runs_and_the_same_way_each_time() {
        let plan = chat(1);
        let steps = run(&plan);
        assert!(steps > 1_000, "{steps}");
        assert_eq!(run(&plan), steps);
    }

    #[test]
    fn the_scenario_that_is_read_is_a_large_one() {
        assert!(!read().faults.is_empty());
    }
}
