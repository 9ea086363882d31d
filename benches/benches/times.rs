//! Times one command, one call and the virtual world by criterion; the first two with more and more
//! participants. Times need an idle machine, and are comparable only with one another. `cargo xtask bench`
//! counts instructions instead, and `cargo xtask load` measures requests to the real server.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::commands::{self, Kind};
use benches::journalled::Journalled;
use benches::mixed::Mix;
use benches::population::{Pace, Population};
use benches::worlds;
use chat_core::config::Matching;
use criterion::{Criterion, Throughput};

/// The allocator of the simulator and of the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The numbers of participants.
const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];

fn main() {
    // Enough to notice a factor of two. Instruction counts show smaller differences.
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(400))
        .without_plots()
        .configure_from_args();
    for size in SIZES {
        each_command(&mut criterion, size);
        mixed(&mut criterion, size);
        node(&mut criterion, size);
    }
    world(&mut criterion);
    criterion.final_summary();
}

/// The time of one command of each kind. Kinds with the same matching share a population.
fn each_command(criterion: &mut Criterion, size: usize) {
    let mut group = criterion.benchmark_group(format!("core/{size}"));
    let mut populations: BTreeMap<bool, Population> = BTreeMap::new();
    for kind in commands::ALL {
        let by_arrival = kind.matching == Matching::Fifo;
        group.bench_function(kind.name, |bencher| {
            let population = populations
                .entry(by_arrival)
                .or_insert_with(|| kind.population(size));
            bencher.iter_custom(|times| timed(times, || one(kind, population)));
        });
    }
    group.finish();
}

/// The time of `times` commands, by rounds that return their time and their number.
fn timed(times: u64, mut round: impl FnMut() -> (Duration, u64)) -> Duration {
    let (mut took, mut done) = (Duration::ZERO, 0);
    while done < times {
        let (more, count) = round();
        took += more;
        done += count;
    }
    took.mul_f64(times as f64 / done as f64)
}

/// The time and the number of one round of commands of a kind, without preparation and restoration.
fn one(kind: &Kind, population: &mut Population) -> (Duration, u64) {
    let entries = kind.prepare(population);
    let began = Instant::now();
    let tally = population.handle(black_box(&entries));
    let took = began.elapsed();
    assert_eq!(tally.refused, 0, "{} is refused", kind.name);
    kind.restore(population);
    (took, tally.accepted)
}

/// The time of one command of the mix.
fn mixed(criterion: &mut Criterion, size: usize) {
    let mut ready = None;
    criterion.bench_function(&format!("mixed/{size}"), |bencher| {
        let (population, mix) = ready.get_or_insert_with(|| {
            let mut population = Population::new(size, Matching::Fifo, Pace::Lively);
            let mut mix = Mix::default();
            mix.settle(&mut population);
            (population, mix)
        });
        let mut round = || {
            let entries = mix.draw(population, 1_000);
            let began = Instant::now();
            let tally = population.handle(black_box(&entries));
            (began.elapsed(), tally.accepted + tally.refused)
        };
        bencher.iter_custom(|times| timed(times, &mut round));
    });
}

/// The time of one call through a node, in batches.
fn node(criterion: &mut Criterion, size: usize) {
    let mut ready = None;
    criterion.bench_function(&format!("node/{size}"), |bencher| {
        let (journalled, calls) = ready.get_or_insert_with(|| Journalled::new(size, 10_000));
        let mut round = || {
            let calls = calls.clone();
            let began = Instant::now();
            let tally = journalled.make(black_box(calls));
            (began.elapsed(), tally.accepted + tally.refused)
        };
        bencher.iter_custom(|times| timed(times, &mut round));
    });
}

/// The time of the virtual world, with its steps each second.
fn world(criterion: &mut Criterion) {
    let plan = worlds::chat(10);
    let mut group = criterion.benchmark_group("sim");
    group.throughput(Throughput::Elements(worlds::run(&plan)));
    group.bench_function("world", |bencher| {
        bencher.iter(|| worlds::run(black_box(&plan)))
    });
    group.finish();
}
