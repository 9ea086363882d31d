//! A room: its members, its order of events, and the parts specific to pair rooms and named rooms.

use chat_types::{
    Body, EndReason, Event, Notice, RoomId, RoomSeq, Span, Time, UserId, config::Limit,
};
use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::draft::Draft;
use crate::stick::Stick;

/// How long a notice is fresh.
const NOTICE_FRESH: Span = Span::secs(10);

/// A room.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Room {
    pub(crate) id: RoomId,
    pub(crate) kind: Kind,
    /// Ordered by user. In an ended room: the participants that may still name it.
    pub(crate) members: Vec<Member>,
    /// The place of the last event in the room's order.
    pub(crate) last_seq: RoomSeq,
    /// The claimant, if the last event is a claim of the stick.
    pub(crate) last_claimant: Option<UserId>,
    /// The last messages, for `history`.
    pub(crate) history: VecDeque<Arc<Event>>,
    /// The latest notice of each sender, while it may be fresh.
    pub(crate) notices: Vec<Notice>,
}

/// The kind of a room.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// A live pair room.
    Pair {
        /// The number of messages so far.
        turns: u32,
    },
    /// An ended pair room.
    Ended(EndReason),
    /// A named room, open to all that know its name.
    Named {
        name: Arc<str>,
        key: Box<str>,
        stick: Stick,
    },
}

/// A member of a room.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) user: UserId,
    pub(crate) since: Time,
    /// Boxed, because most members have no draft.
    draft: Option<Box<Draft>>,
}

impl Room {
    pub(crate) fn new(id: RoomId, kind: Kind) -> Self {
        Self {
            id,
            kind,
            members: Vec::new(),
            last_seq: RoomSeq(0),
            last_claimant: None,
            history: VecDeque::new(),
            notices: Vec::new(),
        }
    }

    /// The next place in the room's order, for an event with this body.
    pub(crate) fn advance(&mut self, body: &Body) -> RoomSeq {
        self.last_seq = self.last_seq.next();
        self.last_claimant = None;
        if let Body::StickClaimed { user, .. } = body {
            self.last_claimant = Some(user.id);
        }
        self.last_seq
    }

    pub(crate) fn is_member(&self, user: UserId) -> bool {
        self.find(user).is_ok()
    }

    fn find(&self, user: UserId) -> Result<usize, usize> {
        self.members
            .binary_search_by_key(&user, |member| member.user)
    }

    pub(crate) fn join(&mut self, user: UserId, now: Time) {
        if let Err(at) = self.find(user) {
            let member = Member {
                user,
                since: now,
                draft: None,
            };
            self.members.insert(at, member);
        }
    }

    /// Removes the member with its draft and its notice.
    pub(crate) fn leave(&mut self, user: UserId) {
        if let Ok(at) = self.find(user) {
            self.members.remove(at);
        }
        self.notices.retain(|notice| notice.user.id != user);
    }

    pub(crate) fn stick(&self) -> Option<&Stick> {
        match &self.kind {
            Kind::Named { stick, .. } => Some(stick),
            Kind::Pair { .. } | Kind::Ended(_) => None,
        }
    }

    pub(crate) fn stick_mut(&mut self) -> Option<&mut Stick> {
        match &mut self.kind {
            Kind::Named { stick, .. } => Some(stick),
            Kind::Pair { .. } | Kind::Ended(_) => None,
        }
    }

    /// The member's draft, empty if there is none.
    pub(crate) fn draft_mut(&mut self, user: UserId) -> Option<&mut Draft> {
        let at = self.find(user).ok()?;
        Some(self.members[at].draft.get_or_insert_default())
    }

    pub(crate) fn draft(&self, user: UserId) -> Option<&Draft> {
        self.members[self.find(user).ok()?].draft.as_deref()
    }

    pub(crate) fn clear_draft(&mut self, user: UserId) {
        if let Ok(at) = self.find(user) {
            self.members[at].draft = None;
        }
    }

