//! Damage that a scenario plans: a stored file suffers it while the server runs, and the next
//! recovery reads it, unless the server has replaced or deleted the file by then.

use std::collections::btree_map::Keys;
use std::convert::Infallible;

use chat_core::{Hub, Node, Position};
use chat_journal::{Damage, Files, Loss, Mark, Recovered, RecoveryError, recover};
use chat_types::{Config, Continuity, LastNumbers, Time, mix};
use sim_model::draw::{Actor, Draw};
use sim_model::plan::{Harm, Stored};
use sim_model::server::JournalState;

use super::{Disk, distance};

/// The damage of one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strike {
    what: Harm,
    of: Stored,
    /// The file: the position of a record's first entry, of a snapshot, or of the newest mark.
    file: Position,
    /// The place in the file.
    place: usize,
}

/// A refused start.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The sentence of the refusal.
    pub(crate) why: String,
    /// The state before the first entry that the damage took.
    pub(crate) whole: JournalState,
    /// The state of the second start after an accepted loss, and the numbers behind which it goes
    /// on; none if it is refused.
    pub(crate) accepted: Option<(JournalState, LastNumbers)>,
}

impl Disk {
    /// Damages one file of this kind. Returns the damage in words; none if there is no such file.
    pub(crate) fn damage(&mut self, seed: u64, what: Harm, of: Stored) -> Option<String> {
        // Other faults do not change the draw.
        let key = mix(mix(seed, self.end().0), self.strikes.len() as u64);
        let mut draw = Draw::new(key, Actor::Faults);
        let files = self.files_of(of);
        // Half of the damage is to what was written last.
        let late = files.len().min(4);
        let among = match draw.below(2) {
            0 => late,
            _ => files.len(),
        };
        let back = draw.index(among.max(1));
        let file = *files.get(files.len().checked_sub(back + 1)?)?;
        let place = usize::try_from(draw.below(1 << 32)).unwrap_or(usize::MAX);
        let strike = Strike {
            what,
            of,
            file,
            place,
        };
        self.strikes.push(strike);
        Some(strike.words())
    }

    /// The stored files of this kind, the oldest first.
    fn files_of(&self, of: Stored) -> Vec<Position> {
        match of {
            Stored::Journal => {
                let mut first = self.base.last().next();
                let each = self.batches.iter().map(|batch| {
                    let next = Position(first.0 + batch.entries as u64);
                    std::mem::replace(&mut first, next)
                });
                each.collect()
            }
            Stored::Snapshot => {
                let mut written: Vec<Position> = self.files.snapshots.keys().copied().collect();
                written.extend(Some(self.covered).filter(|covered| *covered > self.written()));
                written
            }
            Stored::Mark => vec![self.marked],
        }
    }

    /// Replaces all files by sound copies.
    pub(crate) fn restore(&mut self) {
        self.strikes.clear();
        self.restored = Some(self.end());
    }

    /// Recovers from the damaged files, if any is damaged. Returns the damage, the digests of the
    /// last acknowledged state and of the last one, and the digest of the state that the server starts
    /// with, unless it is refused.
    pub(crate) fn start_damaged(
        &mut self,
        at: Time,
        config: &Config,
    ) -> Option<(String, [u64; 2], Result<u64, Refusal>)> {
        if self.strikes.is_empty() {
            return None;
        }
        self.bring_up_to_date(config, &mut |_, _, _| {});
        let mut files = self.files.clone();
        let strikes = std::mem::take(&mut self.strikes);
        // Files that were replaced since are sound.
        let hit = |strike: &Strike| strike.hit(&mut files, self.marked);
        self.strikes = strikes.into_iter().filter(hit).collect();
        if files == self.files {
            return None;
        }
        let owed = [self.marked, self.end()].map(|at| self.state_at(at, config).digest);
        let start = match self.try_recover(&mut files.clone(), config, Loss::Refused) {
            // An empty disk is no damaged journal, but a new one.
            Ok(_) if files.is_empty() => Err("the disk is empty".to_owned()),
            Ok(recovered) => Ok(recovered.hub.digest()),
            Err(why) => Err(why.to_string()),
        };
        let start = start.map_err(|why| Refusal {
            why,
            whole: self.state_at(self.whole_to(&files), config),
            accepted: self.accept_loss(files, (at, config)),
        });
        let words: Vec<String> = self.strikes.iter().map(Strike::words).collect();
        if start.is_ok() {
            // A server that starts writes both marks.
            self.strikes.retain(|strike| strike.of != Stored::Mark);
        }
        Some((words.join("; "), owed, start))
    }

    /// Drops the entries to which no answer has left, because their record is lost.
    pub(crate) fn drop_unmarked(&mut self) {
        let kept = distance(self.base.last(), self.marked);
        self.entries.truncate(kept);
        self.decided.truncate(kept);
        let marked = self.marked;
        let is_kept = |batch: &super::Batch| batch.after.is_none_or(|end| end.last() <= marked);
        self.batches.retain(is_kept);
        self.files.records.split_off(&marked.next());
        let is_kept = |strike: &Strike| strike.of != Stored::Journal || strike.file <= marked;
        self.strikes.retain(is_kept);
    }

