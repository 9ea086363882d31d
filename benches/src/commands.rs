//! Each command by itself: its preparation, the command, and how it is undone.
//!
//! A round does one or two commands in each of a hundred blocks. The blocks lie far apart, so that
//! a large population affects the caches as it does in a server.

use std::sync::Arc;

use chat_core::config::Matching;
use chat_core::{Address, Addressees, Command, Entry, Implied, Operate, RequestKey, RoomId};

use crate::population::{
    BLOCK, Block, IDLE, PAIR, Pace, Population, ROOM, a_break, agent_name, by_newcomer, enter,
    login, newcomer, operate,
};

/// The number of blocks in a round.
pub const BLOCKS: usize = 100;

/// Makes entries for one block.
type Make = fn(Block<'_>) -> Vec<Entry>;

/// A kind of command.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The matching that it needs.
    pub matching: Matching,
    before: &'static [Make],
    measured: Make,
    after: &'static [Make],
    /// The places whose participants are replaced after it, because it leaves traces.
    renewed: &'static [usize],
}

impl Kind {
    /// The kind of this name.
    ///
    /// # Panics
    /// If there is none, which is a mistake in a benchmark.
    pub fn named(name: &str) -> Self {
        let found = ALL.iter().find(|kind| kind.name == name);
        *found.unwrap_or_else(|| panic!("no command is named {name}"))
    }

    /// A population in which the command is possible.
    pub fn population(&self, size: usize) -> Population {
        Population::new(size, self.matching, Pace::Still)
    }

    /// Prepares a round, and returns the entries to measure.
    pub fn prepare(&self, population: &mut Population) -> Vec<Entry> {
        let chosen = chosen(population);
        for block in &chosen {
            carry_out(population, self.before, *block);
        }
        let blocks = chosen.into_iter().map(|block| population.block(block));
        blocks.flat_map(self.measured).collect()
    }

