//! Visits: everyday sequences of actions, each in a plausible order.
//!
//! A visit begins with a call that registers. Users send only in a room, and only with the stick
//! where it is required. In between they read, take breaks, and name past grants.

use std::sync::Arc;

use chat_types::config::StickRule;
use chat_types::{BreakKind, Config, Span};

use super::dice::{Dice, table};
use super::theme::{Outline, Theme};
use super::{quiet, spelling, texts};
use sim_model::draw::Shape;
use sim_model::plan::{Choice, Grant, Step, Verb};
use sim_model::protocol::{Plain, ReadBy};

/// How long users wait for a partner or a stick. After it their flow ends.
const WITHIN: Span = Span::secs(20);

/// The largest number of breaks in a row, which raises the alert level of an attentive boss to its
/// maximum.
const BREAKS: u32 = 7;

/// Several visits one after another.
pub(super) fn some(outline: Outline, server: &Config, dice: &mut Dice) -> Vec<Step> {
    let Outline { theme, length } = outline;
    if theme == Theme::Quiet {
        return quiet::waiting(length, server, dice);
    }
    let mut flow = Vec::new();
    let visits = match theme {
        Theme::Anything => dice.pick(&[1, 1, 2, 2, 3, 4]),
        Theme::Line(_) | Theme::Absent(_) | Theme::Grudges(_) => dice.between(2, 16),
        Theme::Rest | Theme::Barred(_) | Theme::Crowd | Theme::Quiet => dice.between(2, 7),
    };
    // A participant that unregisters returns with another number, and perhaps another name.
    let leaves = match theme {
        Theme::Anything
        | Theme::Line(_)
        | Theme::Absent(_)
        | Theme::Grudges(_)
        | Theme::Crowd
        | Theme::Quiet => 12,
        Theme::Rest | Theme::Barred(_) => 2,
    };
    for nth in 0..visits * length {
        let kind = match theme {
            Theme::Anything => dice.between(0, 11),
            Theme::Line(_) | Theme::Absent(_) | Theme::Grudges(_) => dice.between(5, 9),
            Theme::Rest => dice.pick(&[0, 5, 10, 10, 10]),
            Theme::Barred(_) => dice.pick(&[0, 0, 0, 0, 5, 10]),
            Theme::Crowd | Theme::Quiet => dice.pick(&[0, 0, 0, 0, 0, 0, 0, 5]),
        };
        match kind {
            0..=4 => room(theme, server, nth, dice, &mut flow),
            5..=8 => partner(theme, server, nth, dice, &mut flow),
            9 => line(theme, server, nth, dice, &mut flow),
            _ => rest(server, dice, &mut flow),
        }
        if dice.one_in(leaves) {
            flow.push(Step::Call(Verb::Plain(Plain::Unregister)));
        }
    }
    if dice.one_in(16) {
        flow.push(Step::Disconnect(None));
    }
    flow
}

/// Visits to so many rooms that a gap does not name all of them, and then a look at the inbox.
pub(super) fn wandering(dice: &mut Dice) -> Vec<Step> {
    let visit = [
        Step::Call(Verb::Login {
            room: "passage".into(),
            rooms: 1,
            name: None,
        }),
        Step::Call(Verb::Plain(Plain::LeaveChat)),
    ];
    let (wait, by) = (Span::ZERO, ReadBy::Handle);
    let read = Step::Call(Verb::Check { wait, by });
    let visits = Step::Loop {
        count: dice.between(260, 300),
        steps: visit.into(),
    };
    vec![visits, read.clone(), read]
}

/// How rarely a visit chooses a name. Most choose one on arrival. A chosen name cannot change, so
/// later choices only matter after a registration ended.
fn chooses(nth: u32) -> u64 {
    if nth == 0 { 4 } else { 10 }
}

/// A chosen name, or none.
fn name(theme: Theme, nth: u32, dice: &mut Dice) -> Option<Arc<str>> {
    match theme {
        Theme::Anything | Theme::Rest | Theme::Crowd | Theme::Quiet => {
            texts::name(chooses(nth), dice)
        }
        Theme::Line(_) | Theme::Absent(_) | Theme::Grudges(_) => texts::name(8, dice),
        Theme::Barred(names) => dice.coin().then(|| spelling::drawn(dice.pick(names), dice)),
    }
}

