//! Blocks, reports, and actions of operators. // 11

use std::collections::BTreeMap;
use std::sync::Arc;

use chat_types::{Address, Ban, Measure, MeasurePlace, MeasureTarget, Report};
use sim_model::listing::Listed;
use sim_model::protocol::{Code, Decided, EndReason, Reply, Room, User, Who};
use sim_model::server::{Operate, SecretHash};

use super::names::{fold, is_line, keys};
use super::room::Kind;
use super::{Body, Checked, Model, refuse, refuse_if};

/// The most characters of a reason. // 1
const MAX_REASON: usize = 500;

/// Muted and banned names, handles and addresses, which apply to later registrations, in the order
/// in which operators read them. // 11.4, 16.6
#[derive(Clone, Debug, Default)]
pub(super) struct StoredMeasures(BTreeMap<MeasurePlace, Stored>);

/// A stored measure. // 11.4
#[derive(Clone, Debug)]
struct Stored {
    target: MeasureTarget,
    /// The keys of a name.
    keys: Vec<String>,
    /// The measure, with the act that decreed it.
    ban: Ban,
}

impl StoredMeasures {
    /// The measure that applies to a look-alike of the name with these keys: a ban before a mute.
    pub(super) fn of_name(&self, keys: &[String]) -> Option<Measure> {
        let is_alike = |stored: &&Stored| stored.keys.iter().any(|key| keys.contains(key));
        let alike = self.0.values().filter(is_alike);
        alike.map(|stored| stored.ban.measure).max()
    }

    /// Whether a look-alike of the name is muted.
    pub(super) fn is_muted(&self, name: &str) -> bool {
        !self.0.is_empty() && self.of_name(&keys(name)) == Some(Measure::Mute)
    }

    fn at(&self, place: &MeasurePlace) -> Option<Measure> {
        self.0.get(place).map(|stored| stored.ban.measure)
    }

    /// The measure that applies to a handle.
    pub(super) fn of_handle(&self, handle: SecretHash) -> Option<Measure> {
        self.at(&MeasurePlace::Handle(handle))
    }

    /// The measure that applies to an address.
    pub(super) fn of_address(&self, address: u64) -> Option<Measure> {
        self.at(&MeasurePlace::Address(Address(address)))
    }

    /// All of them as operators read them. // 16.6
    pub(super) fn listed(&self) -> impl Iterator<Item = Listed> {
        let stored = self.0.values();
        stored.map(|stored| Listed::Measure(stored.target.clone(), stored.ban.clone()))
    }

    /// The number of stored names, handles and addresses. // 11.4
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes some; returns whether there were any.
    fn lift(&mut self, is_lifted: impl Fn(&MeasurePlace, &Stored) -> bool) -> bool {
        let before = self.len();
        self.0.retain(|place, stored| !is_lifted(place, stored));
        self.len() < before
    }
}

/// What a participant's name and its public id are stored under.
fn names_of(who: &Who) -> impl Iterator<Item = MeasurePlace> {
    let names = std::iter::once(&who.name).chain(&who.chosen_id);
    names.map(|name| of_name(name))
}

fn of_name(name: &str) -> MeasurePlace {
    MeasurePlace::Name(fold(name).into())
}

/// Whether it is a reason of a report or an operator's act. // 11.2, 11.3
fn check_reason(reason: &str) -> Checked {
    refuse_if(!is_line(reason, MAX_REASON), refuse(Code::InvalidArguments))
}

impl Model {
    /// Whether calls from this address are refused at admission. // 13.1 (2)
    pub(crate) fn is_banned(&self, address: u64) -> bool {
        self.measures.of_address(address) == Some(Measure::Ban)
    }

