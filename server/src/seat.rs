//! Where participants were minted: one MCP session, one bearer token, or one process on stdio.
//!
//! A caller from such a place may leave its handle out as long as exactly one participant was
//! minted there. With two it must say which: never is "the latest" meant.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::identity::Handle;
use crate::tools::Mint;

/// How many participants of one place are told apart. Of more it is only known that there are.
const MAX_KNOWN: usize = 64;

/// A place, and who was minted there.
#[derive(Debug, Default)]
pub struct Seat {
    known: Mutex<Vec<Known>>,
    /// The handle of the first who does not mind its name: calls that come together, before the
    /// first of them is answered, mean one participant.
    first: Mutex<Option<Handle>>,
}

/// One who was minted there.
#[derive(Clone, Debug)]
struct Known {
    handle: Handle,
    name: String,
}

/// Who calls without a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Implicit {
    /// The one participant of the place.
    One(Handle),
    /// Nobody was minted there yet.
    Nobody,
    /// Two or more were.
    Several,
}

impl Seat {
    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        // Nothing that holds the lock can panic half way.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who is meant by a call without a handle.
    #[must_use]
    pub fn implicit(&self) -> Implicit {
        match &self.known()[..] {
            [] => Implicit::Nobody,
            [one] => Implicit::One(one.handle.clone()),
            [_, _, ..] => Implicit::Several,
        }
    }

    /// Who is meant by a call without a handle that could mint one: the one participant of the
    /// place, unless the call wants another name than it has.
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
        let seat = Seat::default();
        assert_eq!(seat.implicit(), Implicit::Nobody);
        seat.minted(&handle("a"), "Ann");
        seat.minted(&handle("a"), "Ann");
        assert_eq!(seat.implicit(), Implicit::One(handle("a")));
        seat.minted(&handle("b"), "Ben");
        assert_eq!(seat.implicit(), Implicit::Several);
        seat.forget(&handle("a"));
        assert_eq!(seat.implicit(), Implicit::One(handle("b")));
    }

    #[test]
    fn another_name_means_another_participant() {
        let seat = Seat::default();
        let meant = |name: &str| seat.implicit_for(&Mint::Named(name.into()));
        assert_eq!(meant("Ann"), None);
        seat.minted(&handle("a"), "Ann");
        assert_eq!(meant("ann"), Some(handle("a")));
        assert_eq!(meant("Ben"), None);
        assert_eq!(seat.implicit_for(&Mint::Unnamed), Some(handle("a")));
    }
}
