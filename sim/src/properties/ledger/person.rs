//! What is known of one participant: memberships, inbox, blocks, and standing in line.

use std::sync::Arc;

use chat_core::Time;

use super::checks::Checks;
use super::draft::Drafts;
use super::seen::{Noted, Seen};
use crate::protocol::{Agent, Room, User};

/// The last event of a room that somebody received.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Last {
    pub(crate) room_seq: u64,
    pub(crate) inbox_seq: u64,
    pub(crate) sent_at: Time,
}

/// Somebody's stay in a room, from the join to the leave.
#[derive(Clone, Debug)]
pub(crate) struct Membership {
    pub(crate) room: Room,
    pub(crate) slot: usize,
    /// The place of the join; none while nobody has seen it.
    pub(crate) joined: Option<u64>,
    /// The lowest place known to belong to the stay; 0 while none is.
    pub(crate) low: u64,
    pub(crate) seen: Seen,
    /// The place of the leave.
    pub(crate) left: Option<u64>,
    /// Whether the member asked to leave, so that its leave may have come about unseen.
    pub(crate) leaving: bool,
    /// Whether an answer said that it did.
    pub(crate) has_left: bool,
    /// Whether `left` is only the last place where the leave can be.
    pub(crate) loose: bool,
    /// Whether the member was told of the room's end.
    pub(crate) told_end: bool,
    /// What gaps told.
    pub(crate) gaps: Vec<(u64, u64)>,
    pub(crate) last: Last,
    /// The newest epoch granted, and the newest ended, that the member was told of.
    pub(crate) granted_epoch: u64,
    /// The newest epoch granted to the member itself.
    pub(crate) own_epoch: u64,
    pub(crate) ended_epoch: u64,
}

impl Membership {
    pub(crate) fn new(room: Room, slot: usize) -> Self {
        Self {
            room,
            slot,
            joined: None,
            low: 0,
            seen: Seen::from(1),
            left: None,
            leaving: false,
            has_left: false,
            loose: false,
            told_end: false,
            gaps: Vec::new(),
            last: Last::default(),
            granted_epoch: 0,
            own_epoch: 0,
            ended_epoch: 0,
        }
    }

    /// Whether an event at this place can belong to the stay.
    pub(crate) fn holds(&self, seq: u64) -> bool {
        self.joined.is_none_or(|joined| seq >= joined) && self.left.is_none_or(|left| seq <= left)
    }

    /// The stay began at this place.
    pub(crate) fn begin(&mut self, seq: u64) {
        self.reach(seq);
        self.joined = Some(seq);
    }

    /// The stay reaches down to this place at least.
    pub(crate) fn reach(&mut self, seq: u64) {
        if self.low == 0 {
            self.seen = Seen::from(seq);
            self.low = seq;
        } else if seq < self.low {
            self.seen.reach_down(seq, self.low);
            self.low = seq;
        }
    }

    /// Another stay began at this place, in the midst of what was taken for one: this one ended
    /// somewhere before. What was had from there on, and where that ended, is the other's.
    pub(crate) fn split_off(&mut self, seq: u64) -> Self {
        let mut later = Self::new(self.room, self.slot);
        later.low = seq;
        later.joined = Some(seq);
        later.seen = self.seen.split_off(seq);
        later.left = self.left.filter(|&left| left >= seq);
        later.loose = later.left.is_some() && self.loose;
        later.gaps.clone_from(&self.gaps);
        self.left = Some(seq - 1);
        self.loose = true;
        later
    }

    /// It ended at this place. If it was known to end later, or if something was had from behind
    /// there, that was of another stay, which lies after this one and which nobody has told of yet.
    /// One that is over has a join and a leave.
    pub(crate) fn end(&mut self, seq: u64) -> Option<Self> {
        let (left, loose) = (self.left.filter(|&left| left > seq), self.loose);
        self.left = Some(seq);
        self.loose = false;
        let had = self.seen.upto() > seq;
        if !had && (loose || left.is_none_or(|left| left == seq + 1)) {
            return None;
        }
        let mut later = Self::new(self.room, self.slot);
        later.left = left;
        later.loose = loose && left.is_some();
        later.leaving = self.leaving;
        later.has_left = self.has_left;
        later.gaps.clone_from(&self.gaps);
        if had {
            later.low = seq + 1;
            later.seen = self.seen.split_off(seq + 1);
            // Its join may be what a gap took.
            let may_be_lost = later.gaps.iter().any(|&(_, to)| to > seq);
            later.joined = may_be_lost.then_some(seq + 1);
        }
        Some(later)
    }