    /// `block_user`. // 11.1
    pub(super) fn block(&mut self, caller: User, user: User) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.check_user(user)?;
        let limit = self.config.max_blocks as usize;
        let participant = self.participant_mut(caller);
        if participant.blocked.contains(&user) {
            return Ok(Reply::Done);
        }
        let is_full = participant.blocked.len() >= limit;
        refuse_if(is_full, refuse(Code::InvalidArguments))?;
        participant.blocked.insert(user);
        if let Some(room) = participant.pair
            && self.is_member(user, room)
        {
            self.end_pair(room, EndReason::Blocked, Some(caller));
        }
        Ok(Reply::Done)
    }

    /// `unblock_user`. // 11.1
    pub(super) fn unblock(&mut self, caller: User, user: User) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.participant_mut(caller).blocked.remove(&user);
        Ok(Reply::Done)
    }

    /// `report_user`. // 11.2
    pub(super) fn report(&mut self, caller: User, user: User, reason: &Arc<str>) -> Decided {
        refuse_if(user == caller, refuse(Code::InvalidArguments))?;
        self.check_user(user)?;
        check_reason(reason)?;
        let from = Address(self.participant(caller).address);
        let mut kept = self.reports.iter();
        if kept.any(|kept| kept.by == caller && kept.about == user) {
            return Ok(Reply::Done);
        }
        let of_address = self.reports.iter().filter(|kept| kept.from == from);
        let is_full = of_address.count() >= self.config.max_reports_per_address as usize;
        refuse_if(is_full, refuse(Code::InvalidArguments))?;
        self.reports.push_back(Report {
            at: self.now,
            by: caller,
            about: user,
            from,
            reason: Arc::clone(reason),
        });
        while self.reports.len() > self.config.max_reports as usize {
            self.reports.pop_front();
        }
        Ok(Reply::Done)
    }

    fn check_user(&self, user: User) -> Checked {
        refuse_if(!self.is_registered(user), refuse(Code::UserNotFound))
    }

    /// An operator's action. // 11.3
    pub(super) fn operate(&mut self, operator: &Arc<str>, act: &Operate) -> Decided {
        let at = self.now;
        let decree = |measure, reason: &Arc<str>| Ban {
            measure,
            at,
            by: Arc::clone(operator),
            reason: Arc::clone(reason),
        };
        match act {
            Operate::Mute { user, reason } => {
                self.store_participant(*user, decree(Measure::Mute, reason))?;
                self.participant_mut(*user).muted = true;
                self.silence(*user, reason);
            }
            Operate::Unmute { user } => {
                self.check_user(*user)?;
                let participant = self.participant_mut(*user);
                let was_muted = std::mem::take(&mut participant.muted);
                let handle = MeasurePlace::Handle(participant.handle);
                let mut keys: Vec<MeasurePlace> = names_of(&participant.who).collect();
                let is_mute = |stored: &Stored| stored.ban.measure == Measure::Mute;
                let stored = self.measures.0.get(&handle);
                if let Some(MeasureTarget::Handle(who)) =
                    stored.filter(|one| is_mute(one)).map(|one| &one.target)
                {
                    keys.extend(names_of(who));
                }
                keys.push(handle);
                let lifts =
                    |place: &MeasurePlace, stored: &Stored| keys.contains(place) && is_mute(stored);
                let found = self.measures.lift(lifts) || was_muted;
                return Ok(Reply::Lifted { found });
            }
            Operate::Kick { user, room, reason } => self.kick(*user, *room, reason)?,
            Operate::Close { room, reason } => self.close(*room, reason)?,
            Operate::BanUser { user, reason } => {
                self.store_participant(*user, decree(Measure::Ban, reason))?;
                self.forget(*user);
            }
            Operate::Unban { name } => {
                let place = of_name(name);
                let found = self.measures.lift(|key, stored| match &stored.target {
                    MeasureTarget::Handle(who) => of_name(&who.name) == place,
                    MeasureTarget::Name(_) | MeasureTarget::Address(_) => *key == place,
                });
                return Ok(Reply::Lifted { found });
            }
            Operate::MuteAddress { address, reason } => {
                self.store_address(*address, decree(Measure::Mute, reason))?;
                for user in self.participants.numbers().into_iter().map(User) {
                    if self.participant(user).address == address.0 {
                        self.silence(user, reason);
                    }
                }
            }
            Operate::BanAddress { address, reason } => {
                self.store_address(*address, decree(Measure::Ban, reason))?;
            }
            Operate::UnbanAddress { address } => {
                let lifted = self.measures.0.remove(&MeasurePlace::Address(*address));
                let found = lifted.is_some();
                return Ok(Reply::Lifted { found });
            }
        }
        Ok(Reply::Done)
    }

    /// Stores measures, if those that are new have space: all count together. // 1
    fn store(&mut self, measures: BTreeMap<MeasurePlace, Stored>) -> Checked {
        let is_new = |place: &&MeasurePlace| !self.measures.0.contains_key(*place);
        let more = measures.keys().filter(is_new).count();
        let is_full = more > 0 && self.measures.len() + more > self.config.max_bans as usize;
        refuse_if(is_full, refuse(Code::InvalidArguments))?;
        self.measures.0.extend(measures);
        Ok(())
    }

    fn store_participant(&mut self, user: User, ban: Ban) -> Checked {
        check_reason(&ban.reason)?;
        self.check_user(user)?;
        self.keep(user, &ban, true)
    }

    /// Stores the participant's handle and its chosen name, and if `with_id` says so its public id.
    /// // 11.4
    fn keep(&mut self, user: User, ban: &Ban, with_id: bool) -> Checked {
        let participant = self.participant(user);
        let (handle, who) = (MeasurePlace::Handle(participant.handle), &participant.who);
        let name = participant.chosen.then_some(&who.name);
        let id = who.chosen_id.as_ref().filter(|_| with_id);
        let stored = |target| Stored {
            target,
            keys: Vec::new(),
            ban: ban.clone(),
        };
        let mut measures =
            BTreeMap::from([(handle, stored(MeasureTarget::Handle(Arc::clone(who))))]);
        // Names with the same folded form are one entry, with the keys of both.
        for called in name.into_iter().chain(id) {
            let of_name = measures.entry(of_name(called));
            let of_name =
                of_name.or_insert_with(|| stored(MeasureTarget::Name((&**called).into())));
            of_name.keys.extend(keys(called));
        }
        self.store(measures)
    }

    /// Applies mutes to a participant that took a name. // 11.4
    pub(super) fn took_name(&mut self, user: User) {
        let participant = self.participant(user);
        if participant.muted {
            let stored = self
                .measures
                .0
                .get(&MeasurePlace::Handle(participant.handle));
            if let Some(stored) = stored.filter(|stored| stored.ban.measure == Measure::Mute)
                && let MeasureTarget::Handle(who) = &stored.target
                && !self.measures.0.contains_key(&of_name(&who.name))
            {
                // Without space the mute is not stored.
                let ban = stored.ban.clone();
                let _ = self.keep(user, &ban, false);
            }
        } else if self.measures.is_muted(&participant.who.name) {
            self.participant_mut(user).muted = true;
            for room in self.participant(user).live.clone() {
                self.give_up_stick(room, user);
            }
        }
    }

    fn store_address(&mut self, address: Address, ban: Ban) -> Checked {
        check_reason(&ban.reason)?;
        let stored = Stored {
            target: MeasureTarget::Address(address),
            keys: Vec::new(),
            ban,
        };
        self.store(BTreeMap::from([(MeasurePlace::Address(address), stored)]))
    }

    /// Whether the participant may not speak. // 11.3
    pub(crate) fn is_muted(&self, user: User) -> bool {
        let participant = self.participants.get(user.0);
        participant.is_some_and(|participant| {
            let of_address = self.measures.of_address(participant.address);
            participant.muted || of_address == Some(Measure::Mute)
        })
    }

    /// Informs the rooms of a muted participant. // 11.3
    fn silence(&mut self, user: User, reason: &Arc<str>) {
        for room in self.participant(user).live.clone() {
            let muted = Body::Muted {
                user: self.who(user),
                reason: Arc::clone(reason),
            };
            self.post(room, muted, None);
            self.give_up_stick(room, user);
        }
    }

    fn kick(&mut self, user: User, room: Room, reason: &Arc<str>) -> Checked {
        check_reason(reason)?;
        self.check_user(user)?;
        self.check_member(user, room, Code::NotInRoom)?;
        let moderation = Body::Kicked {
            user: self.who(user),
            reason: Arc::clone(reason),
        };
        if self.is_pair(room) {
            self.post(room, moderation, None);
            self.end_pair(room, EndReason::Closed, None);
        } else {
            self.give_up_stick(room, user);
            self.post(room, moderation, None);
            self.remove_member(room, user);
        }
        Ok(())
    }

    fn close(&mut self, room: Room, reason: &Arc<str>) -> Checked {
        check_reason(reason)?;
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse(Code::RoomNotFound));
        };
        match &place.kind {
            Kind::Ended { .. } => return Err(self.has_ended(room)),
            Kind::Pair { .. } => self.end_pair(room, EndReason::Closed, None),
            Kind::Named { .. } => {
                let members: Vec<User> = place.members.keys().copied().collect();
                let closed = Body::Closed {
                    reason: Arc::clone(reason),
                };
                self.post(room, closed, None);
                for user in members {
                    self.remove_member(room, user);
                }
            }
        }
        Ok(())
    }
}
