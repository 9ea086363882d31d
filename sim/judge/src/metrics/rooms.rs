//! Measurements by room: of those with the longest latencies, and of all others together.

use std::collections::BTreeMap;

use super::MICROS;
use super::Sample;
use sim_model::outcome::{BriefResult, RoomResult};
use sim_model::plan::Metric;
use sim_model::protocol::Room;

/// The most rooms with figures of their own.
const SHOWN: usize = 10;

/// The most rooms of one run that are measured apart.
const MEASURED: usize = 1 << 16;

/// The count, the sum and the largest of some values.
#[derive(Clone, Copy, Debug, Default)]
struct Brief {
    count: u64,
    sum: u64,
    max: u64,
}

impl Brief {
    fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    fn result(self) -> Option<BriefResult> {
        (self.count > 0).then(|| BriefResult {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 / MICROS,
            max: self.max as f64 / MICROS,
        })
    }
}

/// The measurements of one room.
#[derive(Clone, Copy, Debug, Default)]
struct OfRoom {
    refused: u64,
    message: Brief,
    stick: Brief,
}

impl OfRoom {
    fn merge(&mut self, other: Self) {
        self.refused += other.refused;
        self.message.merge(other.message);
        self.stick.merge(other.stick);
    }

    const fn is_empty(&self) -> bool {
        self.refused == 0 && self.message.count == 0 && self.stick.count == 0
    }

    /// What makes a room worse than another.
    const fn badness(&self) -> (u64, u64, u64) {
        (self.message.max, self.stick.max, self.refused)
    }

    fn result(self, name: String) -> RoomResult {
        let metrics = [
            (Metric::MessageLatency, self.message),
            (Metric::StickWait, self.stick),
        ];
        let metrics = metrics.into_iter();
        RoomResult {
            name,
            refused: self.refused,
            metrics: metrics
                .filter_map(|(what, brief)| Some((what.name().to_owned(), brief.result()?)))
                .collect::<BTreeMap<_, _>>(),
        }
    }
}

/// The measurements by room.
#[derive(Clone, Debug, Default)]
pub(super) struct Rooms {
    /// The rooms of the run that goes on, by number.
    running: Vec<OfRoom>,
    /// The worst rooms of ended runs, with their seeds; the worst first.
    worst: Vec<(u64, Room, OfRoom)>,
    /// All others.
    others: OfRoom,
    /// The number of ended runs.
    runs: u64,
}

impl Rooms {
    fn of(&mut self, room: Option<Room>) -> &mut OfRoom {
        let Some(place) = room.and_then(|Room(room)| usize::try_from(room).ok()) else {
            return &mut self.others;
        };
        if place >= MEASURED {
            return &mut self.others;
        }
        if place >= self.running.len() {
            self.running.resize(place + 1, OfRoom::default());
        }
        &mut self.running[place]
    }

    pub(super) fn add(&mut self, sample: Sample) {
        let of = if sample.what == Metric::MessageLatency {
            &mut self.of(sample.room).message
        } else if sample.what == Metric::StickWait {
            &mut self.of(sample.room).stick
        } else {
            return;
        };
        of.merge(Brief {
            count: 1,
            sum: sample.took,
            max: sample.took,
        });
    }

    pub(super) fn refuse(&mut self, room: Option<Room>) {
        self.of(room).refused += 1;
    }

    pub(super) fn end(&mut self, seed: u64) {
        let rooms = std::mem::take(&mut self.running);
        for (number, of) in (0..).zip(rooms).filter(|(_, of)| !of.is_empty()) {
            self.worst.push((seed, Room(number), of));
        }
        self.runs += 1;
        self.cut();
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.worst.extend(&other.worst);
        self.others.merge(other.others);
        self.runs += other.runs;
        self.cut();
    }

    /// Counts all but the worst rooms together.
    fn cut(&mut self) {
        // A stable sort: of equal ones, the first seed and room.
        self.worst
            .sort_by_key(|(_, _, of)| std::cmp::Reverse(of.badness()));
        for (_, _, of) in self.worst.drain(SHOWN.min(self.worst.len())..) {
            self.others.merge(of);
        }
    }

    pub(super) fn results(&self) -> Vec<RoomResult> {
        let mut results = Vec::new();
        for (seed, Room(room), of) in &self.worst {
            let name = match self.runs {
                0 | 1 => format!("room_{room}"),
                _ => format!("room_{room} of seed {seed}"),
            };
            results.push(of.result(name));
        }
        if !self.others.is_empty() {
            results.push(self.others.result("others".to_owned()));
        }
        results
    }
}
