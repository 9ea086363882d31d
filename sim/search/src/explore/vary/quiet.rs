//! Users who wait in rooms: their checks wait so long that the rooms receive a notice.

use std::sync::Arc;

use chat_types::{Config, Span};

use super::dice::Dice;
use super::texts;
use super::visits::think;
use sim_model::plan::{Step, Verb};
use sim_model::protocol::{Plain, ReadBy};

/// A wait that is longer than the ten seconds after which rooms receive a notice.
const LONG: Span = Span::secs(12);

/// A visit to a room, whose user types while its own check waits.
pub(super) fn typing_while_waiting(server: &Config, dice: &mut Dice) -> Vec<Step> {
    let login = login(texts::room(dice));
    let round = [
        check(LONG, server),
        think(dice),
        Step::Call(Verb::Plain(Plain::Typing)),
        think(dice),
        check(Span::secs(5), server),
    ];
    let count = dice.between(2, 6);
    let steps = round.into();
    vec![login, Step::Loop { count, steps }]
}

/// A visit to one room or two, whose user mostly waits there.
pub(super) fn waiting(length: u32, server: &Config, dice: &mut Dice) -> Vec<Step> {
    let mut flow = vec![login("lobby".into())];
    if dice.coin() {
        flow.insert(dice.index(2), login("hall".into()));
    }
    // News ends a check, and each arrival is news.
    for _ in 0..dice.between(3, 8) * length {
        flow.push(check(LONG, server));
        match dice.between(0, 4) {
            0 => flow.push(Step::Call(Verb::Plain(Plain::Typing))),
            1 => flow.extend([
                Step::Call(Verb::Plain(Plain::LeaveChat)),
                login("lobby".into()),
            ]),
            _ => flow.push(think(dice)),
        }
    }
    flow
}

fn check(wait: Span, server: &Config) -> Step {
    let (wait, by) = (wait.min(server.max_wait), ReadBy::Handle);
    Step::Call(Verb::Check { wait, by })
}

fn login(room: Arc<str>) -> Step {
    Step::Call(Verb::Login {
        room,
        rooms: 1,
        name: None,
    })
}
