//! Nobody is matched with themselves, with someone blocked, twice at once, or after leaving the
//! line; nor, where interests count, with a stranger to all of theirs before their patience ends.

use chat_core::Time;
use chat_core::config::Matching;

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
            someone.enters.granted = someone.enters.wish.take();
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
        if let Some(pair) = complete {
            self.check_patience(l, told.room, &pair, findings);
        }
        News {
            ends_wait,
            complete,
        }
    }

    /// Under `interests`, two who share none are matched only once the patience of each who
    /// stated some is over. It began when the call arrived, and so not before it left.
    fn check_patience(&mut self, l: &Ledger, room: Room, pair: &Pair, findings: &mut Findings) {
        let (Matching::Interests, Some(found_at)) = (l.config.matching, pair.found_at) else {
            return;
        };
        let [a, b] = pair.sides.map(|side| wish(l, room, side.user));
        let (Some(a), Some(b)) = (a, b) else {
            return;
        };
        let same = |one: &str, other: &str| one.to_lowercase() == other.to_lowercase();
        if a.iter().any(|one| b.iter().any(|other| same(one, other))) {
            return;
        }
        for (side, wish) in pair.sides.iter().zip([a, b]) {
            let waited = side.entered_at.map(|at| found_at.since(at));
            let Some(waited) = waited.filter(|_| !wish.is_empty()) else {
                continue;
            };
            self.checks += 1;
            if waited < l.config.interest_patience {
                let users = pair.sides.map(|side| side.user);
                findings.blame(Property::SingleMatch, l.clock.now, &users, || {
                    format!(
                        "{} and {} were matched (room_{}) although they share no interest and {} \
                         had waited for {waited} at most",
                        name(users[0]),
                        name(users[1]),
                        room.0,
                        name(side.user)
                    )
                });
            }
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
        let enters = &someone.enters;
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

/// What the calls that led to this match stated as interests, if that is sure.
fn wish(l: &Ledger, room: Room, user: User) -> Option<&[std::sync::Arc<str>]> {
    let someone = &l.people[l.person_known(user)?];
    let client = l
        .clients
        .get(super::ledger::client::index(someone.owner?))?;
    let asks = |call: &super::ledger::client::Call| call.ask == Ask::EnterQueue;
    let unsure = client.lost_count || client.unsure.iter().any(asks);
    let sure = someone.matched_in == Some(room) && !someone.enters.strays && !unsure;
    someone.enters.granted.as_deref().filter(|_| sure)
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
