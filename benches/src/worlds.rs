//! The virtual world, the parsing of scenarios, and shrinking.

use chat_core::{RoomSeq, Span};
use sim_judge::SeedOutcome;
use sim_model::history::{ClientEvent, Observer, Record, RunEvent};
use sim_model::outcome::{Progress, Shrunk, Subject, Violation};
use sim_model::plan::Plan;
use sim_model::protocol::{Reply, Response};
use sim_scenario::parse;
use sim_search::seed::run_seed;
use sim_search::shrink::{FailedRun, ShrinkContext, shrink};

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

/// Shrinks a run of the shipped scenario to a second message in a room, which stands in for a
/// violation: the core has none to offer.
///
/// # Panics
/// If no room has a second message, which a test rules out.
pub fn shrink_one() -> Shrunk {
    let mut plan = read();
    // Long enough for a second message after a crash.
    plan.duration = Span::secs(6);
    plan.faults.retain(|fault| fault.at < Span::secs(6));
    let failure = FailedRun {
        plan: &plan,
        seed: SEED,
        property: PLANTED,
    };
    let means = ShrinkContext {
        run: &run_and_judge,
        time_left: &|| true,
        tell: &mut |_, _| {},
    };
    shrink(&failure, means).expect("somebody says a second thing")
}

/// The stand-in property of `shrink_one`.
const PLANTED: &str = "planted";

/// Finds a second message in a room, and forwards everything.
struct PlantedViolation<'o> {
    found: bool,
    also: Option<&'o mut dyn Observer>,
}

impl Observer for PlantedViolation<'_> {
    fn observe(&mut self, event: RunEvent<'_>) {
        self.found |= matches!(event, RunEvent::Client(Record { what: ClientEvent::Answered { op, outcome: Ok(Response::Done(Reply::Sent { room_seq: RoomSeq(5..), .. })), .. }, .. })
            if op.verb() == "send");
        self.also.observe(event);
    }
}

fn run_and_judge(
    plan: &Plan,
    seed: u64,
    progress: &Progress,
    also: Option<&mut (dyn Observer + '_)>,
) -> SeedOutcome {
    let mut planted = PlantedViolation {
        found: false,
        also: also.map(|observer| observer as &mut dyn Observer),
    };
    let mut outcome = run_seed(plan, seed, progress, Some(&mut planted));
    if planted.found {
        outcome.violations.push(Violation {
            property: PLANTED.to_owned(),
            at: Span(0),
            users: Vec::new(),
            detail: "It was seen.".to_owned(),
            seed,
            subject: Subject::default(),
        });
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::{chat, delivered, pairs, read, run, shrink_one};

    #[test]
    fn a_shrunk_scenario_is_small() {
        let shrunk = shrink_one();
        assert!(shrunk.after.users <= 3, "{:?}", shrunk.plan);
        assert!(shrunk.runs > 10);
    }

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
