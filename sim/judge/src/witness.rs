//! The witness: finds what excludes itself in the clients' histories alone.
//!
//! A live server without a journal shows nothing but answers and events. The witness compares them
//! with each other, never with a model of the server, and finds only what is certain: two facts
//! that no server which keeps the protocol can show. Where a fact is missing (an answer that did
//! not come, an inbox with a gap, a participant whose client is not observed), it does not
//! conclude: it counts the comparison as not judged.
//!
//! `book.rs` puts the facts together. The other files hold the rules, each a function over facts.

mod answers;
mod arrivals;
mod book;
mod fact;
mod lost;
mod pairs;
mod sent;
mod stick;
#[cfg(test)]
mod tests;

use chat_types::Time;
use sim_model::history::{Record, What};
use sim_model::plan::Plan;

use crate::difference::Difference;
use crate::findings::{Finding, Findings, Property};
use crate::model;

pub use fact::Fact;

use answers::{Answered, Answers};
use arrivals::{Arrival, Streams};
use book::Book;

/// Judges one run by what its clients did and saw.
#[derive(Clone, Debug)]
pub struct Witness {
    book: Book,
    answers: Answers,
    streams: Streams,
}

impl Witness {
    /// A witness that has seen nothing yet.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            book: Book::new(plan),
            answers: Answers::default(),
            streams: Streams::default(),
        }
    }

    /// Takes in what a client did or saw.
    pub fn record(&mut self, record: &Record<'_>, findings: &mut Findings) {
        let Record {
            at,
            agent,
            user,
            what,
        } = *record;
        if let Some(user) = user {
            self.book.person(user, agent);
        }
        match (what, user) {
            (
                What::Called {
                    call, op, keyed, ..
                },
                _,
            ) => {
                self.book.called((agent, call), user, op, keyed);
                self.answers.called((agent, call), user, op, keyed);
            }
            (What::Abandoned { call, .. }, _) => {
                self.book.abandoned(agent, call);
                self.answers.abandoned((agent, call));
            }
            (
                What::Answered {
                    call,
                    op,
                    called_at,
                    outcome,
                    ..
                },
                Some(user),
            ) => {
                let answered = Answered {
                    at,
                    agent,
                    user,
                    call,
                    op,
                    called_at,
                    outcome,
                };
                self.book.answered((agent, call), user, outcome, at);
                self.answers.answered(&mut self.book, &answered, findings);
            }
            (What::AnsweredAgain { call, op, outcome }, Some(user)) => {
                let called_at = at;
                let answered = Answered {
                    at,
                    agent,
                    user,
                    call,
                    op,
                    called_at,
                    outcome,
                };
                self.answers.again(&self.book, &answered, findings);
            }
            (
                What::Received {
                    seq,
                    sent_at,
                    saw,
                    path,
                    ..
                },
                Some(reader),
            ) => {
                let arrival = Arrival {
                    at,
                    reader,
                    seq,
                    sent_at,
                    saw,
                };
                self.streams.record(&arrival, path, findings);
                arrivals::record(&mut self.book, &arrival, findings);
            }
            (What::StreamOpened | What::StreamClosed | What::Forgot, Some(user)) => {
                self.streams.end(user);
            }
            // A refusal of a registration concerns no participant.
            (What::Answered { call, .. }, None) => {
                self.book.abandoned(agent, call);
                self.answers.abandoned((agent, call));
            }
            (
                What::AnsweredAgain { .. }
                | What::Received { .. }
                | What::StreamOpened
                | What::StreamClosed
                | What::Forgot,
                None,
            )
            | (
                What::Retried { .. }
                | What::Vanished
                | What::Finished
                | What::Drained
                | What::Stuck { .. },
                _,
            ) => {}
        }
    }

    /// The run is over: compares what needs the whole of it.
    pub fn finish(&mut self, findings: &mut Findings) {
        arrivals::judge(&self.book, findings);
        sent::judge(&self.book, findings);
        lost::judge(&self.book, findings);
        stick::judge(&self.book, findings);
        pairs::judge(&self.book, findings);
        self.leave_unjudged(findings);
    }

    /// Counts what only the server's own records could decide.
    fn leave_unjudged(&self, findings: &mut Findings) {
        let book = &self.book;
        findings.leave_unjudged(Property::Outcomes, book.answers);
        findings.leave_unjudged(Property::QueueProgress, book.entries);
        findings.leave_unjudged(Property::StickProgress, book.claims);
        for seen in book.rooms.values().flat_map(|of_room| of_room.values()) {
            let property = match seen.event.what {
                model::What::Found { .. } => Property::FifoMatching,
                model::What::Moderation { .. } => Property::Moderation,
                model::What::PartnerAway | model::What::PartnerBack => Property::Presence,
                model::What::Member { .. } => Property::Presence,
                model::What::Message { .. } => Property::DeliveryProgress,
                model::What::Ended { .. } | model::What::Stick { .. } => continue,
            };
            findings.leave_unjudged(property, 1);
        }
    }
}

/// Records that two facts exclude each other.
fn blame(findings: &mut Findings, property: Property, at: Time, facts: [Fact; 2]) {
    let mut users: Vec<_> = facts.iter().flat_map(Fact::users).collect();
    users.dedup();
    findings.add(Finding {
        property,
        at,
        users,
        difference: Difference::Witnessed(Box::new(facts)),
    });
}
