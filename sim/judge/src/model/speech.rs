//! Messages, drafts, their history, notices, and the results of reads. // 7.6, 7.7, 8.4 to 8.6, 12.5

use std::sync::Arc;

use chat_types::config::{Limit, StickRule};
use chat_types::{Addressees, RoomSeq, Span, Time, Who};
use sim_model::protocol::{
    Answer, Attendance, Code, Decided, EndReason, Member, Notice, NoticeKind, Read, Refusal, Reply,
    Room, User,
};

use super::inbox::{PageLimits, fitting};
use super::names::says_something;
use super::room::{Kind, Turn};
use super::{Body, Checked, Model, State, refuse, refuse_at, refuse_if};

/// `turns_left` is shown from this number on. // 1
const FEW_TURNS: u32 = 10;

/// The age up to which a notice is fresh, inclusive. // 1
const FRESH: Span = Span::secs(10);

/// The text of a message, and the members that it is addressed to. // 8.4
pub(super) type Message = (Arc<str>, Box<[Arc<Who>]>);

/// The number of characters of a text. // 0
pub(super) fn count(text: &str) -> u32 {
    u32::try_from(text.chars().count()).expect("a text has fewer than 2^32 characters")
}

/// Whether a text has more than `most` characters. A text with at most `most` bytes never has.
fn is_longer(text: &str, most: u32) -> bool {
    text.len() > most as usize && count(text) > most
}

impl Model {
    /// Whether the caller may speak. // 7.6
    fn check_floor(&self, turn @ (user, room, _): Turn) -> Checked {
        refuse_if(self.is_muted(user), refuse(Code::Muted))?; // 7.6 (1)
        self.check_epoch(turn)?; // 7.6 (2)
        let asked = self.config.stick == StickRule::Required && !self.is_pair(room);
        let lacks_it = asked && self.grant_of(room, user).is_none();
        refuse_if(lacks_it, refuse(Code::StickRequired)) // 7.6 (3)
    }

    /// A message with this text to these members, if it is valid. // 8.4
    pub(super) fn message(
        &self,
        room: Room,
        text: &Arc<str>,
        to: &Addressees,
    ) -> Result<Message, Refusal> {
        refuse_if(!says_something(text), refuse(Code::MessageEmpty))?;
        let most = self.config.max_message;
        refuse_if(is_longer(text, most), refuse_at(Code::MessageTooLong, most))?;
        let members = &self.place(room).members;
        let are_members = to.iter().all(|user| members.contains_key(&user));
        refuse_if(!are_members, refuse(Code::UserNotFound))?;
        let to = to.iter().map(|user| self.who(user)).collect();
        Ok((Arc::clone(text), to))
    }

    /// `send_message`. // 8.4
    pub(super) fn send(
        &mut self,
        turn @ (user, room, _): Turn,
        text: &Arc<str>,
        to: &Addressees,
    ) -> Decided {
        self.check_floor(turn)?;
        let message = self.message(room, text, to)?;
        Ok(self.say(room, user, message))
    }

    /// Posts a message. // 8.4
    pub(super) fn say(&mut self, room: Room, sender: User, (text, to): Message) -> Reply {
        let limit = self.config.turn_limit;
        let mut left = None;
        if let Kind::Pair { turns } = &mut self.place_mut(room).kind {
            *turns += 1;
            if let Limit::At(most) = limit {
                left = Some(most.saturating_sub(*turns));
            }
        }
        let epoch = self.grant_of(room, sender);
        let body = Body::Message {
            sender: self.who(sender),
            text,
            epoch,
            to,
        };
        let event = self.post(room, body, Some(sender));
        let kept = self.config.history_limit as usize;
        let history = &mut self.place_mut(room).history;
        history.push_back(Arc::clone(&event));
        let excess = history.len().saturating_sub(kept);
        history.drain(..excess);
        if left == Some(0) {
            self.end_pair(room, EndReason::TurnLimit, None);
        }
        Reply::Sent {
            room,
            room_seq: event.room_seq,
            at: event.at,
            turns_left: left.filter(|left| *left <= FEW_TURNS),
        }
    }

