//! The queue: entering, the choice of a partner, matching, patience. // 6

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use chat_types::config::Matching;
use chat_types::{Span, Time};
use sim_model::protocol::{Code, Decided, Refusal, Reply, Room, User, WasWaiting};

use super::deadline::Deadline;
use super::draws::Draws;
use super::names::{MAX_NAME, is_line};
use super::presence::State;
use super::room::{Kind, RoomState};
use super::{Body, Model, refuse, refuse_at};

/// The number of waits in the estimate of the wait. // 1
const MEASURED: usize = 32;

/// Interests in lower case, each once. // 6.2
pub(super) type Interests = BTreeSet<Arc<str>>;

/// The participants who wait for a partner. // 6.1
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// By the order of entering.
    waiters: BTreeMap<u64, Waiter>,
    entered: u64,
    /// The last recorded waits, oldest first.
    waits: VecDeque<Span>,
}

#[derive(Clone, Debug)]
struct Waiter {
    user: User,
    since: Time,
    interests: Interests,
    /// When its patience ends; `None` for a waiter that does not insist.
    patience: Option<Time>,
    /// How often it was overtaken during this wait.
    overtaken: u64,
}

impl Line {
    pub(super) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// Since when the first one waits.
    pub(super) fn first_since(&self) -> Option<Time> {
        self.waiters.values().next().map(|waiter| waiter.since)
    }

    /// Since when the waiter with this ticket waits.
    pub(super) fn since(&self, ticket: u64) -> Option<Time> {
        let waiter = self.waiters.get(&ticket)?;
        Some(waiter.since)
    }

    fn measure(&mut self, wait: Span) {
        if self.waits.len() == MEASURED {
            self.waits.pop_front();
        }
        self.waits.push_back(wait);
    }
}

/// The participant that a partner is chosen for.
#[derive(Clone, Copy)]
struct Seeker<'a> {
    user: User,
    interests: &'a Interests,
    shared_interest: SharedInterest,
}

/// Whether a waiter accepts only partners with a shared interest. // 6.1
#[derive(Clone, Copy, PartialEq, Eq)]
enum SharedInterest {
    Required,
    Optional,
}

/// The standing of a possible candidate towards the seeker. // 6.5
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Good,
    LastPartner,
}

/// The tickets of the possible partners, in the order of the rule.
struct Candidates(Vec<(u64, Standing)>);

impl Candidates {
    fn of(&self, standing: Standing) -> impl Iterator<Item = u64> {
        let all = self.0.iter();
        all.filter(move |(_, found)| *found == standing)
            .map(|(ticket, _)| *ticket)
    }

    /// A good candidate is always preferred to a last partner. // 6.5
    fn first(&self) -> Option<(u64, Standing)> {
        let standings = [Standing::Good, Standing::LastPartner];
        standings
            .into_iter()
            .find_map(|standing| Some((self.of(standing).next()?, standing)))
    }
}

impl Model {
    /// The participants in the queue, in the order of entering.
    #[cfg(test)]
    pub(super) fn line(&self) -> impl Iterator<Item = User> {
        self.line.waiters.values().map(|waiter| waiter.user)
    }

    /// The mean of the last recorded waits, rounded down to a microsecond. // 6.3
    pub(super) fn estimated_wait(&self) -> Option<Span> {
        let waits = &self.line.waits;
        let sum: u64 = waits.iter().map(|wait| wait.0).sum();
        sum.checked_div(waits.len() as u64).map(Span)
    }

    /// The most times that each participant was overtaken during one wait in the queue: a later
    /// candidate was chosen before it.
    pub(crate) fn overtaken(&self) -> &BTreeMap<User, u64> {
        &self.overtaken
    }

    /// Parses interests. // 6.2
    pub(super) fn read_interests(&self, given: &[Arc<str>]) -> Result<Interests, Refusal> {
        let few = given.len() <= self.config.max_interests as usize;
        if !few || !given.iter().all(|interest| is_line(interest, MAX_NAME)) {
            return Err(refuse(Code::InvalidArguments));
        }
        Ok(given
            .iter()
            .map(|interest| {
                let is_lower = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase();
                if interest.bytes().all(is_lower) {
                    Arc::clone(interest)
                } else {
                    interest.to_lowercase().into()
                }
            })
            .collect())
    }

