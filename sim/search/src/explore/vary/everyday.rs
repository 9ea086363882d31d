//! Everyday flows, drawn as a whole: plausible sequences of actions.
//!
//! A persona makes a few visits, one after another: to a named room, to the line and a partner, or
//! for a break (`visits`), with its own names and texts (`texts`). Personas differ: in having one
//! stream, two or none, in reading with every step or rarely, in leaving a room and returning at
//! once.

use std::sync::Arc;

use chat_types::config::RateLimit;
use chat_types::{Config, Span};

use super::dice::{Dice, ratio};
use super::rambler::rambler;
use super::theme::{Line, Outline, Theme};
use super::{environment, faults, in_step, limits, users, visits};
use crate::workload::{flows_mut, has_breaks, plan_of};
use sim_model::draw::Ratio;
use sim_model::plan::{ClientProfile, Frequency, Habits, Naming, Persona, Plan, Reads, Workload};
use sim_model::protocol::ReadBy;

/// The name of the scenario that consists of drawn flows.
pub const EVERYDAY: &str = "everyday";

/// One of so many runs has a user that visits more rooms than a gap names.
const WANDERERS: u64 = 128;

/// The plan that flows are drawn into: it has no users, and defaults otherwise.
#[must_use]
pub fn blank() -> Plan {
    let (phases, personas) = (Vec::new(), Vec::new());
    Plan {
        name: EVERYDAY.to_owned(),
        about: "Everyday flows, drawn from the seed.".to_owned(),
        liveness: Span::secs(120),
        workload: Workload::Phases { phases, personas },
        // One of an odd number of users waits for a partner that never arrives.
        allow_stuck: ratio(1, 1),
        ..plan_of(Config::default())
    }
}

/// Whether the plan has no personas, so that its flows are drawn. Every scenario file has some.
pub(in crate::explore) fn is_blank(plan: &Plan) -> bool {
    matches!(&plan.workload, Workload::Phases { personas, .. } if personas.is_empty())
}

/// Draws users with their flows, the server's configuration and the network.
pub(super) fn draw(plan: &mut Plan, dice: &mut Dice) {
    let outline = Outline::draw(dice);
    let theme = outline.theme;
    let users = match theme {
        Theme::Anything | Theme::Rest => dice.pick(&[2, 2, 2, 3, 3, 4, 5, 6, 8]),
        Theme::Line(..) | Theme::Crowd => dice.between(3, 10),
        // So few users that several kinds of actions affect the same one.
        Theme::Barred(_) | Theme::Quiet => dice.pick(&[2, 2, 3, 3, 4]),
    };
    if dice.one_in(3) {
        dice.say("default server");
    } else {
        limits::draw(&mut plan.server, dice);
        limits::tighten(&mut plan.server, users, dice);
    }
    match theme {
        Theme::Anything | Theme::Barred(_) | Theme::Quiet => {}
        Theme::Line(Line::Absent, _) => limits::absent(&mut plan.server, dice),
        Theme::Line(..) => limits::line(&mut plan.server, dice),
        Theme::Crowd => {
            limits::crowd(&mut plan.server, dice);
            if dice.coin() {
                environment::few_addresses(plan, dice);
            }
        }
        Theme::Rest => {
            plan.faults = faults::of_breaks();
            limits::rest(&mut plan.server, dice);
        }
    }
    let within = dice.pick(&[Span::millis(1), Span::millis(300), Span::secs(1)]);
    troubles(outline, plan, dice);
    let phases = users::waves(users, within, dice);
    let kinds = dice.between(1, 3);
    let mut personas: Vec<_> = (0..kinds)
        .map(|kind| Arc::new(persona(kind, outline, &plan.server, dice)))
        .collect();
    if dice.one_in(3) {
        dice.say("rambler");
        if dice.coin() {
            personas.clear();
        }
        personas.push(Arc::new(rambler(outline.length, &plan.server, dice)));
    }
    plan.workload = Workload::Phases { phases, personas };
    if has_breaks(plan) {
        limits::bosses(&mut plan.server, dice);
    }
    if dice.coin() {
        dice.say("clean network");
        environment::snapshots(&mut plan.capacity, dice);
    } else {
        environment::network(plan, dice);
        environment::draw(plan, dice);
    }
    draw_journal(theme, plan, dice);
    draw_duration(outline, plan, dice);
    // Last, for it is rare and changes nothing else.
    if dice.one_in(WANDERERS) {
        wander(plan, dice);
    }
    if dice.one_in(6) {
        in_step::draw(plan, dice);
    }
}

/// Adds a user that visits many rooms while its small inbox drops what happens there. Each time it is
/// alone in its room, which disappears: the next one of this name is another.
fn wander(plan: &mut Plan, dice: &mut Dice) {
    dice.say("and one wanders through 300 rooms");
    let rates = RateLimit::rate(1_000, 1_000);
    let server = &mut plan.server;
    (server.rate_limit, server.address_rate_limit) = (rates, rates);
    server.inbox_limit = dice.between(2, 5);
    plan.duration = plan.duration.max(Span::secs(30));
    let wanderer = Persona {
        name: "wanderer".to_owned(),
        frequency: Frequency::Weight(2),
        habits: Habits::default(),
        stream: false,
        profile: ClientProfile::default(),
        flow: visits::wandering(server, dice).into(),
    };
    flows_mut(plan).1.push(Arc::new(wanderer));
}