    /// `typing`. // 8.6
    pub(super) fn typing(&mut self, user: User, room: Option<Room>) -> Decided {
        let room = self.resolve(user, room)?;
        self.leave_notice(room, user, NoticeKind::Typing);
        Ok(Reply::Done)
    }

    /// The notices of a participant that waits in a `check`. // 8.6
    pub(super) fn waiting(&mut self, user: User, waited: Span) {
        for room in self.participant(user).live.clone() {
            self.leave_notice(room, user, NoticeKind::Waiting(waited));
        }
    }

    fn leave_notice(&mut self, room: Room, user: User, kind: NoticeKind) {
        let notice = Notice {
            user: self.who(user),
            kind,
            at: self.now,
        };
        self.noticed.push((room, notice.clone()));
        self.member_mut(room, user).notice = Some(notice);
    }

    /// The fresh notices of a room for a reader at an instant, by sender. // 8.6
    pub(crate) fn notices(
        &self,
        room: Room,
        reader: User,
        at: Time,
    ) -> impl Iterator<Item = &Notice> {
        let place = self.rooms.get(room.0);
        let members = place.into_iter().flat_map(|place| place.members.values());
        let notices = members.filter_map(|member| member.notice.as_ref());
        notices.filter(move |notice| notice.user.id != reader && at.since(notice.at) <= FRESH)
    }

    /// The answer to a read that is due at once. // 8.5, 10.2
    pub(crate) fn answer(&self, reader: User, at: Time, read: Read) -> Result<Answer, Refusal> {
        Ok(match read {
            Read::Check { .. } => unreachable!("the auditor compares pages as they leave"),
            Read::History {
                room,
                before,
                limit,
            } => self.history(reader, room, before, limit)?,
            Read::Members { room } => {
                let room = self.resolve(reader, room)?;
                let last = self.place(room).last_seq;
                let members = self.members(room).map(|(user, since)| {
                    let unread = self.participant(user).inbox.first_unread(room);
                    Member {
                        who: self.who(user),
                        since,
                        presence: self.attendance(user),
                        read_to: RoomSeq(unread.map_or(last, |unread| unread - 1)),
                    }
                });
                let members = members.collect();
                Answer::Members { room, members }
            }
            Read::Mood => {
                let mood = self.mood(reader, at);
                let (stress, boss_alert) = mood.ok_or(refuse(Code::UnknownHandle))?;
                Answer::Mood { stress, boss_alert }
            }
        })
    }

    /// `history` shows a reader the newest `limit` messages below `before` that fit into one answer,
    /// oldest first. // 8.5
    pub(super) fn history(
        &self,
        reader: User,
        room: Option<Room>,
        before: Option<RoomSeq>,
        limit: usize,
    ) -> Result<Answer, Refusal> {
        let room = self.resolve(reader, room)?;
        let kept = self.place(room).history.iter().rev();
        let mut shown: Vec<_> = kept
            .filter(|event| before.is_none_or(|before| event.room_seq < before))
            .filter(|event| {
                let message = event.body.message();
                message.is_some_and(|(sender, _)| !self.blocks(sender, reader))
            })
            .collect();
        let count = fitting(shown.iter().copied(), self.limits(limit));
        let more = shown.len() > count;
        shown.truncate(count);
        Ok(Answer::History {
            room,
            messages: shown.into_iter().rev().cloned().collect(),
            more,
        })
    }

    /// The limits of an answer for which this number of events was requested. // 8.5, 12.4
    pub(crate) fn limits(&self, events: usize) -> PageLimits {
        PageLimits {
            events: events.min(self.config.max_answer as usize),
            bytes: self.config.max_answer_bytes as usize,
        }
    }

