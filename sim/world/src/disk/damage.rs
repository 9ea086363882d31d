//! Damage to a copy of the files: after each crash, a second recovery reads a copy that a bad disk
//! would have left. It is refused, or its state is the one of the undamaged files.

use chat_core::Hub;
use chat_journal::{Loss, Origin, SLOT_BYTES, recover};
use chat_types::{Config, mix};

use super::stored::Stored;

/// A recovery from damaged files.
#[derive(Clone, Debug)]
pub(crate) struct Damaged {
    /// The damage.
    pub(crate) what: String,
    /// The digests of the last acknowledged state, and of the last one in the undamaged files.
    pub(crate) owed: [u64; 2],
    /// The digest of the recovered state; none if the recovery was refused.
    pub(crate) recovered: Option<u64>,
}

impl Damaged {
    /// Damages the files in one or two places, and recovers. The damage is drawn from the digests.
    pub(super) fn draw(
        origin: &Origin,
        config: &Config,
        mut stored: Stored,
        owed: [u64; 2],
    ) -> Self {
        let mut draw = Draw(owed[1]);
        let kind = draw.below(STALE_MARK + 1);
        let mut what = damage(&mut stored, kind, &mut draw);
        // A mark may be stale after a loss of power. Nothing tells it from one whose record is lost.
        if kind != STALE_MARK && draw.below(4) == 0 {
            let kind = draw.below(STALE_MARK);
            what = format!("{what}; {}", damage(&mut stored, kind, &mut draw));
        }
        let is_empty = stored.is_empty();
        let look = &mut |_: &Hub, _, _: &_, _: &_| {};
        let mut state = || {
            let recovered = recover(&mut stored, origin, config, Loss::Refused, look);
            Some(recovered.ok()?.hub.digest())
        };
        // An empty disk is no damaged journal, but a new one.
        let recovered = if is_empty { None } else { state() };
        Self {
            what,
            owed,
            recovered,
        }
    }
}

/// The kind of damage that leaves the mark before the newest one, which recovers.
const STALE_MARK: usize = 8;

/// Random numbers. They do not depend on the world's, and change nothing in it.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = mix(self.0, 1);
        let limit = u64::try_from(limit.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.0 % limit).unwrap_or(usize::MAX)
    }
}

/// Damages one file or record as disks do, and says how.
fn damage(stored: &mut Stored, kind: usize, draw: &mut Draw) -> String {
    let keys: Vec<u64> = stored.records.keys().copied().collect();
    let near_the_end = |draw: &mut Draw| {
        let back = draw.below(keys.len().min(4));
        keys.len().checked_sub(1 + back).map(|index| keys[index])
    };
    let any = |draw: &mut Draw| (!keys.is_empty()).then(|| keys[draw.below(keys.len())]);
    match kind {
        0 => match any(draw) {
            Some(key) => {
                let record = stored.records.get_mut(&key).expect("it was listed");
                format!("record {key}: {}", flip(record, draw))
            }
            None => "no record".into(),
        },
        1 => match near_the_end(draw) {
            Some(key) => {
                let record = stored.records.get_mut(&key).expect("it was listed");
                record.truncate(draw.below(record.len()));
                format!("record {key} torn")
            }
            None => "no record".into(),
        },
        2 => match any(draw) {
            Some(key) => {
                stored.records.remove(&key);
                format!("record {key} lost")
            }
            None => "no record".into(),
        },
        3 => match near_the_end(draw) {
            Some(key) => {
                stored.records.split_off(&key);
                format!("records from {key} on lost")
            }
            None => "no record".into(),
        },
        4 => match (any(draw), any(draw)) {
            (Some(from), Some(to)) => {
                let record = stored.records[&from].clone();
                stored.records.insert(to, record);
                format!("record {from} written to {to}")
            }
            _ => "no record".into(),
        },
        5 if !stored.snapshots.is_empty() => {
            let number = draw.below(stored.snapshots.len());
            let snapshot = &mut stored.snapshots[number];
            format!("snapshot {number}: {}", flip(snapshot, draw))
        }
        6 if !stored.snapshots.is_empty() => {
            stored.snapshots.remove(0);
            "the newest snapshot lost".into()
        }
        7 if draw.below(2) == 0 => {
            stored.marks.clear();
            "marks lost".into()
        }
        5..STALE_MARK => format!("marks: {}", flip(&mut stored.marks, draw)),
        _ => {
            // The newest mark did not reach the disk.
            stored.marks.copy_within(..SLOT_BYTES, SLOT_BYTES);
            "the newest mark lost".into()
        }
    }
}

fn flip(bytes: &mut [u8], draw: &mut Draw) -> String {
    let (byte, bit) = (draw.below(bytes.len()), draw.below(8));
    match bytes.get_mut(byte) {
        Some(found) => {
            *found ^= 1 << bit;
            format!("bit {bit} of byte {byte} flipped")
        }
        None => "empty".into(),
    }
}
