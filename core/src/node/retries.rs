//! Repeated calls: answered from memory, or joined to the attempt that waits for the journal.
//!
//! A client repeats a call under its request key until it has an answer. A refusal that can be
//! tried again says nothing about the attempts before it, so it is given only where none of them
//! is known to the node, and says where it cannot know.

use std::collections::BTreeSet;

use chat_types::Time;

use super::{Node, Origin, Response, Ticket};
use crate::command::{Caller, Command, Entry};
use crate::digest::fingerprint;
use crate::id::{RequestKey, SecretHash};
use crate::reject::{Earlier, Reject};
use crate::reply::Reply;
use crate::table::Table;

/// By what a repeated call is known: the hash of its caller's handle, and its request key.
type Name = (SecretHash, RequestKey);

/// The keyed calls that wait for the journal, and the calls that joined them.
#[derive(Clone, Debug, Default)]
pub(super) struct Retries {
    /// Made when a refusal first asks for it, kept up while entries are pending. Each name has its
    /// latest call, and the fingerprint of what is asked.
    index: Option<Table<Name, (Ticket, u64)>>,
    /// First the call that waits for the journal, then the one that joined it.
    joined: BTreeSet<(Ticket, Ticket)>,
}

impl Retries {
    /// How many calls joined others.
    pub(super) fn len(&self) -> usize {
        self.joined.len()
    }

    /// The entry is proposed.
    pub(super) fn propose(&mut self, origin: Origin, entry: &Entry) {
        if let (Some(index), Some((name, ticket, command))) =
            (&mut self.index, keyed(origin, entry))
        {
            index.insert(name, (ticket, fingerprint(command)));
        }
    }

    /// The entry is committed, or failed.
    pub(super) fn settle(&mut self, origin: Origin, entry: &Entry) {
        if let (Some(index), Some((name, ticket, _))) = (&mut self.index, keyed(origin, entry))
            && index
                .get(&name)
                .is_some_and(|(latest, _)| *latest == ticket)
        {
            index.remove(&name);
        }
    }

    /// Nothing waits for the journal any more.
    pub(super) fn rest(&mut self) {
        self.index = None;
    }

    /// The calls that joined this one.
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

fn keyed(origin: Origin, entry: &Entry) -> Option<(Name, Ticket, &Command)> {
    let (Origin::Call(ticket) | Origin::Break(ticket)) = origin else {
        return None;
    };
    let Entry::Call {
        caller: Caller::Handle(handle) | Caller::New { handle, .. },
        key: Some(key),
        command,
    } = entry
    else {
        return None;
    };
    Some(((*handle, *key), ticket, command))
}

impl Node {
    /// Gives the remembered outcome of a repeated call. It needs no journal; that its participant
    /// was heard of is told later, as for reads.
    pub(super) fn answer_again(
        &mut self,
        now: Time,
        ticket: Ticket,
        outcome: Result<Reply, Reject>,
    ) -> Result<(), Reject> {
        if matches!(outcome, Ok(Reply::OnBreak { answer_at, .. }) if answer_at > now) {
            // Its answer is held back as the first one is.
            self.check_held()
                .map_err(|reject| reject.with_earlier(Earlier::Unknown))?;
            self.held.expect(ticket);
            self.answer_break(now, ticket, outcome);
            return Ok(());
        }
        self.reply(ticket, outcome.map(Response::Done));
        Ok(())
    }

    /// The keyed call would be refused: joins it to an earlier attempt that waits for the journal,
    /// or says what is known of earlier attempts.
    pub(super) fn join(
        &mut self,
        ticket: Ticket,
        entry: &Entry,
        reject: Reject,
    ) -> Result<(), Reject> {
        let Some((name, _, command)) = keyed(Origin::Call(ticket), entry) else {
            return Err(reject);
        };
        if !reject.is_retryable() {
            return Err(reject);
        }
        let Some((first, request)) = self.in_flight(name) else {
            return Err(reject.with_earlier(Earlier::None));
        };
        let is_break = matches!(command, Command::TakeBreak { .. });
        let has_room = self.retries.len() < self.hub.config().max_pending as usize
            && (!is_break || self.check_held().is_ok());
        if request != fingerprint(command) || !has_room {
            return Err(reject.with_earlier(Earlier::Unknown));
        }
        if is_break {
            self.held.expect(ticket);
        }
        self.retries.joined.insert((first, ticket));
        Ok(())
    }

    /// What a failed append says to this call: the outcome of an earlier attempt, if one was
    /// committed after this call was admitted.
    pub(super) fn after_failure(&mut self, entry: &Entry, reject: Reject) -> Result<Reply, Reject> {
        let Some((name, _, command)) = keyed(Origin::Call(Ticket(0)), entry) else {
            return Err(reject);
        };
        let user = self.hub.user_by_handle(&name.0);
        if let Some(outcome) = user.and_then(|user| self.hub.recall(user, name.1, command)) {
            return outcome;
        }
        Err(reject.with_earlier(match self.in_flight(name) {
            Some(_) => Earlier::Unknown,
            None => Earlier::None,
        }))
    }

    /// The latest call of this name that waits for the journal, and its request's fingerprint.
    fn in_flight(&mut self, name: Name) -> Option<(Ticket, u64)> {
        let Self {
            entries,
            origins,
            proposed,
            retries,
            ..
        } = self;
        let index = retries.index.get_or_insert_with(|| {
            let mut index = Table::default();
            let batch = origins.iter().zip(entries.iter());
            let rest = proposed.iter().map(|(origin, entry)| (origin, entry));
            for (origin, entry) in batch.chain(rest) {
                if let Some((name, ticket, command)) = keyed(*origin, entry) {
                    index.insert(name, (ticket, fingerprint(command)));
                }
            }
            index
        });
        index.get(&name).copied()
    }
}
