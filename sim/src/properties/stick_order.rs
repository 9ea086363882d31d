//! No claimant of a stick is overtaken.
//!
//! Judged in the room's own order: claims stand where their `stick.claimed` stands, and a grant
//! must go to the first of those still in line. A claimant who asked to withdraw or to leave, or
//! was seen to go, is not in line; a place that nobody knows empties the line.

use std::collections::BTreeMap;

use chat_core::Time;
use rustc_hash::FxHashMap;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::event::Event;
use super::ledger::room::Entry;
use crate::protocol::{Moderated, Presence, Room, StickChange, User};

/// Somebody in line for a stick.
#[derive(Clone, Copy, Debug)]
struct Claimant {
    user: User,
    /// By the server's clock.
    claimed_at: Time,
    overtaken: u64,
}

/// What is known of the front of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Front {
    /// Somebody whose claim nobody saw may stand there.
    #[default]
    Unknown,
    /// The first known claimant.
    Known,
}

/// One room's line.
#[derive(Clone, Debug, Default)]
struct Lineup {
    claimants: Vec<Claimant>,
    /// Whether there can be nobody in line before those who are known.
    known_from: Front,
    epoch: u64,
    granted_era: u32,
}

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct StickOrder {
    pub(crate) checks: u64,
    /// The most times that anyone was overtaken during one wait.
    pub(crate) most_overtaken: u64,
    /// The same for each who was.
    pub(crate) overtaken: BTreeMap<User, u64>,
    rooms: FxHashMap<Room, Lineup>,
}

impl StickOrder {
    /// The next place of a named room, in order.
    pub(crate) fn in_order(
        &mut self,
        l: &Ledger,
        slot: usize,
        seq: u64,
        entry: &Entry,
        f: &mut Findings,
    ) {
        let room = l.rooms[slot].room;
        if seq == 1 && entry.is_known() {
            self.rooms.entry(room).or_default().known_from = Front::Known;
        }
        match entry.event {
            Event::Stick(user, StickChange::Claimed { .. }) => {
                self.rooms
                    .entry(room)
                    .or_default()
                    .claim(l, room, user, entry.sent_at);
            }
            Event::Stick(user, StickChange::Granted { epoch, .. }) => {
                self.granted(l, room, user, epoch, entry, f);
            }
            Event::Member(user, Presence::Left | Presence::Away)
            | Event::Moderation(Some(user), Moderated::Kicked | Moderated::Muted) => {
                if let Some(lineup) = self.rooms.get_mut(&room) {
                    lineup.claimants.retain(|c| c.user != user);
                }
            }
            Event::Unknown | Event::Moderation(_, Moderated::Closed) => {
                if let Some(lineup) = self.rooms.get_mut(&room) {
                    lineup.claimants.clear();
                    lineup.known_from = Front::Unknown;
                }
            }
            Event::Member(_, Presence::Joined | Presence::Back)
            | Event::Stick(_, StickChange::Released { .. } | StickChange::Expired { .. })
            | Event::Moderation(None, _)
            | Event::Message { .. }
            | Event::Found
            | Event::Ended(_)
            | Event::PartnerAway
            | Event::PartnerBack => {}
        }
    }

    fn granted(
        &mut self,
        l: &Ledger,
        room: Room,
        user: User,
        epoch: u64,
        entry: &Entry,
        f: &mut Findings,
    ) {
        self.checks += 1;
        let now = l.clock.now;
        let lineup = self.rooms.entry(room).or_default();
        if epoch <= lineup.epoch {
            let property = if entry.era > lineup.granted_era {
                Property::Durability
            } else {
                Property::StickOrder
            };
            let last = lineup.epoch;
            f.blame(property, now, &[user], || {
                format!(
                    "the stick of room_{} was granted to {} as epoch {epoch} after epoch {last}",
                    room.0,
                    name(user)
                )
            });
        }
        lineup.epoch = lineup.epoch.max(epoch);
        lineup.granted_era = entry.era;
        let place = lineup.claimants.iter().position(|c| c.user == user);
        let before = match (place, lineup.known_from) {
            (Some(place), _) => place,
            (None, Front::Known) => lineup.claimants.len(),
            (None, Front::Unknown) => 0,
        };
        if place.is_some() {
            // Whoever stood before the known ones is served.
            lineup.known_from = Front::Known;
        }
        for claimant in &mut lineup.claimants[..before] {
            if !waits(l, room, claimant) {
                continue;
            }
            claimant.overtaken += 1;
            self.most_overtaken = self.most_overtaken.max(claimant.overtaken);
            let first = claimant.user;
            let most = self.overtaken.entry(first).or_default();
            *most = claimant.overtaken.max(*most);
            f.blame(Property::StickOrder, now, &[first, user], || {
                format!(
                    "{} was granted the stick of room_{} (epoch {epoch}), which {} had claimed \
                     before",
                    name(user),
                    room.0,
                    name(first)
                )
            });
        }
        if let Some(place) = place {
            lineup.claimants.remove(place);
        }
    }
}

impl Lineup {
    fn claim(&mut self, l: &Ledger, room: Room, user: User, claimed_at: Time) {
        if let Some(index) = self.claimants.iter().position(|c| c.user == user) {
            // A repeated claim keeps its place; one made anew after a withdrawal does not.
            if waits(l, room, &self.claimants[index]) {
                return;
            }
            self.claimants.remove(index);
        }
        self.claimants.push(Claimant {
            user,
            claimed_at,
            overtaken: 0,
        });
    }
}

/// Whether a claimant still waits, for all that is known.
fn waits(l: &Ledger, room: Room, claimant: &Claimant) -> bool {
    l.person_known(claimant.user).is_some_and(|person| {
        let person = &l.people[person];
        !person.gone && !person.operated && !person.may_have_withdrawn(room, claimant.claimed_at)
    })
}
