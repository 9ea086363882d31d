//! The entries of each command, for one block of the population.

use chat_core::{Address, Command, Entry, Implied, Operate, RoomId, UserId};

use crate::population::{
    BLOCK, Block, IDLE, PAIR, ROOM, a_break, agent_name, by_newcomer, enter, login, newcomer,
    operate,
};

/// The length of messages: the usual `append` of a model.
const LENGTH: usize = 154;

/// A message to the caller's only room.
#[must_use]
pub fn say() -> Command {
    Command::SendMessage {
        room: None,
        text: "x".repeat(LENGTH).into(),
        epoch: None,
    }
}

/// A command of each participant at these places.
fn calls<const N: usize>(
    at: Block<'_>,
    places: [usize; N],
    command: impl Fn(usize) -> Command,
) -> Vec<Entry> {
    places.map(|place| at.call(place, command(place))).to_vec()
}

pub(super) fn enter_both(at: Block<'_>) -> Vec<Entry> {
    calls(at, IDLE, |_| enter("anything"))
}

pub(super) fn leave_pair(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(IDLE[0], Command::LeaveChat { room: None })]
}

pub(super) fn enter_alone(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(IDLE[0], enter(&format!("lonely {}", at.number)))]
}

pub(super) fn leave_queue(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(IDLE[0], Command::LeaveQueue)]
}

pub(super) fn newcomer_comes(at: Block<'_>) -> Vec<Entry> {
    vec![newcomer(2, at.number as u64, login(at.number, BLOCK))]
}

pub(super) fn newcomer_leaves(at: Block<'_>) -> Vec<Entry> {
    vec![by_newcomer(2, at.number as u64, Command::Unregister)]
}

pub(super) fn idle_log_in(at: Block<'_>) -> Vec<Entry> {
    calls(at, IDLE, |place| login(at.number, place))
}

pub(super) fn leave_rooms(at: Block<'_>) -> Vec<Entry> {
    let room = Some(at.room());
    calls(at, IDLE, |_| Command::LeaveChat { room })
}

pub(super) fn both_say(at: Block<'_>) -> Vec<Entry> {
    calls(at, PAIR, |_| say())
}

pub(super) fn both_read(at: Block<'_>) -> Vec<Entry> {
    PAIR.map(|place| at.read(place)).to_vec()
}

pub(super) fn says_with_key(at: Block<'_>) -> Vec<Entry> {
    vec![at.keyed_call(PAIR[0], say())]
}

pub(super) fn typing(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(PAIR[0], Command::Typing { room: None })]
}

fn talking_stick(_: usize) -> Command {
    let (room, epoch) = (None, None);
    Command::TalkingStick { room, epoch }
}

pub(super) fn claim(at: Block<'_>) -> Vec<Entry> {
    calls(at, [ROOM[0]], talking_stick)
}

pub(super) fn two_claim(at: Block<'_>) -> Vec<Entry> {
    calls(at, [ROOM[0], ROOM[1]], talking_stick)
}

pub(super) fn append(at: Block<'_>) -> Vec<Entry> {
    let (room, epoch, text) = (None, None, "x".repeat(LENGTH).into());
    vec![at.call(ROOM[0], Command::Append { room, text, epoch })]
}

pub(super) fn undo(at: Block<'_>) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![at.call(ROOM[0], Command::Undo { room, epoch })]
}

pub(super) fn push(at: Block<'_>) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![at.call(ROOM[0], Command::Push { room, epoch })]
}

pub(super) fn reset(at: Block<'_>) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![at.call(ROOM[0], Command::Reset { room, epoch })]
}

pub(super) fn second_resets(at: Block<'_>) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![at.call(ROOM[1], Command::Reset { room, epoch })]
}

pub(super) fn blocks(at: Block<'_>) -> Vec<Entry> {
    let user = at.user(IDLE[1]);
    vec![at.call(IDLE[0], Command::BlockUser { user })]
}

pub(super) fn unblocks(at: Block<'_>) -> Vec<Entry> {
    let user = at.user(IDLE[1]);
    vec![at.call(IDLE[0], Command::UnblockUser { user })]
}

pub(super) fn reports(at: Block<'_>) -> Vec<Entry> {
    let (user, reason) = (at.user(IDLE[1]), "was rude".into());
    vec![at.call(IDLE[0], Command::ReportUser { user, reason })]
}

pub(super) fn takes_break(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(IDLE[0], a_break())]
}

pub(super) fn opens_stream(at: Block<'_>) -> Vec<Entry> {
    vec![at.imply(PAIR[0], Implied::OpenStream)]
}

pub(super) fn closes_stream(at: Block<'_>) -> Vec<Entry> {
    vec![at.imply(PAIR[0], Implied::CloseStream)]
}

pub(super) fn seen(at: Block<'_>) -> Vec<Entry> {
    vec![at.imply(PAIR[0], Implied::Seen { waiting: None })]
}

pub(super) fn opens_room(at: Block<'_>) -> Vec<Entry> {
    let [room, username] = ["closing", "idle"].map(|word| format!("{word} {}", at.number).into());
    vec![at.call(IDLE[0], Command::Login { username, room })]
}

pub(super) fn close_rooms(at: Block<'_>) -> Vec<Entry> {
    let rooms = at.population.hub().rooms_of(at.user(IDLE[0]));
    let close = |room: &RoomId| {
        let (room, reason) = (*room, "enough".into());
        operate(Operate::Close { room, reason })
    };
    rooms.iter().map(close).collect()
}

pub(super) fn mute(at: Block<'_>) -> Vec<Entry> {
    let (user, reason) = (at.user(PAIR[0]), "noise".into());
    vec![operate(Operate::Mute { user, reason })]
}

pub(super) fn unmute(at: Block<'_>) -> Vec<Entry> {
    let user = at.user(PAIR[0]);
    vec![operate(Operate::Unmute { user })]
}

pub(super) fn kick(at: Block<'_>) -> Vec<Entry> {
    let (user, room, reason) = (at.user(ROOM[3]), at.room(), "noise".into());
    vec![operate(Operate::Kick { user, room, reason })]
}

pub(super) fn kicked_log_in(at: Block<'_>) -> Vec<Entry> {
    vec![at.call(ROOM[3], login(at.number, ROOM[3]))]
}

pub(super) fn ban_newcomer(at: Block<'_>) -> Vec<Entry> {
    let name = agent_name(at.number, BLOCK);
    let user = at.population.hub().user_by_name(&name);
    let ban = |user: UserId| {
        let reason = "noise".into();
        operate(Operate::BanUser { user, reason })
    };
    user.into_iter().map(ban).collect()
}

pub(super) fn unban_newcomer(at: Block<'_>) -> Vec<Entry> {
    let name = agent_name(at.number, BLOCK).into();
    vec![operate(Operate::Unban { name })]
}

pub(super) fn mute_address(at: Block<'_>) -> Vec<Entry> {
    let (address, reason) = (Address(at.number as u64), "noise".into());
    vec![operate(Operate::MuteAddress { address, reason })]
}

pub(super) fn ban_address(at: Block<'_>) -> Vec<Entry> {
    let (address, reason) = (Address(at.number as u64), "noise".into());
    vec![operate(Operate::BanAddress { address, reason })]
}

pub(super) fn unban_address(at: Block<'_>) -> Vec<Entry> {
    let address = Address(at.number as u64);
    vec![operate(Operate::UnbanAddress { address })]
}

pub(super) fn tick(_: Block<'_>) -> Vec<Entry> {
    vec![Entry::Tick]
}