    /// The last position before the first damaged record, from the newest sound snapshot on.
    fn whole_to(&self, damaged: &Files<Vec<u8>>) -> Position {
        let sound = |(position, file): &(&Position, &Vec<u8>)| {
            damaged.snapshots.get(position) == Some(file)
        };
        let newest = self.files.snapshots.iter().rfind(sound);
        let mut last = newest.map_or(Position(0), |(position, _)| *position);
        for end in self.ends().map(|end| end.last()) {
            let record = self.files.records.get(&last.next());
            if end > last && record.is_some() && damaged.records.get(&last.next()) == record {
                last = end;
            }
        }
        last
    }

    /// The state of the undamaged journal at the end of one of its records.
    fn state_at(&self, position: Position, config: &Config) -> JournalState {
        let hub = if position == Position(0) {
            Hub::new(config.clone(), self.origin.seed)
        } else {
            let mut files = self.cut_to(position);
            files.snapshots.split_off(&position.next());
            self.read(&mut files, config, &mut |_, _, _| {}).hub
        };
        state_of(&hub)
    }

    /// Accepts the loss, cuts the journal as the server does, and starts a second time.
    fn accept_loss(
        &self,
        mut files: Files<Vec<u8>>,
        (at, config): (Time, &Config),
    ) -> Option<(JournalState, LastNumbers)> {
        let accepted = self.try_recover(&mut files, config, Loss::Accepted).ok()?;
        if let Some(cut) = accepted.cut {
            files.records.split_off(&cut);
            files.snapshots.split_off(&cut);
        }
        files.marks = Mark::at(&accepted.chain).file();
        let again = self.try_recover(&mut files, config, Loss::Refused).ok()?;
        let state = state_of(&again.hub);
        let (hub, seed) = (again.hub, self.origin.seed);
        let mut node = Node::with_journal(hub, config.clone(), seed, Continuity::Broken);
        // An empty journal begins with two entries, and a batch may hold one.
        while node.poll_batch(at).is_some() {
            node.committed(node.hub().position().next(), at, at);
        }
        Some((state, node.hub().last_numbers()))
    }

    /// Recovers from other files than its own.
    pub(super) fn try_recover(
        &self,
        files: &mut Files<Vec<u8>>,
        config: &Config,
        loss: Loss,
    ) -> Result<Recovered, RecoveryError<Infallible>> {
        let look = &mut |_: &Hub, _, _: &_, _: &_| {};
        recover(files, &self.origin, config, loss, look)
    }
}

impl Strike {
    fn words(&self) -> String {
        let Position(at) = self.file;
        let file = match self.of {
            Stored::Journal => format!("record {at}"),
            Stored::Snapshot => format!("snapshot {at}"),
            Stored::Mark => format!("marks at {at}"),
        };
        match self.what {
            Harm::Flip => format!("{file}: a bit flipped"),
            Harm::Tear => format!("{file} torn"),
            Harm::Lose => format!("{file} lost"),
        }
    }

    /// Damages the file if it is still there. `marked` is the position of the newest mark.
    fn hit(&self, files: &mut Files<Vec<u8>>, marked: Position) -> bool {
        let number = |mut keys: Keys<'_, Position, Vec<u8>>| keys.position(|key| *key == self.file);
        let which = match self.of {
            Stored::Journal => number(files.records.keys()),
            Stored::Snapshot => number(files.snapshots.keys()),
            // The server writes both marks anew.
            Stored::Mark => Some(0).filter(|_| self.file == marked),
        };
        let Some(which) = which else {
            return false;
        };
        let (bit, length, slot) = (self.place, self.place, self.place);
        files.suffer(&match (self.of, self.what) {
            (Stored::Journal, Harm::Flip) => Damage::FlipRecord { which, bit },
            (Stored::Journal, Harm::Tear) => Damage::CutRecord { which, length },
            (Stored::Journal, Harm::Lose) => Damage::LoseRecord { which },
            (Stored::Snapshot, Harm::Flip) => Damage::FlipSnapshot { which, bit },
            (Stored::Snapshot, Harm::Tear) => Damage::CutSnapshot { which, length },
            (Stored::Snapshot, Harm::Lose) => Damage::LoseSnapshot { which },
            (Stored::Mark, Harm::Flip) => Damage::FlipMark { bit },
            (Stored::Mark, Harm::Tear) => Damage::LoseMark { slot },
            (Stored::Mark, Harm::Lose) => Damage::LoseMarks,
        });
        true
    }
}

fn state_of(hub: &Hub) -> JournalState {
    JournalState {
        position: hub.position().0,
        digest: hub.digest(),
    }
}
