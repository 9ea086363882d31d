//! Bytes that are no snapshot are refused without a panic.

use chat_core::Hub;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::journal::{Journal, journal, run};

fn snapshot(journal: &Journal) -> Vec<u8> {
    let mut hub = journal.hub();
    run(&mut hub, &journal.entries);
    hub.snapshot()
}

proptest! {
    #[test]
    fn truncated_snapshots_are_refused(journal in journal(), cuts in vec(any::<Index>(), 20)) {
        let bytes = snapshot(&journal);
        for cut in cuts {
            prop_assert!(Hub::restore(&bytes[..cut.index(bytes.len())]).is_err());
        }
    }

    #[test]
    fn snapshots_with_more_behind_them_are_refused(journal in journal(), more in vec(any::<u8>(), 1..9)) {
        let bytes = [snapshot(&journal), more].concat();
        prop_assert!(Hub::restore(&bytes).is_err());
    }

    /// Damage may go unnoticed, for example in a text: checksums are the journal's task. But a
    /// restored state keeps every invariant, and can be written again.
    #[test]
    fn damaged_snapshots_never_panic(
        journal in journal(),
        damage in vec((any::<Index>(), any::<u8>()), 60),
    ) {
        let bytes = snapshot(&journal);
        for (at, byte) in damage {
            let mut bytes = bytes.clone();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if let Ok(restored) = Hub::restore(&bytes) {
                prop_assert_eq!(restored.validate(), Ok(()));
                prop_assert_eq!(Hub::restore(&restored.snapshot()).map(drop), Ok(()));
            }
        }
    }

    /// Replaces bytes by the largest encoded numbers.
    #[test]
    fn overgrown_numbers_never_panic(journal in journal(), places in vec(any::<Index>(), 40)) {
        let bytes = snapshot(&journal);
        for at in places {
            let at = at.index(bytes.len());
            let most = [255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
            let bytes = [&bytes[..at], &most, &bytes[at + 1..]].concat();
            if let Ok(restored) = Hub::restore(&bytes) {
                prop_assert_eq!(restored.validate(), Ok(()));
            }
        }
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(Hub::restore(&bytes).is_err());
        let headed = [b"\x13talking-stick hub 6".as_slice(), &bytes].concat();
        prop_assert!(Hub::restore(&headed).is_err());
    }
}
