//! The line as its members know it: who waits since when, and who was passed over.

use std::collections::{BTreeMap, VecDeque};

use chat_core::Time;
use chat_core::config::Matching;

use super::ledger::Ledger;
use super::ledger::person::Person;
use super::ledger::room::{Pair, Side};
use crate::protocol::{Room, User};

/// Waits that ended lately, since a match may be told after the one it came before.
const PAST_KEPT: usize = 64;

/// A match that may have passed somebody over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed {
    /// Who was matched in its place.
    pub(crate) by: User,
    /// With whom.
    pub(crate) with: User,
    pub(crate) room: Room,
    /// When, by the server's clock.
    pub(crate) matched_at: Time,
}

/// Somebody who was told to wait in line.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) user: User,
    pub(crate) person: usize,
    /// When the answer came that said so.
    pub(crate) answered_at: Time,
    /// Whether nothing happened since that may have put the person out of the line unseen.
    pub(crate) steady: bool,
    /// Whether a later call, or news that were lost, may have ended this wait and begun another.
    doubted: bool,
    /// When the match came, by the server's clock.
    matched_at: Option<Time>,
    passed: Vec<Passed>,
    overtaken: u64,
}

/// Somebody who was passed over for sure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Overtaken {
    pub(crate) user: User,
    pub(crate) passed: Passed,
}

/// All who wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pub(crate) standing: Vec<Standing>,
    past: VecDeque<Standing>,
    /// The most times that anyone was passed over during one wait.
    pub(crate) most_overtaken: u64,
    /// The same for each who was passed over, by their place among people.
    pub(crate) overtaken: BTreeMap<usize, u64>,
}

impl Line {
    /// Somebody was told to wait.
    pub(crate) fn stand(&mut self, ledger: &mut Ledger, person: usize, answered_at: Time) {
        let someone = &mut ledger.people[person];
        someone.in_line = true;
        self.standing.retain(|s| s.person != person);
        self.standing.push(Standing {
            user: someone.user,
            person,
            answered_at,
            steady: true,
            doubted: false,
            matched_at: None,
            passed: Vec::new(),
            overtaken: 0,
        });
    }

    /// Since when somebody is known to wait, if that is so.
    pub(crate) fn waits_since(&self, person: usize) -> Option<Time> {
        let standing = self.standing.iter().find(|s| s.person == person);
        standing.map(|standing| standing.answered_at)
    }

    /// Somebody may not be in line any more: leaves, or is gone.
    pub(crate) fn drop_out(&mut self, ledger: &mut Ledger, person: usize) {
        if std::mem::take(&mut ledger.people[person].in_line) {
            self.standing.retain(|s| s.person != person);
        }
    }

    /// Something happened after which the server may have put the person out of the line.
    pub(crate) fn unsettle(&mut self, person: usize) {
        for standing in &mut self.standing {
            if standing.person == person {
                standing.steady = false;
            }
        }
    }

    /// Somebody who was told to wait asks to stand in line once more: the first place may be lost,
    /// so that nothing is known of who was passed over.
    pub(crate) fn doubt_place(&mut self, person: usize) {
        for standing in &mut self.standing {
            if standing.person == person {
                standing.steady = false;
                standing.doubted = true;
                standing.passed.clear();
            }
        }
    }

    /// Nothing was heard of somebody for so long that the place may be lost: nothing is known of
    /// who was passed over until now. A match out of the same wait proves that it was not lost.
    pub(crate) fn lapse(&mut self, person: usize) {
        for standing in &mut self.standing {
            if standing.person == person {
                standing.steady = false;
                standing.passed.clear();
            }
        }
    }