    /// The presence as others read it. // 8.5
    pub(super) fn attendance(&self, user: User) -> Attendance {
        match self.participant(user).presence.state {
            State::Unused | State::Present => Attendance::Present,
            State::Grace => Attendance::Reconnecting,
            State::Away => Attendance::Away,
        }
    }

    /// The notices in the answer to a check: by room in the order of joining, and within a room by
    /// sender. // 12.5
    pub(crate) fn notices_for(&self, reader: User, at: Time) -> Vec<(Room, Notice)> {
        let mut notices = Vec::new();
        for room in self.rooms_of(reader) {
            let fresh = self.notices(*room, reader, at).cloned();
            notices.extend(fresh.map(|notice| (*room, notice)));
        }
        notices
    }
}

/// The number of characters of a draft's end in the answer to a cut append. // 7.7
const SUFFIX: usize = 50;

/// A member's draft: a sequence of appends.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) appends: Vec<Arc<str>>,
    /// The characters of all appends.
    pub(super) length: u32,
}

impl Draft {
    /// The last characters. // 7.7
    fn suffix(&self) -> Arc<str> {
        let text = self.text();
        let before = text.chars().count().saturating_sub(SUFFIX);
        text.chars().skip(before).collect::<String>().into()
    }

    fn text(&self) -> Arc<str> {
        match self.appends.as_slice() {
            [only] => Arc::clone(only),
            appends => appends.concat().into(),
        }
    }
}

impl Model {
    /// `append`.
    pub(super) fn append(&mut self, turn @ (user, room, _): Turn, text: &Arc<str>) -> Decided {
        self.check_floor(turn)?;
        refuse_if(text.is_empty(), refuse(Code::MessageEmpty))?;
        let (max_append, max_draft) = (self.config.max_append, self.config.max_draft);
        let given = count(text);
        let added = given.min(max_append);
        let draft = &mut self.member_mut(room, user).draft;
        let is_full = draft.length + added > max_draft;
        refuse_if(is_full, refuse_at(Code::DraftFull, max_draft))?;
        draft.appends.push(if added < given {
            let kept: String = text.chars().take(added as usize).collect();
            kept.into()
        } else {
            Arc::clone(text)
        });
        draft.length += added;
        Ok(Reply::Draft {
            length: draft.length,
            cut: given - added,
            suffix: (added < given).then(|| (*draft.suffix()).into()),
        })
    }

    /// `undo`.
    pub(super) fn undo(&mut self, turn @ (user, room, _): Turn) -> Decided {
        self.check_epoch(turn)?;
        let draft = &mut self.member_mut(room, user).draft;
        if let Some(last) = draft.appends.pop() {
            draft.length -= count(&last);
        }
        Ok(Reply::Draft {
            length: draft.length,
            cut: 0,
            suffix: None,
        })
    }

    /// `reset`.
    pub(super) fn reset(&mut self, turn @ (user, room, _): Turn) -> Decided {
        self.check_epoch(turn)?;
        self.member_mut(room, user).draft = Draft::default();
        self.give_up_stick(room, user);
        Ok(Reply::Draft {
            length: 0,
            cut: 0,
            suffix: None,
        })
    }

    /// `push`.
    pub(super) fn push(&mut self, turn @ (user, room, _): Turn, to: &Addressees) -> Decided {
        self.check_floor(turn)?;
        let draft = &self.member_mut(room, user).draft;
        refuse_if(draft.appends.is_empty(), refuse(Code::DraftEmpty))?;
        let text = draft.text();
        let message = self.message(room, &text, to)?;
        self.member_mut(room, user).draft = Draft::default();
        let answer = self.say(room, user, message);
        // A caller that does not hold the stick keeps its claim. // 7.7
        if self.grant_of(room, user).is_some() {
            self.give_up_stick(room, user);
        }
        Ok(answer)
    }
}