    /// The stay is over; where in the room's order, nobody will tell.
    pub(crate) fn end_somewhere(&mut self) {
        if self.left.is_none() {
            self.left = Some(u64::MAX - 1);
            self.loose = true;
        }
    }

    /// Whether a gap told that this place may be missing.
    pub(crate) fn is_gapped(&self, seq: u64) -> bool {
        self.gaps.iter().any(|&(from, to)| from <= seq && seq <= to)
    }

    /// Whether nothing of the stay is still to come. The place of the leave itself need not reach
    /// the one who leaves.
    pub(crate) fn is_settled(&self) -> bool {
        let missing = self.seen.first_missing();
        self.left
            .is_some_and(|left| missing >= left || (self.loose && missing > self.seen.upto()))
    }
}

/// Somebody one blocked, or was blocked by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shunned {
    pub(crate) other: User,
    /// When the block was known to be in force; none while that is not known.
    pub(crate) since: Option<Time>,
}

/// Stays in one room that are remembered of somebody who joins it again and again, and reads
/// nothing.
const STAYS_KEPT: usize = 16;

/// Entries of an inbox that are remembered, to compare them when they come again.
const REMEMBERED: usize = 32;

/// What arrived in an inbox.
#[derive(Clone, Debug)]
pub(crate) struct Inbox {
    pub(crate) seen: Seen,
    /// The highest seq that had arrived before the last crash.
    pub(crate) before_crash: u64,
    recent: [(u64, u64); REMEMBERED],
}

impl Inbox {
    fn new() -> Self {
        Self {
            seen: Seen::from(1),
            before_crash: 0,
            recent: [(0, 0); REMEMBERED],
        }
    }

    /// An event arrived. Says whether the seq showed something else before.
    pub(crate) fn note(&mut self, seq: u64, print: u64) -> (Noted, Recall) {
        let noted = self.seen.note(seq);
        // The remainder is below REMEMBERED, whatever the width of an index.
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of 32")]
        let place = &mut self.recent[(seq % REMEMBERED as u64) as usize];
        let recall = match *place {
            (known, before) if known == seq && before != print => Recall::Differs,
            (known, _) if known == seq => Recall::Same,
            _ => Recall::New,
        };
        if recall == Recall::New && place.0 < seq {
            *place = (seq, print);
        }
        (noted, recall)
    }
}

/// What an inbox remembers of a seq.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Recall {
    /// Nothing (any more).
    New,
    /// The same event.
    Same,
    /// Another event.
    Differs,
}

/// How often somebody may have stood in line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Enters {
    /// Calls that did or may have put one in line, those still open left aside.
    pub(crate) settled: u32,
    /// When the earliest call left since the last match or leave.
    pub(crate) since: Option<Time>,
    /// The interests that were stated by all calls since then, if they are surely the same.
    pub(crate) wish: Option<Arc<[Arc<str>]>>,
    /// The wish that led to the latest match.
    pub(crate) granted: Option<Arc<[Arc<str>]>>,
    /// Whether a call may still put one in line that nobody counts on.
    pub(crate) strays: bool,
    /// Matches told, and leaves accepted.
    pub(crate) matches: u32,
    pub(crate) lefts: u32,
}

impl Enters {
    /// A call to stand in line left, at this time.
    pub(crate) fn asks(&mut self, at: Time, interests: &Arc<[Arc<str>]>) {
        if self.since.is_none() {
            self.since = Some(at);
            self.wish = Some(Arc::clone(interests));
        } else if self.wish.as_ref().is_none_or(|wish| wish != interests) {
            self.wish = None;
        }
    }
}

/// Whether a participant may speak, as far as operators' doings say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Voice {
    /// It was never muted.
    #[default]
    Free,
    /// It was, and not unmuted since.
    Muted,
    /// It was unmuted: which of its messages came in between is not known.
    Unmuted,
}

