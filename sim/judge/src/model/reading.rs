//! The results of reads: members, past messages, notices. // 8.5, 8.6, 12.5

use chat_types::{RoomSeq, Time};
use sim_model::protocol::{Answer, Attendance, Member, Notice, Refusal, Room, User};

use super::{Model, State};

impl Model {
    /// `list_users`. // 8.5
    pub(crate) fn list_users(&self, reader: User, room: Option<Room>) -> Result<Answer, Refusal> {
        let room = self.resolve(reader, room)?;
        let members = self.members(room).map(|(user, since)| Member {
            who: self.who(user),
            since,
            presence: self.attendance(user),
        });
        Ok(Answer::Members {
            room,
            members: members.collect(),
        })
    }

    /// The presence as others read it. // 8.5
    pub(super) fn attendance(&self, user: User) -> Attendance {
        match self.participant(user).presence.state {
            State::Unused | State::Present => Attendance::Present,
            State::Grace => Attendance::Reconnecting,
            State::Away => Attendance::Away,
        }
    }

    /// `history`. // 8.5
    pub(crate) fn read_history(
        &self,
        reader: User,
        room: Option<Room>,
        before: Option<RoomSeq>,
        limit: usize,
    ) -> Result<Answer, Refusal> {
        let room = self.resolve(reader, room)?;
        let (messages, more) = self.history(room, reader, before.map(|before| before.0), limit);
        Ok(Answer::History {
            room,
            messages: messages.into_iter().cloned().collect(),
            more,
        })
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
