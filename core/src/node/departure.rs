//! The departure: another machine owns the journal from here on, and this node's calls go there.

use std::collections::VecDeque;

use super::{Node, Origin, Output, Ticket};
use crate::command::Entry;
use crate::hub::Hub;
use crate::reject::Earlier;

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

impl Node {
    /// Ends the node. The journal contains nothing of the batch in flight, if there is one.
    ///
    /// A call with a request key is never reported as not done: the caller may have repeated it
    /// elsewhere. A break whose answer is delayed has taken effect already.
    #[must_use]
    pub fn depart(mut self) -> Departure {
        let mut unanswered = Vec::new();
        let flying = self.origins.iter().copied().zip(self.entries.iter());
        let waiting = self.proposed.iter().map(|(origin, entry)| (*origin, entry));
        for (origin, entry) in flying.chain(waiting) {
            if let Some(ticket) = origin.ticket() {
                unanswered.push((ticket, known(origin, entry)));
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

/// What is known of the request of a call that the journal does not contain.
const fn known(origin: Origin, entry: &Entry) -> Earlier {
    match (origin, entry) {
        (Origin::Call(_) | Origin::Break(_), Entry::Call { key: Some(_), .. }) => Earlier::Unknown,
        _ => Earlier::Unasked,
    }
}
