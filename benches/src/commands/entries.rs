//! The entries of each command, for one block of the population.

use chat_core::{Address, Command, Entry, Implied, Operate, RoomId, UserId};

use crate::population::{
    BLOCK, IDLE, PAIR, Population, ROOM, a_break, agent_name, by_newcomer, enter, login, newcomer,
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
    population: &Population,
    block: usize,
    places: [usize; N],
    command: impl Fn(usize) -> Command,
) -> Vec<Entry> {
    places
        .map(|place| population.call(block, place, command(place)))
        .to_vec()
}

/// A command of the participant at this place.
fn one(population: &Population, block: usize, place: usize, command: Command) -> Vec<Entry> {
    vec![population.call(block, place, command)]
}

pub(super) fn enter_both(population: &Population, block: usize) -> Vec<Entry> {
    calls(population, block, IDLE, |_| enter("anything"))
}

pub(super) fn leave_pair(population: &Population, block: usize) -> Vec<Entry> {
    one(
        population,
        block,
        IDLE[0],
        Command::LeaveChat { room: None },
    )
}

pub(super) fn enter_alone(population: &Population, block: usize) -> Vec<Entry> {
    one(
        population,
        block,
        IDLE[0],
        enter(&format!("lonely {block}")),
    )
}

pub(super) fn leave_queue(population: &Population, block: usize) -> Vec<Entry> {
    one(population, block, IDLE[0], Command::LeaveQueue)
}

pub(super) fn newcomer_comes(_: &Population, block: usize) -> Vec<Entry> {
    vec![newcomer(2, block as u64, login(block, BLOCK))]
}

pub(super) fn newcomer_leaves(_: &Population, block: usize) -> Vec<Entry> {
    vec![by_newcomer(2, block as u64, Command::Unregister)]
}

pub(super) fn idle_log_in(population: &Population, block: usize) -> Vec<Entry> {
    calls(population, block, IDLE, |place| login(block, place))
}

pub(super) fn leave_rooms(population: &Population, block: usize) -> Vec<Entry> {
    let room = Some(population.room(block));
    calls(population, block, IDLE, |_| Command::LeaveChat { room })
}

pub(super) fn both_say(population: &Population, block: usize) -> Vec<Entry> {
    calls(population, block, PAIR, |_| say())
}

pub(super) fn both_read(population: &Population, block: usize) -> Vec<Entry> {
    PAIR.map(|place| population.read(block, place)).to_vec()
}

pub(super) fn says_with_key(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.keyed_call(block, PAIR[0], say())]
}

pub(super) fn typing(population: &Population, block: usize) -> Vec<Entry> {
    one(population, block, PAIR[0], Command::Typing { room: None })
}

fn talking_stick(_: usize) -> Command {
    let (room, epoch) = (None, None);
    Command::TalkingStick { room, epoch }
}

pub(super) fn claim(population: &Population, block: usize) -> Vec<Entry> {
    calls(population, block, [ROOM[0]], talking_stick)
}

pub(super) fn two_claim(population: &Population, block: usize) -> Vec<Entry> {
    calls(population, block, [ROOM[0], ROOM[1]], talking_stick)
}

pub(super) fn append(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    let text = "x".repeat(LENGTH).into();
    one(
        population,
        block,
        ROOM[0],
        Command::Append { room, text, epoch },
    )
}

pub(super) fn undo(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    one(population, block, ROOM[0], Command::Undo { room, epoch })
}

pub(super) fn push(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    one(population, block, ROOM[0], Command::Push { room, epoch })
}

pub(super) fn reset(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    one(population, block, ROOM[0], Command::Reset { room, epoch })
}

pub(super) fn second_resets(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    one(population, block, ROOM[1], Command::Reset { room, epoch })
}

pub(super) fn blocks(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, IDLE[1]);
    one(population, block, IDLE[0], Command::BlockUser { user })
}

pub(super) fn unblocks(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, IDLE[1]);
    one(population, block, IDLE[0], Command::UnblockUser { user })
}

pub(super) fn reports(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, IDLE[1]);
    let reason = "was rude".into();
    one(
        population,
        block,
        IDLE[0],
        Command::ReportUser { user, reason },
    )
}

pub(super) fn takes_break(population: &Population, block: usize) -> Vec<Entry> {
    one(population, block, IDLE[0], a_break())
}

pub(super) fn opens_stream(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.imply(block, PAIR[0], Implied::OpenStream)]
}

pub(super) fn closes_stream(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.imply(block, PAIR[0], Implied::CloseStream)]
}

pub(super) fn seen(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.imply(block, PAIR[0], Implied::Seen { waiting: None })]
}

pub(super) fn opens_room(population: &Population, block: usize) -> Vec<Entry> {
    let room = format!("closing {block}").into();
    let username = format!("idle {block}").into();
    one(
        population,
        block,
        IDLE[0],
        Command::Login { username, room },
    )
}

pub(super) fn close_rooms(population: &Population, block: usize) -> Vec<Entry> {
    let rooms = population.hub().rooms_of(population.user(block, IDLE[0]));
    let close = |room: &RoomId| {
        let (room, reason) = (*room, "enough".into());
        operate(Operate::Close { room, reason })
    };
    rooms.iter().map(close).collect()
}

pub(super) fn mute(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, PAIR[0]);
    let reason = "noise".into();
    vec![operate(Operate::Mute { user, reason })]
}

pub(super) fn unmute(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, PAIR[0]);
    vec![operate(Operate::Unmute { user })]
}

pub(super) fn kick(population: &Population, block: usize) -> Vec<Entry> {
    let (user, room) = (population.user(block, ROOM[3]), population.room(block));
    let reason = "noise".into();
    vec![operate(Operate::Kick { user, room, reason })]
}

pub(super) fn kicked_log_in(population: &Population, block: usize) -> Vec<Entry> {
    one(population, block, ROOM[3], login(block, ROOM[3]))
}

pub(super) fn ban_newcomer(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.hub().user_by_name(&agent_name(block, BLOCK));
    let ban = |user: UserId| {
        let reason = "noise".into();
        operate(Operate::BanUser { user, reason })
    };
    user.into_iter().map(ban).collect()
}

pub(super) fn unban_newcomer(_: &Population, block: usize) -> Vec<Entry> {
    let name = agent_name(block, BLOCK).into();
    vec![operate(Operate::Unban { name })]
}

pub(super) fn mute_address(_: &Population, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    let reason = "noise".into();
    vec![operate(Operate::MuteAddress { address, reason })]
}

pub(super) fn ban_address(_: &Population, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    let reason = "noise".into();
    vec![operate(Operate::BanAddress { address, reason })]
}

pub(super) fn unban_address(_: &Population, block: usize) -> Vec<Entry> {
    let address = Address(block as u64);
    vec![operate(Operate::UnbanAddress { address })]
}

pub(super) fn tick(_: &Population, _: usize) -> Vec<Entry> {
    vec![Entry::Tick]
}
