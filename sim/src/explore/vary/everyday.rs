//! Everyday flows, drawn whole: what people do on any day, in an order that can work.
//!
//! A persona makes a few visits, one after another: to a named room, to the line and a partner, or
//! for a break. Each is written so that its steps can succeed when nothing goes wrong: nobody
//! speaks before it is in a room, or without the stick where that is needed. What is everyday
//! differs from person to person: a stream or none, a read with every step or none for long,
//! leaving a room and coming back to it at once.

use std::sync::Arc;

use chat_core::config::StickRule;
use chat_core::{Config, Span};

use super::dice::{Dice, table};
use super::{limits, people, surroundings};
use crate::draw::{Ratio, Shape};
use crate::names::PROPERTIES;
use crate::plan::{
    Arrivals, Choice, Grant, Habits, Manner, Persona, Phase, Plan, Schedule, Step, Text, Verb,
    Workload,
};
use crate::protocol::ReadBy;
use crate::recipe::Recipe;
use crate::scenario::{USUAL_CLIENT, usual_capacity, usual_network};

/// The name of the scenario that is nothing but drawn flows.
pub const EVERYDAY: &str = "everyday";

/// How long users wait for a partner or a stick before they give up. Where it takes longer, their
/// flow ends there.
const WITHIN: Span = Span::secs(20);

/// The plan that flows are drawn into: nobody comes, and all else is as by default.
#[must_use]
pub fn blank() -> Plan {
    Plan {
        name: EVERYDAY.to_owned(),
        about: "Everyday flows, drawn from the seed.".to_owned(),
        seed: 1,
        duration: Span::secs(30),
        liveness: Span::secs(120),
        server: Config::default(),
        capacity: usual_capacity(),
        client: USUAL_CLIENT,
        workload: Workload::Phases {
            phases: Vec::new(),
            personas: Vec::new(),
        },
        network: usual_network(),
        schedule: Schedule::Plain,
        recipe: Recipe::default(),
        faults: Vec::new(),
        properties: PROPERTIES.to_vec(),
        expect_sometimes: Vec::new(),
        thresholds: Vec::new(),
        // Of an odd number of users, one waits for a partner that never comes.
        allow_stuck: Ratio::new(1, 1).unwrap_or_default(),
    }
}

/// Whether flows are to be drawn into this plan. No scenario file is without personas.
pub(super) fn is_blank(plan: &Plan) -> bool {
    matches!(&plan.workload, Workload::Phases { personas, .. } if personas.is_empty())
}

/// Draws who comes and what they do, the server's configuration and the network.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    if dice.coin() {
        dice.say("default server");
    } else {
        limits::draw(&mut plan.server, dice);
    }
    let users = dice.pick(&[2, 2, 3, 3, 4, 6, 10]);
    let within = dice.pick(&[Span::millis(1), Span::millis(300), Span::secs(1)]);
    dice.say(format!("{users} users in {within}"));
    let phases = vec![Phase {
        name: "all".to_owned(),
        duration: within,
        arrivals: Arrivals::Count(users),
        max_users: None,
    }];
    let kinds = dice.between(1, 3);
    let personas = (0..kinds).map(|kind| Arc::new(persona(kind, &plan.server, dice)));
    plan.workload = Workload::Phases {
        phases,
        personas: personas.collect(),
    };
    if dice.coin() {
        dice.say("clean network");
    } else {
        surroundings::network(plan, dice);
        surroundings::draw(plan, dice);
    }
}

fn persona(kind: u32, server: &Config, dice: &mut Dice) -> Persona {
    let mut flow = Vec::new();
    for _ in 0..dice.between(1, 4) {
        let visit = match dice.between(0, 9) {
            0..=4 => room(server, dice),
            5..=7 => partner(server, dice),
            8 => line(server, dice),
            _ => vec![
                Step::Call(Verb::Break {
                    kind: None,
                    excuse: None,
                }),
                think(dice),
            ],
        };
        flow.extend(visit);
    }
    let mut persona = Persona {
        name: format!("person{kind}"),
        weight: dice.between(1, 3),
        habits: Habits::default(),
        stream: dice.coin(),
        manner: Manner::default(),
        flow: flow.into(),
    };
    dice.say(if persona.stream {
        "a stream"
    } else {
        "no stream"
    });
    if dice.one_in(3) {
        people::habits(&mut persona, dice);
    }
    persona
}

/// A visit to a named room, and at times another one to it at once.
fn room(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let name: Arc<str> = dice.pick(&["lobby", "lobby", "hall"]).into();
    let login = || {
        Step::Call(Verb::Login {
            room: Arc::clone(&name),
            rooms: 1,
            name: None,
        })
    };
    let mut steps = Vec::new();
    for _ in 0..dice.pick(&[1, 1, 2]) {
        steps.push(login());
        for _ in 0..dice.between(0, 3) {
            maybe_read(&mut steps, server, dice);
            match server.stick {
                StickRule::Required => turn(&mut steps, dice),
                StickRule::Optional if dice.one_in(3) => turn(&mut steps, dice),
                StickRule::Optional => steps.push(say(dice)),
            }
            pause(&mut steps, dice);
        }
        maybe_read(&mut steps, server, dice);
        if !dice.one_in(6) {
            steps.push(Step::Call(Verb::LeaveChat));
        }
    }
    steps
}