/// Draws a journal that is slow, or that fails now and then.
fn draw_journal(theme: Theme, plan: &mut Plan, dice: &mut Dice) {
    if (theme.line().is_some() || theme == Theme::Rest) && dice.one_in(3) {
        environment::slow_journal(plan, dice);
    }
    if theme.is_barred() && dice.one_in(3) {
        // A stop lasts as long as the journal takes.
        dice.say("a stop when a banned address calls");
        environment::slow_journal(plan, dice);
        plan.faults.extend(faults::of_banned(dice));
    }
    // Delayed answers of breaks meet the journal 20 s later.
    let is_delayed = matches!(theme, Theme::Rest | Theme::Quiet);
    if dice.one_in(if is_delayed { 3 } else { 10 }) {
        environment::narrow_journal(plan, dice);
        plan.faults.extend(faults::of_journal(dice));
    }
}

/// Draws the duration: a notice of a wait needs more than ten seconds.
fn draw_duration(outline: Outline, plan: &mut Plan, dice: &mut Dice) {
    let is_quiet = outline.theme == Theme::Quiet;
    let spans: &[u32] = if is_quiet { &[30] } else { &[4, 10, 30] };
    let arrivals = users::arrivals_end(plan);
    let seconds = dice.pick(spans) * outline.length;
    plan.duration = arrivals + Span::secs(u64::from(seconds));
}

/// Additional faults of the theme: restarts, and repeated operators' actions.
fn troubles(outline: Outline, plan: &mut Plan, dice: &mut Dice) {
    let theme = outline.theme;
    let is_barred = theme.is_barred();
    let may_restart = theme.line().is_some() || theme == Theme::Crowd;
    if is_barred || may_restart && dice.coin() {
        dice.say("restarts");
        plan.faults.extend(faults::of_restarts(Span::millis(500)));
    }
    let bars = is_barred || theme == Theme::Quiet;
    if is_barred || dice.one_in(if bars { 2 } else { 6 }) {
        dice.say("busy operators");
        let verbs = match bars {
            true => faults::BARRING,
            false => faults::BUSY,
        };
        let acts = if outline.length > 1 { 36 } else { 12 };
        plan.faults.extend(faults::of_operators(acts, verbs, dice));
        limits::of_inboxes(&mut plan.server, dice);
    }
}

fn persona(kind: u32, outline: Outline, server: &Config, dice: &mut Dice) -> Persona {
    let theme = outline.theme;
    let mut persona = Persona {
        name: format!("person{kind}"),
        frequency: Frequency::Weight(dice.between(1, 3)),
        habits: Habits::default(),
        stream: theme.line() == Some(Line::Absent) || !dice.one_in(3),
        profile: ClientProfile::default(),
        flow: visits::some(outline, server, dice).into(),
    };
    if dice.one_in(3) {
        users::habits(&mut persona, dice);
    }
    let (name, habits, is_rest) = (&*persona.name, &mut persona.habits, theme == Theme::Rest);
    if dice.one_in(if theme.is_barred() { 2 } else { 6 }) {
        // After a ban, a client with stray calls also continues with its old handle.
        strong(name, ("stray", &mut habits.stray), 4, dice);
    }
    if is_rest && dice.coin() {
        // A client with parallel calls continues while the answer to a break is delayed.
        strong(name, ("parallel", &mut habits.parallel), 2, dice);
    }
    if is_rest && dice.one_in(3) {
        // A repeated break finds the first one delayed, answered, given up or lost.
        strong(name, ("impatient", &mut habits.impatient), 2, dice);
    }
    if theme == Theme::Anything && dice.one_in(12) {
        dice.say(format!("{}: types while it waits", persona.name));
        persona.flow = visits::typing_while_waiting(server, dice).into();
        persona.habits.parallel = ratio(1, 2);
    }
    profile(theme, &mut persona, dice);
    persona
}

/// Makes a habit strike each time, or one time in `under`.
fn strong(persona: &str, (name, habit): (&str, &mut Ratio), under: u32, dice: &mut Dice) {
    *habit = dice.pick(&[ratio(1, under), ratio(1, 1)]);
    dice.say(format!("{persona}: {name} {habit}"));
}

/// Draws how a persona reads, and its names. Reading by stream alone, or by two streams, needs a
/// stream.
fn profile(theme: Theme, persona: &mut Persona, dice: &mut Dice) {
    use Naming::{Alike, Given, Odd, Scripts, Unnamed};
    let names = dice.pick(&[Given, Given, Given, Scripts, Alike, Odd, Unnamed]);
    persona.profile.names = names;
    if theme.is_barred() && !dice.one_in(4) {
        // Such users take a name while they hold the stick.
        persona.profile.names = Unnamed;
    }
    if persona.profile.names == Odd && dice.coin() {
        persona.habits.parallel = ratio(1, 2);
    }
    let mut said = match persona.profile.names {
        Given => vec![],
        Scripts => vec!["names of all scripts"],
        Alike => vec!["names alike"],
        Odd => vec!["odd names and cursors"],
        Unnamed => vec!["the server's names"],
    };
    if persona.stream {
        said.push("a stream");
        if dice.one_in(3) {
            persona.profile.stream_by = ReadBy::ReaderId;
            said.push("by its reader id");
        }
        if dice.one_in(3) {
            persona.profile.reads = Reads::ByStream;
            said.push("and nothing else");
        }
        if dice.one_in(5) {
            persona.habits.second_stream = dice.pick(&[ratio(1, 3), ratio(1, 1)]);
            said.push("and a second");
        }
    } else {
        said.push("no stream");
    }
    dice.say(format!("{}: {}", persona.name, said.join(" ")));
}
