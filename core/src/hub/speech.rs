//! Messages: sent at once, or by pushing a draft.

use std::sync::Arc;

use chat_types::config::StickRule;

use super::Hub;
use crate::counters::ReleaseCause;
use crate::draft::count;
use crate::name::has_visible;
use crate::reject::{Outcome, Reject, refuse_if};
use crate::stick::{Speech, Stick};
use chat_types::{Addressees, Body, EndReason, Epoch, Reply, RoomId, UserId, Who};

/// The number of remaining turns from which on answers contain it.
const TURNS_TOLD_FROM: u32 = 10;

/// The largest number of members that a message is addressed to.
pub(crate) const MAX_TO: u32 = 16;

/// The number of characters of a draft that a cut append shows.
pub(super) const SUFFIX: usize = 50;

impl Hub {
    pub(super) fn send(
        &mut self,
        user: UserId,
        room: RoomId,
        text: &Arc<str>,
        to: &Addressees,
    ) -> Outcome {
        let speech = self.speech(room, Arc::clone(text), to)?;
        Ok(self.say(user, room, speech))
    }

    pub(super) fn append(&mut self, user: UserId, room: RoomId, text: &str) -> Outcome {
        refuse_if(text.is_empty(), Reject::MessageEmpty)?;
        let (max_append, limit) = (self.config.max_append, self.config.max_draft);
        // Checked before the draft is created, so that a refusal creates none.
        let drafted = self.room(room).draft(user).map_or(0, |draft| draft.length);
        if drafted + count(text).min(max_append) > limit {
            return Err(Reject::DraftFull { limit });
        }
        let draft = self.room_mut(room).draft_mut(user);
        let draft = draft.ok_or(Reject::NotInRoom)?;
        let cut = draft.append(text, max_append);
        let suffix = (cut > 0).then(|| draft.suffix(SUFFIX).into());
        Ok(Reply::Draft {
            length: draft.length,
            cut,
            suffix,
        })
    }

    pub(super) fn push(&mut self, user: UserId, room: RoomId, to: &Addressees) -> Outcome {
        let draft = self.room(room).draft(user);
        let draft = draft.filter(|draft| !draft.is_empty());
        let text = &*draft.ok_or(Reject::DraftEmpty)?.text;
        let speech = self.speech(room, Arc::from(text), to)?;
        self.room_mut(room).clear_draft(user);
        let reply = self.say(user, room, speech);
        // Where the stick is optional, a member may push while it waits for the stick, and keeps
        // its place. The message may have ended a pair room; those have no stick.
        let stick = self.room(room).stick();
        if stick.is_some_and(|stick| stick.holds(user)) {
            self.give_up_stick(room, user, ReleaseCause::PUSH);
        }
        Ok(reply)
    }

    pub(super) fn undo(&mut self, user: UserId, room: RoomId) -> Reply {
        let room = self.room_mut(room);
        // A member without a draft gets none.
        if room.draft(user).is_some()
            && let Some(draft) = room.draft_mut(user)
        {
            draft.undo();
            return draft_of(draft.length);
        }
        draft_of(0)
    }

    pub(super) fn reset(&mut self, user: UserId, room: RoomId) -> Reply {
        self.room_mut(room).clear_draft(user);
        self.give_up_stick(room, user, ReleaseCause::RESET);
        draft_of(0)
    }

    /// The room in which `user` may speak now, as it names it.
    pub(super) fn floor(
        &self,
        user: UserId,
        room: Option<RoomId>,
        epoch: Option<Epoch>,
    ) -> Outcome<RoomId> {
        let room = self.resolve(user, room)?;
        refuse_if(self.is_muted(user), Reject::Muted)?;
        let stick = self.room(room).stick();
        check_grant(user, stick, epoch)?;
        match stick {
            Some(stick) if self.config.stick == StickRule::Required && !stick.holds(user) => {
                Err(Reject::StickRequired)
            }
            _ => Ok(room),
        }
    }

    /// The room that `user` names, if the epoch that it may name is that of its grant there.
    pub(super) fn granted(
        &self,
        user: UserId,
        room: Option<RoomId>,
        epoch: Option<Epoch>,
    ) -> Outcome<RoomId> {
        let room = self.resolve(user, room)?;
        check_grant(user, self.room(room).stick(), epoch)?;
        Ok(room)
    }

    /// Checks that the text can be a message to these members of the room.
    pub(super) fn speech(&self, room: RoomId, text: Arc<str>, to: &Addressees) -> Outcome<Speech> {
        refuse_if(!has_visible(&text), Reject::MessageEmpty)?;
        let limit = self.config.max_message;
        // Counting characters is costly. A text has at most as many characters as bytes.
        let is_longer = text.len() > limit as usize && count(&text) > limit;
        refuse_if(is_longer, Reject::MessageTooLong { limit })?;
        Ok(Speech {
            text,
            to: match to.is_empty() {
                true => [].into(),
                false => self.addressees(room, to)?,
            },
        })
    }

    /// These members of the room, as others see them.
    fn addressees(&self, room: RoomId, to: &Addressees) -> Outcome<Box<[Arc<Who>]>> {
        let members = self.room(room);
        let member = |user| match members.is_member(user) {
            true => Ok(self.who(user)),
            false => Err(Reject::UserNotFound),
        };
        to.iter().map(member).collect()
    }

    /// Posts the message. The caller has made all checks.
    pub(super) fn say(&mut self, user: UserId, room: RoomId, speech: Speech) -> Reply {
        let sender = self.who(user);
        let limit = self.config.turn_limit;
        let found = self.room_mut(room);
        let left = found.count_turn(limit);
        let stick = found.stick().filter(|stick| stick.holds(user));
        let epoch = stick.map(|stick| stick.epoch);
        let Speech { text, to } = speech;
        let body = Body::Message {
            sender,
            text,
            epoch,
            to,
        };
        let room_seq = self.post(room, body, Some(user));
        self.counters.messages += 1;
        if left == Some(0) {
            self.end_pair(room, EndReason::TurnLimit, None);
        }
        let turns_left = left.filter(|left| *left <= TURNS_TOLD_FROM);
        Reply::Sent {
            room,
            room_seq,
            at: self.now,
            turns_left,
        }
    }
}

/// Checks the epoch, if the caller names one: it must be the epoch of the caller's current grant.
pub(super) fn check_grant(
    user: UserId,
    stick: Option<&Stick>,
    epoch: Option<Epoch>,
) -> Outcome<()> {
    match (epoch, stick) {
        (Some(epoch), Some(stick)) if !(stick.holds(user) && stick.epoch == epoch) => {
            Err(Reject::StickRequired)
        }
        _ => Ok(()),
    }
}

/// The answer to a call that cut nothing.
const fn draft_of(length: u32) -> Reply {
    let (cut, suffix) = (0, None);
    Reply::Draft {
        length,
        cut,
        suffix,
    }
}
