//! Implicit identities: the participants of one MCP session, one bearer token, or one process on
//! stdio.
//!
//! A caller may leave its handle out while exactly one participant was minted there. With two, it
//! must pass the handle: the latest one is never assumed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::identity::Handle;
use crate::tools::Mint;

/// The most participants of one scope that are known individually. Beyond it, only their existence
/// is known.
const MAX_KNOWN: usize = 64;

/// A scope: the participants that share an implicit identity, such as a session's or a token's.
#[derive(Debug, Default)]
pub struct CallerScope {
    /// Its id, unique among all scopes; `None` if its address identifies it.
    id: Option<Arc<str>>,
    known: Mutex<Vec<Known>>,
    /// The handle of the first participant without a chosen name: if the call that minted it was
    /// cancelled, the next call means the same participant.
    first: Mutex<Option<Handle>>,
    /// Held while the first participant is minted, so that concurrent calls mint only one.
    minting: tokio::sync::Mutex<()>,
    /// Cancelled when it is closed, such as by revoking its token.
    closed: CancellationToken,
}

/// A minted participant.
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

    /// Its id.
    #[must_use]
    pub fn id(&self) -> Option<Arc<str>> {
        self.id.clone()
    }

    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        // No code panics while it holds this lock.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Cancelled when it is closed.
    #[must_use]
    pub const fn closed(&self) -> &CancellationToken {
        &self.closed
    }

    /// The participant of a call without a handle, if there is exactly one.
    #[must_use]
    pub fn only(&self) -> Option<Handle> {
        match &self.known()[..] {
            [one] => Some(one.handle.clone()),
            [] | [_, _, ..] => None,
        }
    }

    /// The turn of a call that could mint a participant, while none was minted. Its owner looks up
    /// the participant again, and holds the turn until its answer. Otherwise a call that arrives
    /// after another has used the handle would be refused.
    pub async fn turn_to_mint(&self) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if !self.known().is_empty() {
            return None;
        }
        let turn = self.minting.lock().await;
        // Other waiting calls need not be serialised any more.
        self.known().is_empty().then_some(turn)
    }

    /// The participant of a call without a handle that could mint one: the only participant, unless
    /// the call asks for another name.
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

    /// The handle to mint for a call without a name. While no participant is known, it is the same
    /// for all such calls; otherwise a new one.
    ///
    /// # Errors
    /// No handle can be made.
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

    /// Records a participant that was minted, or that passed its handle.
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

    /// Removes a participant whose registration ended.
    pub fn forget(&self, handle: &Handle) {
        self.known().retain(|one| one.handle != *handle);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        if first.as_ref() == Some(handle) {
            *first = None;
        }
    }

    /// All handles in the order of minting.
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
