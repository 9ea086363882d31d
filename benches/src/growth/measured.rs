//! The measured operations: commands, participants, rooms, idle streams, journalled calls.

use benches::commands::{self, Kind};
use benches::journalled::Journalled;
use benches::mixed::Mix;
use benches::population::{Pace, Population, a_break, by_newcomer, enter, newcomer, secret};
use chat_core::config::Matching;
use chat_core::{Call, Entry, Reader};

use crate::meter::{Meter, in_use};

/// Of a sequence of arrivals, the number at its end that is measured.
const LAST: usize = 10_000;

/// The number of commands drawn from the mix for each round.
const DRAWN: usize = 1_000;

/// Measures all operations with `size` participants.
pub(super) fn all(size: usize, meter: &mut Meter) {
    for matching in [Matching::Fifo, Matching::Interests] {
        let mut population = Population::new(size, matching, Pace::Still);
        for kind in commands::ALL
            .iter()
            .filter(|kind| kind.matching == matching)
        {
            command(kind, &mut population, meter);
        }
    }
    mixed(size, meter);
    journalled(size, meter);
    one_by_one(size, meter);
}

fn command(kind: &Kind, population: &mut Population, meter: &mut Meter) {
    // The first round is not measured: memory that grows at first use grows in it.
    for round in 0..=meter.rounds() {
        let entries = kind.prepare(population);
        let mut tally = None;
        let mut work = || tally = Some(population.handle(&entries));
        if round == 0 {
            work();
        } else {
            meter.measure(kind.name, entries.len() as u64, work);
        }
        kind.restore(population, tally.unwrap_or_default());
    }
}

fn mixed(size: usize, meter: &mut Meter) {
    let mut population = Population::new(size, Matching::Fifo, Pace::Lively);
    let mut mix = Mix::default();
    mix.settle(&mut population);
    for _ in 0..meter.rounds().max(8) {
        let entries = mix.draw(&population, DRAWN);
        meter.measure("mixed", entries.len() as u64, || {
            population.handle(&entries);
        });
    }
}

fn journalled(size: usize, meter: &mut Meter) {
    let (mut journalled, calls) = Journalled::new(size, LAST);
    for _ in 0..meter.rounds().min(5) {
        let mut again = calls.clone();
        meter.measure("journalled", calls.len() as u64, || {
            journalled.make(std::mem::take(&mut again));
        });
    }
}

/// Participants arrive, are matched, and open a stream each.
fn one_by_one(size: usize, meter: &mut Meter) {
    let numbers = || 0..size as u64;
    let mut population = Population::empty(size, Matching::Fifo, Pace::Still);
    let arrivals: Vec<Entry> = numbers().map(|n| newcomer(5, n, a_break())).collect();
    handle(&mut population, "participant", &arrivals, 1, meter);
    drop(arrivals);
    let pair = |n| by_newcomer(5, n, enter("anything"));
    let pairs: Vec<Entry> = numbers().map(pair).collect();
    handle(&mut population, "room", &pairs, 2, meter);
    drop(pairs);

    let mut journalled = Journalled::of(population);
    let open = |n| Call::OpenStream {
        reader: Reader::Handle(secret(5, n)),
        after: None,
    };
    let before = in_use();
    let first = size - LAST.min(size / 10);
    for n in 0..first as u64 {
        journalled.make(vec![open(n)]);
    }
    let mut last: Vec<Call> = (first as u64..size as u64).map(open).collect();
    meter.measure("stream", last.len() as u64, || {
        journalled.make(std::mem::take(&mut last));
    });
    drop(last);
    assert_eq!(journalled.node().load().streams, size, "all are open");
    meter.stay("stream", size as u64, before);
}

/// Measures how a population handles these entries, of which `each` form one operation.
fn handle(
    population: &mut Population,
    what: &'static str,
    entries: &[Entry],
    each: u64,
    meter: &mut Meter,
) {
    let before = in_use();
    let (first, last) = entries.split_at(entries.len() - LAST.min(entries.len() / 10));
    let tally = population.handle(first);
    assert_eq!(tally.refused, 0, "{what}");
    meter.measure(what, last.len() as u64 / each, || {
        population.handle(last);
    });
    meter.stay(what, entries.len() as u64 / each, before);
}
