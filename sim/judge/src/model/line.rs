//! The queue: entering, the choice of a partner, matching, patience. // 6

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use chat_types::config::Matching;
use chat_types::{EnterQueue, Span, Time};
use sim_model::protocol::{Code, Decided, Refusal, Reply, Room, User, WasWaiting};

use super::breaks::Draws;
use super::deadline::Deadline;
use super::names::{MAX_NAME, is_line};
use super::presence::State;
use super::room::{Kind, RoomState};
use super::{Body, Checked, Model, refuse, refuse_at, refuse_if};

/// The number of waits in the estimate of the wait. // 1
const MEASURED: usize = 32;

/// Interests in lower case, each once, in ascending order. // 6.2
pub(super) type Interests = Vec<Arc<str>>;

/// The participants who wait for a partner. // 6.1
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// By the order of entering.
    pub(super) waiters: BTreeMap<u64, Waiter>,
    entered: u64,
    /// The last recorded waits, oldest first.
    waits: VecDeque<Span>,
}

#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) user: User,
    pub(super) since: Time,
    interests: Interests,
    /// When its patience ends; `None` for a waiter that does not insist.
    patience: Option<Time>,
    /// How often it was overtaken during this wait.
    overtaken: u64,
}

impl Model {
    /// The mean of the last recorded waits, rounded down to a microsecond. // 6.3
    pub(super) fn estimated_wait(&self) -> Option<Span> {
        let waits = &self.line.waits;
        let sum: u64 = waits.iter().map(|wait| wait.0).sum();
        sum.checked_div(waits.len() as u64).map(Span)
    }

    /// Parses interests. // 6.2
    pub(super) fn read_interests(&self, given: &[Arc<str>]) -> Result<Interests, Refusal> {
        let many = given.len() > self.config.max_interests as usize;
        let is_odd = |interest: &Arc<str>| !is_line(interest, MAX_NAME);
        let is_wrong = many || given.iter().any(is_odd);
        refuse_if(is_wrong, refuse(Code::InvalidArguments))?;
        let is_lower = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
        let lower = |interest: &Arc<str>| match interest.bytes().all(is_lower) {
            true => Arc::clone(interest),
            false => interest.to_lowercase().into(),
        };
        let mut interests: Interests = given.iter().map(lower).collect();
        interests.sort_unstable();
        interests.dedup();
        Ok(interests)
    }

    /// Whether a waiter with these interests accepts only partners with a shared one. // 6.1
    fn insists(&self, interests: &Interests) -> bool {
        self.config.matching == Matching::Interests && !interests.is_empty()
    }

    /// Whether the queue has space for a known caller or one that registers. // 6.3 (6)
    pub(super) fn check_space_in_line(&self, user: Option<User>, interests: &Interests) -> Checked {
        let most = self.config.max_queue;
        let has_partner = || {
            let user = user.filter(|user| !self.is_unused(*user));
            user.is_some_and(|user| {
                let (partners, _) = self.candidates(user, interests, self.insists(interests));
                !partners.is_empty()
            })
        };
        let is_full = self.line.waiters.len() >= most as usize && !has_partner();
        refuse_if(is_full, refuse_at(Code::QueueFull, most))
    }

    /// `enter_queue` of a known caller. // 6.3
    pub(super) fn enter_queue(&mut self, user: User, entry: &EnterQueue) -> Decided {
        let participant = self.participant(user);
        refuse_if(participant.ticket.is_some(), refuse(Code::AlreadyWaiting))?; // 6.3 (1)
        refuse_if(participant.pair.is_some(), refuse(Code::AlreadyChatting))?; // 6.3 (2)
        let most = self.config.max_rooms_each;
        let is_full = participant.live.len() >= most as usize;
        refuse_if(is_full, refuse_at(Code::RoomFull, most))?; // 6.3 (3)
        let naming = match &entry.display_name {
            None => None,
            Some(given) => {
                let asker = (Some(user), participant.address);
                Some((given, self.check_name(asker, given)?)) // 6.3 (4)
            }
        };
        let interests = self.read_interests(&entry.interests)?; // 6.3 (5)
        self.check_space_in_line(Some(user), &interests)?; // 6.3 (6)
        self.check_space_for_room()?; // 6.3 (7)

        if let Some((name, naming)) = naming {
            self.name(user, name, naming);
        }
        let insists = self.insists(&interests);
        if !self.is_unused(user)
            && let Some(ticket) = self.choose(user, (&interests, insists), Some(self.draws()))
        {
            let (room, partner) = self.pair(user, ticket);
            return Ok(Reply::Matched {
                user,
                room,
                partner: self.who(partner),
            });
        }
        self.stand_in_line(user, interests, insists);
        Ok(Reply::Waiting {
            user,
            position: u32::try_from(self.line.waiters.len())
                .expect("the line has at most max_queue"),
            estimated_wait: self.estimated_wait(),
        })
    }