/// A visit to a named room, sometimes followed at once by another visit to it, or to another room.
fn room(theme: Theme, server: &Config, nth: u32, dice: &mut Dice, steps: &mut Vec<Step>) {
    let is_crowd = theme == Theme::Crowd;
    let room = if is_crowd {
        "lobby".into()
    } else {
        texts::room(dice)
    };
    let rooms = if is_crowd {
        1
    } else {
        dice.pick(&[1, 1, 1, 1, 1, 1, 2])
    };
    let is_barred = matches!(theme, Theme::Barred(_));
    if is_barred && dice.coin() {
        // It registers without a name, and takes one later.
        let queued = Verb::EnterQueue {
            name: None,
            user_id: None,
            interests: Arc::default(),
        };
        let left = Verb::Plain(Plain::LeaveQueue);
        steps.extend([queued, left].map(Step::Call));
    }
    for again in 0..dice.pick(&[1, 1, 2]) {
        let login = |nth: u32, dice: &mut Dice| {
            Step::Call(Verb::Login {
                room: Arc::clone(&room),
                rooms,
                name: name(theme, nth, dice),
            })
        };
        steps.push(login(nth + again, dice));
        if dice.one_in(8) {
            steps.push(Step::Call(Verb::Login {
                room: texts::room(dice),
                rooms: 1,
                name: None,
            }));
        }
        let rounds = if is_crowd { 6 } else { 3 };
        for _ in 0..dice.between(0, rounds) {
            maybe_read(steps, server, dice);
            if server.stick == StickRule::Required || dice.one_in(3) {
                let rarely = if is_barred { 2 } else { 8 };
                let again = dice.one_in(rarely).then(|| login(nth + again + 1, dice));
                turn(again, steps, server, dice);
            } else {
                steps.push(say(server, dice));
            }
            maybe_look_up(steps, dice);
            pause(steps, dice);
        }
        maybe_read(steps, server, dice);
        maybe_end(theme, steps, dice);
    }
}

/// Mostly leaves the room; sometimes blocks or reports the last sender first.
fn maybe_end(theme: Theme, steps: &mut Vec<Step>, dice: &mut Dice) {
    let ends = if matches!(theme, Theme::Barred(_)) {
        5
    } else {
        15
    };
    match dice.between(0, ends) {
        0 => {
            steps.push(Step::Call(Verb::Plain(Plain::Block)));
            if dice.coin() {
                steps.extend([think(dice), Step::Call(Verb::Plain(Plain::Unblock))]);
                return;
            }
            // The history is read repeatedly, while the blocked participant may be forgotten.
            let (before, limit) = (None, 50);
            let past = Step::Call(Verb::History { before, limit });
            let round = [think(dice), past];
            steps.push(Step::Loop {
                count: dice.between(2, 8),
                steps: round.into(),
            });
        }
        1 => steps.push(report(dice)),
        2 | 3 => return,
        _ => {}
    }
    steps.push(Step::Call(Verb::Plain(Plain::LeaveChat)));
}

