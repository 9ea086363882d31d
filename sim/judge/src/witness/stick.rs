//! The stick of each room, from the merged order of its events. `stick_exclusion`: epochs count
//! grants; no grant while another holds; what ends is the holder's grant; a message shows the
//! epoch of its sender's grant, or none; the holder's push releases. `stick_order`: no claim is
//! passed over.
//!
//! A place that no client knows makes the holder and the claim line unknown from there to the
//! next grant.

use std::collections::BTreeMap;

use sim_model::protocol::{Moderated, Presence, Room, StickChange, User};

use super::blame;
use super::book::{Accepted, Book, Seen};
use super::fact::Fact;
use crate::findings::{Findings, Property};
use crate::model::What;

const HELD: Property = Property::StickExclusion;
const ORDER: Property = Property::StickOrder;

/// Goes through the events of every room that has a stick in use.
pub(super) fn judge(book: &Book, findings: &mut Findings) {
    for (room, of_room) in &book.rooms {
        let uses_stick = |seen: &Seen| matches!(seen.event.what, What::Stick { .. });
        if !of_room.values().any(uses_stick) {
            continue;
        }
        let accepted = book.accepted.get(room);
        let mut places: BTreeMap<u64, Place<'_>> = BTreeMap::new();
        for (room_seq, accepted) in accepted.into_iter().flatten() {
            places.insert(*room_seq, (None, Some(accepted)));
        }
        for (room_seq, seen) in of_room {
            places.entry(*room_seq).or_insert((None, None)).0 = Some(seen);
        }
        let mut walk = Walk::new(book, *room);
        for (room_seq, place) in places {
            walk.step(room_seq, place, findings);
        }
    }
}

/// A place: the event as received, and the answer that names it.
type Place<'a> = (Option<&'a Seen>, Option<&'a Accepted>);

/// Who holds the stick.
#[derive(Clone, Copy)]
enum Holder<'a> {
    Unknown,
    Nobody,
    Held {
        user: User,
        epoch: u64,
        grant: &'a Seen,
    },
}

