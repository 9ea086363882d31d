//! Runs in step: every time is a multiple of one grain, and nothing else takes time. So deadlines
//! and calls meet at one instant, where `<` and `<=` differ.

use std::sync::Arc;

use chat_types::Span;

use super::dice::{Dice, table};
use super::steps::changed;
use super::users::arrivals_end;
use crate::workload::flows_mut;
use sim_model::draw::Shape;
use sim_model::plan::{Arrivals, Plan, Step, Verb};

/// The grain of all times.
const GRAIN: Span = Span::millis(500);

/// Lets everything in the plan happen in step.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    dice.say(format!("in steps of {GRAIN}"));
    let at_once = table(Shape::Fixed(0));
    plan.network.latency = Arc::clone(&at_once);
    plan.capacity.service = Arc::clone(&at_once);
    plan.capacity.commit = at_once;
    plan.client.timeout = whole(plan.client.timeout);
    plan.client.max = whole(plan.client.max);
    let server = &mut plan.server;
    for time in [
        &mut server.interest_patience,
        &mut server.idle_timeout,
        &mut server.queue_timeout,
        &mut server.unused_timeout,
        &mut server.reconnect_grace,
        &mut server.forget_after,
        &mut server.stick_lease,
        &mut server.max_wait,
    ] {
        *time = whole(*time);
    }
    let ended = arrivals_end(plan);
    let (phases, personas) = flows_mut(plan);
    for phase in phases {
        // One user arrives in each grain, in its middle.
        phase.duration = match phase.arrivals {
            Arrivals::Count { users, .. } => GRAIN.times(users.into()),
            Arrivals::Pause | Arrivals::Rate { .. } => whole(phase.duration),
        };
    }
    for persona in personas {
        let persona = Arc::make_mut(persona);
        persona.flow = changed(&persona.flow, &mut |own| Some(step(own.clone(), dice)));
    }
    // Arrivals take longer or shorter now, and the time after them is as drawn.
    plan.duration = arrivals_end(plan) + (plan.duration - ended);
}

/// The time, rounded up to whole grains.
fn whole(time: Span) -> Span {
    GRAIN.times(time.0.div_ceil(GRAIN.0))
}

fn step(mut step: Step, dice: &mut Dice) -> Step {
    if let Step::Think(length) = &mut step {
        let grains = dice.pick(&[0, 1, 1, 2, 4, 20]);
        *length = table(Shape::Fixed(GRAIN.times(grains).0));
    } else if let Step::Call(Verb::Check { wait: time, .. }) | Step::Disconnect(Some(time)) =
        &mut step
    {
        *time = whole(*time);
    }
    step
}

#[cfg(test)]
mod tests {
    use sim_scenario::parse;

    use super::*;

    #[test]
    fn everything_takes_whole_grains() {
        let mut plan = parse(
            "in_step.yaml",
            "name: in_step\nduration: 20s\nserver: { stick_lease: 700ms, idle_timeout: 100ms }\n\
             phases: [{ duration: 1ms, arrival_count: 3 }, { pause: 200ms }]\n\
             scenarios: [{ name: guest, flow: [login, { think: 30ms }, { check: { wait: 1200ms } },\n\
             { loop: { count: 2, steps: [{ think: 1s }, { disconnect: { for: 10ms } }] } }] }]\n",
        )
        .unwrap();
        draw(&mut plan, &mut Dice::new(1));
        let server = &plan.server;
        assert_eq!(
            (server.stick_lease, server.idle_timeout),
            (Span::secs(1), GRAIN)
        );
        assert_eq!(plan.network.latency.at(u64::MAX), 0);
        let phases = plan.workload.phases().iter();
        let durations: Vec<_> = phases.map(|phase| phase.duration).collect();
        assert_eq!(durations, [Span::millis(1_500), GRAIN]);
        let flow = format!("{:?}", plan.workload.personas()[0].flow);
        assert!(
            flow.contains("wait: 1500ms") || flow.contains("Span(1500000)"),
            "{flow}"
        );
        assert!(
            flow.contains("Disconnect(Some(500ms))") || flow.contains("Span(500000)"),
            "{flow}"
        );
    }
}