/// A turn with the stick: a draft, sometimes changed or cleared, and sometimes a turn given up. The
/// user may log in again meanwhile, under another name.
fn turn(again: Option<Step>, steps: &mut Vec<Step>, server: &Config, dice: &mut Dice) {
    if dice.one_in(4) {
        // A draft may begin before the grant.
        steps.push(append(server, dice));
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
    steps.push(append(server, dice));
    if dice.one_in(3) {
        steps.push(append(server, dice));
    }
    if dice.one_in(4) {
        let undo = Step::Call(Verb::Undo(grant(2, dice)));
        steps.extend([undo, append(server, dice)]);
    }
    match dice.between(0, 7) {
        0 | 1 => steps.push(think(dice)),
        2 => steps.push(say(server, dice)),
        3 => steps.push(Step::Call(Verb::TalkingStick(grant(2, dice)))),
        _ => {}
    }
    steps.extend(again);
    steps.push(Step::Call(match dice.between(0, 7) {
        0 => Verb::Reset(grant(2, dice)),
        // The stick is kept until its lease ends, or until the user leaves.
        1 => Verb::Plain(Plain::ListUsers),
        _ => Verb::Plain(Plain::Push),
    }));
    if dice.one_in(10) {
        // A push without a draft.
        steps.push(Step::Call(Verb::Plain(Plain::Push)));
    }
}

/// The grant that a call names one time in `one_in`. A user that lost the stick then names a past
/// grant.
fn grant(one_in: u64, dice: &mut Dice) -> Grant {
    if dice.one_in(one_in) {
        Grant::Latest
    } else {
        Grant::Unnamed
    }
}

/// A match, a few messages, and one of several ends.
fn partner(theme: Theme, server: &Config, nth: u32, dice: &mut Dice, steps: &mut Vec<Step>) {
    steps.push(enter(theme, server, nth, dice));
    let is_absent = match theme {
        Theme::Anything | Theme::Rest | Theme::Barred(_) | Theme::Crowd | Theme::Quiet => false,
        Theme::Line(_) => dice.one_in(4),
        Theme::Grudges(_) => dice.one_in(8),
        Theme::Absent(_) => true,
    };
    if is_absent {
        // It keeps waiting without a stream.
        let away = dice.pick(&[Span::millis(100), Span::millis(800), Span::secs(3)]);
        steps.push(Step::Disconnect(Some(away)));
    }
    if matches!(theme, Theme::Grudges(_)) && dice.one_in(4) {
        // Both may wait by now, and can be matched from here on.
        steps.extend([think(dice), Step::Call(Verb::Plain(Plain::Unblock))]);
    }
    steps.push(Step::Await {
        event: "chatroom.found",
        within: WITHIN,
    });
    if dice.one_in(10) {
        // In two rooms at once, a call without a room is ambiguous.
        steps.push(Step::Call(Verb::Login {
            room: texts::room(dice),
            rooms: 1,
            name: None,
        }));
    }
    let words = match theme {
        Theme::Anything | Theme::Rest | Theme::Barred(_) | Theme::Crowd | Theme::Quiet => {
            dice.pick(&[0, 1, 2, 3, 4, 8])
        }
        Theme::Line(_) | Theme::Absent(_) | Theme::Grudges(_) => dice.between(0, 1),
    };
    for _ in 0..words {
        if dice.one_in(5) {
            steps.extend([append(server, dice), append(server, dice)]);
            if dice.coin() {
                steps.push(Step::Call(Verb::Undo(grant(2, dice))));
            }
            steps.push(Step::Call(Verb::Plain(Plain::Push)));
        } else {
            steps.push(say(server, dice));
        }
        maybe_read(steps, server, dice);
        pause(steps, dice);
        maybe_look_up(steps, dice);
    }
    let is_grudge = matches!(theme, Theme::Grudges(_)) && dice.coin();
    let end = match dice.between(0, 9) {
        _ if is_grudge => vec![Step::Call(Verb::Plain(Plain::Block))],
        0 => vec![Step::Call(Verb::Plain(Plain::Block))],
        1 => vec![report(dice), Step::Call(Verb::Plain(Plain::LeaveChat))],
        // A new search while the chat is live, which is refused or waits.
        2 => vec![think(dice)],
        3 => vec![
            Step::Call(Verb::Plain(Plain::Block)),
            Step::Call(Verb::Plain(Plain::Block)),
        ],
        4 => vec![
            Step::Call(Verb::Plain(Plain::Block)),
            Step::Call(Verb::Plain(Plain::Unblock)),
        ],
        _ => vec![Step::Call(Verb::Plain(Plain::LeaveChat))],
    };
    steps.extend(end);
}

/// A wait in the queue that is given up.
fn line(theme: Theme, server: &Config, nth: u32, dice: &mut Dice, steps: &mut Vec<Step>) {
    steps.push(enter(theme, server, nth, dice));
    if dice.one_in(4) {
        // A second search, which is refused or waits.
        steps.push(enter(theme, server, nth + 1, dice));
    }
    steps.push(think(dice));
    maybe_read(steps, server, dice);
    let leave = |verb| Choice {
        weight: 1,
        steps: [Step::Call(verb)].into(),
    };
    // A user that was matched meanwhile leaves the chat.
    steps.push(Step::Choose(
        [
            leave(Verb::Plain(Plain::LeaveQueue)),
            leave(Verb::Plain(Plain::LeaveChat)),
        ]
        .into(),
    ));
}

/// Breaks: a few, or so many that the boss reaches its highest alert level.
fn rest(server: &Config, dice: &mut Dice, steps: &mut Vec<Step>) {
    if dice.one_in(3) {
        // A client that does not wait for the last answers can disconnect before they are sent.
        let rest = Verb::Break {
            kind: None,
            excuse: None,
        };
        let (count, steps_of_round) = (dice.between(5, BREAKS), [Step::Call(rest)].into());
        let (wait, by) = (Span::secs(5).min(server.max_wait), ReadBy::Handle);
        steps.extend([
            Step::Loop {
                count,
                steps: steps_of_round,
            },
            Step::Call(Verb::Check { wait, by }),
        ]);
        if dice.coin() {
            // A client with parallel calls may be gone before its break is in the journal.
            let rest = Verb::Break {
                kind: None,
                excuse: None,
            };
            let soon = Shape::Uniform(0, Span::millis(60).0);
            let away = Some(Span::millis(300));
            steps.extend([
                Step::Call(rest),
                Step::Think(table(soon)),
                Step::Disconnect(away),
            ]);
        }
        return;
    }
    for _ in 0..dice.pick(&[1, 1, 2, 3]) {
        let kind = dice.coin().then(|| dice.pick(BreakKind::ALL));
        let excuse = texts::excuse(server.max_excuse, dice);
        let rest = Step::Call(Verb::Break { kind, excuse });
        if dice.one_in(4) {
            let steps_of_round = [rest, Step::Call(Verb::Mood)];
            steps.push(Step::Loop {
                count: dice.between(2, BREAKS),
                steps: steps_of_round.into(),
            });
        } else {
            steps.push(rest);
        }
        steps.push(think(dice));
        if dice.one_in(8) {
            // So long without a break that stress is left after the next one.
            let long = Shape::Uniform(0, Span::secs(1_200).0);
            steps.push(Step::Think(table(long)));
        }
        if dice.coin() {
            // The boss calms down meanwhile, level by level.
            let steps_of_round = [think(dice), Step::Call(Verb::Mood)];
            steps.push(Step::Loop {
                count: dice.between(2, 8),
                steps: steps_of_round.into(),
            });
        }
        maybe_read(steps, server, dice);
    }
}

fn enter(theme: Theme, server: &Config, nth: u32, dice: &mut Dice) -> Step {
    let (one_in, circle, none) = match theme {
        Theme::Anything | Theme::Rest | Theme::Barred(_) | Theme::Crowd | Theme::Quiet => {
            (chooses(nth), texts::INTERESTS.as_slice(), 4)
        }
        Theme::Line(circle) | Theme::Absent(circle) | Theme::Grudges(circle) => (8, circle, 2),
    };
    Step::Call(Verb::EnterQueue {
        name: name(theme, nth, dice),
        user_id: texts::public_id(one_in, dice),
        interests: texts::interests(circle, none, server.max_interests, dice),
    })
}

fn say(server: &Config, dice: &mut Dice) -> Step {
    Step::Call(Verb::Send(texts::text(server.max_message, dice)))
}

fn append(server: &Config, dice: &mut Dice) -> Step {
    let most = dice.pick(&[server.max_append, server.max_append, server.max_draft]);
    Step::Call(Verb::Append(texts::text(most, dice)))
}

fn report(dice: &mut Dice) -> Step {
    Step::Call(Verb::Report {
        reason: texts::reason(dice),
    })
}

pub(super) fn think(dice: &mut Dice) -> Step {
    let most = dice.pick(&[20, 300, 1_500]);
    Step::Think(table(Shape::Uniform(0, Span::millis(most).0)))
}

/// Reads history or members, types, or checks stress, sometimes.
fn maybe_look_up(steps: &mut Vec<Step>, dice: &mut Dice) {
    let verb = match dice.between(0, 15) {
        0 | 1 => Verb::History {
            before: dice.coin().then(|| u64::from(dice.between(1, 12))),
            limit: dice.pick(&[1, 2, 50, 500]),
        },
        2 => Verb::Plain(Plain::ListUsers),
        3 | 4 => Verb::Plain(Plain::Typing),
        5 => Verb::Mood,
        _ => return,
    };
    steps.push(Step::Call(verb));
}

fn maybe_read(steps: &mut Vec<Step>, server: &Config, dice: &mut Dice) {
    if dice.coin() {
        // The longest wait is so long that rooms receive a notice of it.
        let wait = dice.pick(&[
            Span::ZERO,
            Span::ZERO,
            Span::millis(500),
            Span::secs(5),
            Span::secs(12),
        ]);
        let wait = wait.min(server.max_wait);
        let by = dice.pick(&[ReadBy::Handle, ReadBy::Handle, ReadBy::ReaderId]);
        steps.push(Step::Call(Verb::Check { wait, by }));
    }
}

/// A pause without a call, or without a connection.
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
