//! Measures times by criterion: one command, one call, one step, one round trip. They need an idle
//! machine, and are comparable only with one another. `cargo xtask bench` counts instructions
//! instead.
//!
//! The round trips need the real server: `cargo build --release -p server`.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::commands::{self, Kind};
use benches::journalled::Journalled;
use benches::mixed::Mix;
use benches::population::{Pace, Population};
use benches::server::Server;
use benches::wire::{Connection, modern_call};
use benches::{Outcome, worlds};
use chat_core::config::Matching;
use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::json;

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
    if let Err(why) = round_trips(&mut criterion) {
        skip(&format!("round trips: {why}"));
    }
    criterion.final_summary();
}

#[expect(clippy::print_stderr, reason = "this is where the program speaks")]
fn skip(what: &str) {
    eprintln!("skipped {what}");
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
    kind.restore(population, tally);
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

/// The times of the world's steps, of parsing a scenario, and of shrinking a run.
fn world(criterion: &mut Criterion) {
    let plan = worlds::chat(10);
    let steps = worlds::run(&plan);
    let mut group = criterion.benchmark_group("sim");
    group.throughput(Throughput::Elements(steps));
    let world = BenchmarkId::new("world", "steps");
    group.bench_with_input(world, &plan, |bencher, plan| {
        bencher.iter(|| worlds::run(black_box(plan)));
    });
    group.throughput(Throughput::Elements(1));
    group.bench_function("scenario", |bencher| bencher.iter(worlds::read));
    group.bench_function("shrink", |bencher| bencher.iter(worlds::shrink_one));
    group.finish();
}

/// The time of a request over loopback to the real server, on one connection.
fn round_trips(criterion: &mut Criterion) -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let server = runtime.block_on(Server::start(&[]))?;
    let mut connection = runtime.block_on(Connection::open(server.address))?;
    let agent = runtime.block_on(connection.register("agent", "room"))?;
    let text = "x".repeat(commands::LENGTH);
    let least = json!({ "handle": agent.handle });
    let requests = [
        ("POST /send", agent.posts("POST /send", &text)),
        ("the least tool", modern_call("check_stress_status", least)),
        (
            "send_message",
            modern_call("send_message", agent.arguments(&text)),
        ),
    ];
    let mut group = criterion.benchmark_group("round trip");
    for (name, request) in requests {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let answer = runtime.block_on(connection.exchange(&request));
                let answer = answer.and_then(|answer| answer.json());
                black_box(answer.expect("the server answers"))
            });
        });
    }
    group.finish();
    Ok(())
}
