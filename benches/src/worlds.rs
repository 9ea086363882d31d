//! The virtual world, and the parsing of scenarios.

use chat_core::Span;
use sim_model::outcome::Progress;
use sim_model::plan::Plan;
use sim_scenario::parse;
use sim_search::seed::run_seed;

/// Two hundred agents that chat over a network with losses and duplicates.
const CHAT: &str = include_str!("../scenarios/chat.yaml");

/// Agents that chat in pairs, a message every 300 ms, over a network that only adds delay.
const PAIRS: &str = include_str!("../scenarios/pairs.yaml");

/// A scenario with most of the possible parts.
const TOUR: &str = include_str!("../../scenarios/crash_restart.yaml");

/// A seed without the additional twin run that one seed in sixteen has.
const SEED: u64 = 1;

/// The chat, for this many virtual seconds.
///
/// # Panics
/// If the scenario is invalid, which its test rules out.
pub fn chat(seconds: u64) -> Plan {
    let mut plan = parse("chat.yaml", CHAT).expect("the scenario is read by a test");
    plan.duration = Span::secs(seconds);
    plan
}

/// The chat in pairs, with this many users and virtual seconds.
///
/// # Panics
/// If the scenario is invalid, which its test rules out.
pub fn pairs(users: u32, seconds: u64) -> Plan {
    let arrivals = format!("arrival_count: {users}");
    let written = PAIRS.replace("arrival_count: 40", &arrivals);
    let mut plan = parse("pairs.yaml", &written).expect("the scenario is read by a test");
    plan.duration = Span::secs(seconds);
    plan
}

/// Runs a plan with all properties, and returns the number of received messages over all receivers.
pub fn delivered(plan: &Plan) -> u64 {
    let outcome = run_seed(plan, SEED, &Progress::default(), None);
    outcome.counts.delivered
}

/// Runs a plan with all properties, and returns its number of steps. Never inlined, because
/// instruction counters find it by name.
#[inline(never)]
pub fn run(plan: &Plan) -> u64 {
    run_seed(plan, SEED, &Progress::default(), None).ran.steps
}

/// Parses a scenario. Never inlined, as `run`.
///
/// # Panics
/// If it is invalid, which a test rules out.
#[inline(never)]
pub fn read() -> Plan {
    parse("crash_restart.yaml", TOUR).expect("a shipped scenario is read by a test")
}

#[cfg(test)]
mod tests {
    use super::{chat, delivered, pairs, read, run};

    #[test]
    fn the_world_runs_deterministically() {
        let plan = chat(1);
        let steps = run(&plan);
        assert!(steps > 1_000, "{steps}");
        assert_eq!(run(&plan), steps);
    }

    #[test]
    fn pairs_chat_and_each_message_arrives() {
        // Each sends a message every 300 ms, except while it waits for its match.
        let seen = delivered(&pairs(4, 30));
        assert!((300..=400).contains(&seen), "{seen}");
    }

    #[test]
    fn the_parsed_scenario_is_large() {
        assert!(!read().faults.is_empty());
    }
}
