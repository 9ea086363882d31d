//! Damage to the files of a journal: a start gives the state of before, or is refused and changes
//! nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chat_core::{Config, mix};
use server_settings::{Durability, JournalSettings};
use server_storage::journal::{OpenError, open};

use crate::durable::client::rounds;
use crate::process::Server;

/// The number of damaged folders.
const ROUNDS: usize = 3_000;

/// The size of the unit that a disk writes at once.
const SECTOR: usize = 512;

/// The files of a folder.
type Files = BTreeMap<String, Vec<u8>>;

/// Random numbers of one round.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = mix(self.0, 1);
        let limit = u64::try_from(limit).expect("a size");
        usize::try_from(self.0 % limit.max(1)).expect("it is below the limit")
    }

    /// A range of at most `longest` bytes in `length`.
    fn range(&mut self, length: usize, longest: usize) -> std::ops::Range<usize> {
        let from = self.below(length);
        let to = (from + 1 + self.below(longest)).min(length);
        from..to
    }
}

/// A folder with two snapshots, records in the database and records in its WAL.
fn written(folder: &Path) -> Files {
    for life in 0..3 {
        let server = Server::on(folder, &[]);
        let ann = server.register(&format!("ann of life {life}"), "lobby");
        server.say(&ann, (0..40).map(|number| format!("{life}: {number}")));
        match life {
            2 => server.kill(),
            _ => assert_eq!(server.stop(), Some(0)),
        }
    }
    let mut files = read(folder);
    // Most of the WAL is reserved, and zero: it is left out, so that damage meets what is written.
    let wal = files.get_mut("journal.db-wal").expect("it was killed");
    let end = wal.iter().rposition(|byte| *byte != 0);
    wal.truncate(end.map_or(0, |end| end + 1));
    files
}

fn read(folder: &Path) -> Files {
    let entries = fs::read_dir(folder).expect("the folder");
    let files = entries.map(|entry| {
        let entry = entry.expect("an entry");
        let name = entry.file_name().into_string().expect("text");
        (name, fs::read(entry.path()).expect("a file"))
    });
    // The lock has the number of a process; SQLite makes the index of a WAL anew, and an empty WAL
    // where there is none.
    let kept = |name: &str| name != "lock" && !name.ends_with("-shm") && !name.contains("history");
    files
        .filter(|(name, bytes)| kept(name) && !(name.ends_with("-wal") && bytes.is_empty()))
        .collect()
}

/// Damages one file as disks and programs do, and says how.
fn damage(files: &mut Files, draw: &mut Draw) -> String {
    let names: Vec<String> = files.keys().cloned().collect();
    let name = &names[draw.below(names.len())];
    let file = files.get_mut(name).expect("it was listed");
    let length = file.len();
    let what = match draw.below(8) {
        0 => {
            let (byte, bit) = (draw.below(length), draw.below(8));
            file[byte] ^= 1 << bit;
            format!("bit {bit} of byte {byte} flipped")
        }
        1 => {
            let range = draw.range(length, 64);
            for byte in &mut file[range.clone()] {
                *byte = u8::try_from(draw.below(256)).expect("a byte");
            }
            format!("bytes {range:?} written over")
        }
        2 => {
            let range = draw.range(length, 8 * SECTOR);
            file[range.clone()].fill(0);
            format!("bytes {range:?} zeroed")
        }
        3 => {
            file.truncate(draw.below(length));
            format!("cut to {} bytes", file.len())
        }
        4 => {
            let more = 1 + draw.below(4_096);
            file.extend((0..more).map(|_| u8::try_from(draw.below(256)).expect("a byte")));
            format!("{more} bytes appended")
        }
        5 => {
            let sectors = length.div_ceil(SECTOR);
            let (from, to) = (SECTOR * draw.below(sectors), SECTOR * draw.below(sectors));
            let size = SECTOR.min(length - from.max(to));
            let sector = file[from..from + size].to_vec();
            file[to..to + size].copy_from_slice(&sector);
            format!("the sector at {from} written to {to}")
        }
        6 => {
            let range = draw.range(length, 4_096);
            file.drain(range.clone());
            format!("bytes {range:?} removed")
        }
        _ => {
            files.remove(name);
            "removed".into()
        }
    };
    format!("{name}: {what}")
}

fn write(folder: &Path, files: &Files) {
    for (name, bytes) in files {
        fs::write(folder.join(name), bytes).expect("a file");
    }
}

/// The digest of the state that a start recovers.
fn start(folder: &Path) -> Result<u64, OpenError> {
    let settings = JournalSettings {
        folder: folder.into(),
        durability: Durability::Os,
        ..JournalSettings::default()
    };
    let opened = open(&settings, &Config::default())?;
    Ok(opened.node.hub().digest())
}

#[test]
fn damaged_files_give_an_equal_start_or_a_refusal() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = written(folder.path());
    assert_eq!(whole.len(), 5, "{:?}", whole.keys());
    let owed = start(folder.path()).expect("it is undamaged");
    let (mut equal, mut refused) = (0, 0);
    let rounds = rounds(ROUNDS);
    for round in 0..rounds {
        let mut draw = Draw(round as u64);
        let mut files = whole.clone();
        // Some rounds damage several places at once.
        let places = 1 + draw.below(4) / 2;
        let what: Vec<String> = (0..places).map(|_| damage(&mut files, &mut draw)).collect();
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &files);
        match start(folder.path()) {
            Ok(digest) => {
                assert_eq!(digest, owed, "round {round}: another state after {what:?}");
                equal += 1;
            }
            Err(error) => {
                for (name, now) in read(folder.path()) {
                    let before = files.get(&name);
                    assert!(
                        before == Some(&now),
                        "round {round}: the refusal changed {name} from {:?} to {} bytes after \
                         {what:?}: {error}",
                        before.map(Vec::len),
                        now.len()
                    );
                }
                refused += 1;
            }
        }
    }
    // Damage to a snapshot or to free space costs nothing.
    assert!(equal > rounds / 10, "{equal} equal, {refused} refused");
    assert!(refused > rounds / 10, "{equal} equal, {refused} refused");
}
