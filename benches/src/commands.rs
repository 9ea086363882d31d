//! Each command by itself: what must be so before it, the command, and how all becomes as before.
//!
//! A round does one command, or two, in each of a hundred blocks that lie far apart, so that the
//! size of the crowd shows in the caches as it does in a server.

use chat_core::config::Matching;
use chat_core::{Address, BreakKind, Command, Entry, Implied, Operate};

use crate::crowd::{
    BLOCK, Crowd, IDLE, PAIR, Pace, ROOM, Tally, agent_name, by_newcomer, enter, login, newcomer,
    operate,
};

/// In how many blocks a round happens.
pub const BLOCKS: usize = 100;

/// What everybody says: as long as the usual `append` of a model.
const LENGTH: usize = 154;

/// A command to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    matching: Matching,
    before: fn(&mut Crowd, usize),
    measured: fn(&Crowd, usize) -> Vec<Entry>,
    after: fn(&mut Crowd, usize),
}

impl Kind {
    /// The kind of this name.
    ///
    /// # Panics
    /// When there is none: a mistake in a measurement.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let found = ALL.iter().find(|kind| kind.name == name);
        *found.unwrap_or_else(|| panic!("no command is named {name}"))
    }

    /// A crowd in which it can be asked for.
    #[must_use]
    pub fn crowd(&self, size: usize) -> Crowd {
        Crowd::new(size, self.matching, Pace::Still)
    }

    /// Whether its crowd pairs by interests.
    #[must_use]
    pub fn matching(&self) -> Matching {
        self.matching
    }

    /// Makes things ready, and returns what is to be measured.
    pub fn prepare(&self, crowd: &mut Crowd) -> Vec<Entry> {
        let chosen = chosen(crowd);
        for block in &chosen {
            (self.before)(crowd, *block);
        }
        chosen
            .iter()
            .flat_map(|block| (self.measured)(crowd, *block))
            .collect()
    }

    /// Makes everything as it was before.
    ///
    /// # Panics
    /// When something was refused: a mistake in a measurement.
    pub fn restore(&self, crowd: &mut Crowd, tally: Tally) {
        assert_eq!(tally.refused, 0, "{} is refused", self.name);
        for block in chosen(crowd) {
            (self.after)(crowd, block);
            for place in 0..BLOCK {
                let read = crowd.read(block, place);
                crowd.carry_out(&read);
            }
        }
    }
}

fn chosen(crowd: &Crowd) -> Vec<usize> {
    (0..BLOCKS).map(|n| n * crowd.blocks() / BLOCKS).collect()
}

