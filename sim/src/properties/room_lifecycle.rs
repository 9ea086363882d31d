//! One ending for each pair room and member, with the right reason, and nothing after it.

use chat_core::config::Limit;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::room::{RoomFacts, RoomKind};
use super::ledger::sight::Sight;
use crate::protocol::{EndReason, Room, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoomLifecycle {
    pub(crate) checks: u64,
}

impl RoomLifecycle {
    /// Somebody was told that a pair room ended.
    pub(crate) fn ended(
        &mut self,
        l: &mut Ledger,
        sight: &Sight<'_>,
        reason: EndReason,
        f: &mut Findings,
    ) {
        self.checks += 1;
        let (user, room) = (sight.user, sight.arrival.room);
        let end = l.rooms[sight.slot].end;
        let stay = l.stay(sight.arrival.person, room);
        let again = stay.is_some_and(|stay| std::mem::replace(&mut stay.told_end, true));
        if again || end.is_some_and(|end| end != sight.arrival.room_seq) {
            f.blame(Property::RoomLifecycle, l.clock.now, &[user], || {
                format!("{} was told twice that room_{} ended", name(user), room.0)
            });
        }
        if !right_reason(l, sight, reason) {
            f.blame(Property::RoomLifecycle, l.clock.now, &[user], || {
                format!(
                    "{} was told that room_{} ended for the reason {}, but nothing of the kind \
                     had happened",
                    name(user),
                    room.0,
                    reason_name(reason)
                )
            });
        }
        let head = l.rooms[sight.slot].head;
        if head > sight.arrival.room_seq {
            self.after_end(l, user, room, head, f);
        }
    }

    /// Something stands at this place of a room.
    pub(crate) fn placed(&self, l: &Ledger, slot: usize, user: User, seq: u64, f: &mut Findings) {
        let room = &l.rooms[slot];
        if room.kind == RoomKind::Pair && room.end.is_some_and(|end| seq > end) {
            self.after_end(l, user, room.room, seq, f);
        }
    }

    fn after_end(&self, l: &Ledger, user: User, room: Room, seq: u64, f: &mut Findings) {
        f.blame(Property::RoomLifecycle, l.clock.now, &[user], || {
            format!(
                "room_{} had ended, yet its place {seq} was given away",
                room.0
            )
        });
    }

    /// The next place of a pair room, in order: `turn_limit` says how many may be messages.
    pub(crate) fn in_order(&self, l: &Ledger, slot: usize, sender: User, f: &mut Findings) {
        let room = &l.rooms[slot];
        if let Limit::At(limit) = l.config.turn_limit
            && room.spoken == limit + 1
        {
            f.blame(Property::RoomLifecycle, l.clock.now, &[sender], || {
                format!(
                    "room_{} took more than its {limit} messages, the next from {}",
                    room.room.0,
                    name(sender)
                )
            });
        }
    }

    /// Reached a room's end in order: the reason `turn_limit` wants exactly so many messages.
    pub(crate) fn end_in_order(
        &self,
        l: &Ledger,
        slot: usize,
        reason: EndReason,
        f: &mut Findings,
    ) {
        let room = &l.rooms[slot];
        if reason == EndReason::TurnLimit && !turns_are_up(l, room) {
            let users: Vec<User> = room
                .pair
                .iter()
                .flat_map(|pair| pair.sides.map(|side| side.user))
                .collect();
            f.blame(Property::RoomLifecycle, l.clock.now, &users, || {
                format!(
                    "room_{} ended for the reason turn_limit after {} messages",
                    room.room.0, room.spoken
                )
            });
        }
    }

    /// Somebody whose inbox is drained was never told that a room ended.
    pub(crate) fn end_untold(&self, l: &Ledger, user: User, room: Room, f: &mut Findings) {
        f.blame(Property::RoomLifecycle, l.clock.now, &[user], || {
            format!("{} was never told that room_{} ended", name(user), room.0)
        });
    }

    /// Somebody's inbox is drained: it was told of each chat that its partner left, unless it had
    /// asked to leave before it could know.
    pub(crate) fn drained(&self, l: &Ledger, person: usize, f: &mut Findings) {
        let someone = &l.people[person];
        for stay in &someone.memberships {
            let room = &l.rooms[stay.slot];
            // Where a client has seen the end, the ledger says who has not.
            if stay.left.is_some() || stay.told_end || !stay.gaps.is_empty() || room.operated {
                continue;
            }
            let Some([me, partner]) = room.sides_of(someone.user) else {
                continue;
            };
            let Some(left_at) = partner.left_at.filter(|at| *at <= someone.read_at) else {
                continue;
            };
            let ended_it = me.left_called.is_some_and(|called_at| called_at < left_at)
                || l.blocked_in(person, stay.slot)
                || l.may_have_left(person, stay.slot);
            if !ended_it {
                self.end_untold(l, someone.user, stay.room, f);
            }
        }
    }
}

fn turns_are_up(l: &Ledger, room: &RoomFacts) -> bool {
    match l.config.turn_limit {
        Limit::None => false,
        Limit::At(limit) => room.spoken <= limit && limit <= room.spoken + room.unknown,
    }
}

/// Whether something happened that makes this the reason. A stay that timed out cannot be
/// disproved by what clients saw.
fn right_reason(l: &Ledger, sight: &Sight<'_>, reason: EndReason) -> bool {
    let room = &l.rooms[sight.slot];
    let Some(partner) = room.partner_of(sight.user) else {
        return true;
    };
    match reason {
        EndReason::Left => {
            let person = l.person_known(partner.user);
            // Who was banned left all that it was in, and may not have been told yet in what.
            let banned = |person: usize| l.people[person].operated && l.people[person].gone;
            partner.left_called.is_some()
                || room.operated
                || person
                    .is_some_and(|person| banned(person) || l.may_have_left(person, sight.slot))
        }
        EndReason::Blocked => l.blocked_in(sight.arrival.person, sight.slot),
        EndReason::Closed => room.operated,
        // Judged when the room's order is known up to its end.
        EndReason::TurnLimit => l.config.turn_limit != Limit::None,
        EndReason::Timeout => true,
    }
}

const fn reason_name(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Left => "left",
        EndReason::Timeout => "timeout",
        EndReason::Blocked => "blocked",
        EndReason::TurnLimit => "turn_limit",
        EndReason::Closed => "closed",
    }
}
