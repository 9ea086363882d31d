//! What a server is asked for all day, mixed: mostly things said and read, and now and then
//! somebody comes, goes, pairs up, takes the stick or a break.

use chat_core::{BreakKind, Command, Entry, Implied, UserId, mix};

use crate::commands::say;
use crate::crowd::{
    BLOCK, Crowd, IDLE, PAIR, ROOM, by_newcomer, enter, is_there, login, newcomer, room_name,
};

/// In how many blocks at most something happens: a hundred thousand participants, spread over all
/// of them, so that what they do settles in a while.
const BUSY: usize = 12_500;

/// How often each of these is visited until it has settled.
const VISITS: usize = 20;

/// Draws commands for a crowd: the same ones for the same crowd.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    drawn: u64,
}

impl Mix {
    /// Lets everybody do as usual until as many come as go, and leave as enter.
    pub fn settle(&mut self, crowd: &mut Crowd) {
        let mut left = VISITS * busy(crowd);
        while left > 0 {
            let entries = self.draw(crowd, left);
            left -= entries.len();
            crowd.handle(&entries);
        }
    }

    /// The next commands, each by another block, so that none has to know of those before it.
    /// There are as many as there are busy blocks at most.
    pub fn draw(&mut self, crowd: &Crowd, most: usize) -> Vec<Entry> {
        let count = most.min(busy(crowd));
        (0..count).map(|_| self.next(crowd)).collect()
    }

    fn next(&mut self, crowd: &Crowd) -> Entry {
        self.drawn += 1;
        let chance = mix(3, self.drawn);
        let below = |n: usize, salt: u64| {
            usize::try_from(mix(chance, salt) % n as u64).expect("it is below a usize")
        };
        let block = self.block(crowd);
        let half = below(2, 1);
        match below(100, 2) {
            0..40 => speak(crowd, block, PAIR[half]),
            40..52 => crowd.read(block, below(BLOCK, 3)),
            52..60 => {
                let implied = Implied::Seen { waiting: None };
                crowd.imply(block, below(BLOCK, 3), implied)
            }
            60..64 => part(crowd, block, PAIR[half]),
            64..80 => take_turns(crowd, block, ROOM[below(4, 3)], below(3, 4)),
            80..86 => visit(crowd, block, IDLE[half]),
            86..88 => {
                let kind = BreakKind::CoffeeMission;
                let excuse = None;
                crowd.call(block, IDLE[half], Command::TakeBreak { kind, excuse })
            }
            88..94 => stream(crowd, block, IDLE[half]),
            94..97 => come_and_go(crowd, block),
            97..99 => typing(crowd, block, PAIR[half]),
            _ => report(crowd, block, PAIR[half], crowd.user(block, IDLE[half])),
        }
    }

    /// Blocks in an order that visits all of them before the first comes again, and neighbours far
    /// apart: a prime number onward each time.
    fn block(&self, crowd: &Crowd) -> usize {
        let busy = busy(crowd);
        let at = self.drawn.wrapping_mul(7_919_111) % busy as u64;
        usize::try_from(at).expect("it is below a usize") * (crowd.blocks() / busy)
    }
}

fn busy(crowd: &Crowd) -> usize {
    crowd.blocks().min(BUSY)
}

fn is_alone(crowd: &Crowd, block: usize, place: usize) -> bool {
    crowd.hub().rooms_of(crowd.user(block, place)).is_empty()
}

fn speak(crowd: &Crowd, block: usize, place: usize) -> Entry {
    let view = crowd.hub().participant_view(crowd.user(block, place));
    let waits = view.is_some_and(|view| view.waiting_since.is_some());
    match (is_alone(crowd, block, place), waits) {
        (false, _) => crowd.call(block, place, say()),
        (true, false) => crowd.call(block, place, enter("anything")),
        (true, true) => crowd.read(block, place),
    }
}

fn typing(crowd: &Crowd, block: usize, place: usize) -> Entry {
    if is_alone(crowd, block, place) {
        return speak(crowd, block, place);
    }
    crowd.call(block, place, Command::Typing { room: None })
}

fn part(crowd: &Crowd, block: usize, place: usize) -> Entry {
    if is_alone(crowd, block, place) {
        return speak(crowd, block, place);
    }
    crowd.call(block, place, Command::LeaveChat { room: None })
}

/// Whoever holds the stick appends twice as often as it pushes; everybody else claims it.
fn take_turns(crowd: &Crowd, block: usize, place: usize, chance: usize) -> Entry {
    let (room, epoch) = (None, None);
    let name = room_name(block);
    // Ten rooms at most begin as this one does, and one of them is this one.
    let holder = crowd
        .hub()
        .named_rooms(Some(&name[..name.len() - 1]), 10)
        .find(|view| *view.name == *name)
        .and_then(|view| view.holder);
    let Some((_, holder)) = holder else {
        return crowd.call(block, place, Command::TalkingStick { room, epoch });
    };
    let place = (ROOM.iter().copied())
        .find(|place| crowd.user(block, *place) == holder)
        .unwrap_or(place);
    if chance == 0 {
        return crowd.call(block, place, Command::Push { room, epoch });
    }
    let text = "x".repeat(60).into();
    crowd.call(block, place, Command::Append { room, text, epoch })
}

/// One without a room of its own looks in on the block's four, and leaves again.
fn visit(crowd: &Crowd, block: usize, place: usize) -> Entry {
    if is_alone(crowd, block, place) {
        return crowd.call(block, place, login(block, place));
    }
    crowd.call(block, place, Command::LeaveChat { room: None })
}

fn stream(crowd: &Crowd, block: usize, place: usize) -> Entry {
    let view = crowd.hub().participant_view(crowd.user(block, place));
    if view.is_some_and(|view| view.streams > 0) {
        return crowd.imply(block, place, Implied::CloseStream);
    }
    crowd.imply(block, place, Implied::OpenStream)
}

fn come_and_go(crowd: &Crowd, block: usize) -> Entry {
    let n = block as u64;
    if is_there(crowd.hub(), 4, n) {
        return by_newcomer(4, n, Command::Unregister);
    }
    newcomer(4, n, login(block, BLOCK))
}

fn report(crowd: &Crowd, block: usize, place: usize, user: UserId) -> Entry {
    let reason = "was rude".into();
    crowd.call(block, place, Command::ReportUser { user, reason })
}

#[cfg(test)]
mod tests {
    use chat_core::config::Matching;

    use super::Mix;
    use crate::crowd::{Crowd, Pace, Tally};

    #[test]
    fn nearly_all_of_the_mix_is_accepted_for_as_long_as_it_lasts() {
        let mut crowd = Crowd::new(1_000, Matching::Fifo, Pace::Lively);
        let mut mix = Mix::default();
        for _ in 0..10 {
            let mut all = Tally::default();
            for _ in 0..40 {
                let entries = mix.draw(&crowd, 125);
                let tally = crowd.handle(&entries);
                all.accepted += tally.accepted;
                all.refused += tally.refused;
            }
            assert!(all.refused * 20 < all.accepted, "{all:?}");
        }
        crowd.hub().validate().expect("the core's invariants hold");
    }
}
