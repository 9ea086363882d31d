//! Draws a configuration from a seed: a variation of a scenario.
//!
//! Each seed switches a random subset of features off and others up. This finds more than enabling
//! everything equally: features that mask one another get runs of their own. (Groce, Zhang, Eide,
//! Chen, Regehr: "Swarm Testing", ISSTA 2012.) Limits are drawn so small that runs reach them, and
//! durations so short that races occur. One seed in sixteen runs the scenario in its own form.

mod dice;
mod environment;
mod everyday;
mod faults;
mod flows;
mod in_step;
mod limits;
mod rambler;
mod servers;
mod spelling;
mod steps;
mod texts;
mod theme;
mod users;
mod visits;

use chat_types::Span;

pub(super) use self::everyday::is_blank;
pub use self::everyday::{EVERYDAY, blank};

use self::dice::Dice;
use crate::workload::has_breaks;
use sim_model::plan::{Plan, Race, Schedule, Workload};

/// The largest number of users of a scenario that is explored in its own form.
const OWN_USERS: u32 = 120;

/// A drawn scenario.
#[derive(Clone, Debug)]
pub struct DrawnPlan {
    /// The scenario.
    pub plan: Plan,
    /// The drawn values, a few words each.
    pub drew: Vec<String>,
}

impl DrawnPlan {
    /// The drawn values on one line.
    #[must_use]
    pub fn drew(&self) -> String {
        self.drew.join(" · ")
    }
}

/// Draws a configuration, deterministically from plan and seed. Thresholds and expectations
/// are removed: they apply to the original plan only.
#[must_use]
pub fn vary(plan: &Plan, seed: u64) -> DrawnPlan {
    let mut dice = Dice::new(seed);
    let mut plan = Plan {
        thresholds: Vec::new(),
        expect_sometimes: Vec::new(),
        ..plan.clone()
    };
    schedule(&mut plan, &mut dice);
    if matches!(plan.workload, Workload::Steps { .. }) {
        dice.say("own steps");
        environment::network(&mut plan, &mut dice);
    } else if everyday::is_blank(&plan) {
        everyday::draw(&mut plan, &mut dice);
        // A theme with its own faults mostly keeps to those.
        let none_in = if plan.faults.is_empty() { 2 } else { 8 };
        faults::maybe(none_in, &mut plan, &mut dice);
    } else if dice.one_in(16) {
        dice.say("own form");
        users::cap_arrivals(&mut plan, OWN_USERS);
    } else {
        users::draw(&mut plan, &mut dice);
        limits::draw(&mut plan.server, &mut dice);
        // Otherwise nothing is drawn about them.
        if has_breaks(&plan) {
            limits::bosses(&mut plan.server, &mut dice);
        }
        flows::draw(&mut plan, &mut dice);
        environment::network(&mut plan, &mut dice);
        environment::draw(&mut plan, &mut dice);
        let arrivals = users::arrivals_end(&plan);
        plan.duration = arrivals + Span::secs(u64::from(dice.pick(&[2_u32, 4, 8])));
        faults::maybe(3, &mut plan, &mut dice);
        plan.liveness = plan.liveness.max(Span::secs(120));
    }
    // Drawn last, so that a seed with one server is as it was.
    if !matches!(plan.workload, Workload::Steps { .. }) {
        servers::draw(&mut plan, &mut dice);
    }
    DrawnPlan {
        plan,
        drew: dice.drew,
    }
}

fn schedule(plan: &mut Plan, dice: &mut Dice) {
    let depth = dice.between(1, 6);
    let (over, under) = dice.pick(&[(0, 1), (1, 20), (1, 6), (1, 2)]);
    let hug = dice::ratio(over, under);
    plan.schedule = if dice.coin() {
        dice.say(format!("race depth {depth} hug {hug}"));
        Schedule::Race(Race { depth, hug })
    } else {
        dice.say("plain");
        Schedule::Plain
    };
}