    fn stand_in_line(&mut self, user: User, interests: Interests, insists: bool) {
        let since = self.now;
        let patience = insists.then(|| since + self.config.interest_patience); // 6.4
        let ticket = self.line.entered;
        self.line.entered += 1;
        let waiter = Waiter {
            user,
            since,
            interests,
            patience,
            overtaken: 0,
        };
        self.line.waiters.insert(ticket, waiter);
        self.participant_mut(user).ticket = Some(ticket);
        self.deadlines.set(Deadline::Patience(user), None, patience);
    }

    /// Removes the participant from the queue, if it is there; returns since when it waited. // 6.1
    pub(super) fn leave_line(&mut self, user: User) -> Option<Time> {
        let ticket = self.participant_mut(user).ticket.take()?;
        let waiter = self.line.waiters.remove(&ticket)?;
        self.deadlines
            .set(Deadline::Patience(user), waiter.patience, None);
        Some(waiter.since)
    }

    /// `leave_queue`. // 6.7
    pub(super) fn leave_queue(&mut self, user: User) -> Decided {
        let left = match self.leave_line(user) {
            Some(_) => WasWaiting::Yes,
            None => WasWaiting::No,
        };
        Ok(Reply::LeftQueue { left })
    }

    /// Whether the two can ever be matched. // 6.5
    fn is_possible(&self, seeker: User, waiter: User) -> bool {
        seeker != waiter && !self.is_unused(waiter) && !self.blocks(seeker, waiter)
    }

    /// Whether one of the two was the last partner of the other.
    fn met(&self, one: User, other: User) -> bool {
        self.participant(one).last_partner == Some(other)
            || self.participant(other).last_partner == Some(one)
    }

    /// The tickets of the possible partners of a seeker, in the order of the rule, and whether they
    /// are good candidates: these are always preferred to last partners. // 6.5
    fn candidates(&self, seeker: User, interests: &Interests, insists: bool) -> (Vec<u64>, bool) {
        let waiters = self.line.waiters.iter();
        let ordered: Vec<(&u64, &Waiter)> = match self.config.matching {
            Matching::Fifo | Matching::Random => waiters.collect(),
            Matching::Interests => {
                let shared = |waiter: &Waiter| {
                    let theirs = |one: &&Arc<str>| waiter.interests.binary_search(one).is_ok();
                    interests.iter().filter(theirs).count()
                };
                let (mut sharing, mut accepting): (Vec<_>, Vec<_>) =
                    waiters.partition(|(_, waiter)| shared(waiter) > 0);
                // The sort is stable: of equals, the one that entered first.
                sharing.sort_by_cached_key(|(_, waiter)| std::cmp::Reverse(shared(waiter)));
                accepting.retain(|(_, waiter)| !insists && waiter.patience.is_none());
                sharing.into_iter().chain(accepting).collect()
            }
        };
        let possible = ordered.into_iter();
        let possible = possible.filter(|(_, waiter)| self.is_possible(seeker, waiter.user));
        let (last, good): (Vec<_>, Vec<_>) =
            possible.partition(|(_, waiter)| self.met(seeker, waiter.user));
        let are_good = !good.is_empty();
        let preferred = if are_good { good } else { last };
        let tickets = preferred.into_iter().map(|(ticket, _)| *ticket);
        (tickets.collect(), are_good)
    }