    /// Ends the room. Only the members that may still name it and the reason are kept.
    pub(crate) fn end(&mut self, reason: EndReason) {
        self.kind = Kind::Ended(reason);
        self.history = VecDeque::new();
        self.notices = Vec::new();
        for member in &mut self.members {
            member.draft = None;
        }
    }

    /// Counts a message in a pair room. Returns the number of messages left, if it is limited.
    pub(crate) fn count_turn(&mut self, limit: Limit) -> Option<u32> {
        let Kind::Pair { turns } = &mut self.kind else {
            return None;
        };
        *turns += 1;
        let limit = limit.limit()?;
        Some(limit.saturating_sub(*turns))
    }

    pub(crate) fn remember(&mut self, message: Arc<Event>, limit: usize) {
        while self.history.len() >= limit {
            self.history.pop_front();
        }
        self.history.push_back(message);
    }

    /// Stores the notice in place of the sender's last one.
    pub(crate) fn notice(&mut self, notice: Notice) {
        let now = notice.at;
        self.notices
            .retain(|old| old.user.id != notice.user.id && is_fresh(old, now));
        self.notices.push(notice);
    }

    /// The fresh notices of other members.
    pub(crate) fn fresh_notices(&self, reader: UserId, now: Time) -> impl Iterator<Item = &Notice> {
        self.notices
            .iter()
            .filter(move |n| n.user.id != reader && is_fresh(n, now))
    }

    /// Checks the invariants.
    pub(crate) fn validate(&self, id: RoomId) -> Result<(), String> {
        let members = self.members.len();
        if self.id != id || members == 0 {
            return Err(format!("{id} is {} with {members} members", self.id));
        }
        if !self.members.is_sorted_by(|a, b| a.user < b.user) {
            return Err(format!("{} has members out of order", self.id));
        }
        for draft in self.members.iter().filter_map(|m| m.draft.as_deref()) {
            draft.validate()?;
        }
        match &self.kind {
            Kind::Pair { .. } if members != 2 => Err(format!("{} has {members} of two", self.id)),
            Kind::Named { stick, .. } => stick.validate(|user| self.is_member(user)),
            Kind::Pair { .. } | Kind::Ended(_) => Ok(()),
        }
    }
}

fn is_fresh(notice: &Notice, now: Time) -> bool {
    now.since(notice.at) <= NOTICE_FRESH
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: RoomId = RoomId(1);

    fn room(kind: Kind, members: &[u64]) -> Room {
        let mut room = Room::new(HERE, kind);
        room.members = members
            .iter()
            .map(|user| Member {
                user: UserId(*user),
                since: Time(0),
                draft: None,
            })
            .collect();
        room
    }

    fn named() -> Kind {
        Kind::Named {
            name: "lobby".into(),
            key: "lobby".into(),
            stick: Stick::default(),
        }
    }

    #[test]
    fn an_impossible_room_is_invalid() {
        assert_eq!(room(named(), &[1, 2, 5]).validate(HERE), Ok(()));
        assert!(room(named(), &[1]).validate(RoomId(2)).is_err(), "its id");
        assert!(room(named(), &[]).validate(HERE).is_err(), "nobody is in");
        assert!(room(named(), &[2, 1]).validate(HERE).is_err(), "the order");
        assert!(room(named(), &[1, 1]).validate(HERE).is_err(), "twice in");
    }

    #[test]
    fn a_pair_room_has_two_members_or_fewer() {
        for members in [&[1_u64][..], &[1, 2, 3]] {
            assert!(
                room(Kind::Pair { turns: 0 }, members)
                    .validate(HERE)
                    .is_err()
            );
        }
        assert_eq!(
            room(Kind::Pair { turns: 0 }, &[1, 2]).validate(HERE),
            Ok(())
        );
        let ended = room(Kind::Ended(EndReason::Left), &[1]);
        assert_eq!(ended.validate(HERE), Ok(()));
    }
}
