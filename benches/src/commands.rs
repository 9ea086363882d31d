//! Each command by itself: its preparation, the command, and how it is undone.
//!
//! A round does one or two commands in each of a hundred blocks. The blocks lie far apart, so that
//! a large population affects the caches as it does in a server.

mod entries;

use chat_core::config::Matching;
use chat_core::{Command, Entry, Implied, Operate};

use crate::population::{
    BLOCK, IDLE, PAIR, Pace, Population, ROOM, Tally, a_break, login, newcomer, operate,
};
use entries::*;

pub use entries::say;

/// The number of blocks in a round.
pub const BLOCKS: usize = 100;

/// A kind of command.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    matching: Matching,
    before: fn(&mut Population, usize),
    measured: fn(&Population, usize) -> Vec<Entry>,
    after: fn(&mut Population, usize),
}

impl Kind {
    /// The kind of this name.
    ///
    /// # Panics
    /// If there is none, which is a mistake in a benchmark.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let found = ALL.iter().find(|kind| kind.name == name);
        *found.unwrap_or_else(|| panic!("no command is named {name}"))
    }

    /// A population in which the command is possible.
    #[must_use]
    pub fn population(&self, size: usize) -> Population {
        Population::new(size, self.matching, Pace::Still)
    }

    /// The matching that it needs.
    #[must_use]
    pub fn matching(&self) -> Matching {
        self.matching
    }

    /// Prepares a round, and returns the entries to measure.
    pub fn prepare(&self, population: &mut Population) -> Vec<Entry> {
        let chosen = chosen(population);
        for block in &chosen {
            (self.before)(population, *block);
        }
        chosen
            .iter()
            .flat_map(|block| (self.measured)(population, *block))
            .collect()
    }

    /// Restores the state before the round.
    ///
    /// # Panics
    /// If a command was refused, which is a mistake in a benchmark.
    pub fn restore(&self, population: &mut Population, tally: Tally) {
        assert_eq!(tally.refused, 0, "{} is refused", self.name);
        for block in chosen(population) {
            (self.after)(population, block);
            for place in 0..BLOCK {
                let read = population.read(block, place);
                population.carry_out(&read);
            }
        }
    }
}

fn chosen(population: &Population) -> Vec<usize> {
    (0..BLOCKS)
        .map(|n| n * population.blocks() / BLOCKS)
        .collect()
}

