//! Reads: they take the time, compute from stored instants, and change no state.

use chat_types::{
    Address, Answer, Attendance, Ban, Epoch, Event, Floor, Measure, MeasurePlace, MeasureTarget,
    MemberView, Notice, Page, Read, Report, RoomId, RoomSeq, SecretHash, Seq, Time, UserId, Who,
};
use std::sync::Arc;

use chat_types::config::StickRule;

use super::Hub;
use super::speech::SUFFIX;
use crate::inbox::PageLimits;
use crate::name::fold;
use crate::participant::{Participant, Presence, State};
use crate::reject::{Outcome, Reject};
use crate::room::{Kind, Room};

/// The size of a collection, and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// The name of the collection. Where there are many of a kind, the largest one counts.
    pub name: &'static str,
    /// The number of elements.
    pub size: u64,
    /// The largest allowed number of elements.
    pub limit: u64,
}

impl From<(&'static str, usize, u64)> for Size {
    fn from((name, size, limit): (&'static str, usize, u64)) -> Self {
        let size = size as u64;
        Self { name, size, limit }
    }
}

impl Hub {
    /// The number of events in the participant's inbox after `after`; none if it is not registered.
    #[must_use]
    pub fn unread(&self, user: UserId, after: Seq) -> Option<u64> {
        Some(self.users.get(&user)?.inbox.unread(after))
    }

    /// The participant with this handle.
    #[must_use]
    pub fn user_by_handle(&self, handle: &SecretHash) -> Option<UserId> {
        self.index.handles.get(handle).copied()
    }

    /// The hash of the participant's handle.
    #[must_use]
    pub fn handle_of(&self, user: UserId) -> Option<SecretHash> {
        self.users.get(&user).map(|participant| participant.handle)
    }

    /// The participants registered from this address, in the order of their numbers, with the hashes
    /// of their handles.
    pub fn registered_from(
        &self,
        address: Address,
    ) -> impl Iterator<Item = (&Arc<Who>, SecretHash)> {
        let users = self.index.away.of_address(address);
        users.filter_map(|user| {
            let participant = self.users.get(&user)?;
            Some((&participant.who, participant.handle))
        })
    }

    /// The highest number that a participant was given.
    #[must_use]
    pub const fn newest_user(&self) -> UserId {
        self.last_user
    }

    /// The room's members, in the order of their ids.
    pub fn members_of(&self, room: RoomId) -> impl Iterator<Item = UserId> {
        let members = self.rooms.get(&room).map_or(&[][..], |room| &room.members);
        members.iter().map(|member| member.user)
    }

    /// The members that receive a notice: all but its sender, while the room keeps it.
    pub(crate) fn hearers(&self, room: RoomId, notice: &Notice) -> impl Iterator<Item = UserId> {
        let sender = notice.user.id;
        let room = self.rooms.get(&room);
        let room = room.filter(|room| room.notices.contains(notice));
        let members = room.map_or(&[][..], |room| &room.members);
        let members = members.iter().map(|member| member.user);
        members.filter(move |user| *user != sender)
    }

    /// The participant with this reader id, which grants access to its inbox alone.
    #[must_use]
    pub fn user_by_reader(&self, reader: &SecretHash) -> Option<UserId> {
        self.index.readers.get(reader).copied()
    }

    /// The participant with this public id: `user_7`, or one that it chose.
    #[must_use]
    pub fn user_by_public_id(&self, id: &str) -> Option<UserId> {
        if let Some(user) = self.index.chosen_ids.get(id) {
            return Some(*user);
        }
        let number = UserId(id.strip_prefix("user_")?.parse().ok()?);
        let who = &self.users.get(&number)?.who;
        (who.chosen_id.is_none() && number.to_string() == id).then_some(number)
    }

    /// The participant with this display name, in any spelling with the same folded form.
    #[must_use]
    pub fn user_by_name(&self, name: &str) -> Option<UserId> {
        self.index.names.get(&fold(name)).copied()
    }

    /// The participant as others see it.
    #[must_use]
    pub fn who_is(&self, user: UserId) -> Option<&Arc<Who>> {
        self.users.get(&user).map(|participant| &participant.who)
    }

    /// The rooms that the participant is in.
    #[must_use]
    pub fn rooms_of(&self, user: UserId) -> &[RoomId] {
        self.users
            .get(&user)
            .map_or(&[], |participant| &participant.rooms)
    }

    /// Whether the participant waits in the queue.
    #[must_use]
    pub fn is_waiting(&self, user: UserId) -> bool {
        self.queue.contains(user)
    }

    /// What the member needs to speak in the room; none if it is no member of a live room.
    #[must_use]
    pub fn floor_of(&self, user: UserId, room: RoomId) -> Option<Floor> {
        let room = self.rooms.get(&room).filter(|room| room.is_member(user))?;
        let has_draft = room.draft(user).is_some_and(|draft| !draft.is_empty());
        match &room.kind {
            Kind::Ended(_) => None,
            Kind::Pair { .. } => Some(Floor {
                needs_stick: false,
                place: None,
                epoch: Epoch(0),
                has_draft,
            }),
            Kind::Named { stick, .. } => Some(Floor {
                needs_stick: self.config.stick == StickRule::Required,
                place: stick.place(user),
                epoch: stick.epoch,
                has_draft,
            }),
        }
    }

    /// The member's draft in the room: its length in characters, and its last characters, as a cut
    /// append shows them. `None` if the member has no draft, or an empty one.
    #[must_use]
    pub fn draft_of(&self, user: UserId, room: RoomId) -> Option<(u32, &str)> {
        let draft = self.rooms.get(&room)?.draft(user)?;
        (!draft.is_empty()).then(|| (draft.length, draft.suffix(SUFFIX)))
    }

    /// The participant's presence; none if it is not registered.
    #[must_use]
    pub fn presence_of(&self, user: UserId) -> Option<Attendance> {
        Some(match self.users.get(&user)?.presence.state {
            State::Unused | State::Present => Attendance::Present,
            State::Grace => Attendance::Reconnecting,
            State::Away => Attendance::Away,
        })
    }

    /// Whether a read by the participant needs to be reported to the Hub: it is away, its handle
    /// was not used before, or it was last seen more than a quarter of its timeout ago.
    #[must_use]
    pub fn wants_seen(&self, user: UserId, now: Time) -> bool {
        let Some(participant) = self.users.get(&user) else {
            return false;
        };
        let Presence { state, until } = participant.presence;
        if state != State::Present {
            return true;
        }
        participant.streams == 0
            && until.since(now).0 < self.stays_present(user).0.saturating_mul(3) / 4
    }

    /// Whether the participant's handle was never used.
    #[must_use]
    pub fn is_unused(&self, user: UserId) -> bool {
        let participant = self.users.get(&user);
        participant.is_some_and(|participant| participant.is_unused())
    }

    /// The end of the participant's inbox, and the end of the last answer.
    #[must_use]
    pub fn inbox_cursors(&self, user: UserId) -> Option<(Seq, Seq)> {
        let inbox = &self.users.get(&user)?.inbox;
        Some((inbox.end, inbox.delivered))
    }

    /// The answer to the participant's read at `now`. A check is answered at once, and without a
    /// place from the beginning of the inbox.
    ///
    /// # Errors
    /// `unknown_handle`, `invalid_cursor`, or those of resolving the room.
    pub fn answer(&self, user: UserId, now: Time, read: Read) -> Outcome<Answer> {
        Ok(match read {
            Read::Check { after, max, .. } => Answer::Page {
                page: self.read_inbox(user, after.unwrap_or_default(), max)?,
                notices: self.read_notices(user, now),
            },
            Read::Members { room } => {
                let room = self.resolve_for(user, room)?;
                let members = self.read_members(room);
                Answer::Members { room, members }
            }
            Read::History {
                room,
                before,
                limit,
            } => {
                let room = self.resolve_for(user, room)?;
                let (messages, more) = self.read_history(user, room, before, limit);
                Answer::History {
                    room,
                    messages,
                    more,
                }
            }
            Read::Mood => {
                let (stress, boss_alert) = self.mood(user, now).ok_or(Reject::UnknownHandle)?;
                Answer::Mood { stress, boss_alert }
            }
        })
    }

    /// Reads the participant's inbox after `after`, at most `max` events.
    ///
    /// # Errors
    /// `unknown_handle`, or `invalid_cursor` when `after` lies beyond the end.
    pub fn read_inbox(&self, user: UserId, after: Seq, max: usize) -> Outcome<Page> {
        let inbox = &self.users.get(&user).ok_or(Reject::UnknownHandle)?.inbox;
        inbox.check_cursor(after)?;
        Ok(inbox.page(after, self.page_limits(max)))
    }

    /// The limits of an answer for which the caller asked for at most `max` events.
    fn page_limits(&self, max: usize) -> PageLimits {
        PageLimits {
            events: max.min(self.config.max_answer as usize),
            bytes: self.config.max_answer_bytes as usize,
        }
    }

    /// The fresh notices in the participant's rooms at `now`.
    #[must_use]
    pub fn read_notices(&self, user: UserId, now: Time) -> Vec<(RoomId, Notice)> {
        let mut notices = Vec::new();
        let rooms = self.rooms_of(user).iter();
        for room in rooms.filter_map(|room| self.rooms.get(room)) {
            let fresh = room.fresh_notices(user, now);
            notices.extend(fresh.map(|notice| (room.id, notice.clone())));
        }
        notices
    }

    /// The room's members, in the order of their ids.
    #[must_use]
    pub fn read_members(&self, room: RoomId) -> Vec<MemberView> {
        let Some(room) = self.rooms.get(&room) else {
            return Vec::new();
        };
        let members = room.members.iter().filter_map(|member| {
            let participant = self.users.get(&member.user)?;
            Some(MemberView {
                who: Arc::clone(&participant.who),
                since: member.since,
                presence: self.presence_of(member.user)?,
                read_to: participant.inbox.read_to(room.id, room.last_seq),
            })
        });
        members.collect()
    }

    /// The live room's messages before `before`, newest last: at most `limit`, and no more than one
    /// answer may hold; and whether there are older ones. Messages of a participant that the reader
    /// blocked, or that blocked the reader, are left out.
    #[must_use]
    pub fn read_history(
        &self,
        user: UserId,
        room: RoomId,
        before: Option<RoomSeq>,
        limit: usize,
    ) -> (Vec<Arc<Event>>, bool) {
        let wanted = |event: &&Arc<Event>| {
            before.is_none_or(|before| event.room_seq < before)
                && !matches!(&event.body, chat_types::Body::Message { sender, .. }
                    if self.blocked(user, sender.id))
        };
        let history = self.room(room).history.iter();
        let mut newest = history.rev().filter(wanted);
        let mut messages = self.page_limits(limit).of(newest.clone());
        let more = newest.nth(messages.len()).is_some();
        messages.reverse();
        (messages, more)
    }

    /// The live room that the participant's read means.
    ///
    /// # Errors
    /// `unknown_handle`, or those of resolving the room.
    pub fn resolve_for(&self, user: UserId, room: Option<RoomId>) -> Outcome<RoomId> {
        self.users.get(&user).ok_or(Reject::UnknownHandle)?;
        self.resolve(user, room)
    }

    /// Whether the address is banned.
    #[must_use]
    pub fn is_banned(&self, address: Address) -> bool {
        self.moderation.of_address(address) == Some(Measure::Ban)
    }

    /// The banned addresses, each with the ban.
    pub fn banned_addresses(&self) -> impl Iterator<Item = (Address, &Ban)> {
        let kept = self.moderation.addresses.iter();
        let banned = kept.filter(|(_, ban)| ban.measure == Measure::Ban);
        banned.map(|(address, ban)| (*address, ban))
    }

    /// The participants' reports, the oldest first.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.moderation.reports.iter()
    }

    /// All mutes and bans after `after`: names, then handles, then addresses. A participant that
    /// was muted or banned is listed under its handle, and under each name that it chose.
    pub fn kept(
        &self,
        after: Option<&MeasurePlace>,
    ) -> impl Iterator<Item = (MeasurePlace, MeasureTarget, &Ban)> + use<'_> {
        self.moderation.kept(after)
    }

    /// The size of every collection, with its limit. Walks the whole state. A limit can be exceeded
    /// for a while after `Resumed` lowered it, because existing elements stay.
    #[must_use]
    pub fn sizes(&self) -> Vec<Size> {
        let config = &self.config;
        let user = |size: fn(&Participant) -> usize| self.users.most(|user| size(user));
        let room = |size: fn(&Room) -> usize| self.rooms.most(|room| size(room));
        let draft = |room: &Room| {
            let drafts = room.members.iter().map(|member| room.draft(member.user));
            drafts
                .flatten()
                .map(|draft| draft.length as usize)
                .max()
                .unwrap_or(0)
        };
        let line = |room: &Room| room.stick().map_or(0, |stick| stick.line.len());
        [
            ("participants", self.users.len(), config.max_participants),
            (
                "per_address",
                self.index.away.most_from_one(),
                config.max_per_address,
            ),
            ("rooms", self.rooms.len(), config.max_rooms),
            ("queue", self.queue.len(), config.max_queue),
            ("inbox", user(|user| user.inbox.len()), config.inbox_limit),
            (
                "remembered_keys",
                user(|user| user.memory.len()),
                config.remembered_keys,
            ),
            ("blocks", user(|user| user.blocks.len()), config.max_blocks),
            (
                "streams",
                user(|user| user.streams as usize),
                config.max_streams,
            ),
            (
                "rooms_each",
                user(|user| user.rooms.len()),
                config.max_rooms_each,
            ),
            (
                "ended_rooms",
                user(|user| user.ended.len()),
                config.max_ended_rooms,
            ),
            (
                "members",
                room(|room| room.members.len()),
                config.max_members,
            ),
            (
                "history",
                room(|room| room.history.len()),
                config.history_limit,
            ),
            ("stick_line", room(line), config.max_members),
            ("draft", room(draft), config.max_draft),
            ("reports", self.moderation.reports.len(), config.max_reports),
            (
                "reports_per_address",
                self.moderation.most_reports_from_one(),
                config.max_reports_per_address,
            ),
            ("bans", self.moderation.bans(), config.max_bans),
        ]
        .map(|(name, size, limit)| Size::from((name, size, limit.into())))
        .into()
    }

    /// The name of a named room.
    #[must_use]
    pub fn room_name(&self, room: RoomId) -> Option<&str> {
        match &self.rooms.get(&room)?.kind {
            Kind::Named { name, .. } => Some(name),
            Kind::Pair { .. } | Kind::Ended(_) => None,
        }
    }
}
