//! Nobody is matched with themselves, with someone blocked, twice at once, or after leaving the
//! line.

use chat_core::Time;

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use super::ledger::client::Ask;
use super::ledger::room::{Pair, RoomKind, Side};
use crate::protocol::{Room, User};

/// A match that came while another chat seemed to go on.
#[derive(Clone, Copy, Debug)]
struct Doubt {
    person: usize,
    first: Room,
    second: Room,
    /// Where in the inbox the second match stands.
    inbox_seq: u64,
}

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct SingleMatch {
    pub(crate) checks: u64,
    doubts: Vec<Doubt>,
}

/// What somebody was told of a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) person: usize,
    pub(crate) room: Room,
    pub(crate) partner: User,
    /// The event's place in the inbox and its timestamp; none if an answer told it.
    pub(crate) found: Option<(u64, Time)>,
}

/// What is new about a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// Whether this person did not know of it before, nor of a later one.
    pub(crate) ends_wait: bool,
    /// The match, once both sides know of it and its time is known, and only then.
    pub(crate) complete: Option<Pair>,
}

impl SingleMatch {
    /// Somebody was told of a match, by an answer or an event.
    pub(crate) fn told(&mut self, l: &mut Ledger, told: Told, findings: &mut Findings) -> News {
        let Told {
            person,
            room,
            partner,
            found,
        } = told;
        let user = l.people[person].user;
        let now = l.clock.now;
        if user == partner {
            findings.blame(Property::SingleMatch, now, &[user], || {
                format!("{} was matched with itself (room_{})", name(user), room.0)
            });
        }
        let slot = l.room(room);
        let other = l.person(partner);
        if l.rooms[slot].pair.is_none() {
            self.checks += 1;
            l.rooms[slot].kind = RoomKind::Pair;
            l.rooms[slot].pair = Some(new_pair(user, partner));
            l.join(person, slot, 1);
            l.join(other, slot, 1);
        } else if l.rooms[slot].partner_of(user).map(|side| side.user) != Some(partner) {
            findings.blame(Property::SingleMatch, now, &[user, partner], || {
                format!(
                    "{} was matched with {} in room_{}, which is a match of others",
                    name(user),
                    name(partner),
                    room.0
                )
            });
            return News {
                ends_wait: false,
                complete: None,
            };
        }
        self.side_told(l, slot, told, found, findings)
    }

    fn side_told(
        &mut self,
        l: &mut Ledger,
        slot: usize,
        told: Told,
        found: Option<(u64, Time)>,
        findings: &mut Findings,
    ) -> News {
        let user = l.people[told.person].user;
        let (mut completes, mut ends_wait) = (false, false);
        if let (Some(pair), Some((_, sent_at))) = (l.rooms[slot].pair.as_mut(), found) {
            completes = pair.found_at.is_none();
            pair.found_at.get_or_insert(sent_at);
        }
        let is_new = l.rooms[slot].side_mut(user).is_some_and(|s| !s.told);
        if is_new {
            completes = true;
            let someone = &mut l.people[told.person];
            someone.matched_at = Some(l.clock.now);
            // Told after a later match, it came of an earlier call, nobody knows which.
            let in_order = someone.matched_in < Some(told.room);
            someone.matched_in = someone.matched_in.max(Some(told.room));
            // Nor is it known of a match that was made before the call left: the call that led to
            // it may have left while an earlier match was not yet told.
            let jumped = l.clock.jumped;
            let made_later =
                |entered_at: Time| found.is_none_or(|(_, sent_at)| entered_at + jumped <= sent_at);
            let entered_at = someone
                .enters
                .since
                .take_if(|entered_at| in_order && made_later(*entered_at));
            ends_wait = in_order;
            someone.enters.matches += 1;
            someone.partners = [Some(told.partner), someone.partners[0]];
            if let Some(side) = l.rooms[slot].side_mut(user) {
                side.told = true;
                side.entered_at = entered_at;
            }
            self.check_blocks(l, told, entered_at, findings);
            self.count(l, told.person, findings);
        }
        if let Some((inbox_seq, _)) = found {
            self.doubt(l, told, inbox_seq);
        }
        let complete = l.rooms[slot].pair.filter(|pair| {
            completes && pair.found_at.is_some() && pair.sides.iter().all(|side| side.told)
        });
        News {
            ends_wait,
            complete,
        }
    }

