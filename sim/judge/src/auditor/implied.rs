//! What reads and streams imply: each such entry of the journal must have a cause, and each cause
//! its entry in time (docs/protocol.md, 9.2 and 9.5).

use std::collections::{BTreeMap, BTreeSet};

use chat_types::{Span, Time};
use sim_model::protocol::User;
use sim_model::server::{Entry, Ticket};

use crate::difference::Due;
use crate::model::{Inbox, Model};

/// How long what reads imply may wait for other entries.
const DELAY: Span = Span::millis(250);

/// The longest span between two signs of life of a check that waits; and how long a check has
/// waited at least when its rooms are given a notice.
const LONGEST_BEAT: Span = Span::secs(10);

/// How long a sign of life may be given that need not be: an append may fail for so long.
const LONGEST_MAY: Span = Span::secs(60);

/// What one participant has read since the server started.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    acknowledged: u64,
    delivered: u64,
    /// Since when it is ahead of what was committed.
    ahead_since: Option<Time>,
}

/// A check that waits.
#[derive(Clone, Copy, Debug)]
struct Wait {
    ticket: Ticket,
    since: Time,
    until: Time,
    beat_at: Time,
}

/// All that is to be committed on behalf of participants.
#[derive(Clone, Debug, Default)]
pub(super) struct Implied {
    marks: BTreeMap<User, Mark>,
    ahead: BTreeSet<(Time, User)>,
    /// When participants were heard of by reads: the first time since each batch was put together,
    /// with the number of that batch.
    heard: BTreeMap<User, Vec<(Time, u64)>>,
    heard_since: BTreeSet<(Time, User)>,
    /// How many batches were put together.
    batches: u64,
    /// Those of whom that batch said that they were heard of, and when it was committed.
    seen: Vec<User>,
    seen_at: Time,
    waits: BTreeMap<User, Wait>,
    /// Signs of life that are due: when, whose, and how long the check has waited.
    beats: Vec<(Time, User, Span)>,
    /// Signs of life that the server may give, and need not: a batch that had no room for a reading
    /// may have left it to the next one; a check may end at the instant of its beat.
    may: Vec<(Time, User, Option<Span>)>,
    /// When the beats of all waiting checks are noted next.
    note_at: Time,
    /// Streams whose end is not committed.
    closing: Vec<(Time, User)>,
}

