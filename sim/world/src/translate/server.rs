//! The server's acts: from the core's types to the judges' words.

use std::sync::Arc;

use chat_core::{Item, Operate, Reject, Reply, Time};
use sim_model::server::{self, ServerCall};

use super::answer::{answer, refusal};

/// A call to the node, in the judges' type.
#[must_use]
pub fn operate(done: &Operate) -> Arc<ServerCall> {
    Arc::new(ServerCall::Operate(done.clone()))
}

/// The batch in flight, in the judges' type.
#[must_use]
pub fn batch(node: &chat_core::Node) -> Vec<server::BatchEntry> {
    node.batch()
        .map(|(written, ticket)| match ticket {
            Some(ticket) => server::BatchEntry::Call(ticket),
            None => server::BatchEntry::Own(written.clone()),
        })
        .collect()
}

/// The server's decision at this instant as the caller reads it, and the time of its answer.
pub fn decided(now: Time, outcome: &Result<Reply, Reject>) -> server::Decided {
    let answer_at = match outcome {
        Ok(Reply::OnBreak { answer_at, .. }) => *answer_at,
        Ok(_) | Err(_) => now,
    };
    server::Decided {
        outcome: outcome.as_ref().map(answer).map_err(refusal),
        answer_at,
    }
}

/// A page of an inbox as its reader sees it.
#[must_use]
pub fn page(page: &chat_core::Page) -> server::Page<'_> {
    let (mut gaps, mut events) = (Vec::new(), Vec::new());
    let (mut last, mut is_ordered) = (0, true);
    // Servers write the items, so the judges see them, not the fields.
    for item in page.items() {
        let (Item::Gap(chat_core::Gap { to: end, .. }) | Item::Event(end, _)) = &item;
        is_ordered &= end.0 > last;
        last = end.0;
        match item {
            Item::Gap(gap) => gaps.push(gap.clone()),
            Item::Event(seq, sent) => events.push((seq.0, &**sent)),
        }
    }
    server::Page {
        gaps,
        events,
        is_ordered,
        cursor: page.cursor.0,
        more: page.unread > 0,
    }
}
