//! A refusal changes nothing beyond the envelope and its remembered outcome.
//!
//! A twin of the Hub handles only the envelope of the entry, at the same position: `Seen` for a
//! caller with a handle and for a stream that opens, otherwise a tick. Without a key the two are
//! equal. With a key, the outcome is remembered. Then both handle so many other requests with keys
//! that this outcome is dropped, after which they are equal again.

use chat_core::{Caller, Command, Entry, RequestKey, RoomId};
use proptest::prelude::*;

use crate::journal::{envelope, journal, step};

proptest! {
    #[test]
    fn a_refusal_leaves_what_its_envelope_alone_leaves(journal in journal()) {
        let mut hub = journal.hub();
        for (at, entry) in &journal.entries {
            let mut twin = hub.clone();
            let outcome = step(&mut hub, *at, entry);
            if outcome.reply.is_ok() {
                continue;
            }
            let envelope = envelope(&twin, entry);
            let expected = step(&mut twin, *at, &envelope).effects;
            prop_assert_eq!(&outcome.effects, &expected);
            let mut refused = hub.clone();
            if let Entry::Call { caller, key: Some(_), .. } = entry {
                for number in 0..journal.config.remembered_keys {
                    let filler = filler(caller, number);
                    step(&mut refused, *at, &filler);
                    step(&mut twin, *at, &filler);
                }
            }
            prop_assert_eq!(refused.digest(), twin.digest(), "{:?}: {:?}", entry, outcome);
        }
    }
}

/// A request with a key that is always refused, so that the refusal is remembered.
fn filler(caller: &Caller, number: u32) -> Entry {
    let (Caller::Handle(handle) | Caller::New { handle, .. }) = caller;
    Entry::Call {
        caller: Caller::Handle(*handle),
        key: Some(RequestKey(1_000 + u128::from(number))),
        command: Command::Typing {
            room: Some(RoomId(1_000)),
        },
    }
}