impl Implied {
    /// The server went down, and knows nothing of this any more.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn forget(&mut self, user: User) {
        if let Some(since) = self.marks.remove(&user).and_then(|mark| mark.ahead_since) {
            self.ahead.remove(&(since, user));
        }
        self.waits.remove(&user);
        for (since, _) in self.heard.remove(&user).unwrap_or_default() {
            self.heard_since.remove(&(since, user));
        }
        self.beats.retain(|beat| beat.1 != user);
        self.closing.retain(|closing| closing.1 != user);
    }

    /// Where a check without a cursor begins.
    pub(super) fn delivered(&self, model: &Model, user: User) -> u64 {
        let committed = model.inbox(user).map_or(0, Inbox::delivered);
        let noted = self.marks.get(&user).map_or(0, |mark| mark.delivered);
        committed.max(noted)
    }

    /// The participant reads something.
    pub(super) fn read(&mut self, model: &Model, at: Time, user: User) {
        if !model.wants_seen(user, at) {
            return;
        }
        let heard = self.heard.entry(user).or_default();
        if heard.last().is_none_or(|last| last.1 < self.batches) {
            heard.push((at, self.batches));
            self.heard_since.insert((at, user));
        }
    }

    /// A batch that had no room for all leaves them to the next one, which says once that they were
    /// heard of before and after.
    fn settle(&mut self) {
        for user in std::mem::take(&mut self.seen) {
            while self.take_heard(user) {
                self.may.push((self.seen_at, user, None));
            }
        }
    }

    /// Time moves on: all of the batch that was committed is known.
    pub(super) fn pass(&mut self, at: Time) {
        if at > self.seen_at {
            self.settle();
        }
        self.may.retain(|(since, ..)| *since + LONGEST_MAY > at);
    }

    /// A batch was put together: what is read from now on goes into a later one.
    pub(super) fn formed(&mut self) {
        self.settle();
        self.batches += 1;
    }

    /// The participant says that it has everything up to `after`.
    pub(super) fn acknowledge(&mut self, at: Time, user: User, after: u64) {
        let mark = self.marks.entry(user).or_default();
        let raises = after > mark.acknowledged;
        mark.acknowledged = mark.acknowledged.max(after);
        mark.delivered = mark.delivered.max(after);
        if raises {
            self.is_ahead(at, user);
        }
    }

    /// An answer up to `cursor` left for the participant.
    pub(super) fn deliver(&mut self, at: Time, user: User, cursor: u64) {
        let mark = self.marks.entry(user).or_default();
        let raises = cursor > mark.delivered;
        mark.delivered = mark.delivered.max(cursor);
        if raises {
            self.is_ahead(at, user);
        }
    }

    fn is_ahead(&mut self, at: Time, user: User) {
        if let Some(mark) = self.marks.get_mut(&user)
            && mark.ahead_since.is_none()
        {
            mark.ahead_since = Some(at);
            self.ahead.insert((at, user));
        }
    }

    /// The participant's check waits from now on.
    pub(super) fn wait(
        &mut self,
        model: &Model,
        (user, ticket): (User, Ticket),
        (since, until): (Time, Time),
    ) {
        let beat_at = since + beat(model);
        let wait = Wait {
            ticket,
            since,
            until,
            beat_at,
        };
        self.waits.insert(user, wait);
    }

    /// The participant's check waits no more.
    pub(super) fn wait_ended(&mut self, model: &Model, at: Time, user: User) {
        self.note_beats(model, Time(at.0.saturating_sub(1)), user);
        if let Some(wait) = self.waits.remove(&user)
            && wait.beat_at == at
        {
            let waited = at.since(wait.since);
            let told = (waited >= LONGEST_BEAT).then_some(waited);
            self.may.push((at, user, told));
        }
    }

    /// This call of the participant waits no more; another one may.
    pub(super) fn call_ended(&mut self, model: &Model, at: Time, (user, ticket): (User, Ticket)) {
        let waits = self.waits.get(&user);
        if waits.is_some_and(|wait| wait.ticket == ticket) {
            self.wait_ended(model, at, user);
        }
    }

    /// The server's clock was set ahead: one sign of life stands for all that were passed over.
    pub(super) fn jumped(&mut self, model: &Model, at: Time, by: Span) {
        let before = Time(at.0.saturating_sub(by.0));
        self.note_all(model, before);
        self.waits.retain(|_, wait| wait.until > at);
        for (user, wait) in &mut self.waits {
            if wait.beat_at <= at {
                self.beats.push((at, *user, at.since(wait.since)));
                wait.beat_at = at + beat(model);
            }
        }
    }

    /// Notes the signs of life that all waiting checks have given by `at`.
    pub(super) fn note_all(&mut self, model: &Model, at: Time) {
        let users: Vec<User> = self.waits.keys().copied().collect();
        for user in users {
            self.note_beats(model, at, user);
        }
    }

    /// Notes the signs of life that a waiting check has given by `at`.
    fn note_beats(&mut self, model: &Model, at: Time, user: User) {
        let Some(wait) = self.waits.get_mut(&user) else {
            return;
        };
        while wait.beat_at <= at && wait.beat_at < wait.until {
            let waited = wait.beat_at.since(wait.since);
            self.beats.push((wait.beat_at, user, waited));
            wait.beat_at += beat(model);
        }
    }

    /// A stream of the participant ended.
    pub(super) fn stream_closed(&mut self, at: Time, user: User) {
        self.closing.push((at, user));
    }

    /// What is owed instead of an entry that has no cause; none if it has one.
    pub(super) fn unjustified(&mut self, model: &Model, at: Time, entry: &Entry) -> Option<String> {
        let whose = match entry {
            Entry::CloseStream { user } | Entry::Seen { user, .. } | Entry::Read { user, .. } => {
                *user
            }
            Entry::Call { .. }
            | Entry::OpenStream { .. }
            | Entry::Operate(_)
            | Entry::Tick
            | Entry::Started { .. }
            | Entry::Resumed { .. } => return None,
        };
        // An entry that forgets the participant may be of the same batch.
        model.inbox(whose)?;
        match *entry {
            Entry::CloseStream { user } => {
                let index = self.closing.iter().position(|closing| closing.1 == user);
                if let Some(index) = index {
                    self.closing.remove(index);
                    return None;
                }
                Some("every stream of the participant is open".to_owned())
            }
            Entry::Seen { user, waiting } => self.seen(model, at, user, waiting),
            Entry::Read {
                user,
                acknowledged,
                delivered,
            } => self.committed(at, user, (acknowledged, delivered)),
            Entry::Call { .. }
            | Entry::OpenStream { .. }
            | Entry::Operate(_)
            | Entry::Tick
            | Entry::Started { .. }
            | Entry::Resumed { .. } => None,
        }
    }

    fn seen(
        &mut self,
        model: &Model,
        at: Time,
        user: User,
        waiting: Option<Span>,
    ) -> Option<String> {
        self.note_beats(model, at, user);
        let fits = |(_, whose, waited): &(Time, User, Span)| {
            *whose == user && (*waited >= LONGEST_BEAT).then_some(*waited) == waiting
        };
        let beat = self.beats.iter().position(fits);
        if waiting.is_none() && self.take_heard(user) {
            self.seen.push(user);
            self.seen_at = at;
            return None;
        }
        if let Some(index) = beat {
            self.beats.remove(index);
            return None;
        }
        let may = |entry: &(Time, User, Option<Span>)| entry.1 == user && entry.2 == waiting;
        if let Some(index) = self.may.iter().position(may) {
            self.may.remove(index);
            return None;
        }
        Some(match waiting {
            Some(_) => "no check of the participant has waited so long".to_owned(),
            None => "the participant has read nothing that would be a sign of life".to_owned(),
        })
    }

    /// The batch says that the participant was heard of. Whether it was, before it was put together.
    fn take_heard(&mut self, user: User) -> bool {
        let Some(heard) = self.heard.get_mut(&user) else {
            return false;
        };
        let Some((since, batch)) = heard.first().copied() else {
            return false;
        };
        if batch >= self.batches {
            return false;
        }
        heard.remove(0);
        self.heard_since.remove(&(since, user));
        if heard.is_empty() {
            self.heard.remove(&user);
        }
        true
    }

    fn committed(
        &mut self,
        at: Time,
        user: User,
        (acknowledged, delivered): (u64, u64),
    ) -> Option<String> {
        let mark = self.marks.entry(user).or_default();
        if acknowledged > mark.acknowledged || delivered > mark.delivered {
            let (acknowledged, delivered) = (mark.acknowledged, mark.delivered);
            return Some(format!(
                "at most acknowledged {acknowledged}, delivered {delivered}"
            ));
        }
        if let Some(since) = mark.ahead_since.take() {
            self.ahead.remove(&(since, user));
        }
        if acknowledged < mark.acknowledged || delivered < mark.delivered {
            self.is_ahead(at, user);
        }
        None
    }

    /// Notes the beats of all waiting checks, as often as one beats.
    pub(super) fn note_now_and_then(&mut self, model: &Model, at: Time) {
        if at >= self.note_at && !self.waits.is_empty() {
            self.note_at = at + beat(model);
            self.note_all(model, at);
        }
    }

    /// How many entries are under way.
    pub(super) fn pending(&self) -> u64 {
        let lists = self.closing.len() + self.beats.len();
        (lists + self.heard_since.len() + self.ahead.len()) as u64
    }

    /// What has waited longest for its entry. The delay that it may have counts as not waited.
    pub(super) fn oldest(&self) -> Option<(Time, Due)> {
        let closing = self.closing.first();
        let closing = closing.map(|&(since, user)| (since, Due::Close(user)));
        let heard = self.heard_since.first();
        let heard = heard.map(|&(since, user)| (since + DELAY, Due::Seen(user)));
        let ahead = self.ahead.first();
        let ahead = ahead.map(|&(since, user)| (since + DELAY, Due::Read(user)));
        let beat = self.beats.first();
        let beat = beat.map(|&(since, user, _)| (since, Due::Seen(user)));
        [closing, heard, ahead, beat]
            .into_iter()
            .flatten()
            .min_by_key(|(since, _)| *since)
    }
}

/// The span between two signs of life of a check that waits.
fn beat(model: &Model) -> Span {
    LONGEST_BEAT.min(Span(model.config().idle_timeout.0 / 4))
}