    fn shared_interest(&self, interests: &Interests) -> SharedInterest {
        if self.config.matching == Matching::Interests && !interests.is_empty() {
            SharedInterest::Required
        } else {
            SharedInterest::Optional
        }
    }

    /// Whether the queue has space for a known caller or one that registers. // 6.3 (6)
    pub(super) fn check_space_in_line(
        &self,
        user: Option<User>,
        interests: &Interests,
    ) -> Result<(), Refusal> {
        let space = self.line.len() < self.config.max_queue as usize;
        let has_partner = || {
            let user = user.filter(|user| !self.is_unused(*user));
            let seeker = user.map(|user| Seeker {
                user,
                interests,
                shared_interest: self.shared_interest(interests),
            });
            seeker.is_some_and(|seeker| self.candidates(seeker).first().is_some())
        };
        if space || has_partner() {
            Ok(())
        } else {
            Err(refuse_at(Code::QueueFull, self.config.max_queue))
        }
    }

    /// `enter_queue` of a known caller. // 6.3
    pub(super) fn enter_queue(
        &mut self,
        user: User,
        name: Option<&Arc<str>>,
        interests: &[Arc<str>],
    ) -> Decided {
        let participant = self.participant(user);
        if participant.ticket.is_some() {
            return Err(refuse(Code::AlreadyWaiting)); // 6.3 (1)
        }
        if participant.pair.is_some() {
            return Err(refuse(Code::AlreadyChatting)); // 6.3 (2)
        }
        if participant.live.len() >= self.config.max_rooms_each as usize {
            return Err(refuse_at(Code::RoomFull, self.config.max_rooms_each)); // 6.3 (3)
        }
        let naming = match name {
            None => None,
            Some(given) => {
                let from = participant.address;
                Some((given, self.check_name(Some(user), from, given)?)) // 6.3 (4)
            }
        };
        let interests = self.read_interests(interests)?; // 6.3 (5)
        self.check_space_in_line(Some(user), &interests)?; // 6.3 (6)
        self.check_space_for_room()?; // 6.3 (7)

        if let Some((name, naming)) = naming {
            self.name(user, name, naming);
        }
        let shared_interest = self.shared_interest(&interests);
        let seeker = Seeker {
            user,
            interests: &interests,
            shared_interest,
        };
        if !self.is_unused(user)
            && let Some(ticket) = self.choose(seeker, Some(self.draws()))
        {
            let (room, partner) = self.pair(user, ticket);
            return Ok(Reply::Matched {
                user,
                room,
                partner: self.who(partner),
            });
        }
        self.stand_in_line(user, interests, shared_interest);
        Ok(Reply::Waiting {
            user,
            position: u32::try_from(self.line.len()).expect("the line has at most max_queue"),
            estimated_wait: self.estimated_wait(),
        })
    }

    fn stand_in_line(&mut self, user: User, interests: Interests, shared_interest: SharedInterest) {
        let since = self.now;
        let patience = match shared_interest {
            SharedInterest::Required => Some(since + self.config.interest_patience), // 6.4
            SharedInterest::Optional => None,
        };
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
        self.deadlines
            .replace(Deadline::Patience(user), None, patience);
    }

