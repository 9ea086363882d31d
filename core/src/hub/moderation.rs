//! Operators' acts, and participants' reports to operators.

use std::sync::Arc;

use chat_types::{
    Address, Ban, Body, EndReason, Measure, Operate, Reply, Report, RoomId, SecretHash, UserId,
};

use super::Hub;
use crate::counters::ReleaseCause;
use crate::moderation::Known;
use crate::name::{Keys, fold, line_fault};
use crate::reject::{Accepted, Argument, Outcome, Reject, refuse_if};
use crate::room::Kind;

/// The most characters of a reason.
pub(crate) const MAX_REASON: u32 = 500;

impl Hub {
    pub(super) fn report(&mut self, by: UserId, about: UserId, reason: &Arc<str>) -> Outcome {
        self.check_other(by, about)?;
        check_reason(reason)?;
        let from = self.user(by).address;
        let reports = &self.moderation.reports;
        if reports
            .iter()
            .any(|kept| (kept.by, kept.about) == (by, about))
        {
            return Ok(Reply::Done);
        }
        let limit = self.config.max_reports_per_address;
        if self.moderation.reports_from(from) >= limit as usize {
            return Err(Reject::invalid(Argument::Reports, Accepted::AtMost(limit)));
        }
        let report = Report {
            at: self.now,
            by,
            from,
            about,
            reason: Arc::clone(reason),
        };
        self.moderation
            .report(report, self.config.max_reports as usize);
        Ok(Reply::Done)
    }

    pub(super) fn operate(&mut self, operator: &Arc<str>, act: &Operate) -> Outcome {
        match act {
            Operate::Mute { user, reason } => {
                self.keep(Measure::Mute, operator, *user, reason)?;
                self.user_mut(*user).is_muted = true;
                self.silence(*user, reason);
                Ok(Reply::Done)
            }
            Operate::Unmute { user } => {
                let participant = self.users.get_mut(user).ok_or(Reject::UserNotFound)?;
                let was_muted = std::mem::take(&mut participant.is_muted);
                let found = self.moderation.unmute(&participant.known()) || was_muted;
                Ok(Reply::Lifted { found })
            }
            Operate::Kick { user, room, reason } => self.kick(*user, *room, reason),
            Operate::Close { room, reason } => self.close(*room, reason),
            Operate::BanUser { user, reason } => {
                self.keep(Measure::Ban, operator, *user, reason)?;
                self.forget(*user);
                Ok(Reply::Done)
            }
            Operate::MuteAddress { address, reason } => {
                self.keep_address(Measure::Mute, operator, *address, reason)?;
                let silenced: Vec<_> = self.index.away.of_address(*address).collect();
                for user in silenced {
                    self.silence(user, reason);
                }
                Ok(Reply::Done)
            }
            Operate::BanAddress { address, reason } => {
                self.keep_address(Measure::Ban, operator, *address, reason)?;
                Ok(Reply::Done)
            }
            Operate::Unban { name } => {
                let found = self.moderation.drop_name(&fold(name));
                Ok(Reply::Lifted { found })
            }
            Operate::UnbanAddress { address } => {
                let found = self.moderation.addresses.remove(address).is_some();
                Ok(Reply::Lifted { found })
            }
        }
    }

    /// Why this handle is banned; none if it is not.
    #[must_use]
    pub fn why_banned(&self, handle: &SecretHash) -> Option<&Arc<str>> {
        self.moderation.ban_of(handle).map(|ban| &ban.reason)
    }

    /// Notifies the participant's rooms that it is muted.
    fn silence(&mut self, user: UserId, reason: &Arc<str>) {
        for room in self.user(user).rooms.clone() {
            let body = Body::Muted {
                user: self.who(user),
                reason: Arc::clone(reason),
            };
            self.post(room, body, None);
            // A muted member would only block the stick.
            self.give_up_stick(room, user, ReleaseCause::MUTE);
        }
    }

    /// Whether the participant, or the address that it was registered from, is muted.
    pub(super) fn is_muted(&self, user: UserId) -> bool {
        let participant = self.user(user);
        participant.is_muted
            || self.moderation.of_address(participant.address) == Some(Measure::Mute)
    }

    /// Whether one that registers under this handle, from this address, will be muted.
    pub(super) fn is_to_be_muted(&self, handle: &SecretHash, from: Address) -> bool {
        let measures = [
            self.moderation.of_handle(handle),
            self.moderation.of_address(from),
        ];
        measures.contains(&Some(Measure::Mute))
    }