    /// Restores the state before the round, in which every command must have been accepted.
    pub fn restore(&self, population: &mut Population) {
        for block in chosen(population) {
            carry_out(population, self.after, block);
            for place in self.renewed {
                population.replace(block, *place);
            }
            for place in 0..BLOCK {
                let read = population.block(block).read(place);
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

/// Handles the entries of each, which may depend on those before them.
fn carry_out(population: &mut Population, makes: &[Make], block: usize) {
    for make in makes {
        for entry in make(population.block(block)) {
            population.carry_out(&entry);
        }
    }
}

/// All kinds of commands.
pub const ALL: &[Kind] = &[
    kind("enter_queue", &[], enter_both, &[leave_pair]),
    Kind {
        matching: Matching::Interests,
        ..kind("enter_queue_by_interests", &[], enter_alone, &[leave_queue])
    },
    Kind {
        matching: Matching::Interests,
        ..kind("leave_queue", &[enter_alone], leave_queue, &[])
    },
    kind("register", &[], newcomer_comes, &[newcomer_leaves]),
    kind("unregister", &[newcomer_comes], newcomer_leaves, &[]),
    kind("login", &[], idle_log_in, &[leave_rooms]),
    kind("leave_room", &[idle_log_in], leave_rooms, &[]),
    kind("leave_chat", &[enter_both], leave_pair, &[]),
    kind("send_message", &[], both_say, &[]),
    kind("talking_stick", &[], two_claim, &[second_resets, reset]),
    kind("speak", &[], two_speak, &[]),
    kind("append", &[claim], append, &[reset]),
    kind("undo", &[claim, append], undo, &[reset]),
    kind("push", &[claim, append], push, &[]),
    kind("reset", &[claim, append], reset, &[]),
    kind("typing", &[], typing, &[]),
    Kind {
        renewed: BLOCKING,
        ..kind("block_user", &[], blocks, &[])
    },
    Kind {
        renewed: BLOCKING,
        ..kind("unblock_user", &[blocks], unblocks, &[])
    },
    kind("report_user", &[], reports, &[]),
    kind("take_break", &[], takes_break, &[]),
    kind("open_stream", &[], opens_stream, &[closes_stream]),
    kind("close_stream", &[opens_stream], closes_stream, &[]),
    kind("seen", &[], seen, &[]),
    kind("read", &[both_say], both_read, &[]),
    kind("repeated", &[says_with_key], says_with_key, &[]),
    kind("mute", &[], mute, &[unmute]),
    kind("unmute", &[mute], unmute, &[]),
    kind("kick", &[], kick, &[kicked_log_in]),
    kind("close_room", &[opens_room], close_rooms, &[]),
    kind("ban_user", &[newcomer_comes], ban, &[unban]),
    kind("unban", &[newcomer_comes, ban], unban, &[]),
    kind("mute_address", &[], mute_address, &[unban_address]),
    kind("ban_address", &[], ban_address, &[unban_address]),
    kind("unban_address", &[ban_address], unban_address, &[]),
    kind("tick", &[], tick, &[]),
];

/// The place of who blocks another.
const BLOCKING: &[usize] = &[IDLE[0]];

/// A kind under FIFO matching: what is done before it, the entries, and how they are undone.
const fn kind(
    name: &'static str,
    before: &'static [Make],
    measured: Make,
    after: &'static [Make],
) -> Kind {
    Kind {
        name,
        matching: Matching::Fifo,
        before,
        measured,
        after,
        renewed: &[],
    }
}

/// The length of messages: the usual `append` of a model.
pub const LENGTH: usize = 154;

/// A message to the caller's only room.
pub fn say() -> Command {
    Command::SendMessage {
        room: None,
        text: text(),
        epoch: None,
        to: Addressees::ALL,
    }
}

fn text() -> Arc<str> {
    "x".repeat(LENGTH).into()
}

/// An operator's reason.
fn noise() -> Arc<str> {
    "noise".into()
}

/// The address of a block.
fn of(at: Block<'_>) -> Address {
    Address(at.number as u64)
}

/// A command of each participant at these places.
fn calls<const N: usize>(
    at: Block<'_>,
    places: [usize; N],
    command: impl Fn(usize) -> Command,
) -> Vec<Entry> {
    places.map(|place| at.call(place, command(place))).to_vec()
}

fn talking_stick(_: usize) -> Command {
    let (room, epoch) = (None, None);
    Command::TalkingStick { room, epoch }
}

/// The entries of each command for one block: its name, the block, and the entries.
macro_rules! entries {
    ($($name:ident($at:pat) = $entries:expr;)*) => {
        $(fn $name($at: Block<'_>) -> Vec<Entry> {
            $entries
        })*
    };
}

entries! {
    enter_both(at) = calls(at, IDLE, |_| enter("anything"));
    leave_pair(at) = vec![at.call(IDLE[0], Command::LeaveChat { room: None })];
    enter_alone(at) = vec![at.call(IDLE[0], enter(&format!("lonely {}", at.number)))];
    leave_queue(at) = vec![at.call(IDLE[0], Command::LeaveQueue)];
    newcomer_comes(at) = vec![newcomer(2, at.number as u64, login(at.number, BLOCK))];
    newcomer_leaves(at) = vec![by_newcomer(2, at.number as u64, Command::Unregister)];
    idle_log_in(at) = calls(at, IDLE, |place| login(at.number, place));
    leave_rooms(at) = {
        let room = Some(at.room());
        calls(at, IDLE, |_| Command::LeaveChat { room })
    };
    both_say(at) = calls(at, PAIR, |_| say());
    both_read(at) = PAIR.map(|place| at.read(place)).to_vec();
    says_with_key(at) = {
        let key = Some(RequestKey(at.number as u128));
        vec![at.keyed_call(PAIR[0], key, say())]
    };
    typing(at) = vec![at.call(PAIR[0], Command::Typing { room: None })];
    claim(at) = calls(at, [ROOM[0]], talking_stick);
    two_speak(at) = calls(at, [ROOM[0], ROOM[1]], |_| Command::Speak { room: None, text: text(), to: Addressees::ALL });
    two_claim(at) = calls(at, [ROOM[0], ROOM[1]], talking_stick);
    append(at) = vec![at.call(ROOM[0], Command::Append { room: None, text: text(), epoch: None })];
    undo(at) = vec![at.call(ROOM[0], Command::Undo { room: None, epoch: None })];
    push(at) = vec![at.call(ROOM[0], Command::Push { room: None, epoch: None, to: Addressees::ALL })];
    reset(at) = vec![at.call(ROOM[0], Command::Reset { room: None, epoch: None })];
    second_resets(at) = vec![at.call(ROOM[1], Command::Reset { room: None, epoch: None })];
    blocks(at) = vec![at.call(IDLE[0], Command::BlockUser { user: at.user(IDLE[1]) })];
    unblocks(at) = vec![at.call(IDLE[0], Command::UnblockUser { user: at.user(IDLE[1]) })];
    reports(at) = {
        let (user, reason) = (at.user(IDLE[1]), "was rude".into());
        vec![at.call(IDLE[0], Command::ReportUser { user, reason })]
    };
    takes_break(at) = vec![at.call(IDLE[0], a_break())];
    opens_stream(at) = vec![at.imply(PAIR[0], Implied::OpenStream)];
    closes_stream(at) = vec![at.imply(PAIR[0], Implied::CloseStream)];
    seen(at) = vec![at.imply(PAIR[0], Implied::Seen { waiting: None })];
    opens_room(at) = {
        let named = |word: &str| format!("{word} {}", at.number).into();
        let (room, username) = (named("closing"), named("idle"));
        vec![at.call(IDLE[0], Command::Login { username, room })]
    };
    close_rooms(at) = {
        let rooms = at.population.hub.rooms_of(at.user(IDLE[0]));
        let close = |room: &RoomId| operate(Operate::Close { room: *room, reason: noise() });
        rooms.iter().map(close).collect()
    };
    mute(at) = vec![operate(Operate::Mute { user: at.user(PAIR[0]), reason: noise() })];
    unmute(at) = vec![operate(Operate::Unmute { user: at.user(PAIR[0]) })];
    kick(at) = {
        let (user, room, reason) = (at.user(ROOM[3]), at.room(), noise());
        vec![operate(Operate::Kick { user, room, reason })]
    };
    kicked_log_in(at) = vec![at.call(ROOM[3], login(at.number, ROOM[3]))];
    ban(at) = {
        let user = at.population.hub.user_by_name(&agent_name(at.number, BLOCK));
        let ban = |user| operate(Operate::BanUser { user, reason: noise() });
        user.into_iter().map(ban).collect()
    };
    unban(at) = {
        let name = agent_name(at.number, BLOCK).into();
        vec![operate(Operate::Unban { name })]
    };
    mute_address(at) = vec![operate(Operate::MuteAddress { address: of(at), reason: noise() })];
    ban_address(at) = vec![operate(Operate::BanAddress { address: of(at), reason: noise() })];
    unban_address(at) = vec![operate(Operate::UnbanAddress { address: of(at) })];
    tick(_) = vec![Entry::Tick];
}

#[cfg(test)]
mod tests {
    use super::{ALL, BLOCKS, Matching, Pace, Population};

    #[test]
    fn every_command_is_accepted_in_each_block_and_undone_after_it() {
        for kind in ALL {
            let mut population = kind.population(1_000);
            let counts = population.hub.counts();
            for _ in 0..3 {
                let entries = kind.prepare(&mut population);
                assert!(entries.len() >= BLOCKS, "{}", kind.name);
                let tally = population.handle(&entries);
                assert_eq!(tally.accepted, entries.len() as u64, "{}", kind.name);
                kind.restore(&mut population);
            }
            let now = population.hub.counts();
            assert_eq!(now.participants, counts.participants, "{}", kind.name);
            assert_eq!(now.waiting, counts.waiting, "{}", kind.name);
            population
                .hub
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
        let population = Population::new(80, Matching::Fifo, Pace::Still);
        let (hub, counts) = (&population.hub, population.hub.counts());
        assert_eq!((counts.participants, counts.rooms), (80, 20));
        assert_eq!(hub.members_of(population.block(9).room()).count(), 4);
    }
}