    /// Removes the participant from the queue, if it is there; returns since when it waited. // 6.1
    pub(super) fn leave_line(&mut self, user: User) -> Option<Time> {
        let ticket = self.participant_mut(user).ticket.take()?;
        let waiter = self.line.waiters.remove(&ticket)?;
        self.deadlines
            .replace(Deadline::Patience(user), waiter.patience, None);
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

    /// The standing of a waiter towards the seeker; `None` if the two can never be matched. // 6.5
    fn standing(&self, seeker: User, waiter: User) -> Option<Standing> {
        if seeker == waiter || self.is_unused(waiter) || self.blocks(seeker, waiter) {
            return None;
        }
        let met = |one: User, other: User| self.participant(one).last_partner == Some(other);
        if met(seeker, waiter) || met(waiter, seeker) {
            Some(Standing::LastPartner)
        } else {
            Some(Standing::Good)
        }
    }

    /// The possible partners of a seeker, in the order of the rule. // 6.5
    fn candidates(&self, seeker: Seeker<'_>) -> Candidates {
        let waiters = self.line.waiters.iter();
        let ordered: Vec<(u64, User)> = match self.config.matching {
            Matching::Fifo | Matching::Random => {
                waiters.map(|(ticket, w)| (*ticket, w.user)).collect()
            }
            Matching::Interests => {
                let mut sharing = Vec::new();
                let mut accepting = Vec::new();
                for (ticket, waiter) in waiters {
                    match seeker.interests.intersection(&waiter.interests).count() {
                        0 if waiter.patience.is_none() => accepting.push((*ticket, waiter.user)),
                        0 => {}
                        shared => sharing.push((shared, (*ticket, waiter.user))),
                    }
                }
                // The sort is stable: of equals, the one that entered first.
                sharing.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
                if seeker.shared_interest == SharedInterest::Required {
                    accepting.clear();
                }
                sharing
                    .into_iter()
                    .map(|(_, w)| w)
                    .chain(accepting)
                    .collect()
            }
        };
        Candidates(
            ordered
                .into_iter()
                .filter_map(|(ticket, user)| Some((ticket, self.standing(seeker.user, user)?)))
                .collect(),
        )
    }

    /// Chooses a partner for a seeker, by these draws if it is the entry's own, and counts the waiters that this
    /// overtakes. // 6.5
    fn choose(&mut self, seeker: Seeker<'_>, draws: Option<Draws>) -> Option<u64> {
        let candidates = self.candidates(seeker);
        let (mut chosen, standing) = candidates.first()?;
        if self.config.matching == Matching::Random
            && standing == Standing::Good
            && let Some(mut draws) = draws
        {
            let good: Vec<u64> = candidates.of(Standing::Good).collect();
            if good.len() > 1 {
                let drawn = draws.below(good.len() as u64); // 15
                chosen = good[usize::try_from(drawn).expect("it is an index")];
            }
        }
        // A last partner is not eligible while a good candidate waits.
        for ticket in candidates.of(standing) {
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

    /// Matches a caller, or the waiter that the queue was examined for, with a waiter. // 6.6
    fn pair(&mut self, user: User, ticket: u64) -> (Room, User) {
        let partner = self.line.waiters[&ticket].user;
        for each in [partner, user] {
            if let Some(since) = self.leave_line(each) {
                self.line.measure(self.now.since(since)); // 6.6 (1)
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
        let participant = self.participants.get(user.0);
        let Some(waiter) = participant
            .and_then(|participant| participant.ticket)
            .and_then(|ticket| self.line.waiters.get(&ticket))
        else {
            return;
        };
        let interests = waiter.interests.clone();
        let shared_interest = match waiter.patience {
            Some(_) => SharedInterest::Required,
            None => SharedInterest::Optional,
        };
        let seeker = Seeker {
            user,
            interests: &interests,
            shared_interest,
        };
        if let Some(ticket) = self.choose(seeker, Some(self.draws())) {
            self.leave_line(user); // 6.6 (1): this wait is not recorded.
            self.pair(user, ticket);
        }
    }

    /// The waiter no longer insists; then the queue is examined for it. // 6.4
    pub(super) fn patience_is_over(&mut self, user: User) {
        let Some(ticket) = self.participant(user).ticket else {
            return;
        };
        let Some(waiter) = self.line.waiters.get_mut(&ticket) else {
            return;
        };
        let before = waiter.patience.take();
        let interests = waiter.interests.clone();
        self.deadlines
            .replace(Deadline::Patience(user), before, None);
        if self.is_unused(user) {
            return;
        }
        let seeker = Seeker {
            user,
            interests: &interests,
            shared_interest: SharedInterest::Optional,
        };
        if let Some(ticket) = self.choose(seeker, None) {
            self.pair(user, ticket);
        }
    }

    /// Moves each time of entering, and each end of patience, later by the downtime. // 2.6 (4), 2.3
    pub(super) fn shift_line(&mut self, down: Span) {
        let patience = self.config.interest_patience;
        for waiter in self.line.waiters.values_mut() {
            waiter.since += down;
            if let Some(before) = waiter.patience {
                let after = waiter.since + patience;
                waiter.patience = Some(after);
                let deadline = Deadline::Patience(waiter.user);
                self.deadlines.replace(deadline, Some(before), Some(after));
            }
        }
    }
}