/// A turn with the stick: a draft, changed or thrown away at times, and at times a turn given up.
fn turn(steps: &mut Vec<Step>, dice: &mut Dice) {
    let append = |dice: &mut Dice| Step::Call(Verb::Append(text(dice)));
    if dice.one_in(4) {
        // A draft may begin before the stick comes.
        steps.push(append(dice));
    }
    steps.push(Step::Call(Verb::TalkingStick(grant(12, dice))));
    if dice.one_in(6) {
        steps.extend([think(dice), Step::Call(Verb::Reset(grant(2, dice)))]);
        return;
    }
    steps.push(Step::Await {
        event: "stick.granted",
        within: WITHIN,
    });
    steps.push(append(dice));
    if dice.one_in(3) {
        steps.push(append(dice));
    }
    if dice.one_in(4) {
        steps.extend([Step::Call(Verb::Undo(grant(2, dice))), append(dice)]);
    }
    if dice.one_in(4) {
        steps.push(think(dice));
    }
    steps.push(Step::Call(if dice.one_in(6) {
        Verb::Reset(grant(2, dice))
    } else {
        Verb::Push
    }));
}

/// The grant that a call names one time in so many: who was granted the stick before, and lost it,
/// names one that is over.
fn grant(one_in: u64, dice: &mut Dice) -> Grant {
    if dice.one_in(one_in) {
        Grant::Latest
    } else {
        Grant::Unnamed
    }
}

/// A partner from the line, a few words, and one of several ends.
fn partner(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let mut steps = vec![enter(dice)];
    steps.push(Step::Await {
        event: "chatroom.found",
        within: WITHIN,
    });
    for _ in 0..dice.between(0, 4) {
        steps.push(say(dice));
        maybe_read(&mut steps, server, dice);
        pause(&mut steps, dice);
        if dice.one_in(6) {
            steps.push(Step::Call(Verb::Typing));
        }
    }
    let end = match dice.between(0, 7) {
        0 => vec![Step::Call(Verb::Block)],
        1 => vec![
            Step::Call(Verb::Report {
                reason: "spam".into(),
            }),
            Step::Call(Verb::LeaveChat),
        ],
        // The next partner is asked for while this one is still there: refused, or in line.
        2 => vec![think(dice)],
        _ => vec![Step::Call(Verb::LeaveChat)],
    };
    steps.extend(end);
    steps
}

/// A wait in line that is given up.
fn line(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let mut steps = vec![enter(dice), think(dice)];
    maybe_read(&mut steps, server, dice);
    let leave = |verb| Choice {
        weight: 1,
        steps: [Step::Call(verb)].into(),
    };
    // Who was matched meanwhile leaves the chat.
    steps.push(Step::Choose(
        [leave(Verb::LeaveQueue), leave(Verb::LeaveChat)].into(),
    ));
    steps
}

fn enter(dice: &mut Dice) -> Step {
    let interests: &[Arc<str>] = match dice.between(0, 3) {
        0 => &["chess".into()],
        1 => &["chess".into(), "rust".into()],
        _ => &[],
    };
    Step::Call(Verb::EnterQueue {
        name: None,
        user_id: None,
        interests: interests.into(),
    })
}

fn say(dice: &mut Dice) -> Step {
    Step::Call(Verb::Send(text(dice)))
}

fn text(dice: &mut Dice) -> Text {
    if dice.one_in(4) {
        Text::Words("hello".into())
    } else {
        Text::Length(table(Shape::Uniform(1, 20)))
    }
}

fn think(dice: &mut Dice) -> Step {
    let most = dice.pick(&[20, 300, 1_500]);
    Step::Think(table(Shape::Uniform(0, Span::millis(most).0)))
}

fn maybe_read(steps: &mut Vec<Step>, server: &Config, dice: &mut Dice) {
    if dice.coin() {
        let wait = dice.pick(&[Span::ZERO, Span::ZERO, Span::millis(500)]);
        let wait = wait.min(server.max_wait);
        steps.push(Step::Call(Verb::Check {
            wait,
            by: ReadBy::Handle,
        }));
    }
}

/// A while without a call, or without any connection.
fn pause(steps: &mut Vec<Step>, dice: &mut Dice) {
    match dice.between(0, 7) {
        0 => {
            let away = dice.pick(&[Span::millis(100), Span::millis(800), Span::secs(3)]);
            steps.push(Step::Disconnect(Some(away)));
        }
        1..=3 => steps.push(think(dice)),
        _ => {}
    }
}
