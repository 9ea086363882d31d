//! A typical mix of requests: mostly messages and reads, sometimes arrivals, departures, matches,
//! the stick and breaks.

use chat_core::{Command, Entry, Implied, UserId, mix};

use crate::commands::say;
use crate::population::{
    BLOCK, IDLE, PAIR, Population, ROOM, a_break, by_newcomer, enter, is_there, login, newcomer,
    room_name,
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
        let block = self.block(population);
        let half = below(2, 1);
        match below(100, 2) {
            0..40 => speak(population, block, PAIR[half]),
            40..52 => population.read(block, below(BLOCK, 3)),
            52..60 => {
                let implied = Implied::Seen { waiting: None };
                population.imply(block, below(BLOCK, 3), implied)
            }
            60..64 => part(population, block, PAIR[half]),
            64..80 => take_turns(population, block, ROOM[below(4, 3)], below(3, 4)),
            80..86 => visit(population, block, IDLE[half]),
            86..88 => population.call(block, IDLE[half], a_break()),
            88..94 => stream(population, block, IDLE[half]),
            94..97 => come_and_go(population, block),
            97..99 => typing(population, block, PAIR[half]),
            _ => report(
                population,
                block,
                PAIR[half],
                population.user(block, IDLE[half]),
            ),
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

fn is_alone(population: &Population, block: usize, place: usize) -> bool {
    population
        .hub()
        .rooms_of(population.user(block, place))
        .is_empty()
}

fn speak(population: &Population, block: usize, place: usize) -> Entry {
    let view = population
        .hub()
        .participant_view(population.user(block, place));
    let waits = view.is_some_and(|view| view.waiting_since.is_some());
    match (is_alone(population, block, place), waits) {
        (false, _) => population.call(block, place, say()),
        (true, false) => population.call(block, place, enter("anything")),
        (true, true) => population.read(block, place),
    }
}

fn typing(population: &Population, block: usize, place: usize) -> Entry {
    if is_alone(population, block, place) {
        return speak(population, block, place);
    }
    population.call(block, place, Command::Typing { room: None })
}

fn part(population: &Population, block: usize, place: usize) -> Entry {
    if is_alone(population, block, place) {
        return speak(population, block, place);
    }
    population.call(block, place, Command::LeaveChat { room: None })
}

/// A stick's holder appends twice as often as it pushes; other members claim the stick.
fn take_turns(population: &Population, block: usize, place: usize, chance: usize) -> Entry {
    let (room, epoch) = (None, None);
    let name = room_name(block);
    // At most ten rooms share this prefix, and the block's room is one of them.
    let holder = population
        .hub()
        .named_rooms(Some(&name[..name.len() - 1]), 10)
        .find(|view| *view.name == *name)
        .and_then(|view| view.holder);
    let Some((_, holder)) = holder else {
        return population.call(block, place, Command::TalkingStick { room, epoch });
    };
    let place = (ROOM.iter().copied())
        .find(|place| population.user(block, *place) == holder)
        .unwrap_or(place);
    if chance == 0 {
        return population.call(block, place, Command::Push { room, epoch });
    }
    let text = "x".repeat(60).into();
    population.call(block, place, Command::Append { room, text, epoch })
}

/// A participant without a room joins the block's room, and leaves it again.
fn visit(population: &Population, block: usize, place: usize) -> Entry {
    if is_alone(population, block, place) {
        return population.call(block, place, login(block, place));
    }
    population.call(block, place, Command::LeaveChat { room: None })
}

fn stream(population: &Population, block: usize, place: usize) -> Entry {
    let view = population
        .hub()
        .participant_view(population.user(block, place));
    if view.is_some_and(|view| view.streams > 0) {
        return population.imply(block, place, Implied::CloseStream);
    }
    population.imply(block, place, Implied::OpenStream)
}

fn come_and_go(population: &Population, block: usize) -> Entry {
    let n = block as u64;
    if is_there(population.hub(), 4, n) {
        return by_newcomer(4, n, Command::Unregister);
    }
    newcomer(4, n, login(block, BLOCK))
}

fn report(population: &Population, block: usize, place: usize, user: UserId) -> Entry {
    let reason = "was rude".into();
    population.call(block, place, Command::ReportUser { user, reason })
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
            .hub()
            .validate()
            .expect("the core's invariants hold");
    }
}
