//! Recovers from complete, truncated, damaged and exchanged journals: the result is always the
//! acknowledged state, or a refusal.

use std::collections::BTreeMap;
use std::convert::Infallible;

use chat_core::{
    Address, Addressees, BreakKind, Caller, Command, Config, EnterQueue, Entry, Hub, Position,
    RequestKey, SecretHash, Time, VERSION,
};
use chat_journal::{
    Chain, Damage, FORMAT, Files, Identity, Loss, Mark, Recovered, RecoveryError, SLOT_BYTES,
    Snapshot, Warning, recover,
};
use proptest::prelude::*;

fn identity() -> Identity {
    Identity {
        realm: 7,
        seed: 11,
        secret: [3; 32],
    }
}

/// A disk after the server has crashed.
type Disk = Files<Vec<u8>>;

/// A disk with what its server knows about it.
#[derive(Clone, Debug)]
struct Written {
    disk: Disk,
    hub: Hub,
    chain: Chain,
    marks: u64,
    /// The digest at the end of each record, by its last position.
    digests: BTreeMap<u64, u64>,
}

impl Written {
    fn new() -> Self {
        let (config, identity) = (Config::default(), identity());
        let mut written = Self {
            disk: Disk::default(),
            hub: Hub::new(config.clone(), identity.seed),
            chain: Chain::new(&identity.origin()),
            marks: 0,
            digests: BTreeMap::new(),
        };
        written.disk.marks = Mark::at(&written.chain).file();
        written.digests.insert(0, written.hub.digest());
        written.append(&[Entry::Started {
            config: Box::new(config),
            version: VERSION.into(),
            seed: identity.seed,
        }]);
        written
    }

    /// Appends a batch without acknowledging it.
    fn append(&mut self, entries: &[Entry]) {
        let at = Time(self.chain.batches() * 1_000_000);
        let sealed = self.chain.seal(at, entries);
        for entry in entries {
            // Refusals are also entries.
            let _ = self.hub.handle(at, entry);
            while self.hub.poll_effect().is_some() {}
        }
        self.disk.records.insert(sealed.first, sealed.bytes);
        self.chain = sealed.after;
        self.digests.insert(self.chain.last().0, self.hub.digest());
    }

    fn acknowledge(&mut self) {
        let (offset, slot) = Mark::at(&self.chain).slot(self.marks);
        self.marks += 1;
        let offset = usize::try_from(offset).expect("a file of two slots");
        self.disk.marks[offset..offset + SLOT_BYTES].copy_from_slice(&slot);
    }

    fn snapshot(&mut self) {
        let file = Snapshot::write(&identity().origin(), &self.chain, &self.hub);
        self.disk.snapshots.insert(self.chain.last(), file);
    }

    /// Some visits, in batches of several sizes, all acknowledged.
    fn of(visits: &[u8]) -> Self {
        let mut written = Self::new();
        written.acknowledge();
        for (number, batch) in visits.chunks(3).enumerate() {
            let entries: Vec<Entry> = batch
                .iter()
                .enumerate()
                .map(|(place, visit)| visit_of(number * 3 + place, *visit))
                .collect();
            written.append(&entries);
            written.acknowledge();
            if batch[0] % 5 == 0 {
                written.snapshot();
            }
        }
        written
    }
}

/// The entry of a visitor's action: enter, wait, talk, leave.
fn visit_of(number: usize, visit: u8) -> Entry {
    let who = visit % 6;
    let caller = Caller::New {
        handle: SecretHash([who; 16]),
        reader: SecretHash([who + 100; 16]),
        from: Address(u64::from(who)),
    };
    let command = match visit / 6 % 5 {
        0 => Command::TakeBreak {
            kind: BreakKind::TakeABreak,
            excuse: None,
        },
        1 => Command::EnterQueue(EnterQueue::default()),
        2 => Command::Login {
            username: format!("visitor {who}").into(),
            room: "lobby".into(),
        },
        3 => Command::SendMessage {
            room: None,
            text: format!("message {number}").into(),
            epoch: None,
            to: Addressees::ALL,
        },
        _ => Command::TalkingStick {
            room: None,
            epoch: None,
        },
    };
    Entry::Call {
        caller,
        key: Some(RequestKey(number as u128)),
        command,
    }
}

fn recovered(disk: &Disk, loss: Loss) -> Result<Recovered, RecoveryError<Infallible>> {
    recovered_as(&identity(), disk, loss)
}

fn recovered_as(
    identity: &Identity,
    disk: &Disk,
    loss: Loss,
) -> Result<Recovered, RecoveryError<Infallible>> {
    let (mut disk, config) = (disk.clone(), Config::default());
    let look = &mut |_: &_, _, _: &_, _: &_| {};
    recover(&mut disk, &identity.origin(), &config, loss, look)
}

fn refusal(disk: &Disk) -> String {
    let refused = recovered(disk, Loss::Refused).expect_err("a refusal");
    refused.to_string()
}

