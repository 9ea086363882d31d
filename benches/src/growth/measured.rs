//! What is measured: commands, participants, rooms, idle streams, journalled calls.

use benches::commands::{self, Kind};
use benches::crowd::{Crowd, Pace, by_newcomer, enter, newcomer, secret};
use benches::journalled::Journalled;
use benches::mixed::Mix;
use chat_core::config::Matching;
use chat_core::{Call, Command, Entry, Reader};

use crate::{Meter, in_use};

/// Of what comes one after another, so many at the end are measured.
const LAST: usize = 10_000;

/// Commands of the mix, for each round.
const DRAWN: usize = 1_000;

/// Everything, where there are so many participants.
pub(super) fn all(size: usize, meter: &mut dyn Meter) {
    for matching in [Matching::Fifo, Matching::Interests] {
        let kinds = commands::ALL.iter();
        let kinds: Vec<&Kind> = kinds.filter(|kind| kind.matching() == matching).collect();
        let mut crowd = Crowd::new(size, matching, Pace::Still);
        for kind in kinds {
            command(kind, &mut crowd, meter);
        }
    }
    mixed(size, meter);
    journalled(size, meter);
    one_by_one(size, meter);
}

fn command(kind: &Kind, crowd: &mut Crowd, meter: &mut dyn Meter) {
    // The first round is left out: what grows at first use grows in it.
    for round in 0..=meter.rounds() {
        let entries = kind.prepare(crowd);
        let mut tally = None;
        let mut work = || tally = Some(crowd.handle(&entries));
        if round == 0 {
            work();
        } else {
            meter.measure(kind.name, entries.len() as u64, &mut work);
        }
        kind.restore(crowd, tally.unwrap_or_default());
    }
}

fn mixed(size: usize, meter: &mut dyn Meter) {
    let mut crowd = Crowd::new(size, Matching::Fifo, Pace::Lively);
    let mut mix = Mix::default();
    mix.settle(&mut crowd);
    for _ in 0..meter.rounds().max(8) {
        let entries = mix.draw(&crowd, DRAWN);
        meter.measure("mixed", entries.len() as u64, &mut || {
            crowd.handle(&entries);
        });
    }
}

fn journalled(size: usize, meter: &mut dyn Meter) {
    let (mut journalled, calls) = Journalled::new(size, LAST);
    for _ in 0..meter.rounds().min(5) {
        let mut again = calls.clone();
        meter.measure("journalled", calls.len() as u64, &mut || {
            journalled.make(std::mem::take(&mut again));
        });
    }
}

/// So many arrive, pair up, and open a stream each.
fn one_by_one(size: usize, meter: &mut dyn Meter) {
    let numbers = || 0..size as u64;
    let mut crowd = Crowd::empty(size, Matching::Fifo, Pace::Still);
    let arrive = |n| newcomer(5, n, Command::Arrive);
    let arrivals: Vec<Entry> = numbers().map(arrive).collect();
    handle(&mut crowd, "participant", &arrivals, 1, meter);
    drop(arrivals);
    let pair = |n| by_newcomer(5, n, enter("anything"));
    let pairs: Vec<Entry> = numbers().map(pair).collect();
    handle(&mut crowd, "room", &pairs, 2, meter);
    drop(pairs);

    let mut journalled = Journalled::of(crowd);
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
    meter.measure("stream", last.len() as u64, &mut || {
        journalled.make(std::mem::take(&mut last));
    });
    drop(last);
    assert_eq!(journalled.node().load().streams, size, "all are open");
    meter.stay("stream", size as u64, before);
}

/// Has a crowd handle all of these, of which so many make one of what is measured.
fn handle(
    crowd: &mut Crowd,
    what: &'static str,
    entries: &[Entry],
    each: u64,
    meter: &mut dyn Meter,
) {
    let before = in_use();
    let (first, last) = entries.split_at(entries.len() - LAST.min(entries.len() / 10));
    let tally = crowd.handle(first);
    assert_eq!(tally.refused, 0, "{what}");
    meter.measure(what, last.len() as u64 / each, &mut || {
        crowd.handle(last);
    });
    meter.stay(what, entries.len() as u64 / each, before);
}