/// All kinds of commands.
pub const ALL: &[Kind] = &[
    kind("enter_queue", none, enter_both, leave_pair),
    Kind {
        matching: Matching::Interests,
        ..kind("enter_queue_by_interests", none, enter_alone, leave_line)
    },
    Kind {
        matching: Matching::Interests,
        ..kind(
            "leave_queue",
            |population, block| all(population, enter_alone, block),
            |population, block| vec![population.call(block, IDLE[0], Command::LeaveQueue)],
            none,
        )
    },
    kind(
        "register",
        none,
        |_, block| vec![newcomer(2, block as u64, login(block, BLOCK))],
        |population, block| all(population, newcomer_leaves, block),
    ),
    kind("unregister", newcomer_comes, newcomer_leaves, none),
    kind("login", none, idle_log_in, idle_log_out),
    kind(
        "leave_room",
        |population, block| all(population, idle_log_in, block),
        leave_rooms,
        none,
    ),
    kind(
        "leave_chat",
        |population, block| all(population, enter_both, block),
        |population, block| {
            vec![population.call(block, IDLE[0], Command::LeaveChat { room: None })]
        },
        none,
    ),
    kind("send_message", none, both_say, none),
    kind(
        "talking_stick",
        none,
        |population, block| {
            vec![
                claim(population, block, ROOM[0]),
                claim(population, block, ROOM[1]),
            ]
        },
        |population, block| {
            carry_out(population, vec![reset(population, block, ROOM[1])]);
            carry_out(population, vec![reset(population, block, ROOM[0])]);
        },
    ),
    kind("append", holds_stick, append, resets),
    kind("undo", has_draft, undo, resets),
    kind("push", has_draft, push, none),
    kind(
        "reset",
        has_draft,
        |population, block| vec![reset(population, block, ROOM[0])],
        none,
    ),
    kind(
        "typing",
        none,
        |population, block| vec![population.call(block, PAIR[0], Command::Typing { room: None })],
        none,
    ),
    kind("block_user", none, blocks, |population, block| {
        population.replace(block, IDLE[0])
    }),
    kind(
        "unblock_user",
        |population, block| all(population, blocks, block),
        |population, block| {
            let user = population.user(block, IDLE[1]);
            vec![population.call(block, IDLE[0], Command::UnblockUser { user })]
        },
        |population, block| population.replace(block, IDLE[0]),
    ),
    kind(
        "report_user",
        none,
        |population, block| {
            let user = population.user(block, IDLE[1]);
            let reason = "was rude".into();
            vec![population.call(block, IDLE[0], Command::ReportUser { user, reason })]
        },
        none,
    ),
    kind(
        "take_break",
        none,
        |population, block| vec![population.call(block, IDLE[0], a_break())],
        none,
    ),
    kind("open_stream", none, opens_stream, |population, block| {
        all(population, closes_stream, block);
    }),
    kind(
        "close_stream",
        |population, block| all(population, opens_stream, block),
        closes_stream,
        none,
    ),
    kind(
        "seen",
        none,
        |population, block| vec![population.imply(block, PAIR[0], Implied::Seen { waiting: None })],
        none,
    ),
    kind(
        "read",
        |population, block| all(population, both_say, block),
        |population, block| PAIR.map(|place| population.read(block, place)).to_vec(),
        none,
    ),
    kind(
        "repeated",
        |population, block| all(population, says_with_key, block),
        says_with_key,
        none,
    ),
    kind("mute", none, mute, |population, block| {
        all(population, unmute, block)
    }),
    kind(
        "unmute",
        |population, block| all(population, mute, block),
        unmute,
        none,
    ),
    kind("kick", none, kick, |population, block| {
        let back = population.call(block, ROOM[3], login(block, ROOM[3]));
        population.carry_out(&back);
    }),
    kind(
        "close_room",
        |population, block| {
            let room = format!("closing {block}").into();
            let username = format!("idle {block}").into();
            let opens = population.call(block, IDLE[0], Command::Login { username, room });
            population.carry_out(&opens);
        },
        |population, block| {
            let rooms = population.hub().rooms_of(population.user(block, IDLE[0]));
            let reason = || "enough".into();
            let close = |room| {
                operate(Operate::Close {
                    room,
                    reason: reason(),
                })
            };
            rooms.iter().copied().map(close).collect()
        },
        none,
    ),
    kind(
        "ban_user",
        newcomer_comes,
        ban_newcomer,
        |population, block| {
            all(population, unban_newcomer, block);
        },
    ),
    kind(
        "unban",
        |population, block| {
            newcomer_comes(population, block);
            all(population, ban_newcomer, block);
        },
        unban_newcomer,
        none,
    ),
    kind("mute_address", none, mute_address, |population, block| {
        all(population, unban_address, block);
    }),
    kind("ban_address", none, ban_address, |population, block| {
        all(population, unban_address, block);
    }),
    kind(
        "unban_address",
        |population, block| all(population, ban_address, block),
        unban_address,
        none,
    ),
    kind("tick", none, |_, _| vec![Entry::Tick], none),
];

/// A kind under FIFO matching, as all but two are.
const fn kind(
    name: &'static str,
    before: fn(&mut Population, usize),
    measured: fn(&Population, usize) -> Vec<Entry>,
    after: fn(&mut Population, usize),
) -> Kind {
    Kind {
        name,
        matching: Matching::Fifo,
        before,
        measured,
        after,
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, BLOCKS};

    #[test]
    fn every_command_is_accepted_in_each_block_and_undone_after_it() {
        for kind in ALL {
            let mut population = kind.population(1_000);
            let counts = population.hub().counts();
            for _ in 0..3 {
                let entries = kind.prepare(&mut population);
                assert!(entries.len() >= BLOCKS, "{}", kind.name);
                let tally = population.handle(&entries);
                assert_eq!(tally.accepted, entries.len() as u64, "{}", kind.name);
                kind.restore(&mut population, tally);
            }
            let now = population.hub().counts();
            assert_eq!(now.participants, counts.participants, "{}", kind.name);
            assert_eq!(now.waiting, counts.waiting, "{}", kind.name);
            population
                .hub()
                .validate()
                .expect("the core's invariants hold");
        }
    }

    #[test]
    fn every_command_is_counted() {
        let counted = include_str!("../benches/counts.rs");
        for kind in ALL {
            let line = format!("#[bench::{0}(\"{0}\")]\n", kind.name);
            assert!(counted.contains(&line), "{}", kind.name);
        }
    }

    #[test]
    fn a_population_has_pairs_and_rooms_of_four() {
        let population = crate::population::Population::new(
            80,
            chat_core::config::Matching::Fifo,
            crate::population::Pace::Still,
        );
        let counts = population.hub().counts();
        assert_eq!((counts.participants, counts.rooms), (80, 20));
        assert_eq!(population.hub().members_of(population.room(9)).count(), 4);
    }
}
