//! Visits: everyday sequences of actions, each in a plausible order.
//!
//! A visit begins with a call that registers. Users send only in a room, and only with the stick
//! where it is required. In between they read, take breaks, and name past grants.

use std::sync::Arc;

use chat_types::config::StickRule;
use chat_types::{BreakKind, Config, Span};

use super::dice::Dice;
use super::steps::{self, check, history, login, plain, repeat};
use super::theme::Theme::{Anything, Crowd, Quiet, Rest};
use super::theme::{Line, Outline, Theme};
use super::{spelling, texts};
use sim_model::plan::{Choice, Grant, Step, Verb};
use sim_model::protocol::{Plain, ReadBy};

/// How long users wait for a partner or a stick. After it their flow ends.
const WITHIN: Span = Span::secs(20);

/// The largest number of breaks in a row, which raises the alert level of an attentive boss to its
/// maximum.
const BREAKS: u32 = 7;

/// A wait that is longer than the ten seconds after which rooms receive a notice.
const LONG: Span = Span::secs(12);

/// A break of any kind, with the server's own text.
const REST: Verb = Verb::Break {
    kind: None,
    excuse: None,
};

/// Several visits one after another.
pub(super) fn some(outline: Outline, server: &Config, dice: &mut Dice) -> Vec<Step> {
    let Outline { theme, length } = outline;
    if theme == Quiet {
        return waiting(length, server, dice);
    }
    let mut flow = Vec::new();
    let visits = match theme {
        Anything => dice.pick(&[1, 1, 2, 2, 3, 4]),
        Theme::Line(..) => dice.between(2, 16),
        Rest | Theme::Barred(_) | Crowd | Quiet => dice.between(2, 7),
    };
    // A participant that unregisters returns with another number, and perhaps another name.
    let leaves = match theme {
        Anything | Theme::Line(..) | Crowd | Quiet => 12,
        Rest | Theme::Barred(_) => 2,
    };
    for nth in 0..visits * length {
        let kind = match theme {
            Anything => dice.between(0, 11),
            Theme::Line(..) => dice.between(5, 9),
            Rest => dice.pick(&[0, 5, 10, 10, 10]),
            Theme::Barred(_) => dice.pick(&[0, 0, 0, 0, 5, 10]),
            Crowd | Quiet => dice.pick(&[0, 0, 0, 0, 0, 0, 0, 5]),
        };
        match kind {
            0..=4 => room(theme, server, nth, dice, &mut flow),
            5..=8 => partner(theme, server, nth, dice, &mut flow),
            9 => line(theme, server, nth, dice, &mut flow),
            _ => rest(server, dice, &mut flow),
        }
        if dice.one_in(leaves) {
            flow.push(plain(Plain::Unregister));
        }
    }
    if dice.one_in(16) {
        flow.push(Step::Disconnect(None));
    }
    flow
}

/// Visits to so many rooms that a gap does not name all of them, and then a look at the inbox.
pub(super) fn wandering(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let visit = [login("passage"), plain(Plain::LeaveChat)];
    let read = check(Span::ZERO, ReadBy::Handle, server);
    vec![repeat(visit, dice.between(260, 300)), read.clone(), read]
}

/// A visit to a room, whose user types while its own check waits.
pub(super) fn typing_while_waiting(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let login = login(texts::room(dice));
    let round = [
        check(LONG, ReadBy::Handle, server),
        think(dice),
        plain(Plain::Typing),
        think(dice),
        check(Span::secs(5), ReadBy::Handle, server),
    ];
    vec![login, repeat(round, dice.between(2, 6))]
}

/// A visit to one room or two, whose user mostly waits there.
fn waiting(length: u32, server: &Config, dice: &mut Dice) -> Vec<Step> {
    let mut flow = vec![login("lobby")];
    if dice.coin() {
        flow.insert(dice.index(2), login("hall"));
    }
    // News ends a check, and each arrival is news.
    for _ in 0..dice.between(3, 8) * length {
        flow.push(check(LONG, ReadBy::Handle, server));
        match dice.between(0, 4) {
            0 => flow.push(plain(Plain::Typing)),
            1 => flow.extend([plain(Plain::LeaveChat), login("lobby")]),
            _ => flow.push(think(dice)),
        }
    }
    flow
}

/// How rarely a visit chooses a name. Most choose one on arrival. A chosen name cannot change, so
/// later choices only matter after a registration ended.
fn chooses(nth: u32) -> u64 {
    if nth == 0 { 4 } else { 10 }
}

/// A chosen name, or none.
fn name(theme: Theme, nth: u32, dice: &mut Dice) -> Option<Arc<str>> {
    match theme {
        Anything | Rest | Crowd | Quiet => texts::name(chooses(nth), dice),
        Theme::Line(..) => texts::name(8, dice),
        Theme::Barred(names) => dice.coin().then(|| spelling::drawn(dice.part(names), dice)),
    }
}

