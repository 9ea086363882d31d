//! The entries of each command, for one block of the population.

use chat_core::{Address, Command, Entry, Implied, Operate};

use crate::population::{
    BLOCK, IDLE, PAIR, Population, ROOM, agent_name, by_newcomer, enter, login, newcomer, operate,
};

/// The length of messages: the usual `append` of a model.
const LENGTH: usize = 154;

pub(super) fn none(_: &mut Population, _: usize) {}

pub(super) fn carry_out(population: &mut Population, entries: Vec<Entry>) {
    for entry in entries {
        population.carry_out(&entry);
    }
}

pub(super) fn all(
    population: &mut Population,
    entries: fn(&Population, usize) -> Vec<Entry>,
    block: usize,
) {
    let entries = entries(population, block);
    carry_out(population, entries);
}

pub(super) fn enter_both(population: &Population, block: usize) -> Vec<Entry> {
    IDLE.map(|place| population.call(block, place, enter("anything")))
        .to_vec()
}

pub(super) fn leave_pair(population: &mut Population, block: usize) {
    let leave = population.call(block, IDLE[0], Command::LeaveChat { room: None });
    population.carry_out(&leave);
}

pub(super) fn enter_alone(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.call(block, IDLE[0], enter(&format!("lonely {block}")))]
}

pub(super) fn leave_line(population: &mut Population, block: usize) {
    let leave = population.call(block, IDLE[0], Command::LeaveQueue);
    population.carry_out(&leave);
}

pub(super) fn newcomer_comes(population: &mut Population, block: usize) {
    population.carry_out(&newcomer(2, block as u64, login(block, BLOCK)));
}

pub(super) fn newcomer_leaves(_: &Population, block: usize) -> Vec<Entry> {
    vec![by_newcomer(2, block as u64, Command::Unregister)]
}

pub(super) fn idle_log_in(population: &Population, block: usize) -> Vec<Entry> {
    IDLE.map(|place| population.call(block, place, login(block, place)))
        .to_vec()
}

pub(super) fn idle_log_out(population: &mut Population, block: usize) {
    all(population, leave_rooms, block);
}

pub(super) fn leave_rooms(population: &Population, block: usize) -> Vec<Entry> {
    let room = Some(population.room(block));
    IDLE.map(|place| population.call(block, place, Command::LeaveChat { room }))
        .to_vec()
}

pub(super) fn both_say(population: &Population, block: usize) -> Vec<Entry> {
    PAIR.map(|place| population.call(block, place, say()))
        .to_vec()
}

/// A message to the caller's only room.
#[must_use]
pub fn say() -> Command {
    Command::SendMessage {
        room: None,
        text: "x".repeat(LENGTH).into(),
        epoch: None,
    }
}

pub(super) fn says_with_key(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.keyed_call(block, PAIR[0], say())]
}

pub(super) fn claim(population: &Population, block: usize, place: usize) -> Entry {
    let (room, epoch) = (None, None);
    population.call(block, place, Command::TalkingStick { room, epoch })
}

pub(super) fn reset(population: &Population, block: usize, place: usize) -> Entry {
    let (room, epoch) = (None, None);
    population.call(block, place, Command::Reset { room, epoch })
}

pub(super) fn holds_stick(population: &mut Population, block: usize) {
    carry_out(population, vec![claim(population, block, ROOM[0])]);
}

pub(super) fn has_draft(population: &mut Population, block: usize) {
    holds_stick(population, block);
    all(population, append, block);
}

pub(super) fn append(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    let text = "x".repeat(LENGTH).into();
    vec![population.call(block, ROOM[0], Command::Append { room, text, epoch })]
}

pub(super) fn undo(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![population.call(block, ROOM[0], Command::Undo { room, epoch })]
}

pub(super) fn push(population: &Population, block: usize) -> Vec<Entry> {
    let (room, epoch) = (None, None);
    vec![population.call(block, ROOM[0], Command::Push { room, epoch })]
}

pub(super) fn resets(population: &mut Population, block: usize) {
    carry_out(population, vec![reset(population, block, ROOM[0])]);
}

pub(super) fn opens_stream(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.imply(block, PAIR[0], Implied::OpenStream)]
}

pub(super) fn closes_stream(population: &Population, block: usize) -> Vec<Entry> {
    vec![population.imply(block, PAIR[0], Implied::CloseStream)]
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

pub(super) fn ban_newcomer(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.hub().user_by_name(&agent_name(block, BLOCK));
    let reason = || "noise".into();
    let ban = |user| {
        operate(Operate::BanUser {
            user,
            reason: reason(),
        })
    };
    user.into_iter().map(ban).collect()
}

pub(super) fn unban_newcomer(_: &Population, block: usize) -> Vec<Entry> {
    let name = agent_name(block, BLOCK).into();
    vec![operate(Operate::Unban { name })]
}

pub(super) fn blocks(population: &Population, block: usize) -> Vec<Entry> {
    let user = population.user(block, IDLE[1]);
    vec![population.call(block, IDLE[0], Command::BlockUser { user })]
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