/// What is known of one participant.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) user: User,
    /// The virtual user behind it; none for a registration whose answer never came.
    pub(crate) owner: Option<Agent>,
    /// Whether nothing more is owed: vanished, forgotten, or banned.
    pub(crate) gone: bool,
    /// Whether an operator acted on it.
    pub(crate) operated: bool,
    pub(crate) voice: Voice,
    /// How many crashes came before it was known to be registered.
    pub(crate) era: u32,
    pub(crate) memberships: Vec<Membership>,
    pub(crate) inbox: Inbox,
    pub(crate) shunned: Vec<Shunned>,
    pub(crate) enters: Enters,
    /// The last two partners, the last first.
    pub(crate) partners: [Option<User>; 2],
    /// When it was last told of a match.
    pub(crate) matched_at: Option<Time>,
    /// The latest room that it was told to be matched in.
    pub(crate) matched_in: Option<Room>,
    pub(crate) interests: Option<Arc<[Arc<str>]>>,
    withdrawals: Vec<Withdrawal>,
    /// Calls to leave the line.
    pub(crate) leaves_line: UnderWay,
    pub(crate) drafts: Drafts,
    /// Messages received since the inbox was last drained.
    pub(crate) received: u64,
    /// Of those, how many were accepted before a crash and received after it.
    pub(crate) survived: u64,
    /// When the last answered read left, and the last one that proves the inbox was empty.
    pub(crate) read_at: Time,
    pub(crate) empty_at: Time,
    pub(crate) last_call: Time,
    /// When the last call left that was answered.
    pub(crate) heard_at: Option<Time>,
    /// When it last was taken for gone, or silenced, or lost its room, by the server's clock.
    pub(crate) dropped_at: Time,
    /// When the last call of any kind succeeded.
    pub(crate) served_at: Time,
    /// Since when its stream is open.
    pub(crate) streaming: Option<Time>,
    pub(crate) stream_closed_at: Time,
    pub(crate) absence: Absence,
    /// When the last event was sent that told it of its own going or being gone, by the server's
    /// clock.
    pub(crate) told_of_itself_at: Time,
    pub(crate) checks: Checks,
    /// Whether it has checked without saying where it had read to: what was in an answer that was
    /// lost comes only with an exact check.
    pub(crate) names_no_cursor: bool,
    /// Whether it waits in line, or for a stick, so that liveness must look.
    pub(crate) in_line: bool,
    pub(crate) claims_stick: bool,
}

/// Whether the server may have seen its stream close, and not have heard from it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Absence {
    None,
    /// No earlier than this.
    Since(Time),
    /// Nobody can tell how long ago.
    Unbounded,
}

/// Claims that may have been withdrawn: those of a room as the calls named it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Withdrawal {
    room: Option<Room>,
    calls: UnderWay,
}

/// Calls of one kind that may take effect at any time until they are answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    /// Whether one of them has no answer yet.
    some: bool,
    /// Until when, by the server's clock, those that have may have taken effect.
    until: Time,
}

impl UnderWay {
    const NONE: Self = Self {
        some: false,
        until: Time(0),
    };

    /// One leaves.
    pub(crate) fn begin(&mut self) {
        self.some = true;
    }

    /// One that was under way until now can have come about no later than `until`. Others may be
    /// under way still.
    pub(crate) fn end(&mut self, until: Time, others: bool) {
        if self.some {
            self.some = others;
            self.until = self.until.max(until);
        }
    }

    /// Whether one may have taken effect after this, by the server's clock.
    pub(crate) fn may_undo(&self, at: Time) -> bool {
        self.some || at <= self.until
    }
}

impl Person {
    /// Whether the server may have given the person up, or may still do so for a stream that
    /// closed.
    pub(crate) fn is_lost(&self) -> bool {
        self.gone || self.absence != Absence::None
    }

    pub(crate) fn new(user: User, era: u32) -> Self {
        Self {
            user,
            owner: None,
            gone: false,
            operated: false,
            voice: Voice::Free,
            era,
            memberships: Vec::new(),
            inbox: Inbox::new(),
            shunned: Vec::new(),
            enters: Enters::default(),
            partners: [None; 2],
            matched_at: None,
            matched_in: None,
            interests: None,
            withdrawals: Vec::new(),
            leaves_line: UnderWay::NONE,
            drafts: Drafts::default(),
            received: 0,
            survived: 0,
            read_at: Time(0),
            empty_at: Time(0),
            last_call: Time(0),
            heard_at: None,
            dropped_at: Time(0),
            served_at: Time(0),
            streaming: None,
            stream_closed_at: Time(0),
            absence: Absence::None,
            told_of_itself_at: Time(0),
            checks: Checks::default(),
            names_no_cursor: false,
            in_line: false,
            claims_stick: false,
        }
    }