/// Every command that there is to measure.
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
            |crowd, block| all(crowd, enter_alone, block),
            |crowd, block| vec![crowd.call(block, IDLE[0], Command::LeaveQueue)],
            none,
        )
    },
    kind(
        "register",
        none,
        |_, block| vec![newcomer(2, block as u64, login(block, BLOCK))],
        |crowd, block| all(crowd, newcomer_leaves, block),
    ),
    kind(
        "arrive",
        none,
        |_, block| vec![newcomer(2, block as u64, Command::Arrive)],
        |crowd, block| all(crowd, newcomer_leaves, block),
    ),
    kind("unregister", newcomer_comes, newcomer_leaves, none),
    kind("login", none, idle_log_in, idle_log_out),
    kind(
        "leave_room",
        |crowd, block| all(crowd, idle_log_in, block),
        leave_rooms,
        none,
    ),
    kind(
        "leave_chat",
        |crowd, block| all(crowd, enter_both, block),
        |crowd, block| vec![crowd.call(block, IDLE[0], Command::LeaveChat { room: None })],
        none,
    ),
    kind("send_message", none, both_say, none),
    kind(
        "talking_stick",
        none,
        |crowd, block| vec![claim(crowd, block, ROOM[0]), claim(crowd, block, ROOM[1])],
        |crowd, block| {
            carry_out(crowd, vec![reset(crowd, block, ROOM[1])]);
            carry_out(crowd, vec![reset(crowd, block, ROOM[0])]);
        },
    ),
    kind("append", holds_stick, append, resets),
    kind("undo", has_draft, undo, resets),
    kind("push", has_draft, push, none),
    kind(
        "reset",
        has_draft,
        |crowd, block| vec![reset(crowd, block, ROOM[0])],
        none,
    ),
    kind(
        "typing",
        none,
        |crowd, block| vec![crowd.call(block, PAIR[0], Command::Typing { room: None })],
        none,
    ),
    kind("block_user", none, blocks, |crowd, block| {
        crowd.replace(block, IDLE[0])
    }),
    kind(
        "unblock_user",
        |crowd, block| all(crowd, blocks, block),
        |crowd, block| {
            let user = crowd.user(block, IDLE[1]);
            vec![crowd.call(block, IDLE[0], Command::UnblockUser { user })]
        },
        |crowd, block| crowd.replace(block, IDLE[0]),
    ),
    kind(
        "report_user",
        none,
        |crowd, block| {
            let user = crowd.user(block, IDLE[1]);
            let reason = "was rude".into();
            vec![crowd.call(block, IDLE[0], Command::ReportUser { user, reason })]
        },
        none,
    ),
    kind(
        "take_break",
        none,
        |crowd, block| {
            let kind = BreakKind::CoffeeMission;
            let excuse = None;
            vec![crowd.call(block, IDLE[0], Command::TakeBreak { kind, excuse })]
        },
        none,
    ),
    kind("open_stream", none, opens_stream, |crowd, block| {
        all(crowd, closes_stream, block);
    }),
    kind(
        "close_stream",
        |crowd, block| all(crowd, opens_stream, block),
        closes_stream,
        none,
    ),
    kind(
        "seen",
        none,
        |crowd, block| vec![crowd.imply(block, PAIR[0], Implied::Seen { waiting: None })],
        none,
    ),
    kind(
        "read",
        |crowd, block| all(crowd, both_say, block),
        |crowd, block| PAIR.map(|place| crowd.read(block, place)).to_vec(),
        none,
    ),
    kind(
        "repeated",
        |crowd, block| all(crowd, says_with_key, block),
        says_with_key,
        none,
    ),
    kind("mute", none, mute, |crowd, block| all(crowd, unmute, block)),
    kind(
        "unmute",
        |crowd, block| all(crowd, mute, block),
        unmute,
        none,
    ),
    kind("kick", none, kick, |crowd, block| {
        let back = crowd.call(block, ROOM[3], login(block, ROOM[3]));
        crowd.carry_out(&back);
    }),
    kind(
        "close_room",
        |crowd, block| {
            let room = format!("closing {block}").into();
            let username = format!("idle {block}").into();
            let opens = crowd.call(block, IDLE[0], Command::Login { username, room });
            crowd.carry_out(&opens);
        },
        |crowd, block| {
            let rooms = crowd.hub().rooms_of(crowd.user(block, IDLE[0]));
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
    kind("ban_user", newcomer_comes, ban_newcomer, |crowd, block| {
        all(crowd, unban_newcomer, block);
    }),
    kind(
        "unban",
        |crowd, block| {
            newcomer_comes(crowd, block);
            all(crowd, ban_newcomer, block);
        },
        unban_newcomer,
        none,
    ),
    kind("mute_address", none, mute_address, |crowd, block| {
        all(crowd, unban_address, block);
    }),
    kind("ban_address", none, ban_address, |crowd, block| {
        all(crowd, unban_address, block);
    }),
    kind(
        "unban_address",
        |crowd, block| all(crowd, ban_address, block),
        unban_address,
        none,
    ),
    kind("tick", none, |_, _| vec![Entry::Tick], none),
];

/// One that pairs by arrival, as all but two do.
const fn kind(
    name: &'static str,
    before: fn(&mut Crowd, usize),
    measured: fn(&Crowd, usize) -> Vec<Entry>,
    after: fn(&mut Crowd, usize),
) -> Kind {
    Kind {
        name,
        matching: Matching::Fifo,
        before,
        measured,
        after,
    }
}

fn none(_: &mut Crowd, _: usize) {}

fn carry_out(crowd: &mut Crowd, entries: Vec<Entry>) {
    for entry in entries {
        crowd.carry_out(&entry);
    }
}

fn all(crowd: &mut Crowd, entries: fn(&Crowd, usize) -> Vec<Entry>, block: usize) {
    let entries = entries(crowd, block);
    carry_out(crowd, entries);
}

fn enter_both(crowd: &Crowd, block: usize) -> Vec<Entry> {
    IDLE.map(|place| crowd.call(block, place, enter("anything")))
        .to_vec()
}

fn leave_pair(crowd: &mut Crowd, block: usize) {
    let leave = crowd.call(block, IDLE[0], Command::LeaveChat { room: None });
    crowd.carry_out(&leave);
}

fn enter_alone(crowd: &Crowd, block: usize) -> Vec<Entry> {
    vec![crowd.call(block, IDLE[0], enter(&format!("lonely {block}")))]
}

fn leave_line(crowd: &mut Crowd, block: usize) {
    let leave = crowd.call(block, IDLE[0], Command::LeaveQueue);
    crowd.carry_out(&leave);
}

fn newcomer_comes(crowd: &mut Crowd, block: usize) {
    crowd.carry_out(&newcomer(2, block as u64, login(block, BLOCK)));
}

fn newcomer_leaves(_: &Crowd, block: usize) -> Vec<Entry> {
    vec![by_newcomer(2, block as u64, Command::Unregister)]
}

fn idle_log_in(crowd: &Crowd, block: usize) -> Vec<Entry> {
    IDLE.map(|place| crowd.call(block, place, login(block, place)))
        .to_vec()
}

fn idle_log_out(crowd: &mut Crowd, block: usize) {
    all(crowd, leave_rooms, block);
}

fn leave_rooms(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let room = Some(crowd.room(block));
    IDLE.map(|place| crowd.call(block, place, Command::LeaveChat { room }))
        .to_vec()
}

fn both_say(crowd: &Crowd, block: usize) -> Vec<Entry> {
    PAIR.map(|place| crowd.call(block, place, say())).to_vec()
}

/// Something said wherever one is.
#[must_use]
pub fn say() -> Command {
    Command::SendMessage {
        room: None,
        text: "x".repeat(LENGTH).into(),
        epoch: None,
    }
}

fn says_with_key(crowd: &Crowd, block: usize) -> Vec<Entry> {
    vec![crowd.keyed_call(block, PAIR[0], say())]
}

fn claim(crowd: &Crowd, block: usize, place: usize) -> Entry {
    let (room, epoch) = (None, None);
    crowd.call(block, place, Command::TalkingStick { room, epoch })
}

fn reset(crowd: &Crowd, block: usize, place: usize) -> Entry {
    let (room, epoch) = (None, None);
    crowd.call(block, place, Command::Reset { room, epoch })
}

fn holds_stick(crowd: &mut Crowd, block: usize) {
    carry_out(crowd, vec![claim(crowd, block, ROOM[0])]);
}

fn has_draft(crowd: &mut Crowd, block: usize) {
    holds_stick(crowd, block);
    all(crowd, append, block);
}

fn append(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    let text = "x".repeat(LENGTH).into();
    vec![crowd.call(block, ROOM[0], Command::Append { room, text, epoch })]
}

fn undo(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![crowd.call(block, ROOM[0], Command::Undo { room, epoch })]
}

fn push(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![crowd.call(block, ROOM[0], Command::Push { room, epoch })]
}

fn resets(crowd: &mut Crowd, block: usize) {
    carry_out(crowd, vec![reset(crowd, block, ROOM[0])]);
}

fn opens_stream(crowd: &Crowd, block: usize) -> Vec<Entry> {
    vec![crowd.imply(block, PAIR[0], Implied::OpenStream)]
}

fn closes_stream(crowd: &Crowd, block: usize) -> Vec<Entry> {
    vec![crowd.imply(block, PAIR[0], Implied::CloseStream)]
}

fn mute(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let user = crowd.user(block, PAIR[0]);
    let reason = "noise".into();
    vec![operate(Operate::Mute { user, reason })]
}

fn unmute(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let user = crowd.user(block, PAIR[0]);
    vec![operate(Operate::Unmute { user })]
}

fn kick(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let (user, room) = (crowd.user(block, ROOM[3]), crowd.room(block));
    let reason = "noise".into();
    vec![operate(Operate::Kick { user, room, reason })]
}

fn ban_newcomer(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let user = crowd.hub().user_by_name(&agent_name(block, BLOCK));
    let reason = || "noise".into();
    let ban = |user| {
        operate(Operate::BanUser {
            user,
            reason: reason(),
        })
    };
    user.into_iter().map(ban).collect()
}

fn unban_newcomer(_: &Crowd, block: usize) -> Vec<Entry> {
    let name = agent_name(block, BLOCK).into();
    vec![operate(Operate::Unban { name })]
}

fn blocks(crowd: &Crowd, block: usize) -> Vec<Entry> {
    let user = crowd.user(block, IDLE[1]);
    vec![crowd.call(block, IDLE[0], Command::BlockUser { user })]
}

fn mute_address(_: &Crowd, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    let reason = "noise".into();
    vec![operate(Operate::MuteAddress { address, reason })]
}

fn ban_address(_: &Crowd, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    let reason = "noise".into();
    vec![operate(Operate::BanAddress { address, reason })]
}

fn unban_address(_: &Crowd, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    vec![operate(Operate::UnbanAddress { address })]
}

#[cfg(test)]
mod tests {
    use super::{ALL, BLOCKS};
    use crate::crowd;

    #[test]
    fn every_command_is_accepted_in_each_block_and_undone_after_it() {
        for kind in ALL {
            let mut crowd = kind.crowd(1_000);
            let counts = crowd.hub().counts();
            for _ in 0..3 {
                let entries = kind.prepare(&mut crowd);
                assert!(entries.len() >= BLOCKS, "{}", kind.name);
                let tally = crowd.handle(&entries);
                assert_eq!(tally.accepted, entries.len() as u64, "{}", kind.name);
                kind.restore(&mut crowd, tally);
            }
            let now = crowd.hub().counts();
            assert_eq!(now.participants, counts.participants, "{}", kind.name);
            assert_eq!(now.waiting, counts.waiting, "{}", kind.name);
            crowd.hub().validate().expect("the core's invariants hold");
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
    fn a_crowd_has_pairs_and_rooms_of_four() {
        let crowd = crowd::Crowd::new(80, chat_core::config::Matching::Fifo, crowd::Pace::Still);
        let counts = crowd.hub().counts();
        assert_eq!((counts.participants, counts.rooms), (80, 20));
        assert_eq!(crowd.hub().members_of(crowd.room(9)).count(), 4);
    }
}
