//! A typical mix of requests: mostly messages and reads, sometimes arrivals, departures, matches,
//! the stick and breaks.

use chat_core::{Addressees, Command, Entry, Implied, mix};

use crate::commands::say;
use crate::population::{
    BLOCK, Block, IDLE, PAIR, Population, ROOM, a_break, by_newcomer, enter, is_there, login,
    newcomer, room_name,
};

/// The largest number of active blocks. A hundred thousand participants, spread over the
/// population, settle in reasonable time.
const BUSY: usize = 12_500;

/// The number of visits to each of them until it has settled.
const VISITS: usize = 20;

/// Draws commands for a population, deterministically.
#[derive(Clone, Debug, Default)]
pub struct Mix {
    drawn: u64,
}

impl Mix {
    /// Runs the mix until arrivals and departures are in balance.
    pub fn settle(&mut self, population: &mut Population) {
        let mut left = VISITS * busy(population);
        while left > 0 {
            let entries = self.draw(population, left);
            left -= entries.len();
            population.handle(&entries);
        }
    }

    /// The next commands, each from another block, so that they are independent of one another. At
    /// most as many as there are active blocks.
    pub fn draw(&mut self, population: &Population, most: usize) -> Vec<Entry> {
        let count = most.min(busy(population));
        (0..count).map(|_| self.next(population)).collect()
    }

    fn next(&mut self, population: &Population) -> Entry {
        self.drawn += 1;
        let chance = mix(3, self.drawn);
        let below = |n: usize, salt: u64| {
            usize::try_from(mix(chance, salt) % n as u64).expect("it is below a usize")
        };
        let at = population.block(self.block(population));
        let half = below(2, 1);
        match below(100, 2) {
            0..40 => speak(at, PAIR[half]),
            40..52 => at.read(below(BLOCK, 3)),
            52..60 => at.imply(below(BLOCK, 3), Implied::Seen { waiting: None }),
            60..64 => in_chat(at, PAIR[half], Command::LeaveChat { room: None }),
            64..80 => take_turns(at, ROOM[below(4, 3)], below(3, 4)),
            80..86 => visit(at, IDLE[half]),
            86..88 => at.call(IDLE[half], a_break()),
            88..94 => stream(at, IDLE[half]),
            94..97 => come_and_go(at),
            97..99 => in_chat(at, PAIR[half], Command::Typing { room: None }),
            _ => {
                let (user, reason) = (at.user(IDLE[half]), "was rude".into());
                at.call(PAIR[half], Command::ReportUser { user, reason })
            }
        }
    }

    /// Visits all blocks before the first one comes again, with neighbours far apart: each step
    /// adds a prime number.
    fn block(&self, population: &Population) -> usize {
        let busy = busy(population);
        let at = self.drawn.wrapping_mul(7_919_111) % busy as u64;
        usize::try_from(at).expect("it is below a usize") * (population.blocks() / busy)
    }
}

fn busy(population: &Population) -> usize {
    population.blocks().min(BUSY)
}

fn is_alone(at: Block<'_>, place: usize) -> bool {
    let rooms = at.population.hub.rooms_of(at.user(place));
    rooms.is_empty()
}

fn speak(at: Block<'_>, place: usize) -> Entry {
    let view = at.population.hub.participant_view(at.user(place));
    let waits = view.is_some_and(|view| view.waiting_since.is_some());
    match (is_alone(at, place), waits) {
        (false, _) => at.call(place, say()),
        (true, false) => at.call(place, enter("anything")),
        (true, true) => at.read(place),
    }
}

/// The command of a participant who is in a chat; others come into one first.
fn in_chat(at: Block<'_>, place: usize, command: Command) -> Entry {
    match is_alone(at, place) {
        true => speak(at, place),
        false => at.call(place, command),
    }
}

/// A stick's holder appends twice as often as it pushes; other members claim the stick.
fn take_turns(at: Block<'_>, place: usize, chance: usize) -> Entry {
    let (room, epoch) = (None, None);
    let name = room_name(at.number);
    // At most ten rooms share this prefix, and the block's room is one of them.
    let hub = &at.population.hub;
    let mut rooms = hub.named_rooms(Some(&name[..name.len() - 1]), 10);
    let room_of_four = rooms.find(|view| *view.name == *name);
    let Some((_, holder)) = room_of_four.and_then(|view| view.holder) else {
        return at.call(place, Command::TalkingStick { room, epoch });
    };
    let holder = ROOM.iter().find(|place| at.user(**place) == holder);
    let place = holder.copied().unwrap_or(place);
    if chance == 0 {
        return at.call(
            place,
            Command::Push {
                room,
                epoch,
                to: Addressees::ALL,
            },
        );
    }
    let text = "x".repeat(60).into();
    at.call(place, Command::Append { room, text, epoch })
}

/// A participant without a room joins the block's room, and leaves it again.
fn visit(at: Block<'_>, place: usize) -> Entry {
    match is_alone(at, place) {
        true => at.call(place, login(at.number, place)),
        false => at.call(place, Command::LeaveChat { room: None }),
    }
}

fn stream(at: Block<'_>, place: usize) -> Entry {
    let view = at.population.hub.participant_view(at.user(place));
    let is_open = view.is_some_and(|view| view.streams > 0);
    let change = match is_open {
        true => Implied::CloseStream,
        false => Implied::OpenStream,
    };
    at.imply(place, change)
}

fn come_and_go(at: Block<'_>) -> Entry {
    let n = at.number as u64;
    match is_there(&at.population.hub, 4, n) {
        true => by_newcomer(4, n, Command::Unregister),
        false => newcomer(4, n, login(at.number, BLOCK)),
    }
}

#[cfg(test)]
mod tests {
    use chat_core::config::Matching;

    use super::Mix;
    use crate::population::{Pace, Population, Tally};

    #[test]
    fn nearly_all_of_the_mix_is_accepted_for_as_long_as_it_lasts() {
        let mut population = Population::new(1_000, Matching::Fifo, Pace::Lively);
        let mut mix = Mix::default();
        for _ in 0..10 {
            let mut all = Tally::default();
            for _ in 0..40 {
                let entries = mix.draw(&population, 125);
                let tally = population.handle(&entries);
                all.accepted += tally.accepted;
                all.refused += tally.refused;
            }
            assert!(all.refused * 20 < all.accepted, "{all:?}");
        }
        population
            .hub
            .validate()
            .expect("the core's invariants hold");
    }
}
