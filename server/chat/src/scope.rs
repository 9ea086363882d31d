//! Implicit identities: the participants of one MCP session, one bearer token, or one process on
//! stdio.
//!
//! A caller may leave its handle out while exactly one participant was minted there. With two, it
//! must pass the handle, or log in under its name: the latest one is never assumed.
//!
//! What is known here is lost with the process. The handles of a scope with an id are derived from
//! it, so the participants of such a scope are found again in the committed state.

use std::sync::{Arc, Mutex};

use chat_core::{SecretHash, UserId, Who};
use server_storage::lock;
use tokio_util::sync::CancellationToken;

use crate::identity::{Handle, REACH, Secrets};

/// The most participants of one scope that are known individually. Beyond it, only their existence
/// is known.
const MAX_KNOWN: usize = 64;

/// A scope: the participants that share an implicit identity, such as a session's or a token's.
#[derive(Debug, Default)]
pub struct CallerScope {
    /// Its id, unique among all scopes; `None` if its address identifies it.
    id: Option<Arc<str>>,
    known: Mutex<Vec<Known>>,
    /// The handles of registrations whose answers are outstanding, or were lost: the next call with
    /// the same name means the same participant.
    pending: Mutex<Vec<Pending>>,
    /// Held while the first participant is minted, so that concurrent calls mint only one.
    minting: tokio::sync::Mutex<()>,
    /// Cancelled when it is closed, such as by revoking its token.
    closed: CancellationToken,
}

/// A participant of the scope.
#[derive(Clone, Debug)]
struct Known {
    /// None if it registered under this token, and its handle cannot be derived.
    handle: Option<Handle>,
    /// Its number, as far as it was looked up.
    user: Option<UserId>,
    name: String,
}

/// A handle that was derived for a registration.
#[derive(Clone, Debug)]
struct Pending {
    handle: Handle,
    /// The name asked for, in lower case; empty for any name.
    name: String,
    newest: UserId,
}

/// The participants of the state that a scope may have without knowing them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    /// None: all registered here.
    Nobody,
    /// Those whose handles are derived from it: it is a session that was taken up again.
    Derived,
    /// All that registered from its address: it is a token's.
    OfAddress,
}

impl CallerScope {
    /// The scope of this id: `token ann`, `session 5f…`.
    #[must_use]
    pub fn with_id(id: &str) -> Self {
        Self {
            id: Some(id.into()),
            ..Self::default()
        }
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<Arc<str>> {
        self.id.clone()
    }

    /// Closes it: all that is open under it ends.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Whether it is not closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.closed.is_cancelled()
    }

