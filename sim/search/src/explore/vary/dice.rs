//! Random draws for variations, with a record of what was drawn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use chat_types::Span;

use sim_model::draw::{Actor, Draw, Quantiles, Ratio, Shape};

/// A generator, and the record of its draws.
pub(super) struct Dice {
    draw: Draw,
    pub(super) drew: Vec<String>,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed, Actor::Vary),
            drew: Vec::new(),
        }
    }

    /// True one time in `n`.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.draw.below(n) == 0
    }

    /// True half of the time.
    pub(super) fn coin(&mut self) -> bool {
        self.one_in(2)
    }

    /// A number from `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u32, high: u32) -> u32 {
        let width = u64::from(high.saturating_sub(low)) + 1;
        low + u32::try_from(self.draw.below(width)).unwrap_or(0)
    }

    /// One of these, with equal probability.
    pub(super) fn pick<T: Clone>(&mut self, those: &[T]) -> T {
        those[self.index(those.len())].clone()
    }

    /// One of the parts of this list, which stand between slashes.
    pub(super) fn part<'t>(&mut self, list: &'t str) -> &'t str {
        let parts: Vec<&str> = list.split('/').collect();
        self.pick(&parts)
    }

    /// One of these numbers of milliseconds.
    pub(super) fn ms(&mut self, those: &[u64]) -> Span {
        Span::millis(self.pick(those))
    }

    /// Its own duration, or one of these numbers of milliseconds.
    pub(super) fn own_or_ms(&mut self, own: Span, those: &[u64]) -> Span {
        let drawn = self.index(those.len() + 1).checked_sub(1);
        drawn.map_or(own, |drawn| Span::millis(those[drawn]))
    }

    /// An index below `length`, which must not be 0.
    pub(super) fn index(&mut self, length: usize) -> usize {
        self.draw.index(length)
    }

    /// One of these durations, or a slightly different one: races lie at the edges.
    pub(super) fn around(&mut self, those: &[Span]) -> Span {
        let about = self.pick(those).0;
        let off = self.draw.below(about / 8 + 2_000);
        let near = match self.coin() {
            true => about.saturating_add(off),
            false => about.saturating_sub(off),
        };
        // Scenarios are written in whole milliseconds.
        Span(match self.draw.below(3) {
            0 => about,
            1 => near,
            _ => self.draw.below(about * 2),
        })
        .max(Span::millis(1))
    }

    /// A time before `end`, in whole milliseconds, as scenarios are written.
    pub(super) fn before(&mut self, end: Span) -> Span {
        Span::millis(Span(self.draw.below(end.0)).as_millis())
    }

    /// Records what was drawn.
    pub(super) fn say(&mut self, what: impl Into<String>) {
        self.drew.push(what.into());
    }
}

/// The ratio `over/under`.
pub(super) fn ratio(over: u32, under: u32) -> Ratio {
    Ratio::new(over, under).unwrap_or_default()
}

/// The distribution of this shape. Making a table takes longer than many runs. Variations draw from
/// a short list of shapes, so each table is made once.
pub(super) fn table(shape: Shape) -> Arc<Quantiles> {
    static TABLES: Mutex<BTreeMap<(u64, u64), Arc<Quantiles>>> = Mutex::new(BTreeMap::new());
    let Shape::Lognormal { p50, p99 } = shape else {
        return Arc::new(Quantiles::new(shape));
    };
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    let table = tables.entry((p50, p99));
    Arc::clone(table.or_insert_with(|| Arc::new(Quantiles::new(shape))))
}

/// The written form of a distribution.
pub(super) fn written(shape: Shape) -> String {
    match shape {
        Shape::Fixed(value) => Span(value).to_string(),
        Shape::Uniform(low, high) => format!("{}–{}", Span(low), Span(high)),
        Shape::Lognormal { p50, p99 } => format!("{}/{}", Span(p50), Span(p99)),
        Shape::Exponential { mean } => format!("mean {}", Span(mean)),
    }
}