const VISITS: [u8; 14] = [12, 13, 18, 6, 7, 19, 24, 14, 18, 0, 8, 25, 19, 18];

#[test]
fn an_empty_disk_is_an_empty_server() {
    let empty = recovered(&Disk::default(), Loss::Refused).unwrap();
    assert_eq!(empty.chain, Chain::new(&identity().origin()));
    assert_eq!(empty.warnings, []);
}

#[test]
fn a_whole_journal_gives_the_state_with_and_without_snapshots() {
    let mut written = Written::of(&VISITS);
    written.disk.snapshots.clear();
    let mut seen = 0;
    let config = Config::default();
    let whole = recover(
        &mut written.disk.clone(),
        &identity().origin(),
        &config,
        Loss::Refused,
        &mut |hub, _, _, _| {
            seen += 1;
            assert_eq!(hub.position().0, seen);
        },
    )
    .unwrap();
    assert_eq!(seen, written.chain.last().0);
    assert_eq!(whole.hub.digest(), written.hub.digest());
    assert_eq!(whole.chain, written.chain);
    written.snapshot();
    let of_snapshot = recovered(&written.disk, Loss::Refused).unwrap();
    assert_eq!(of_snapshot.snapshot, written.chain.last());
    assert_eq!(of_snapshot.hub.digest(), written.hub.digest());
    assert_eq!(of_snapshot.warnings, []);
}

#[test]
fn a_journal_goes_on_after_a_recovery() {
    let mut written = Written::of(&VISITS);
    let back = recovered(&written.disk, Loss::Refused).unwrap();
    (written.hub, written.chain) = (back.hub, back.chain);
    written.append(&[visit_of(90, 19)]);
    written.acknowledge();
    let again = recovered(&written.disk, Loss::Refused).unwrap();
    assert_eq!(again.hub.digest(), written.hub.digest());
}

#[test]
fn entries_without_answers_are_kept_and_named() {
    let mut written = Written::of(&VISITS);
    written.append(&[visit_of(90, 19), visit_of(91, 18)]);
    let back = recovered(&written.disk, Loss::Refused).unwrap();
    assert_eq!(back.hub.digest(), written.hub.digest());
    let marked = Position(written.chain.last().0 - 2);
    let last = written.chain.last();
    assert_eq!(back.warnings, [Warning::Unmarked { marked, last }]);
}

#[test]
fn a_lost_end_is_refused_by_its_positions_and_can_be_accepted() {
    let mut written = Written::of(&VISITS);
    written.append(&[visit_of(90, 19)]);
    written.acknowledge();
    let (Position(first), _) = written.disk.records.pop_last().unwrap();
    let last = first - 1;
    assert_eq!(
        refusal(&written.disk),
        format!(
            "the journal ends at position {last}, but answers up to position {first} have left: \
             positions {first} to {first} are lost"
        )
    );
    let accepted = recovered(&written.disk, Loss::Accepted).unwrap();
    assert_eq!(accepted.hub.digest(), written.digests[&last]);
    assert_eq!(accepted.cut, Some(Position(first)));
    assert!(matches!(&accepted.warnings[..], [Warning::Accepted(_)]));
}