    /// Chooses a partner for a seeker with these interests, which may insist on them, by these draws
    /// if it is the entry's own, and counts the waiters that this overtakes. // 6.5
    fn choose(
        &mut self,
        seeker: User,
        (interests, insists): (&Interests, bool),
        draws: Option<Draws>,
    ) -> Option<u64> {
        let (candidates, are_good) = self.candidates(seeker, interests, insists);
        let mut chosen = *candidates.first()?;
        if self.config.matching == Matching::Random
            && are_good
            && candidates.len() > 1
            && let Some(mut draws) = draws
        {
            let drawn = draws.below(candidates.len() as u64); // 15
            chosen = candidates[usize::try_from(drawn).expect("it is an index")];
        }
        // A last partner is not eligible while a good candidate waits.
        for ticket in candidates {
            if ticket < chosen
                && let Some(waiter) = self.line.waiters.get_mut(&ticket)
            {
                waiter.overtaken += 1;
                let most = self.overtaken.entry(waiter.user).or_default();
                *most = waiter.overtaken.max(*most);
            }
        }
        Some(chosen)
    }

    /// Examines the queue for a waiter. // 6.4
    fn partner_of(&mut self, user: User, draws: Option<Draws>) -> Option<u64> {
        let ticket = self.participants.get(user.0)?.ticket?;
        let waiter = self.line.waiters.get(&ticket)?;
        let (interests, insists) = (waiter.interests.clone(), waiter.patience.is_some());
        self.choose(user, (&interests, insists), draws)
    }

    /// Matches a caller, or the waiter that the queue was examined for, with a waiter. // 6.6
    fn pair(&mut self, user: User, ticket: u64) -> (Room, User) {
        let partner = self.line.waiters[&ticket].user;
        for each in [partner, user] {
            if let Some(since) = self.leave_line(each) {
                let waits = &mut self.line.waits;
                waits.push_back(self.now.since(since)); // 6.6 (1)
                let excess = waits.len().saturating_sub(MEASURED);
                waits.drain(..excess);
            }
        }
        let mut state = RoomState::new(Kind::Pair { turns: 0 });
        state.admit(user, self.now);
        state.admit(partner, self.now);
        let room = Room(self.rooms.add(state)); // 6.6 (2)
        for (each, other) in [(user, partner), (partner, user)] {
            let participant = self.participant_mut(each);
            participant.live.push(room);
            participant.pair = Some(room);
            participant.last_partner = Some(other); // 6.6 (3)
        }
        let pair = [user, partner].map(|each| self.who(each));
        self.post(room, Body::Found(pair), None); // 6.6 (4)
        for each in [user.min(partner), user.max(partner)] {
            if self.presence(each) == Some(State::Grace) {
                let away = Body::PartnerAway(self.who(each));
                self.post(room, away, Some(each)); // 6.6 (5)
            }
        }
        (room, partner)
    }

    /// The first use of the handle of a waiter: the queue is examined for it. // 6.4
    pub(super) fn first_used(&mut self, user: User) {
        if let Some(ticket) = self.partner_of(user, Some(self.draws())) {
            self.leave_line(user); // 6.6 (1): this wait is not recorded.
            self.pair(user, ticket);
        }
    }

    /// The waiter no longer insists; then the queue is examined for it. // 6.4
    pub(super) fn patience_is_over(&mut self, user: User) {
        let ticket = self.participant(user).ticket;
        let waiter = ticket.and_then(|ticket| self.line.waiters.get_mut(&ticket));
        let patience = waiter.and_then(|waiter| waiter.patience.take());
        self.deadlines.set(Deadline::Patience(user), patience, None);
        if !self.is_unused(user)
            && let Some(ticket) = self.partner_of(user, None)
        {
            self.pair(user, ticket);
        }
    }

    /// Moves each time of entering, and each end of patience, later by the downtime. // 2.6 (4), 2.3
    pub(super) fn shift_line(&mut self, down: Span) {
        let patience = self.config.interest_patience;
        for waiter in self.line.waiters.values_mut() {
            waiter.since += down;
            if let Some(before) = waiter.patience {
                waiter.patience = Some(waiter.since + patience);
                let deadline = Deadline::Patience(waiter.user);
                self.deadlines.set(deadline, Some(before), waiter.patience);
            }
        }
    }
}
