//! Repeated calls: answered from memory, or joined to the attempt that waits for the journal.
//!
//! A client repeats a call under its request key until it has an answer. A refusal that can be
//! retried says nothing about earlier attempts. So the node gives one only if it knows of no
//! earlier attempt, and says `unknown` where it cannot know.

use std::collections::BTreeSet;

use chat_types::{
    Call, Command, Earlier, Entry, Reply, RequestKey, SecretHash, Ticket, Time, UserId,
};

use super::{Node, Origin};
use crate::digest::fingerprint;
use crate::reject::{Outcome, Reject, refuse_if};
use crate::table::Table;

/// The identity of a repeated call: the hash of its caller's handle, and its request key.
type Name = (SecretHash, RequestKey);

/// The latest call of each identity, and the fingerprint of its command.
type Index = Table<Name, (Ticket, u64)>;

/// The calls with a key that wait for the journal, and the calls that joined them.
#[derive(Clone, Debug, Default)]
pub(super) struct Retries {
    /// Built when a refusal first needs it, and updated while entries are pending.
    index: Option<Index>,
    /// Pairs of a call that waits for the journal and a call that joined it.
    joined: BTreeSet<(Ticket, Ticket)>,
}

impl Retries {
    /// The number of calls that joined others.
    pub(super) fn len(&self) -> usize {
        self.joined.len()
    }

    /// Adds a proposed entry.
    pub(super) fn propose(&mut self, origin: Origin, entry: &Entry) {
        if let Some(index) = &mut self.index {
            add(index, origin, entry);
        }
    }

    /// Removes an entry that was committed or failed.
    pub(super) fn settle(&mut self, origin: Origin, entry: &Entry) {
        if let (Some(index), Some((name, _))) = (&mut self.index, keyed(entry))
            && index.get(&name).map(|(latest, _)| *latest) == origin.ticket()
        {
            index.remove(&name);
        }
    }

    /// Drops the index: no entry is pending any more.
    pub(super) fn rest(&mut self) {
        self.index = None;
    }

    /// Removes the calls that joined this one.
    pub(super) fn take(&mut self, first: Ticket) -> Vec<Ticket> {
        if self.joined.is_empty() {
            return Vec::new();
        }
        let whole = (first, Ticket(0))..=(first, Ticket(u64::MAX));
        let pairs: Vec<_> = self.joined.range(whole).copied().collect();
        for pair in &pairs {
            self.joined.remove(pair);
        }
        pairs.into_iter().map(|(_, joined)| joined).collect()
    }
}

/// Adds an entry, if it is a call with a key.
fn add(index: &mut Index, origin: Origin, entry: &Entry) {
    if let (Some((name, command)), Some(ticket)) = (keyed(entry), origin.ticket()) {
        index.insert(name, (ticket, fingerprint(command)));
    }
}

fn keyed(entry: &Entry) -> Option<(Name, &Command)> {
    if let Entry::Call {
        caller,
        key: Some(key),
        command,
    } = entry
    {
        return Some(((caller.handle(), *key), command));
    }
    None
}

impl Node {
    /// Whether the call repeats one that has no answer yet: that waits for the journal, or whose
    /// answer is delayed. So its own answer may come later than from `submit`.
    pub fn repeats_unanswered(&mut self, now: Time, call: &Call) -> bool {
        let Call::Command {
            caller,
            key: Some(key),
            command,
        } = call
        else {
            return false;
        };
        let user = self.hub.user_by_handle(&caller.handle());
        let outcome = user.and_then(|user| self.hub.recall(user, *key, command));
        let is_delayed =
            matches!(outcome, Some(Ok(Reply::OnBreak { answer_at, .. })) if answer_at > now);
        is_delayed || self.in_flight((caller.handle(), *key)).is_some()
    }

    /// Answers a repeated call with its remembered outcome, without the journal. That the
    /// participant was seen is proposed later, as for reads.
    pub(super) fn answer_again(
        &mut self,
        now: Time,
        (ticket, user): (Ticket, UserId),
        outcome: Outcome,
    ) -> Outcome<()> {
        if matches!(outcome, Ok(Reply::OnBreak { answer_at, .. }) if answer_at > now) {
            // The repeated answer is delayed like the first one.
            self.check_delayed_space(Some(user))
                .map_err(|reject| reject.with_earlier(Earlier::Unknown))?;
            self.delayed.expect(ticket, Some(user));
        }
        self.answer(now, ticket, outcome);
        Ok(())
    }

    /// Handles a call with a key that would be refused: joins it to an earlier attempt that waits
    /// for the journal, or adds to the refusal what is known of earlier attempts.
    pub(super) fn join(
        &mut self,
        (ticket, user): (Ticket, Option<UserId>),
        entry: &Entry,
        reject: Reject,
    ) -> Outcome<()> {
        let (name, command) = keyed(entry).ok_or(reject)?;
        refuse_if(!reject.kind().is_retryable(), reject)?;
        let Some((first, request)) = self.in_flight(name) else {
            return Err(reject.with_earlier(Earlier::None));
        };
        let is_break = matches!(command, Command::TakeBreak { .. });
        let has_room = self.retries.len() < self.hub.config().max_pending as usize
            && (!is_break || self.check_delayed_space(user).is_ok());
        if request != fingerprint(command) || !has_room {
            return Err(reject.with_earlier(Earlier::Unknown));
        }
        if is_break {
            self.delayed.expect(ticket, user);
        }
        self.retries.joined.insert((first, ticket));
        Ok(())
    }

    /// The answer to this call after a failed append: the outcome of an earlier attempt, if one was
    /// committed after this call was admitted.
    pub(super) fn after_failure(&mut self, entry: &Entry, reject: Reject) -> Outcome {
        let (name, command) = keyed(entry).ok_or(reject)?;
        let user = self.hub.user_by_handle(&name.0);
        if let Some(outcome) = user.and_then(|user| self.hub.recall(user, name.1, command)) {
            return outcome;
        }
        Err(reject.with_earlier(match self.in_flight(name) {
            Some(_) => Earlier::Unknown,
            None => Earlier::None,
        }))
    }

    /// The latest call of this identity that waits for the journal, and the fingerprint of its
    /// command.
    fn in_flight(&mut self, name: Name) -> Option<(Ticket, u64)> {
        let Self {
            entries,
            origins,
            proposed,
            retries,
            ..
        } = self;
        let index = retries.index.get_or_insert_with(|| {
            let mut index = Index::default();
            let batch = origins.iter().zip(entries.iter());
            let rest = proposed.iter().map(|(origin, entry)| (origin, entry));
            for (origin, entry) in batch.chain(rest) {
                add(&mut index, *origin, entry);
            }
            index
        });
        index.get(&name).copied()
    }
}