/// The reason of a refusal, and the harm that causes it.
type RefusedHarm = (&'static str, fn(&mut Disk));

#[test]
fn what_is_missing_or_exchanged_is_refused_by_its_positions() {
    let absent = "the file of marks is absent: the journal ends at position 15";
    let harms: [RefusedHarm; 5] = [
        (
            "positions 2 to 4 are missing from the journal; answers up to position 15",
            |disk| {
                disk.snapshots.clear();
                disk.records.remove(&Position(2));
            },
        ),
        (
            "the record that ends at position 15 is not the one whose answers have left",
            // The same positions with another history.
            |disk| {
                let other = Written::of(&[12, 13, 18, 6, 7, 19, 24, 14, 18, 0, 8, 25, 18, 19]);
                disk.marks = other.disk.marks;
            },
        ),
        (absent, |disk| disk.marks.clear()),
        ("the file of marks is damaged", |disk| disk.marks.fill(9)),
        // Zeros are no absence, even without a record.
        ("the file of marks is damaged", |disk| {
            disk.marks.fill(0);
            disk.records.clear();
            disk.snapshots.clear();
        }),
    ];
    for (wanted, harm) in harms {
        let mut disk = Written::of(&VISITS).disk;
        harm(&mut disk);
        let why = refusal(&disk);
        assert!(why.starts_with(wanted), "{why}");
    }
}

#[test]
fn the_loss_of_what_is_behind_a_hole_can_be_accepted() {
    let mut written = Written::of(&VISITS);
    written.disk.snapshots.clear();
    written.disk.records.remove(&Position(2));
    let accepted = recovered(&written.disk, Loss::Accepted).unwrap();
    assert_eq!(accepted.hub.digest(), written.digests[&1]);
}

#[test]
fn a_snapshot_that_cannot_be_used_is_named_and_the_one_before_it_is() {
    let mut written = Written::of(&VISITS);
    written.snapshot();
    let mut newest = written.disk.snapshots.last_entry().unwrap();
    let newest = newest.get_mut();
    let middle = newest.len() / 2;
    newest[middle] ^= 4;
    let back = recovered(&written.disk, Loss::Refused).unwrap();
    assert_eq!(back.hub.digest(), written.hub.digest());
    assert_eq!(
        back.warnings[0].to_string(),
        "the newest snapshot cannot be used: its checksum is wrong"
    );
}

#[test]
fn another_secret_another_realm_and_another_journal_are_refused() {
    let written = Written::of(&VISITS);
    for other in [
        Identity {
            secret: [4; 32],
            ..identity()
        },
        Identity {
            realm: 8,
            ..identity()
        },
        Identity {
            seed: 12,
            ..identity()
        },
    ] {
        let refused = recovered_as(&other, &written.disk, Loss::Refused);
        let why = refused.expect_err("a refusal").to_string();
        let link = "the record at position 1 is not usable: its checksum does not continue";
        assert!(why.starts_with(link), "{why}");
    }
}

/// The records as a build would have written them whose record format is `format`, in a chain.
fn in_format(disk: &Disk, format: u16) -> Disk {
    let mut tip = identity().origin().link;
    let mut other = disk.clone();
    for record in other.records.values_mut() {
        let length = record.len() - tip.to_bytes().len();
        record.truncate(length);
        record[8..10].copy_from_slice(&format.to_le_bytes());
        tip = tip.over(record);
        record.extend_from_slice(&tip.to_bytes());
    }
    other
}

/// In format 1 the number of *unregister* was another command's, which registered or did nothing.
#[test]
fn a_journal_of_the_format_before_is_refused_and_its_commands_are_never_misread() {
    let mut written = Written::of(&VISITS);
    written.append(&[Entry::Call {
        caller: Caller::Handle(SecretHash([0; 16])),
        key: None,
        command: Command::Unregister,
    }]);
    written.acknowledge();
    written.disk.snapshots.clear();
    assert_eq!(
        in_format(&written.disk, FORMAT).records,
        written.disk.records
    );
    let older = in_format(&written.disk, 1);
    for loss in [Loss::Refused, Loss::Accepted] {
        let refused = recovered(&older, loss).unwrap_err();
        assert!(refused.is_of_another_build(), "{refused}");
        assert_eq!(
            refused.to_string(),
            "the record at position 1 is not usable: another build wrote it, in format 1, and this \
             build reads format 5. The journal is whole up to position 0; answers up to position 16 \
             have left"
        );
    }
}

fn damage() -> impl Strategy<Value = Damage> {
    let any = || any::<usize>();
    prop_oneof![
        4 => (any(), any()).prop_map(|(which, bit)| Damage::FlipRecord { which, bit }),
        2 => (any(), any()).prop_map(|(which, length)| Damage::CutRecord { which, length }),
        2 => any().prop_map(|which| Damage::LoseRecord { which }),
        2 => any().prop_map(|from| Damage::LoseEnd { from }),
        2 => (any(), any()).prop_map(|(which, to)| Damage::Misdirect { which, to }),
        3 => (any(), any()).prop_map(|(which, bit)| Damage::FlipSnapshot { which, bit }),
        2 => (any(), any()).prop_map(|(which, length)| Damage::CutSnapshot { which, length }),
        1 => any().prop_map(|which| Damage::LoseSnapshot { which }),
        2 => any().prop_map(|bit| Damage::FlipMark { bit }),
        1 => any().prop_map(|slot| Damage::LoseMark { slot }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    /// Each slot of the mark names one of the last two records, so that a recovery may start no
    /// earlier than at the second last.
    #[test]
    fn damage_costs_the_start_or_nothing(
        visits in prop::collection::vec(0_u8..30, 1..24),
        damages in prop::collection::vec(damage(), 1..4),
    ) {
        let written = Written::of(&visits);
        let mut disk = written.disk.clone();
        for damage in &damages {
            disk.suffer(damage);
        }
        let ends: Vec<u64> = written.digests.keys().copied().collect();
        if let Ok(back) = recovered(&disk, Loss::Refused) {
            let last = back.chain.last().0;
            prop_assert_eq!(back.hub.digest(), written.digests[&last]);
            let is_marked = disk.marks == written.disk.marks;
            let least = if is_marked { ends[ends.len() - 1] } else { ends[ends.len() - 2] };
            prop_assert!(last >= least, "{} of {:?}", last, ends);
        }
        // After an accepted loss the state is still one that existed before.
        let back = recovered(&disk, Loss::Accepted).unwrap();
        prop_assert_eq!(back.hub.digest(), written.digests[&back.chain.last().0]);
    }
}
