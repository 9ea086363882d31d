//! Draws the users, their arrivals and their habits.

use std::sync::Arc;

use chat_types::{Config, Span};

use super::dice::{Dice, ratio};
use super::rambler::rambler;
use crate::workload::flows_mut;
use sim_model::draw::Ratio;
use sim_model::plan::{
    ArrivalMode, Arrivals, Frequency, Habits, Persona, Phase, Plan, Reads, Workload,
};

/// The time within which all users arrive.
const WITHIN: [Span; 3] = [Span::millis(1), Span::millis(200), Span::secs(1)];

/// The number of users. Most races need two or three; a few need many.
const USERS: [u32; 10] = [2, 3, 4, 5, 6, 8, 10, 14, 20, 32];

/// Draws the users and their arrivals.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    let Workload::Phases { phases, personas } = &mut plan.workload else {
        return;
    };
    let users = dice.pick(&USERS);
    let within = dice.pick(&WITHIN);
    *phases = waves(users, within, dice);
    choose(personas, &plan.server, dice);
    for persona in personas {
        habits(Arc::make_mut(persona), dice);
    }
}

/// This number of users, and sometimes more of them later.
pub(super) fn waves(users: u32, within: Span, dice: &mut Dice) -> Vec<Phase> {
    let mut phases = vec![phase("first", within, counted(users))];
    dice.say(format!("{users} users in {within}"));
    if dice.one_in(3) {
        let later = dice.between(1, users.min(8));
        let pause = dice.pick(&[Span::millis(500), Span::secs(2)]);
        phases.push(phase("pause", pause, Arrivals::Pause));
        phases.push(phase("later", Span::millis(500), counted(later)));
        dice.say(format!("{later} more after {pause}"));
    }
    phases
}

/// This number of users, evenly spaced.
const fn counted(users: u32) -> Arrivals {
    Arrivals::Count {
        users,
        mode: ArrivalMode::Uniform,
    }
}

fn phase(name: &str, duration: Span, arrivals: Arrivals) -> Phase {
    Phase {
        name: name.to_owned(),
        duration,
        arrivals,
        max_users: None,
    }
}

/// Keeps some of the personas with other weights. Sometimes adds one that does anything.
fn choose(personas: &mut Vec<Arc<Persona>>, server: &Config, dice: &mut Dice) {
    let certain = dice.index(personas.len());
    let mut index = 0..;
    personas.retain(|_| index.next() == Some(certain) || dice.coin());
    for persona in &mut *personas {
        Arc::make_mut(persona).frequency = Frequency::Weight(dice.between(1, 5));
    }
    let taken = |persona: &Arc<Persona>| persona.name == "rambler";
    if dice.one_in(3) && !personas.iter().any(taken) {
        if dice.one_in(3) {
            personas.clear();
        }
        personas.push(Arc::new(rambler(1, server, dice)));
    }
    let names: Vec<&str> = personas.iter().map(|persona| &*persona.name).collect();
    dice.say(names.join(", "));
}

pub(super) fn habits(persona: &mut Persona, dice: &mut Dice) {
    let streams = persona.stream;
    if dice.one_in(5) {
        persona.stream = !persona.stream;
    }
    let fits = match persona.profile.reads {
        Reads::Exactly => true,
        Reads::ByStream => persona.stream,
        Reads::Knocked => !persona.stream,
    };
    if !fits {
        persona.profile.reads = Reads::Exactly;
    }
    if persona.stream != streams {
        let word = if persona.stream { "with" } else { "without" };
        dice.say(format!("{} {word} stream", persona.name));
    }
    if dice.coin() {
        persona.habits = Habits::default();
        return;
    }
    let habits = &mut persona.habits;
    let rows = [
        ("bare_check", &mut habits.bare_check, [2, 1]),
        ("forget_handle", &mut habits.forget_handle, [30, 8]),
        ("abandon", &mut habits.abandon, [10, 3]),
        ("impatient", &mut habits.impatient, [4, 1]),
        ("parallel", &mut habits.parallel, [10, 2]),
        ("no_key", &mut habits.no_key, [2, 1]),
        ("stray", &mut habits.stray, [8, 2]),
        ("address", &mut habits.address, [3, 1]),
    ];
    let mut words = Vec::new();
    for (name, habit, one_in) in rows {
        *habit = match dice.between(0, 4) {
            0 => *habit,
            1 => ratio(1, dice.pick(&one_in)),
            _ => Ratio::NEVER,
        };
        if habit.is_possible() {
            words.push(format!("{name} {habit}"));
        }
    }
    if !words.is_empty() {
        dice.say(format!("{}: {}", persona.name, words.join(" ")));
    }
}

/// The end of the last phase.
pub(super) fn arrivals_end(plan: &Plan) -> Span {
    let phases = plan.workload.phases().iter();
    phases.fold(Span::ZERO, |end, phase| end + phase.duration)
}

/// The number of users that arrive.
pub(super) fn arriving(plan: &Plan) -> u64 {
    plan.workload.phases().iter().map(Phase::users).sum()
}

/// Limits the number of arrivals to about `most`, by the same share in each phase.
pub(super) fn cap_arrivals(plan: &mut Plan, most: u32) {
    let all = arriving(plan);
    if all <= u64::from(most) {
        return;
    }
    for phase in flows_mut(plan).0 {
        let share = phase.users() * u64::from(most) / all;
        phase.max_users = Some(u32::try_from(share).unwrap_or(most).max(1));
    }
}
