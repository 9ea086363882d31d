//! A refusal changes nothing beyond the envelope and its remembered outcome.
//!
//! A twin of the Hub handles the envelope alone in the entry's place, at the same position: `Seen`
//! for a caller with a handle and for a stream that opens, a tick for everybody else. Without a key the two are equal. With
//! one, the outcome is remembered; so both then handle as many other keyed requests as are
//! remembered, which pushes that outcome out, and from there on they are equal again.

use chat_core::{Caller, Command, Entry, RequestKey, RoomId};
use proptest::prelude::*;

use crate::journal::{envelope, journal, step};

proptest! {
    #[test]
    fn a_refusal_leaves_what_its_envelope_alone_would_have_left(journal in journal()) {
        let mut hub = journal.hub();
        for (at, entry) in &journal.entries {
            let mut twin = hub.clone();
            let outcome = step(&mut hub, *at, entry);
            if outcome.reply.is_ok() {
                continue;
            }
            let envelope = envelope(&twin, entry);
            let told = step(&mut twin, *at, &envelope).effects;
            prop_assert_eq!(&outcome.effects, &told);
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

/// A keyed request that is always refused, and the refusal remembered.
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
