//! Blocks, reports, and acts of operators. // 11

use std::sync::Arc;

use chat_types::Time;
use sim_model::protocol::{Answer, EndReason, Moderated, Outcome, Refusal, Room, User};
use sim_model::server::Act;

use super::names::{fold, is_line};
use super::room::Kind;
use super::{Model, What, refuse};

/// A reason has at most so many characters. // 1
const MAX_REASON: usize = 500;

/// A report, kept for the operators.
#[derive(Clone, Debug)]
pub struct Report {
    /// When it was made.
    pub at: Time,
    /// Who reported.
    pub by: User,
    /// Who was reported.
    pub about: User,
    /// Why.
    pub reason: Arc<str>,
}

impl Model {
    /// The reports that are kept, oldest first.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.reports.iter()
    }

    /// Whether calls from this address are refused at admission. // 13.1 (2)
    #[must_use]
    pub fn is_banned(&self, address: u64) -> bool {
        self.banned_addresses.contains(&address)
    }

    /// `block_user`. // 11.1
    pub(super) fn block(&mut self, caller: User, user: User) -> Outcome {
        if user == caller {
            return Err(refuse("invalid_arguments"));
        }
        self.check_user(user)?;
        let limit = self.config.max_blocks as usize;
        let person = self.person_mut(caller);
        if person.blocked.contains(&user) {
            return Ok(Answer::Done);
        }
        if person.blocked.len() >= limit {
            return Err(refuse("invalid_arguments"));
        }
        person.blocked.insert(user);
        if let Some(room) = person.pair
            && self.is_member(user, room)
        {
            self.end_pair(room, EndReason::Blocked, Some(caller));
        }
        Ok(Answer::Done)
    }

    /// `report_user`. // 11.2
    pub(super) fn report(&mut self, caller: User, user: User, reason: &Arc<str>) -> Outcome {
        if user == caller {
            return Err(refuse("invalid_arguments"));
        }
        self.check_user(user)?;
        if !is_line(reason, MAX_REASON) {
            return Err(refuse("invalid_arguments"));
        }
        self.reports.push_back(Report {
            at: self.now,
            by: caller,
            about: user,
            reason: Arc::clone(reason),
        });
        while self.reports.len() > self.config.max_reports as usize {
            self.reports.pop_front();
        }
        Ok(Answer::Done)
    }

    fn check_user(&self, user: User) -> Result<(), Refusal> {
        if self.is_registered(user) {
            Ok(())
        } else {
            Err(refuse("user_not_found"))
        }
    }

    /// An operator's act. // 11.3
    pub(super) fn operate(&mut self, act: &Act) -> Outcome {
        match act {
            Act::Mute { user, reason } => self.mute(*user, reason)?,
            Act::Unmute { user } => {
                self.check_user(*user)?;
                self.person_mut(*user).muted = false;
            }
            Act::Kick { user, room, reason } => self.kick(*user, *room, reason)?,
            Act::Close { room, reason } => self.close(*room, reason)?,
            Act::BanUser { user, .. } => {
                self.check_user(*user)?;
                self.check_space_for_ban()?;
                let folded = self.person(*user).folded.clone();
                self.banned_names.insert(folded);
                self.forget(*user);
            }
            Act::Unban { name } => {
                self.banned_names.remove(&fold(name));
            }
            Act::BanAddress { address } => {
                if !self.is_banned(*address) {
                    self.check_space_for_ban()?;
                    self.banned_addresses.insert(*address);
                }
            }
            Act::UnbanAddress { address } => {
                self.banned_addresses.remove(address);
            }
        }
        Ok(Answer::Done)
    }

    /// Names and addresses count together. // 1
    fn check_space_for_ban(&self) -> Result<(), Refusal> {
        let kept = self.banned_names.len() + self.banned_addresses.len();
        if kept < self.config.max_bans as usize {
            Ok(())
        } else {
            Err(refuse("invalid_arguments"))
        }
    }

    fn mute(&mut self, user: User, reason: &Arc<str>) -> Result<(), Refusal> {
        self.check_user(user)?;
        self.person_mut(user).muted = true;
        for room in self.person(user).live.clone() {
            let muted = What::Moderation {
                user: Some(user),
                act: Moderated::Muted,
                reason: Arc::clone(reason),
            };
            self.post(room, muted, None);
            self.give_up_stick(room, user);
        }
        Ok(())
    }

    fn kick(&mut self, user: User, room: Room, reason: &Arc<str>) -> Result<(), Refusal> {
        self.check_user(user)?;
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse("room_not_found"));
        };
        let moderation = What::Moderation {
            user: Some(user),
            act: Moderated::Kicked,
            reason: Arc::clone(reason),
        };
        match &place.kind {
            Kind::Ended { remembered_by } if remembered_by.contains(&user) => {
                return Err(refuse("chat_ended"));
            }
            Kind::Ended { .. } => return Err(refuse("not_in_room")),
            Kind::Pair { .. } | Kind::Named { .. } if !place.members.contains_key(&user) => {
                return Err(refuse("not_in_room"));
            }
            Kind::Pair { .. } => {
                self.post(room, moderation, None);
                self.end_pair(room, EndReason::Closed, None);
            }
            Kind::Named { .. } => {
                self.give_up_stick(room, user);
                self.post(room, moderation, None);
                self.remove_member(room, user);
            }
        }
        Ok(())
    }

    fn close(&mut self, room: Room, reason: &Arc<str>) -> Result<(), Refusal> {
        let Some(place) = self.rooms.get(room.0) else {
            return Err(refuse("room_not_found"));
        };
        match &place.kind {
            Kind::Ended { .. } => return Err(refuse("chat_ended")),
            Kind::Pair { .. } => self.end_pair(room, EndReason::Closed, None),
            Kind::Named { .. } => {
                let members: Vec<User> = place.members.keys().copied().collect();
                let closed = What::Moderation {
                    user: None,
                    act: Moderated::Closed,
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
