//! A restored Hub continues exactly like the original.

use chat_core::{Config, Hub, RestoreError};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::journal::{journal, run};

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
}

#[test]
fn a_snapshot_of_another_version_is_refused_as_that() {
    let bytes = Hub::new(Config::default(), 1).snapshot();
    let version = bytes
        .iter()
        .position(|byte| *byte == b'6')
        .expect("it says which it is");
    for other in *b"57" {
        let mut bytes = bytes.clone();
        bytes[version] = other;
        assert_eq!(Hub::restore(&bytes).err(), Some(RestoreError::Format));
    }
}
