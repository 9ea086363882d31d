//! A restored Hub continues exactly like the original, and bytes that are no snapshot are refused
//! without a panic.

use chat_core::{Config, Hub, RestoreError};
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
    fn a_restored_hub_has_the_same_future(journal in journal(), cut in any::<Index>()) {
        let (past, future) = journal.entries.split_at(cut.index(journal.entries.len()));
        let mut hub = journal.hub();
        run(&mut hub, past);
        let mut restored = Hub::restore(&hub.snapshot()).expect("its own snapshot");
        prop_assert_eq!(restored.digest(), hub.digest());
        prop_assert_eq!(restored.poll_timeout(), hub.poll_timeout());
        prop_assert_eq!(run(&mut restored, future), run(&mut hub, future));
        prop_assert_eq!(restored.digest(), hub.digest());
        prop_assert_eq!(restored.snapshot(), hub.snapshot());
    }

    #[test]
    fn bytes_that_are_no_snapshot_are_refused(
        journal in journal(),
        cuts in vec(any::<Index>(), 20),
        more in vec(any::<u8>(), 1..9),
        bytes in vec(any::<u8>(), 0..300),
    ) {
        let whole = snapshot(&journal);
        for cut in cuts {
            prop_assert!(Hub::restore(&whole[..cut.index(whole.len())]).is_err());
        }
        prop_assert!(Hub::restore(&[whole, more].concat()).is_err());
        prop_assert!(Hub::restore(&bytes).is_err());
        let headed = [b"\x13talking-stick hub 7".as_slice(), &bytes].concat();
        prop_assert!(Hub::restore(&headed).is_err());
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
}

#[test]
fn a_snapshot_of_another_version_is_refused_as_that() {
    let bytes = Hub::new(Config::default(), 1).snapshot();
    let version = bytes
        .iter()
        .position(|byte| *byte == b'7')
        .expect("it says which it is");
    for other in *b"68" {
        let mut bytes = bytes.clone();
        bytes[version] = other;
        assert_eq!(Hub::restore(&bytes).err(), Some(RestoreError::Format));
    }
}