/// A visit to a named room, sometimes followed at once by another visit to it, or to another room.
fn room(theme: Theme, server: &Config, nth: u32, dice: &mut Dice, steps: &mut Vec<Step>) {
    let is_crowd = theme == Crowd;
    let (room, rooms) = match is_crowd {
        true => ("lobby".into(), 1),
        false => (texts::room(dice), dice.pick(&[1, 1, 1, 1, 1, 1, 2])),
    };
    let is_barred = theme.is_barred();
    if is_barred && dice.coin() {
        // It registers without a name, and takes one later.
        let queued = Verb::EnterQueue {
            name: None,
            user_id: None,
            interests: Arc::default(),
        };
        steps.extend([Step::Call(queued), plain(Plain::LeaveQueue)]);
    }
    for again in 0..dice.pick(&[1, 1, 2]) {
        let named = |nth: u32, dice: &mut Dice| {
            Step::Call(Verb::Login {
                room: Arc::clone(&room),
                rooms,
                name: name(theme, nth, dice),
            })
        };
        steps.push(named(nth + again, dice));
        if dice.one_in(8) {
            steps.push(login(texts::room(dice)));
        }
        let rounds = if is_crowd { 6 } else { 3 };
        for _ in 0..dice.between(0, rounds) {
            maybe_read(steps, server, dice);
            if server.stick == StickRule::Required || dice.one_in(3) {
                let rarely = if is_barred { 2 } else { 8 };
                let again = dice.one_in(rarely).then(|| named(nth + again + 1, dice));
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
    match dice.between(0, if theme.is_barred() { 5 } else { 15 }) {
        0 => {
            steps.push(plain(Plain::Block));
            if dice.coin() {
                steps.extend([think(dice), plain(Plain::Unblock)]);
                return;
            }
            // The history is read repeatedly, while the blocked participant may be forgotten.
            let (before, limit) = (None, 50);
            let past = Step::Call(Verb::History { before, limit });
            steps.push(repeat([think(dice), past], dice.between(2, 8)));
        }
        1 => steps.push(report(dice)),
        2 | 3 => return,
        _ => {}
    }
    steps.push(plain(Plain::LeaveChat));
}

/// A turn with the stick: a draft, sometimes changed or cleared, and sometimes a turn given up. The
/// user may log in again meanwhile, under another name.
fn turn(again: Option<Step>, steps: &mut Vec<Step>, server: &Config, dice: &mut Dice) {
    if dice.one_in(4) {
        // A draft may begin before the grant.
        steps.push(append(server, dice));
    }
    if dice.one_in(5) {
        let text = texts::text(server.max_message, dice);
        steps.push(Step::Call(Verb::Speak(text)));
        match dice.between(0, 5) {
            0 => steps.push(Step::Call(Verb::Reset(grant(2, dice)))),
            1 => steps.push(Step::Call(Verb::TalkingStick(grant(2, dice)))),
            2 => {}
            _ => steps.push(awaited("stick.granted")),
        }
        return;
    }
    steps.push(Step::Call(Verb::TalkingStick(grant(12, dice))));
    if dice.one_in(6) {
        steps.extend([think(dice), Step::Call(Verb::Reset(grant(2, dice)))]);
        return;
    }
    steps.push(awaited("stick.granted"));
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
    steps.push(match dice.between(0, 7) {
        0 => Step::Call(Verb::Reset(grant(2, dice))),
        // The stick is kept until its lease ends, or until the user leaves.
        1 => plain(Plain::ListUsers),
        _ => plain(Plain::Push),
    });
    if dice.one_in(10) {
        // A push without a draft.
        steps.push(plain(Plain::Push));
    }
}

/// The grant that a call names one time in `one_in`. A user that lost the stick then names a past
/// grant.
fn grant(one_in: u64, dice: &mut Dice) -> Grant {
    match dice.one_in(one_in) {
        true => Grant::Latest,
        false => Grant::Unnamed,
    }
}

const fn awaited(event: &'static str) -> Step {
    let within = WITHIN;
    Step::Await { event, within }
}

/// A match, a few messages, and one of several ends.
fn partner(theme: Theme, server: &Config, nth: u32, dice: &mut Dice, steps: &mut Vec<Step>) {
    steps.push(enter(theme, server, nth, dice));
    let is_absent = match theme.line() {
        None => false,
        Some(Line::Plain) => dice.one_in(4),
        Some(Line::Grudges) => dice.one_in(8),
        Some(Line::Absent) => true,
    };
    if is_absent {
        // It keeps waiting without a stream.
        steps.push(away(dice));
    }
    let has_grudges = theme.line() == Some(Line::Grudges);
    if has_grudges && dice.one_in(4) {
        // Both may wait by now, and can be matched from here on.
        steps.extend([think(dice), plain(Plain::Unblock)]);
    }
    steps.push(awaited("chatroom.found"));
    if dice.one_in(10) {
        // In two rooms at once, a call without a room is ambiguous.
        steps.push(login(texts::room(dice)));
    }
    let words = match theme.line() {
        None => dice.pick(&[0, 1, 2, 3, 4, 8]),
        Some(_) => dice.between(0, 1),
    };
    for _ in 0..words {
        if dice.one_in(5) {
            steps.extend([append(server, dice), append(server, dice)]);
            if dice.coin() {
                steps.push(Step::Call(Verb::Undo(grant(2, dice))));
            }
            steps.push(plain(Plain::Push));
        } else {
            steps.push(say(server, dice));
        }
        maybe_read(steps, server, dice);
        pause(steps, dice);
        maybe_look_up(steps, dice);
    }
    let blocks = has_grudges && dice.coin();
    let (block, leave) = (plain(Plain::Block), plain(Plain::LeaveChat));
    match dice.between(0, 9) {
        _ if blocks => steps.push(block),
        0 => steps.push(block),
        1 => steps.extend([report(dice), leave]),
        // A new search while the chat is live, which is refused or waits.
        2 => steps.push(think(dice)),
        3 => steps.extend([block.clone(), block]),
        4 => steps.extend([block, plain(Plain::Unblock)]),
        _ => steps.push(leave),
    }
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
    // A user that was matched meanwhile leaves the chat.
    let leaves = [Plain::LeaveQueue, Plain::LeaveChat].map(|verb| Choice {
        weight: 1,
        steps: [plain(verb)].into(),
    });
    steps.push(Step::Choose(leaves.into()));
}

/// Breaks: a few, or so many that the boss reaches its highest alert level.
fn rest(server: &Config, dice: &mut Dice, steps: &mut Vec<Step>) {
    if dice.one_in(3) {
        // A client that does not wait for the last answers can disconnect before they are sent.
        steps.push(repeat([Step::Call(REST)], dice.between(5, BREAKS)));
        steps.push(check(Span::secs(5), ReadBy::Handle, server));
        if dice.coin() {
            // A client with parallel calls may be gone before its break is in the journal.
            let soon = steps::pause(Span::millis(60));
            let away = Step::Disconnect(Some(Span::millis(300)));
            steps.extend([Step::Call(REST), soon, away]);
        }
        return;
    }
    for _ in 0..dice.pick(&[1, 1, 2, 3]) {
        let kind = dice.coin().then(|| dice.pick(BreakKind::ALL));
        let excuse = texts::excuse(server.max_excuse, dice);
        let rest = Step::Call(Verb::Break { kind, excuse });
        if dice.one_in(4) {
            let round = [rest, Step::Call(Verb::Mood)];
            steps.push(repeat(round, dice.between(2, BREAKS)));
        } else {
            steps.push(rest);
        }
        steps.push(think(dice));
        if dice.one_in(8) {
            // So long without a break that stress is left after the next one.
            steps.push(steps::pause(Span::secs(1_200)));
        }
        if dice.coin() {
            // The boss calms down meanwhile, level by level.
            let round = [think(dice), Step::Call(Verb::Mood)];
            steps.push(repeat(round, dice.between(2, 8)));
        }
        maybe_read(steps, server, dice);
    }
}

fn enter(theme: Theme, server: &Config, nth: u32, dice: &mut Dice) -> Step {
    let (one_in, circle) = match theme {
        Theme::Line(_, circle) => (8, (circle, 2)),
        Anything | Rest | Theme::Barred(_) | Crowd | Quiet => (chooses(nth), (texts::INTERESTS, 4)),
    };
    steps::enter(name(theme, nth, dice), one_in, circle, server, dice)
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

fn think(dice: &mut Dice) -> Step {
    steps::pause(dice.ms(&[20, 300, 1_500]))
}

fn away(dice: &mut Dice) -> Step {
    Step::Disconnect(Some(dice.ms(&[100, 800, 3_000])))
}

/// Reads history or members, types, or checks stress, sometimes.
fn maybe_look_up(steps: &mut Vec<Step>, dice: &mut Dice) {
    steps.push(match dice.between(0, 15) {
        0 | 1 => history(&[1, 2, 50, 500], dice),
        2 => plain(Plain::ListUsers),
        3 | 4 => plain(Plain::Typing),
        5 => Step::Call(Verb::Mood),
        _ => return,
    });
}

fn maybe_read(steps: &mut Vec<Step>, server: &Config, dice: &mut Dice) {
    if dice.coin() {
        let wait = dice.ms(&[0, 0, 500, 5_000, LONG.as_millis()]);
        let by = dice.pick(&[ReadBy::Handle, ReadBy::Handle, ReadBy::ReaderId]);
        steps.push(check(wait, by, server));
    }
}

/// A pause without a call, or without a connection.
fn pause(steps: &mut Vec<Step>, dice: &mut Dice) {
    match dice.between(0, 7) {
        0 => steps.push(away(dice)),
        1..=3 => steps.push(think(dice)),
        _ => {}
    }
}
