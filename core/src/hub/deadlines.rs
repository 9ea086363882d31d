//! Deadlines: the clock advances, timers fire, and deadlines move by a downtime.
//!
//! And after the loss of a life of the server, its numbers are not given again.
//! A journal that was restored from a backup, or whose damaged end was given up, ends before entries
//! whose answers have left. Clients know numbers from them: cursors, ids of messages, epochs. The
//! numbers of the next life begin behind every one that the lost life can have given.

use chat_types::{Body, Config, Continuity, RoomId, RoomSeq, Seq, Span, Time, TimerKind, UserId};

use super::{Effect, Hub};
use crate::participant::State;
use crate::timer::{Timer, Timers};

/// The largest number that every JSON parser reads exactly.
const MAX_NUMBER: u64 = (1 << 53) - 1;

/// The number behind which a sequence continues after the loss of a life of at most `down`: nothing
/// takes more than one number in a microsecond. Another life from the same backup begins behind this
/// one by the time between them. The second more is for a clock that went back a little. A step takes
/// at most an eighth of what is left below the limit.
pub(super) fn number_behind(last: u64, down: Span) -> u64 {
    let most = MAX_NUMBER.saturating_sub(last) / 8;
    last + (Span::secs(1) + down).0.min(most)
}

impl Hub {
    /// Every deadline in the order of firing: its instant, its kind, and the number of its
    /// participant or room. The cost is linear in their number. It serves comparisons of whole
    /// states.
    #[must_use]
    pub fn deadlines(&self) -> Vec<(Time, TimerKind, u64)> {
        let mut due: Vec<(Time, Timer)> = self.due().collect();
        due.sort_unstable();
        let due = due.into_iter().map(|(at, timer)| (at, timer.kind()));
        due.map(|(at, (kind, whose))| (at, kind, whose)).collect()
    }

    /// Every deadline that its owner holds.
    pub(super) fn due(&self) -> impl Iterator<Item = (Time, Timer)> {
        let users = self.users.sorted_keys().into_iter();
        let rooms = self.rooms.sorted_keys().into_iter();
        users
            .flat_map(|user| [Timer::Presence(user), Timer::Patience(user)])
            .chain(rooms.map(Timer::Lease))
            .filter_map(|timer| Some((self.deadline_of(timer)?, timer)))
    }

    /// The timer's deadline, read from its owner.
    pub(super) fn deadline_of(&self, timer: Timer) -> Option<Time> {
        match timer {
            Timer::Presence(user) => self.users.get(&user)?.deadline(),
            Timer::Lease(room) => self.rooms.get(&room)?.stick()?.lease_until(),
            Timer::Patience(user) => self
                .queue
                .patience_until(user, self.config.interest_patience),
        }
    }

    /// Sets the timer to its deadline, if it has one.
    pub(super) fn arm(&mut self, timer: Timer) {
        if let Some(at) = self.deadline_of(timer) {
            self.timers.arm(timer, at);
        }
    }

    /// Advances the clock to `at`, as the envelope of an entry does. Timers fire at their own
    /// instants and in order, so the instants of ticks do not matter.
    pub fn handle_timeout(&mut self, at: Time) {
        let at = at.max(self.now);
        while let Some((due, timer)) = self.next_timer(at) {
            self.now = self.now.max(due);
            self.counters.fired[timer.kind().0 as usize] += 1;
            match timer {
                Timer::Presence(user) => self.presence_due(user),
                Timer::Lease(room) => self.lease_due(room),
                Timer::Patience(user) => self.patience_due(user),
            }
        }
        self.now = at;
    }

    /// The next timer that is due at or before `by`, with its instant.
    pub(crate) fn next_timer(&mut self, by: Time) -> Option<(Time, Timer)> {
        let Self {
            timers,
            users,
            rooms,
            queue,
            config,
            ..
        } = self;
        timers.next(by, |timer| match timer {
            Timer::Presence(user) => users.get(&user)?.deadline(),
            Timer::Lease(room) => rooms.get(&room)?.stick()?.lease_until(),
            Timer::Patience(user) => queue.patience_until(user, config.interest_patience),
        })
    }

    /// Resumes after downtime. Deadlines move by its length, so that no participant is evicted
    /// because the server was down, and every stream counts as just closed.
    pub(super) fn resume(&mut self, at: Time, config: &Config, continuity: Continuity) {
        let down = at.since(self.now);
        self.now = self.now.max(at);
        if continuity == Continuity::Broken {
            self.pass_lost_numbers(down);
        }
        let before = self.boss();
        self.config = config.clone();
        let after = self.boss();
        for user in self.users.sorted_keys() {
            let (now, grace) = (self.now, self.config.reconnect_grace);
            let participant = self.user_mut(user);
            participant.breaks.settle(now, before, after);
            participant.shift(down);
            if std::mem::take(&mut participant.streams) > 0 {
                participant.presence = State::Grace.until(now + grace);
                self.tell_partner(user, Body::PartnerAway);
            }
        }
        for room in self.rooms.sorted_keys() {
            match continuity {
                Continuity::Whole => self.shift_lease(room, down),
                Continuity::Broken => self.renew_stick(room, down),
            }
        }
        self.go_on(at, down);
    }

    /// Goes on after a step of the clock: deadlines move by it, and all else stays.
    pub(super) fn step(&mut self, at: Time) {
        let down = at.since(self.now);
        self.now = self.now.max(at);
        for user in self.users.sorted_keys() {
            self.user_mut(user).shift(down);
        }
        for room in self.rooms.sorted_keys() {
            self.shift_lease(room, down);
        }
        self.go_on(at, down);
    }

    fn shift_lease(&mut self, room: RoomId, down: Span) {
        if let Some(stick) = self.room_mut(room).stick_mut() {
            stick.shift(down);
        }
    }

    fn go_on(&mut self, at: Time, down: Span) {
        self.queue.shift(down);
        self.index.away = self.index_away();
        self.rearm();
        self.handle_timeout(at);
    }

    /// Rebuilds the timers from the deadlines that their owners hold.
    pub(super) fn rearm(&mut self) {
        let mut timers = Timers::default();
        self.due().for_each(|(at, timer)| timers.arm(timer, at));
        self.timers = timers;
    }

    /// Passes every number that a lost life of at most `down` can have given, but for the epochs.
    fn pass_lost_numbers(&mut self, down: Span) {
        self.last_user = UserId(number_behind(self.last_user.0, down));
        self.last_room = RoomId(number_behind(self.last_room.0, down));
        for user in self.users.sorted_keys() {
            let inbox = &mut self.user_mut(user).inbox;
            inbox.pass_to(Seq(number_behind(inbox.end.0, down)));
            self.effects.push_back(Effect::InboxGrew(user));
        }
        for room in self.rooms.sorted_keys() {
            let room = self.room_mut(room);
            room.last_seq = RoomSeq(number_behind(room.last_seq.0, down));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_continue_behind_the_step() {
        let places = [(21, 0), (21, 90_000_000), (1_999_999, 1)];
        let behind = places.map(|(last, down)| number_behind(last, Span(down)));
        assert_eq!(behind, [1_000_021, 91_000_021, 3_000_000]);
    }

    #[test]
    fn numbers_stay_below_their_limit() {
        let mut number = 0;
        for _ in 0..400 {
            let next = number_behind(number, Span(u64::MAX));
            assert!(next >= number && next <= MAX_NUMBER);
            number = next;
        }
    }
}
