//! Scopes, each with the participants that were registered in it: one MCP session, one bearer token, or
//! one process on stdio.
//!
//! A call within a scope may leave the handle out as long as exactly one participant was registered
//! there. With two it must say which: never is "the latest" meant.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::identity::Handle;
use crate::tools::Mint;

/// How many participants of one scope are told apart. Of more it is only known that there are.
const MAX_KNOWN: usize = 64;

/// A scope, and the participants that were registered in it.
#[derive(Debug, Default)]
pub struct CallerScope {
    /// Its name among all scopes; none where its address says as much.
    id: Option<Arc<str>>,
    known: Mutex<Vec<Known>>,
    /// The handle of the first who does not mind its name: where the call that minted it was given
    /// up before its answer, the next one means the same participant.
    first: Mutex<Option<Handle>>,
    /// Held while the first participant is minted: calls that come together mean one participant.
    minting: tokio::sync::Mutex<()>,
    /// Cancelled when the scope is closed, as when its token is revoked.
    closed: CancellationToken,
}

/// One who was minted there.
#[derive(Clone, Debug)]
struct Known {
    handle: Handle,
    name: String,
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

    /// Its name among all scopes.
    #[must_use]
    pub fn id(&self) -> Option<Arc<str>> {
        self.id.clone()
    }

    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        // Nothing that holds the lock can panic half way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the scope: what is open in its name ends.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// Whether the scope is not closed.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.closed.is_cancelled()
    }

    /// Cancelled when the scope is closed.
    #[must_use]
    pub const fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// Who is meant by a call without a handle: the one participant of the scope, if there is
    /// exactly one.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        match &self.known()[..] {
            [one] => Some(one.handle.clone()),
            [] | [_, _, ..] => None,
        }
    }

    /// The turn of a call that could mint a participant, while nobody was minted here. Who has it
    /// asks anew who is meant, and keeps it until its answer: a call that took itself for the first,
    /// and arrived after another had used the handle, would be refused.
    pub async fn turn_to_mint(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if !self.known().is_empty() {
            return None;
        }
        let turn = self.minting.lock().await;
        // The others that waited need not come one after the other any more.
        self.known().is_empty().then_some(turn)
    }

    /// Who is meant by a call without a handle that could mint one: the one participant of the
    /// scope, unless the call wants another name than it has.
    #[must_use]
    pub fn implicit_for(&self, mint: &Mint) -> Option<Handle> {
        let known = self.known();
        let [one] = &known[..] else {
            return None;
        };
        let same = match mint {
            Mint::Unnamed => true,
            Mint::Named(name) => one.name.to_lowercase() == name.to_lowercase(),
        };
        same.then(|| one.handle.clone())
    }

    /// The handle to mint for a call without one that does not mind its name. As long as nobody is
    /// known here, that is the same for all; else a new one.
    ///
    /// # Errors
    /// When none can be made.
    pub fn first<E>(&self, make: impl FnOnce() -> Result<Handle, E>) -> Result<Handle, E> {
        let is_empty = self.known().is_empty();
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_empty {
            return make();
        }
        let handle = match first.take() {
            Some(handle) => handle,
            None => make()?,
        };
        *first = Some(handle.clone());
        Ok(handle)
    }

    /// A participant was minted here, or came back with its handle.
    pub fn minted(&self, handle: &Handle, name: &str) {
        let mut known = self.known();
        if let Some(one) = known.iter_mut().find(|one| one.handle == *handle) {
            name.clone_into(&mut one.name);
        } else if known.len() < MAX_KNOWN {
            known.push(Known {
                handle: handle.clone(),
                name: name.into(),
            });
        }
    }

    /// The participant is no longer registered.
    pub fn forget(&self, handle: &Handle) {
        self.known().retain(|one| one.handle != *handle);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref() == Some(handle) {
            *first = None;
        }
    }

    /// Everybody who was minted here, in the order in which they were.
    #[must_use]
    pub fn handles(&self) -> Vec<Handle> {
        self.known().iter().map(|one| one.handle.clone()).collect()
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
        let first = |made: &str| scope.first(|| Ok::<_, ()>(handle(made))).unwrap();
        assert_eq!(first("a"), handle("a"));
        assert_eq!(first("b"), handle("a"));
        scope.minted(&handle("a"), "Ann");
        assert_eq!(first("c"), handle("c"));
        scope.forget(&handle("a"));
        assert_eq!(first("d"), handle("d"));
        assert_eq!(first("e"), handle("d"));
    }

    #[test]
    fn another_name_means_another_participant() {
        let scope = CallerScope::default();
        let meant = |name: &str| scope.implicit_for(&Mint::Named(name.into()));
        assert_eq!(meant("Ann"), None);
        scope.minted(&handle("a"), "Ann");
        assert_eq!(meant("ann"), Some(handle("a")));
        assert_eq!(meant("Ben"), None);
        assert_eq!(scope.implicit_for(&Mint::Unnamed), Some(handle("a")));
    }
}