    /// The participant of a call without a handle, if there is exactly one.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        match &lock(&self.known)[..] {
            [one] => one.handle.clone(),
            [] | [_, _, ..] => None,
        }
    }

    /// The turn of a call that could mint a participant, while none was minted. Its owner looks up
    /// the participant again, and holds the turn until its answer. Otherwise a call that arrives
    /// after another has used the handle would be refused.
    pub(crate) async fn turn_to_mint(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if !lock(&self.known).is_empty() {
            return None;
        }
        let turn = self.minting.lock().await;
        // Other waiting calls need not be serialised any more.
        lock(&self.known).is_empty().then_some(turn)
    }

    /// The participant of a call without a handle that could mint one: that with the name it asks
    /// for, or the only one, if it asks for none.
    #[must_use]
    pub fn implicit_for(&self, name: Option<&str>) -> Option<Handle> {
        let Some(name) = name.map(str::to_lowercase) else {
            return self.only();
        };
        let known = lock(&self.known);
        let mut same = known.iter().filter(|one| one.name.to_lowercase() == name);
        same.find_map(|one| one.handle.clone())
    }

    /// Whether the handle of such a registration is derived from the scope.
    pub(crate) fn derives(&self, name: Option<&str>) -> bool {
        self.id.is_some() && (name.is_some() || lock(&self.known).is_empty())
    }

    /// The handle to mint. A registration whose answer was lost keeps its handle: by its name, or,
    /// while no participant is known, without one.
    ///
    /// # Errors
    /// The machine has no randomness.
    pub(crate) fn handle_to_mint(
        &self,
        name: Option<&str>,
        newest: UserId,
        secrets: &Secrets,
    ) -> Result<Handle, getrandom::Error> {
        let make = |name: &str| match &self.id {
            Some(id) => Ok(secrets.handle_in_scope(id, name, newest)),
            None => Secrets::random_handle(),
        };
        let name = match name {
            Some(name) => name.to_lowercase(),
            None if lock(&self.known).is_empty() => String::new(),
            None => return make(""),
        };
        let mut pending = lock(&self.pending);
        // One that was derived long ago could not be found again.
        pending.retain(|one| newest.0.saturating_sub(one.newest.0) < REACH / 2);
        if let Some(one) = pending.iter().find(|one| one.name == name) {
            return Ok(one.handle.clone());
        }
        let handle = make(&name)?;
        if pending.len() >= MAX_KNOWN {
            pending.remove(0);
        }
        pending.push(Pending {
            handle: handle.clone(),
            name,
            newest,
        });
        Ok(handle)
    }

    /// Records a participant that was minted, or that passed its handle.
    pub fn minted(&self, handle: &Handle, name: &str) {
        let mut known = lock(&self.known);
        let is_it = |one: &&mut Known| one.handle.as_ref() == Some(handle);
        if let Some(one) = known.iter_mut().find(is_it) {
            name.clone_into(&mut one.name);
        } else if known.len() < MAX_KNOWN {
            known.push(Known {
                handle: Some(handle.clone()),
                user: None,
                name: name.into(),
            });
        }
    }

    /// Removes a participant whose registration ended.
    pub fn forget(&self, handle: &Handle) {
        lock(&self.known).retain(|one| one.handle.as_ref() != Some(handle));
        lock(&self.pending).retain(|one| one.handle != *handle);
    }

    /// Brings what is known up to the committed state: those whose registrations ended are removed,
    /// and those that registered in this scope elsewhere, or in an earlier process, are found.
    /// `by_handle` has the participants of its handles, as far as they are registered, and `of_address`
    /// those registered from its address, with the hashes of their handles, if they were looked up.
    pub(crate) fn renew(
        &self,
        by_handle: &[(Handle, Option<Arc<Who>>)],
        of_address: &[(Arc<Who>, SecretHash)],
        elsewhere: Elsewhere,
        secrets: &Secrets,
    ) {
        for (handle, who) in by_handle {
            match who {
                Some(who) => self.found(handle, who),
                None => self.forget(handle),
            }
        }
        let id = self.id.as_deref();
        let Some(id) = id.filter(|_| elsewhere != Elsewhere::Nobody) else {
            return;
        };
        let is_there = |user| of_address.iter().any(|(who, _)| who.id == user);
        let mut known = lock(&self.known);
        known.retain(|one| one.handle.is_some() || one.user.is_some_and(is_there));
        for (who, hash) in of_address {
            if known.len() >= MAX_KNOWN || known.iter().any(|one| one.user == Some(who.id)) {
                continue;
            }
            let handle = secrets.handle_again(id, who, *hash);
            if handle.is_none() && elsewhere == Elsewhere::Derived {
                continue;
            }
            // It may have registered here since the state was read.
            known.retain(|one| one.handle.is_none() || one.handle != handle);
            known.push(Known {
                handle,
                user: Some(who.id),
                name: who.name.to_string(),
            });
        }
    }

    /// Updates a known participant.
    fn found(&self, handle: &Handle, who: &Who) {
        let mut known = lock(&self.known);
        // It may have been found without its handle before.
        known.retain(|one| one.handle.is_some() || one.user != Some(who.id));
        let mut known = known.iter_mut();
        if let Some(one) = known.find(|one| one.handle.as_ref() == Some(handle)) {
            one.user = Some(who.id);
            one.name = who.name.to_string();
        }
    }

    /// All known handles in the order of minting.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        let known = lock(&self.known);
        known.iter().filter_map(|one| one.handle.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(text: &str) -> Handle {
        Handle::given(text)
    }

    #[test]
    fn one_is_meant_and_of_two_none() {
        let scope = CallerScope::default();
        assert_eq!(scope.only(), None);
        scope.minted(&handle("a"), "Ann");
        scope.minted(&handle("a"), "Ann");
        assert_eq!(scope.only(), Some(handle("a")));
        scope.minted(&handle("b"), "Ben");
        assert_eq!(scope.only(), None);
        scope.forget(&handle("a"));
        assert_eq!(scope.only(), Some(handle("b")));
    }

    #[test]
    fn those_who_come_together_are_one_until_it_is_gone() {
        let scope = CallerScope::default();
        let secrets = Secrets::new(&[1; 32]);
        let next = || scope.handle_to_mint(None, UserId(0), &secrets).unwrap();
        let first = next();
        assert_eq!(next(), first);
        scope.minted(&first, "Ann");
        assert_ne!(next(), first);
        scope.forget(&first);
        let second = next();
        assert_ne!(second, first);
        assert_eq!(next(), second);
    }

    #[test]
    fn another_name_means_another_participant() {
        let scope = CallerScope::default();
        let meant = |name: &str| scope.implicit_for(Some(name));
        assert_eq!(meant("Ann"), None);
        scope.minted(&handle("a"), "Ann");
        assert_eq!(meant("ann"), Some(handle("a")));
        assert_eq!(meant("Ben"), None);
        assert_eq!(scope.implicit_for(None), Some(handle("a")));
    }
}
