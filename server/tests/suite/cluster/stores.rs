//! What happens to the disk of a NATS server that is down.

use std::fs;
use std::path::{Path, PathBuf};

/// Takes all that a server has stored.
pub(crate) fn wipe(store: &Path) {
    fs::remove_dir_all(store).expect("it has stored something");
}

/// Flips a bit in the stored records of the log: the one with this number, modulo their bits.
/// Returns a description.
pub(crate) fn flip_bit(store: &Path, number: usize) -> String {
    let blocks = blocks(store);
    let length = |block: &PathBuf| fs::read(block).map_or(0, |bytes| bytes.len());
    let total: usize = blocks.iter().map(length).sum();
    let mut place = number / 8 % total;
    for block in blocks {
        let mut bytes = fs::read(&block).expect("a file");
        if let Some(byte) = bytes.get_mut(place) {
            *byte ^= 1 << (number % 8);
            fs::write(&block, &bytes).expect("a file");
            return format!("in byte {place} of {}", bytes.len());
        }
        place -= bytes.len();
    }
    unreachable!("the place is in one of them")
}

/// Flips a bit in the stored record that has this text.
pub(crate) fn flip_bit_of(store: &Path, text: &str) {
    for block in blocks(store) {
        let mut bytes = fs::read(&block).expect("a file");
        let mut windows = bytes.windows(text.len());
        if let Some(place) = windows.position(|window| window == text.as_bytes()) {
            bytes[place] ^= 1;
            return fs::write(&block, &bytes).expect("a file");
        }
    }
    panic!("no record has {text}");
}

/// The files of the log's records that have some.
fn blocks(store: &Path) -> Vec<PathBuf> {
    let folder = store.join("jetstream/$G/streams/TS_main/msgs");
    let entries = fs::read_dir(folder).expect("the log's folder");
    let mut blocks: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "blk"))
        .filter(|path| path.metadata().is_ok_and(|block| block.len() > 0))
        .collect();
    blocks.sort();
    blocks
}