    fn kick(&mut self, user: UserId, room: RoomId, reason: &Arc<str>) -> Outcome {
        check_reason(reason)?;
        self.users.get(&user).ok_or(Reject::UserNotFound)?;
        let found = self.rooms.get(&room).ok_or(Reject::RoomNotFound)?;
        refuse_if(!found.is_member(user), Reject::NotInRoom)?;
        let body = Body::Kicked {
            user: self.who(user),
            reason: Arc::clone(reason),
        };
        match found.kind {
            Kind::Ended(reason) => return Err(self.has_ended(reason)),
            Kind::Pair { .. } => {
                self.post(room, body, None);
                self.end_pair(room, EndReason::Closed, None);
            }
            Kind::Named { .. } => {
                self.give_up_stick(room, user, ReleaseCause::KICK);
                self.post(room, body, None);
                self.take_out(room, user);
            }
        }
        Ok(Reply::Done)
    }

    fn close(&mut self, room: RoomId, reason: &Arc<str>) -> Outcome {
        check_reason(reason)?;
        let found = self.rooms.get(&room).ok_or(Reject::RoomNotFound)?;
        match found.kind {
            Kind::Ended(reason) => return Err(self.has_ended(reason)),
            Kind::Pair { .. } => self.end_pair(room, EndReason::Closed, None),
            Kind::Named { .. } => {
                let reason = Arc::clone(reason);
                self.post(room, Body::Closed { reason }, None);
                for user in self.members_of(room).collect::<Vec<_>>() {
                    self.take_out(room, user);
                }
            }
        }
        Ok(Reply::Done)
    }

    /// Stores the measure for the participant's handle, name and chosen id.
    fn keep(
        &mut self,
        measure: Measure,
        operator: &Arc<str>,
        user: UserId,
        reason: &Arc<str>,
    ) -> Outcome<()> {
        check_reason(reason)?;
        let participant = self.users.get(&user).ok_or(Reject::UserNotFound)?;
        let known = participant.known();
        self.check_ban_space(self.moderation.missing(&known))?;
        let decided = self.decided(measure, operator, reason);
        self.moderation.keep(&known, &decided);
        Ok(())
    }

    /// Stores the measure for the address, in place of an earlier one.
    fn keep_address(
        &mut self,
        measure: Measure,
        operator: &Arc<str>,
        address: Address,
        reason: &Arc<str>,
    ) -> Outcome<()> {
        check_reason(reason)?;
        let is_kept = self.moderation.of_address(address).is_some();
        self.check_ban_space(usize::from(!is_kept))?;
        let decided = self.decided(measure, operator, reason);
        self.moderation.addresses.insert(address, decided);
        Ok(())
    }

    /// Handles a chosen name: a mute of the name applies to the participant, and a mute of the
    /// participant applies to the name.
    pub(super) fn took_name(&mut self, user: UserId) {
        let participant = self.users.get(&user).expect("it just took a name");
        if participant.is_muted {
            // Only the name is stored. Every registration can bring a new id, so ids would grow
            // without limit.
            let known = Known {
                id: None,
                ..participant.known()
            };
            if self
                .check_ban_space(self.moderation.missing(&known))
                .is_ok()
            {
                self.moderation.follow(&known);
            }
        } else if self.has_muted_name(&participant.who.name) {
            self.user_mut(user).is_muted = true;
            for room in self.user(user).rooms.clone() {
                self.give_up_stick(room, user, ReleaseCause::MUTE);
            }
        }
    }

    /// Whether operators muted a name that has a key of this name or public id.
    pub(super) fn has_muted_name(&self, name: &str) -> bool {
        // Most servers store no measure, and the keys cost more than this look.
        self.moderation.bans() > 0
            && self.moderation.of_name(&Keys::of(name)) == Some(Measure::Mute)
    }

    /// Checks that `more` entries fit into the stored measures.
    fn check_ban_space(&self, more: usize) -> Outcome<()> {
        let limit = self.config.max_bans;
        if more > 0 && self.moderation.bans() + more > limit as usize {
            return Err(Reject::invalid(Argument::Bans, Accepted::AtMost(limit)));
        }
        Ok(())
    }

    fn decided(&self, measure: Measure, operator: &Arc<str>, reason: &Arc<str>) -> Ban {
        Ban {
            measure,
            at: self.now,
            by: Arc::clone(operator),
            reason: Arc::clone(reason),
        }
    }
}

fn check_reason(reason: &str) -> Outcome<()> {
    let Some(fault) = line_fault(reason, MAX_REASON as usize) else {
        return Ok(());
    };
    let accepted = Accepted::Line(MAX_REASON, fault);
    Err(Reject::invalid(Argument::Reason, accepted))
}
