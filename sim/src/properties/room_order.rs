//! All members see one order per room; each sender's messages keep theirs; timestamps never go
//! back.
//!
//! Two sights of one place are compared by a fingerprint. What crossed a crash in between is
//! blamed on `durability` instead.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::room::Claim;
use super::ledger::sight::{Claimed, Sight};
use crate::protocol::{Room, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoomOrder {
    pub(crate) checks: u64,
}

/// Whether an event stands where it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Kept,
    Broken,
}

impl RoomOrder {
    /// An event arrived for the first time.
    pub(crate) fn sighted(&mut self, l: &Ledger, sight: &Sight<'_>, f: &mut Findings) -> Order {
        self.checks += 1;
        let arrival = sight.arrival;
        if let Some(before) = &sight.before
            && before.is_shown()
            && before.shown != arrival.print
        {
            f.blame(crossed(l, before.era), l.clock.now, &[sight.user], || {
                format!(
                    "{} sees another event at place {} of room_{} than others do",
                    name(sight.user),
                    arrival.room_seq,
                    arrival.room.0
                )
            });
            return Order::Broken;
        }
        let last = &sight.last;
        if last.room_seq == 0 {
            return Order::Kept;
        }
        let later = arrival.room_seq > last.room_seq;
        let in_order = later == (arrival.inbox_seq > last.inbox_seq);
        if !in_order && arrival.room_seq != last.room_seq {
            f.blame(Property::RoomOrder, l.clock.now, &[sight.user], || {
                format!(
                    "{} has events {} and {} of room_{} as {} and {} of its inbox",
                    name(sight.user),
                    last.room_seq,
                    arrival.room_seq,
                    arrival.room.0,
                    last.inbox_seq,
                    arrival.inbox_seq
                )
            });
            return Order::Broken;
        }
        let back = if later {
            arrival.sent_at < last.sent_at
        } else {
            arrival.sent_at > last.sent_at
        };
        if back {
            f.blame(Property::RoomOrder, l.clock.now, &[sight.user], || {
                format!(
                    "in room_{} time goes back between places {} and {}, as {} sees it",
                    arrival.room.0,
                    last.room_seq,
                    arrival.room_seq,
                    name(sight.user)
                )
            });
            return Order::Broken;
        }
        Order::Kept
    }

    /// A seq of an inbox shows another event than it did before.
    pub(crate) fn recalled_otherwise(
        &mut self,
        l: &Ledger,
        person: usize,
        inbox_seq: u64,
        f: &mut Findings,
    ) {
        let someone = &l.people[person];
        let property = if inbox_seq <= someone.inbox.before_crash {
            Property::Durability
        } else {
            Property::RoomOrder
        };
        f.blame(property, l.clock.now, &[someone.user], || {
            format!(
                "{} sees another event as {inbox_seq} of its inbox than it did before",
                name(someone.user)
            )
        });
    }

    /// A sender was told where its message stands. `floor` is the highest place of the room that
    /// anyone knew of when the call left.
    pub(crate) fn claimed(
        &mut self,
        l: &Ledger,
        (user, room, seq, floor): (User, Room, u64, u64),
        claim: Claim,
        claimed: &Claimed,
        f: &mut Findings,
    ) {
        let era = claimed.before.map_or(l.clock.era, |before| before.era);
        let taken = claimed
            .before
            .and_then(|before| before.claim)
            .is_some_and(|other| (other.agent, other.call) != (claim.agent, claim.call));
        if taken {
            f.blame(crossed(l, era), l.clock.now, &[user], || {
                format!(
                    "{} was told that its message is {seq} of room_{}, as was another",
                    name(user),
                    room.0
                )
            });
        } else if seq <= floor {
            let known = claimed.slot.and_then(|slot| l.rooms[slot].entry(floor));
            let era = known.map_or(l.clock.era, |entry| entry.era);
            f.blame(crossed(l, era), l.clock.now, &[user], || {
                format!(
                    "{} spoke in room_{} after place {floor} was known, and got place {seq}",
                    name(user),
                    room.0
                )
            });
        }
    }
}

/// Whom to blame for what no longer is as it was in this era.
fn crossed(l: &Ledger, era: u32) -> Property {
    if era < l.clock.era {
        Property::Durability
    } else {
        Property::RoomOrder
    }
}
