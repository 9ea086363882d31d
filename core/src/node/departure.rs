//! The departure: another machine owns the journal from here on, and this node's calls go there.

use chat_types::{Earlier, Ticket};
use std::collections::VecDeque;

use super::{Node, Output};
use crate::hub::Hub;
use chat_types::Entry;

/// The parts of a node that has ended.
#[derive(Debug)]
pub struct Departure {
    /// The committed state.
    pub hub: Hub,
    /// The outputs that the shell has not polled yet. All their causes are committed.
    pub outputs: VecDeque<Output>,
    /// The calls without an answer, each with what is known of its request. `Unasked`: the call has
    /// no request key, and did nothing. `Unknown`: an attempt may have taken effect, so only a
    /// repetition with its key can tell.
    pub unanswered: Vec<(Ticket, Earlier)>,
    /// The open streams.
    pub streams: Vec<Ticket>,
}

/// What is known of the batch in flight of a node that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InFlight {
    /// The journal contains nothing of it, and never will.
    Absent,
    /// The journal may contain it.
    Unknown,
}

impl Node {
    /// Ends the node.
    ///
    /// A call with a request key is never reported as not done: the caller may have repeated it
    /// elsewhere. A break whose answer is delayed has taken effect already.
    #[must_use]
    pub fn depart(mut self, in_flight: InFlight) -> Departure {
        let mut unanswered = Vec::new();
        let flying = self.origins.iter().copied().zip(self.entries.iter());
        let flying = flying.map(|(origin, entry)| (origin, entry, in_flight));
        let waiting = self.proposed.iter();
        let waiting = waiting.map(|(origin, entry)| (*origin, entry, InFlight::Absent));
        for (origin, entry, fate) in flying.chain(waiting) {
            if let Some(ticket) = origin.ticket() {
                unanswered.push((ticket, known(entry, fate)));
                let joined = self.retries.take(ticket).into_iter();
                unanswered.extend(joined.map(|joined| (joined, Earlier::Unknown)));
            }
        }
        let delayed = self.delayed.delayed();
        unanswered.extend(delayed.map(|ticket| (ticket, Earlier::Unknown)));
        let polls = self.long_polls.take_all().into_iter();
        unanswered.extend(polls.map(|(_, waiting)| (waiting.ticket, Earlier::Unasked)));
        Departure {
            hub: self.hub,
            outputs: self.outputs,
            unanswered,
            streams: self.streams.close_all(),
        }
    }
}

/// What is known of the request of a call without an answer.
const fn known(entry: &Entry, fate: InFlight) -> Earlier {
    match (fate, entry) {
        (InFlight::Absent, Entry::Call { key: Some(_), .. }) | (InFlight::Unknown, _) => {
            Earlier::Unknown
        }
        (InFlight::Absent, _) => Earlier::Unasked,
    }
}
