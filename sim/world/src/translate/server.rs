//! The server's acts: from the core's types to the judges' words.

use std::sync::Arc;

use chat_core::{Caller, Entry, Implied, Item, Operate, Reject, Reply, SecretHash, Time};
use sim_model::server::{self, Handle, ServerCall};

use super::answer::{answer, refusal};
use super::command::op;

/// The number that determined a virtual user's handle; for a real handle, one that is equal for
/// equal handles.
#[must_use]
pub fn secret(hash: &SecretHash) -> Handle {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&hash.0[..8]);
    Handle(u64::from_le_bytes(bytes))
}

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
            None => server::BatchEntry::Own(entry(written)),
        })
        .collect()
}

/// An entry of the journal, in the judges' type.
#[must_use]
pub fn entry(entry: &Entry) -> server::Entry {
    match entry {
        Entry::Call {
            caller,
            key,
            command,
        } => server::Entry::Call {
            caller: caller_of(caller),
            key: key.map(|key| key.0),
            op: op(command),
        },
        Entry::Implied { user, implied } => match *implied {
            Implied::OpenStream => server::Entry::OpenStream { user: *user },
            Implied::CloseStream => server::Entry::CloseStream { user: *user },
            Implied::Seen { waiting } => server::Entry::Seen {
                user: *user,
                waiting,
            },
            Implied::Read {
                acknowledged,
                delivered,
            } => server::Entry::Read {
                user: *user,
                acknowledged: acknowledged.0,
                delivered: delivered.0,
            },
        },
        Entry::Operate { act: done, .. } => server::Entry::Operate(done.clone()),
        Entry::Tick => server::Entry::Tick,
        Entry::Started { config, .. } => server::Entry::Started {
            config: config.clone(),
        },
        Entry::Resumed {
            config, continuity, ..
        } => server::Entry::Resumed {
            config: config.clone(),
            continuity: *continuity,
        },
        Entry::Stepped => server::Entry::Stepped,
    }
}

fn caller_of(caller: &Caller) -> server::Caller {
    match caller {
        Caller::Handle(handle) => server::Caller::Known(secret(handle)),
        Caller::New { handle, from, .. } => server::Caller::New(secret(handle), from.0),
    }
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
