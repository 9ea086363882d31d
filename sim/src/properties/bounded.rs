//! No collection passes its limit; every overflow was told.

use super::findings::{Findings, Property, name};
use super::ledger::Ledger;
use crate::protocol::{Answer, LostRange, User};

/// The property.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounded {
    pub(crate) checks: u64,
}

impl Bounded {
    /// The world reports how large the server's collections are.
    pub(crate) fn sizes(
        &mut self,
        l: &Ledger,
        sizes: &[(&'static str, u64, u64)],
        f: &mut Findings,
    ) {
        for &(what, size, limit) in sizes {
            self.checks += 1;
            if size > limit {
                f.blame(Property::Bounded, l.clock.now, &[], || {
                    format!("{what} holds {size}, more than its limit of {limit}")
                });
            }
        }
    }

    /// A message was seen.
    pub(crate) fn message(&mut self, l: &Ledger, user: User, text: &str, f: &mut Findings) {
        let limit = l.config.max_message.max(l.config.max_draft) as usize;
        // A character has a byte at least, so that most texts need not be counted.
        if text.len() > limit {
            self.at_most(
                l,
                user,
                "characters of a message",
                text.chars().count(),
                limit,
                f,
            );
        }
    }

    /// An answer to a `check` brought so many events.
    pub(crate) fn page(&mut self, l: &Ledger, user: User, events: u32, f: &mut Findings) {
        // A gap that the answer starts with is not one of them.
        let limit = l.config.max_answer + 1;
        self.checks += 1;
        if events > limit {
            self.at_most(
                l,
                user,
                "events of one answer",
                events as usize,
                limit as usize,
                f,
            );
        }
    }

    /// A call was accepted.
    pub(crate) fn answered(&mut self, l: &Ledger, user: User, answer: &Answer, f: &mut Findings) {
        let (what, size, limit) = match *answer {
            Answer::Waiting { position, .. } => {
                ("waiting participants", position, l.config.max_queue)
            }
            Answer::Stick { place, .. } => ("claimants of a stick", place, l.config.max_members),
            Answer::Draft { length, .. } => ("characters of a draft", length, l.config.max_draft),
            Answer::Matched { .. }
            | Answer::LeftQueue { .. }
            | Answer::LoggedIn { .. }
            | Answer::Sent { .. }
            | Answer::LeftChat
            | Answer::OnBreak { .. }
            | Answer::Mood { .. }
            | Answer::Done
            | Answer::Read { .. }
            | Answer::History { .. }
            | Answer::Members { .. } => return,
        };
        self.checks += 1;
        self.at_most(l, user, what, size as usize, limit as usize, f);
    }

    /// An inbox overflowed, and this gap told it.
    pub(crate) fn gap(
        &mut self,
        l: &Ledger,
        user: User,
        (from, to, lost): (u64, u64, u64),
        rooms: &[LostRange],
        f: &mut Findings,
    ) {
        self.checks += 1;
        let backwards = rooms.iter().any(|range| range.from > range.to);
        if from > to || lost == 0 || lost > to - from + 1 || backwards {
            f.blame(Property::Bounded, l.clock.now, &[user], || {
                format!(
                    "{} was told of a gap that cannot be: {from} to {to}, {lost} lost",
                    name(user)
                )
            });
        }
    }

    /// An exact `check` read the inbox from behind `after` to `cursor`: all in between has come by
    /// now, be it earlier by the stream, or a gap told that it is gone.
    pub(crate) fn read(&mut self, l: &Ledger, person: usize, read: (u64, u64), f: &mut Findings) {
        let (after, cursor) = read;
        let someone = &l.people[person];
        let mut holes = someone.inbox.seen.holes().iter();
        if let Some(&(from, to)) = holes.find(|(from, to)| after < *from && *to <= cursor) {
            let user = someone.user;
            f.blame(Property::Bounded, l.clock.now, &[user], || {
                format!(
                    "{} read its inbox from {after} to {cursor}, and {from} to {to} were neither \
                     there nor told by a gap",
                    name(user)
                )
            });
        }
    }

    /// Somebody's inbox is drained: what of it never arrived, no gap having told so.
    pub(crate) fn drained(&mut self, l: &mut Ledger, person: usize, f: &mut Findings) {
        self.checks += 1;
        let someone = &mut l.people[person];
        let Some(&(from, to)) = someone.inbox.seen.holes().first() else {
            return;
        };
        someone.inbox.seen.cover(1, to);
        let user = someone.user;
        f.blame(Property::Bounded, l.clock.now, &[user], || {
            format!(
                "{} never received {from} to {to} of its inbox, and no gap told so",
                name(user)
            )
        });
    }

    fn at_most(
        &self,
        l: &Ledger,
        user: User,
        what: &str,
        size: usize,
        limit: usize,
        f: &mut Findings,
    ) {
        if size > limit {
            f.blame(Property::Bounded, l.clock.now, &[user], || {
                format!("{} met {size} {what}, more than {limit}", name(user))
            });
        }
    }
}