struct Walk<'a> {
    book: &'a Book,
    room: Room,
    /// The place that comes next, if none is unknown.
    next: u64,
    holder: Holder<'a>,
    /// The epoch of the latest grant, and the unknown places since then.
    epoch: u64,
    holes: u64,
    granted: Option<&'a Seen>,
    /// The claims that wait, in their order.
    claims: Vec<(User, &'a Seen)>,
    /// The holder's push at the place before.
    push: Option<(User, u64, &'a Accepted)>,
}

impl<'a> Walk<'a> {
    fn new(book: &'a Book, room: Room) -> Self {
        Self {
            book,
            room,
            next: 1,
            holder: Holder::Nobody,
            epoch: 0,
            holes: 0,
            granted: None,
            claims: Vec::new(),
            push: None,
        }
    }

    fn step(&mut self, room_seq: u64, (seen, accepted): Place<'a>, findings: &mut Findings) {
        if room_seq > self.next {
            self.holes += room_seq - self.next;
            self.holder = Holder::Unknown;
            self.claims.clear();
            self.push = None;
        }
        self.next = room_seq + 1;
        if let (Some((user, epoch, push)), Some(seen)) = (self.push.take(), seen) {
            findings.exercise(HELD, 1);
            let released = StickChange::Released { epoch };
            if seen.event.what
                != (What::Stick {
                    user,
                    change: released,
                })
            {
                let push = push.fact(self.room, room_seq - 1);
                blame(findings, HELD, seen.at, [push, seen.fact()]);
            }
        }
        if let Some(seen) = seen {
            self.see(seen, findings);
        }
        if let (Some(accepted @ Accepted { text: None, .. }), Holder::Held { user, epoch, .. }) =
            (accepted, self.holder)
            && accepted.sender == user
        {
            self.push = Some((user, epoch, accepted));
        }
    }

    fn see(&mut self, seen: &'a Seen, findings: &mut Findings) {
        match seen.event.what {
            What::Stick { user, change } => match change {
                StickChange::Claimed { .. } => {
                    self.withdraw(user);
                    self.claims.push((user, seen));
                }
                StickChange::Granted { epoch, .. } => self.grant(seen, user, epoch, findings),
                StickChange::Released { epoch } | StickChange::Expired { epoch } => {
                    self.end(seen, user, epoch, findings);
                }
            },
            What::Message { sender, epoch, .. } => self.speech(seen, sender, epoch, findings),
            What::Member { user, change } => match change {
                Presence::Left | Presence::Away => self.withdraw(user),
                Presence::Joined | Presence::Back => {}
            },
            What::Moderation { user, act, .. } => match (user, act) {
                (Some(user), Moderated::Muted | Moderated::Kicked) => self.withdraw(user),
                (_, Moderated::Closed | Moderated::Muted | Moderated::Kicked) => {
                    self.claims.clear()
                }
            },
            What::Found { .. } | What::Ended { .. } | What::PartnerAway | What::PartnerBack => {}
        }
    }

    fn withdraw(&mut self, user: User) {
        self.claims.retain(|(claimant, _)| *claimant != user);
    }

    fn grant(&mut self, seen: &'a Seen, user: User, epoch: u64, findings: &mut Findings) {
        findings.exercise(HELD, 1);
        let least = self.epoch + 1;
        if let Holder::Held { grant, .. } = self.holder {
            blame(findings, HELD, seen.at, [grant.fact(), seen.fact()]);
        } else if !(least..=least + self.holes).contains(&epoch) {
            let before = self.granted.map_or(Fact::Unused(self.room), Seen::fact);
            blame(findings, HELD, seen.at, [before, seen.fact()]);
        }
        self.withdraw_nobody_before(seen, user, findings);
        self.withdraw(user);
        self.holder = Holder::Held {
            user,
            epoch,
            grant: seen,
        };
        (self.epoch, self.holes, self.granted) = (epoch, 0, Some(seen));
    }

    /// Whoever claimed before the one that is granted has withdrawn the claim.
    fn withdraw_nobody_before(&mut self, seen: &Seen, user: User, findings: &mut Findings) {
        let own = self
            .claims
            .iter()
            .position(|(claimant, _)| *claimant == user);
        for (claimant, claim) in self.claims.iter().take(own.unwrap_or(self.claims.len())) {
            if self.may_have_reset(*claimant) {
                findings.leave_unjudged(ORDER, 1);
            } else {
                blame(findings, ORDER, seen.at, [claim.fact(), seen.fact()]);
            }
        }
        findings.exercise(ORDER, 1);
    }

    fn may_have_reset(&self, user: User) -> bool {
        self.book.people.get(&user).is_none_or(|person| {
            person.resets.contains(&None) || person.resets.contains(&Some(self.room))
        })
    }

    fn end(&mut self, seen: &Seen, user: User, epoch: u64, findings: &mut Findings) {
        match self.holder {
            Holder::Unknown => findings.leave_unjudged(HELD, 1),
            Holder::Held {
                user: holder,
                epoch: held,
                grant,
            } => {
                findings.exercise(HELD, 1);
                if (user, epoch) != (holder, held) {
                    blame(findings, HELD, seen.at, [grant.fact(), seen.fact()]);
                }
            }
            Holder::Nobody => {
                let before = self.granted.map_or(Fact::Unused(self.room), Seen::fact);
                blame(findings, HELD, seen.at, [before, seen.fact()]);
            }
        }
        self.holder = Holder::Nobody;
    }

    fn speech(&mut self, seen: &Seen, sender: User, epoch: Option<u64>, findings: &mut Findings) {
        let (owed, before) = match self.holder {
            Holder::Unknown => {
                findings.leave_unjudged(HELD, 1);
                return;
            }
            Holder::Nobody => (None, self.granted),
            Holder::Held { user, epoch, grant } => ((user == sender).then_some(epoch), Some(grant)),
        };
        findings.exercise(HELD, 1);
        if epoch != owed {
            let before = before.map_or(Fact::Unused(self.room), Seen::fact);
            blame(findings, HELD, seen.at, [before, seen.fact()]);
        }
    }
}
