//! After each crash, a second recovery reads a copy that a bad disk would have left. It is refused,
//! or its state is the one of the undamaged files.

use chat_journal::{Damage, Files, Loss, SLOT_BYTES};
use chat_types::Config;
use sim_model::draw::{Actor, Draw};

use super::{Disk, NEWER_MARK};

impl Disk {
    /// Damages the files in one or two places, and recovers. The damage is drawn from the digest. Returns
    /// the damage, and the digest of the recovered state; none if the recovery was refused.
    pub(super) fn recover_damaged(
        &self,
        config: &Config,
        mut files: Files<Vec<u8>>,
        digest: u64,
    ) -> (String, Option<u64>) {
        let mut draw = Draw::new(digest, Actor::Faults);
        let first = damage(&files, &mut draw);
        files.suffer(&first);
        let mut what = first.to_string();
        let second = damage(&files, &mut draw);
        // A mark may be stale after a loss of power, which looks like a mark whose record is lost.
        let is_stale = |damage: &Damage| matches!(damage, Damage::StaleMark { .. });
        if draw.below(2) == 0 && !is_stale(&first) && !is_stale(&second) {
            files.suffer(&second);
            what = format!("{what}; {second}");
        }
        // An empty disk is no damaged journal, but a new one.
        if files.is_empty() {
            return (what, None);
        }
        let recovered = self.try_recover(&mut files, config, Loss::Refused);
        (what, recovered.ok().map(|it| it.hub.digest()))
    }
}

/// Draws damage to one file or record.
fn damage(files: &Files<Vec<u8>>, draw: &mut Draw) -> Damage {
    let mut below = |limit: usize| draw.index(limit.max(1));
    let records = files.records.len();
    let snapshots = files.snapshots.len();
    // What was written last has the most to lose.
    let late = |below: &mut dyn FnMut(usize) -> usize| records.saturating_sub(1 + below(4));
    let size = |bytes: Option<&Vec<u8>>| bytes.map_or(0, Vec::len);
    match below(10) {
        0 => {
            let which = below(records);
            let bytes = size(files.records.values().nth(which));
            let bit = below(8 * bytes);
            Damage::FlipRecord { which, bit }
        }
        1 => {
            let which = late(&mut below);
            let length = below(size(files.records.values().nth(which)));
            Damage::CutRecord { which, length }
        }
        2 => Damage::LoseRecord {
            which: below(records),
        },
        3 => Damage::LoseEnd {
            from: late(&mut below),
        },
        4 => Damage::Misdirect {
            which: below(records),
            to: below(records),
        },
        5 if snapshots > 0 => {
            let which = below(snapshots);
            let bytes = size(files.snapshots.values().nth(which));
            let bit = below(8 * bytes);
            Damage::FlipSnapshot { which, bit }
        }
        6 if snapshots > 0 => Damage::LoseSnapshot {
            which: snapshots - 1,
        },
        7 => Damage::LoseMarks,
        8 => Damage::StaleMark { slot: NEWER_MARK },
        _ => Damage::FlipMark {
            bit: below(2 * 8 * SLOT_BYTES),
        },
    }
}