    /// Forgets what is over of the stays in a room. A stay whose end its member may still be told
    /// of, by an inbox that it reads only after it has come back, is kept for that.
    pub(crate) fn forget_stays(&mut self, room: Room) {
        let of_room = |m: &&Membership| m.room == room;
        let mut too_many = self.memberships.iter().filter(of_room).count();
        self.memberships.retain(|m| {
            if m.room != room || m.loose || !m.is_settled() {
                return true;
            }
            let told_of_its_end = m.left.is_some_and(|left| m.seen.first_missing() > left);
            let kept = !told_of_its_end && too_many <= STAYS_KEPT;
            too_many -= usize::from(!kept);
            kept
        });
    }

    /// The stay in a room to which this place belongs: one that is known to hold it before one of
    /// which nobody knows yet where it began. Of these it is the first that ended later.
    pub(crate) fn stay_at(&self, room: Room, seq: u64) -> Option<usize> {
        let may_hold = |m: &Membership| m.room == room && m.holds(seq);
        let holds = |m: &Membership| may_hold(m) && m.joined.is_some();
        let surely = self.memberships.iter().rposition(holds);
        surely
            .or_else(|| self.ended_around(room, seq))
            .or_else(|| self.memberships.iter().rposition(may_hold))
    }

    /// The first stay in a room of which nobody knows where it began, only that it ended at this
    /// place or later.
    pub(crate) fn ended_around(&self, room: Room, seq: u64) -> Option<usize> {
        self.memberships.iter().position(|m| {
            let ended = !m.loose && m.left.is_some_and(|left| seq <= left);
            m.room == room && m.joined.is_none() && ended
        })
    }

    /// The first stay in a room that is known to have begun after this place.
    pub(crate) fn first_after(&self, room: Room, seq: u64) -> Option<usize> {
        let begins_after = |m: &Membership| m.joined.is_some_and(|joined| joined > seq);
        self.memberships
            .iter()
            .position(|m| m.room == room && begins_after(m))
    }

    /// The latest stay in a room.
    pub(crate) fn latest_stay(&self, room: Room) -> Option<usize> {
        self.memberships.iter().rposition(|m| m.room == room)
    }

    /// The room that is meant when a call names none: the only one that one is in.
    pub(crate) fn only_room(&self) -> Option<Room> {
        let mut open = self
            .memberships
            .iter()
            .filter(|m| m.left.is_none() && !m.leaving);
        let room = open.next()?.room;
        open.next().is_none().then_some(room)
    }

    /// Whether one blocked the other, or tried to.
    pub(crate) fn shuns(&self, other: User) -> bool {
        self.shunned.iter().any(|shunned| shunned.other == other)
    }

    /// Since when a block is known to stand between the two.
    pub(crate) fn shuns_since(&self, other: User) -> Option<Time> {
        self.shunned
            .iter()
            .filter(|shunned| shunned.other == other)
            .filter_map(|shunned| shunned.since)
            .min()
    }

    /// Whether a claim on a room's stick, made at this time by the server's clock, may have
    /// been withdrawn since.
    pub(crate) fn may_have_withdrawn(&self, room: Room, claimed_at: Time) -> bool {
        self.withdrawals.iter().any(|known| {
            let concerned = known.room.is_none_or(|of| of == room);
            concerned && known.calls.may_undo(claimed_at)
        })
    }

    /// A withdrawal of claims of this room is under way.
    pub(crate) fn withdraw(&mut self, room: Option<Room>) {
        if !self.withdrawals.iter().any(|known| known.room == room) {
            let calls = UnderWay::NONE;
            self.withdrawals.push(Withdrawal { room, calls });
        }
        self.withdrawals_of(room).for_each(UnderWay::begin);
    }

    /// The calls that withdraw claims of this room.
    pub(crate) fn withdrawals_of(
        &mut self,
        room: Option<Room>,
    ) -> impl Iterator<Item = &mut UnderWay> {
        let concerned = move |known: &&mut Withdrawal| known.room == room;
        let those = self.withdrawals.iter_mut().filter(concerned);
        those.map(|known| &mut known.calls)
    }
}
