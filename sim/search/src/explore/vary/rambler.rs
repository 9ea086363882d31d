//! The rambler: a persona that does anything in any order, to find races that no flow was written
//! for.

use chat_types::{Config, Span};

use super::dice::{Dice, table};
use super::steps::{check, enter, history, login, pause, plain, repeat};
use super::texts;
use sim_model::draw::Shape;
use sim_model::plan::{
    Alphabet, Choice, ClientProfile, Frequency, Grant, Habits, Naming, Persona, Reads, Step, Text,
    Verb,
};
use sim_model::protocol::{Plain, ReadBy};

/// The longest pause after a call.
const PAUSE: Span = Span::millis(200);

/// A rambler for a server with this configuration.
pub(super) fn rambler(length: u32, server: &Config, dice: &mut Dice) -> Persona {
    let mut choices: Vec<Choice> = Vec::new();
    for steps in all(server, dice) {
        // As in swarm testing, a third of all choices is left out.
        if !dice.one_in(3) {
            let weight = dice.between(1, 4);
            let steps = steps.into();
            choices.push(Choice { weight, steps });
        }
    }
    choices.push(Choice {
        weight: 2,
        steps: [say(), pause(PAUSE)].into(),
    });
    let first = if dice.coin() {
        queue(server, dice)
    } else {
        login("lobby")
    };
    let enters = |step: &Step| matches!(step, Step::Call(Verb::EnterQueue { .. }));
    let leaves = |step: &Step| matches!(step, Step::Call(Verb::Plain(Plain::LeaveQueue)));
    if !enters(&first) && !choices.iter().any(|one| one.steps.iter().any(enters)) {
        // A scenario must not leave a queue that none of its flows enters.
        choices.retain(|one| !one.steps.iter().any(leaves));
    }
    let round = [Step::Choose(choices.into()), pause(PAUSE)];
    let ramble = repeat(round, dice.pick(&[10, 30]) * length);
    let stream = !dice.one_in(4);
    let weight = dice.between(1, 5);
    let by = dice.pick(&[ReadBy::Handle, ReadBy::Handle, ReadBy::ReaderId]);
    Persona {
        name: "rambler".to_owned(),
        frequency: Frequency::Weight(weight),
        habits: Habits::default(),
        stream,
        profile: ClientProfile {
            stream_by: if stream { by } else { ReadBy::Handle },
            reads: if stream && dice.one_in(5) {
                Reads::ByStream
            } else {
                Reads::Exactly
            },
            names: dice.pick(&[Naming::Given, Naming::Given, Naming::Scripts, Naming::Alike]),
        },
        flow: [first, ramble].into(),
    }
}

fn queue(server: &Config, dice: &mut Dice) -> Step {
    enter(texts::name(4, dice), 4, (texts::INTERESTS, 4), server, dice)
}

/// A login to a room under one of its spellings, with the user's own, a taken, or an invalid name.
fn room(dice: &mut Dice) -> Step {
    Step::Call(Verb::Login {
        room: texts::room(dice),
        rooms: 1,
        name: texts::name(2, dice),
    })
}

fn length() -> Text {
    Text::Length(table(Shape::Uniform(1, 60)))
}

fn say() -> Step {
    Step::Call(Verb::Send(length()))
}

/// All that it may do.
fn all(server: &Config, dice: &mut Dice) -> Vec<Vec<Step>> {
    let one = |verb| vec![Step::Call(verb)];
    let words = Text::Letters(Alphabet::Words, table(Shape::Uniform(1, 60)));
    let mut all = vec![
        vec![say()],
        one(Verb::Send(words)),
        one(Verb::Send(texts::text(server.max_message, dice))),
        one(Verb::Speak(length())),
        one(Verb::Speak(texts::text(server.max_message, dice))),
        one(Verb::Append(texts::text(server.max_append, dice))),
        vec![say(), say()],
        one(Verb::TalkingStick(Grant::Unnamed)),
        one(Verb::TalkingStick(Grant::Latest)),
        one(Verb::Append(length())),
        one(Verb::Plain(Plain::Push)),
        one(Verb::Undo(Grant::Unnamed)),
        one(Verb::Undo(Grant::Latest)),
        one(Verb::Reset(Grant::Unnamed)),
        one(Verb::Reset(Grant::Latest)),
        one(Verb::Plain(Plain::Typing)),
    ];
    let away = Step::Disconnect(Some(dice.ms(&[100, 700])));
    let reason = "spam".into();
    all.extend([
        vec![queue(server, dice)],
        vec![queue(server, dice)],
        vec![room(dice)],
        vec![room(dice)],
        vec![plain(Plain::LeaveQueue)],
        vec![login("lobby")],
        vec![login("hall")],
        vec![plain(Plain::LeaveChat)],
        vec![plain(Plain::Block)],
        vec![Step::Call(Verb::Report { reason })],
        // A rambler that unregisters returns at once: without a handle its flow would end.
        vec![plain(Plain::Unregister), login("lobby")],
        vec![away],
    ]);
    let check = |wait, by| vec![check(wait, by, server)];
    let history = history(&[1, 2, 50], dice);
    let (kind, excuse) = (None, texts::excuse(server.max_excuse, dice));
    all.extend([
        check(Span::ZERO, ReadBy::Handle),
        check(Span::millis(400), ReadBy::Handle),
        check(Span::millis(100), ReadBy::ReaderId),
        // Long enough that its rooms receive a notice.
        check(Span::secs(12), ReadBy::Handle),
        vec![plain(Plain::ListUsers)],
        vec![history],
        vec![Step::Call(Verb::Break { kind, excuse })],
        vec![Step::Call(Verb::Mood)],
        vec![pause(Span::secs(1))],
    ]);
    all
}