    /// Somebody's wait ended in a match. Says who was passed over for sure: whoever was matched
    /// later, out of the same wait, was in line all the time.
    pub(crate) fn matched(
        &mut self,
        ledger: &mut Ledger,
        person: usize,
        matched_at: Option<Time>,
    ) -> Vec<Overtaken> {
        ledger.people[person].in_line = false;
        let Some(index) = self.standing.iter().position(|s| s.person == person) else {
            return Vec::new();
        };
        let mut standing = self.standing.swap_remove(index);
        standing.matched_at = matched_at;
        let sure: Vec<Overtaken> = standing
            .passed
            .iter()
            .filter(|passed| matched_at.is_some_and(|at| passed.matched_at < at))
            .map(|&passed| Overtaken {
                user: standing.user,
                passed,
            })
            .collect();
        standing.overtaken += sure.len() as u64;
        self.most_overtaken = self.most_overtaken.max(standing.overtaken);
        note(&mut self.overtaken, &standing);
        if self.past.len() == PAST_KEPT {
            self.past.pop_front();
        }
        self.past.push_back(standing);
        sure
    }

    /// A match of which both sides know. Says whom it passed over for sure; those who still wait
    /// are remembered until their own match comes.
    pub(crate) fn judge(&mut self, ledger: &Ledger, room: Room, pair: &Pair) -> Vec<Overtaken> {
        let [x, b] = pair.sides;
        let Some(matched_at) = pair.found_at else {
            return Vec::new();
        };
        let mut sure = Vec::new();
        for (with, by) in [(x, b), (b, x)] {
            let passed = Passed {
                by: by.user,
                with: with.user,
                room,
                matched_at,
            };
            for standing in &mut self.standing {
                if !standing.doubted && is_passed_over(ledger, standing, with, by) {
                    standing.passed.push(passed);
                }
            }
            for standing in &mut self.past {
                let waited_on =
                    !standing.doubted && standing.matched_at.is_some_and(|at| at > matched_at);
                if waited_on && is_passed_over(ledger, standing, with, by) {
                    standing.overtaken += 1;
                    self.most_overtaken = self.most_overtaken.max(standing.overtaken);
                    note(&mut self.overtaken, standing);
                    sure.push(Overtaken {
                        user: standing.user,
                        passed,
                    });
                }
            }
        }
        sure
    }

    /// The run is over. Who is known to wait still was passed over by all that passed it.
    pub(crate) fn finish(&mut self, ledger: &Ledger) -> Vec<Overtaken> {
        let mut sure = Vec::new();
        for standing in &mut self.standing {
            let person = &ledger.people[standing.person];
            if person.is_lost() || !standing.steady {
                continue;
            }
            let empty_at = person.empty_at + ledger.clock.jumped;
            let before = sure.len();
            sure.extend(
                standing
                    .passed
                    .iter()
                    .filter(|passed| passed.matched_at < empty_at)
                    .map(|&passed| Overtaken {
                        user: standing.user,
                        passed,
                    }),
            );
            standing.overtaken += (sure.len() - before) as u64;
            self.most_overtaken = self.most_overtaken.max(standing.overtaken);
            note(&mut self.overtaken, standing);
        }
        sure
    }
}

fn note(overtaken: &mut BTreeMap<usize, u64>, standing: &Standing) {
    if standing.overtaken > 0 {
        let most = overtaken.entry(standing.person).or_default();
        *most = standing.overtaken.max(*most);
    }
}

/// Whether the match of `with` and `by` passed somebody over: who stood in line before `by`
/// asked to, and could as well have been matched with `with`.
fn is_passed_over(ledger: &Ledger, standing: &Standing, with: Side, by: Side) -> bool {
    let someone = &ledger.people[standing.person];
    standing.user != with.user
        && standing.user != by.user
        && by.entered_at.is_some_and(|at| standing.answered_at < at)
        && !someone.shuns(with.user)
        && !someone.partners.contains(&Some(with.user))
        && ledger.person_known(with.user).is_some_and(|person| {
            let with = &ledger.people[person];
            !with.partners.contains(&Some(standing.user))
                && (ledger.config.matching != Matching::Interests || share_interest(someone, with))
        })
}

/// Whether two state an interest in common.
pub(crate) fn share_interest(a: &Person, b: &Person) -> bool {
    match (&a.interests, &b.interests) {
        (Some(a), Some(b)) => a.iter().any(|interest| b.contains(interest)),
        (None, _) | (_, None) => false,
    }
}