    /// A block that was in force before one of the two asked to stand in line forbids the match.
    fn check_blocks(
        &mut self,
        l: &Ledger,
        told: Told,
        entered_at: Option<Time>,
        findings: &mut Findings,
    ) {
        let someone = &l.people[told.person];
        let since = someone.shuns_since(told.partner);
        if let (Some(since), Some(entered_at)) = (since, entered_at)
            && since < entered_at
        {
            findings.blame(
                Property::SingleMatch,
                l.clock.now,
                &[someone.user, told.partner],
                || {
                    format!(
                        "{} and {} were matched (room_{}) although one had blocked the other",
                        name(someone.user),
                        name(told.partner),
                        told.room.0
                    )
                },
            );
        }
    }

    /// Each time one asks to stand in line ends in one match or one leave at most.
    pub(crate) fn count(&mut self, l: &Ledger, person: usize, findings: &mut Findings) {
        let someone = &l.people[person];
        let enters = someone.enters;
        let Some(client) = someone.owner.and_then(|owner| {
            l.clients
                .get(super::ledger::client::index(owner))
                .filter(|client| !client.lost_count)
        }) else {
            return;
        };
        let open: u32 = client
            .open
            .iter()
            .chain(&client.unsure)
            .filter(|call| call.ask == Ask::EnterQueue)
            .filter(|call| call.by.is_none_or(|by| by == someone.user))
            .map(|call| call.allowance(l.copies))
            .sum();
        if enters.matches + enters.lefts > enters.settled + open {
            findings.blame(Property::SingleMatch, l.clock.now, &[someone.user], || {
                format!(
                    "{} asked {} times to stand in line, left it {} times, and was matched {} times",
                    name(someone.user),
                    enters.settled + open,
                    enters.lefts,
                    enters.matches
                )
            });
        }
    }

    /// Notes a match that came while another chat seemed to go on.
    fn doubt(&mut self, l: &Ledger, told: Told, inbox_seq: u64) {
        let someone = &l.people[told.person];
        for stay in &someone.memberships {
            let room = &l.rooms[stay.slot];
            let goes_on = stay.room != told.room
                && room.kind == RoomKind::Pair
                && stay.left.is_none()
                && !stay.leaving
                && stay.gaps.is_empty()
                && !room.operated
                && !l.blocked_in(told.person, stay.slot)
                && !l.may_have_left(told.person, stay.slot);
            let first = stay.room;
            let known = |d: &Doubt| d.person == told.person && d.second == told.room;
            // A later match in the inbox may well be seen before an earlier one.
            let earlier = (1..inbox_seq).contains(&stay.last.inbox_seq);
            if goes_on && earlier && !self.doubts.iter().any(known) {
                self.doubts.push(Doubt {
                    person: told.person,
                    first,
                    second: told.room,
                    inbox_seq,
                });
            }
        }
    }

    /// Somebody was told that a room ended, at this place of its inbox.
    pub(crate) fn ended(
        &mut self,
        l: &Ledger,
        person: usize,
        room: Room,
        inbox_seq: u64,
        findings: &mut Findings,
    ) {
        let concerned = |d: &Doubt| d.person == person && d.first == room;
        for doubt in self.doubts.iter().filter(|d| concerned(d)) {
            if doubt.inbox_seq < inbox_seq {
                twice_at_once(l, doubt, findings);
            }
        }
        self.doubts.retain(|d| !concerned(d));
    }

    /// Somebody's inbox is drained: the ends that were to come have come.
    pub(crate) fn drained(&mut self, l: &Ledger, person: usize, findings: &mut Findings) {
        for doubt in self.doubts.iter().filter(|d| d.person == person) {
            let someone = &l.people[person];
            let explained = someone.latest_stay(doubt.first).is_none_or(|index| {
                let stay = &someone.memberships[index];
                stay.leaving || stay.left.is_some() || !stay.gaps.is_empty()
            }) || l.room_known(doubt.first).is_none_or(|slot| {
                l.rooms[slot].operated
                    || l.blocked_in(person, slot)
                    || l.may_have_left(person, slot)
            });
            if !explained {
                twice_at_once(l, doubt, findings);
            }
        }
        self.doubts.retain(|d| d.person != person);
    }
}

fn new_pair(user: User, partner: User) -> Pair {
    let side = |user| Side {
        user,
        told: false,
        entered_at: None,
        left_called: None,
        left_at: None,
    };
    Pair {
        sides: [side(user), side(partner)],
        found_at: None,
    }
}

fn twice_at_once(l: &Ledger, doubt: &Doubt, findings: &mut Findings) {
    let user = l.people[doubt.person].user;
    findings.blame(Property::SingleMatch, l.clock.now, &[user], || {
        format!(
            "{} was matched in room_{} while room_{} had not ended",
            name(user),
            doubt.second.0,
            doubt.first.0
        )
    });
}
