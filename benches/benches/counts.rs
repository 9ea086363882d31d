//! Counts instructions by valgrind. One build gives the same counts on a busy machine as on an idle
//! one. `cargo xtask bench` compares them with `benches/baseline.json`.
//!
//! Only the one function that each group names is counted, and no preparation.

#![expect(
    missing_docs,
    reason = "gungraun makes modules of its own, which nobody reads"
)]

use std::hint::black_box;

use benches::commands::Kind;
use benches::journalled::Journalled;
use benches::listing;
use benches::mixed::Mix;
use benches::population::{Pace, Population, Tally};
use benches::worlds;
use chat_core::config::Matching;
use chat_core::{Call, Entry, Hub, RoomId};
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint};
use sim_model::plan::Plan;

/// The allocator of the simulator and of the server. It is part of the program, so that the
/// machine's allocator does not affect the counts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of participants while commands are counted.
const PARTICIPANTS: usize = 1_000;

/// The number of commands drawn from the mix at once, and the number of draws.
const DRAWN: usize = 125;
const ROUNDS: usize = 40;

/// Counts inside this function only.
fn inside(function: &str) -> LibraryBenchmarkConfig {
    let entry = EntryPoint::Custom(function.to_owned());
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::with_args(["--cache-sim=no"]).entry_point(entry));
    // Without this, the allocator returns memory after some time, which adds instructions on slow
    // machines.
    config.env("MIMALLOC_PURGE_DELAY", "-1");
    config
}

fn ready(name: &str) -> (Population, Vec<Entry>) {
    let kind = Kind::named(name);
    let mut population = kind.population(PARTICIPANTS);
    // The second round equals all later ones: memory that grows at first use has grown.
    let entries = kind.prepare(&mut population);
    // Outside of the counted function.
    for entry in &entries {
        population.carry_out(entry);
    }
    kind.restore(&mut population);
    let entries = kind.prepare(&mut population);
    (population, entries)
}

#[library_benchmark(setup = ready)]
#[bench::enter_queue("enter_queue")]
#[bench::enter_queue_by_interests("enter_queue_by_interests")]
#[bench::leave_queue("leave_queue")]
#[bench::register("register")]
#[bench::unregister("unregister")]
#[bench::login("login")]
#[bench::leave_room("leave_room")]
#[bench::leave_chat("leave_chat")]
#[bench::send_message("send_message")]
#[bench::talking_stick("talking_stick")]
#[bench::speak("speak")]
#[bench::append("append")]
#[bench::undo("undo")]
#[bench::push("push")]
#[bench::reset("reset")]
#[bench::typing("typing")]
#[bench::block_user("block_user")]
#[bench::unblock_user("unblock_user")]
#[bench::report_user("report_user")]
#[bench::take_break("take_break")]
#[bench::open_stream("open_stream")]
#[bench::close_stream("close_stream")]
#[bench::seen("seen")]
#[bench::read("read")]
#[bench::repeated("repeated")]
#[bench::mute("mute")]
#[bench::unmute("unmute")]
#[bench::kick("kick")]
#[bench::close_room("close_room")]
#[bench::ban_user("ban_user")]
#[bench::unban("unban")]
#[bench::mute_address("mute_address")]
#[bench::ban_address("ban_address")]
#[bench::unban_address("unban_address")]
#[bench::tick("tick")]
fn command((mut population, entries): (Population, Vec<Entry>)) -> (Population, Tally) {
    let tally = population.handle(black_box(&entries));
    assert_eq!(tally.refused, 0, "what is counted is what is done");
    (population, tally)
}

fn lively(size: usize) -> Population {
    Population::new(size, Matching::Fifo, Pace::Lively)
}

#[library_benchmark(setup = lively)]
#[bench::of_1_000(1_000)]
#[bench::of_10_000(10_000)]
fn mixed(mut population: Population) -> Population {
    let mut mix = Mix::default();
    for _ in 0..ROUNDS {
        let entries = mix.draw(&population, DRAWN);
        population.handle(black_box(&entries));
    }
    population
}

#[library_benchmark(setup = listing::room_of)]
#[bench::of_256(0)]
#[bench::of_256_behind(999)]
fn list_users((hub, room): (Hub, RoomId)) -> (Hub, usize) {
    let members = listing::list(black_box(&hub), room);
    (hub, members)
}

fn journalled() -> (Journalled, Vec<Call>) {
    Journalled::new(8_000, 1_000)
}

#[library_benchmark(setup = journalled)]
fn node((mut journalled, calls): (Journalled, Vec<Call>)) -> (Journalled, Tally) {
    let outputs = journalled.make(calls);
    (journalled, outputs)
}

fn plan() -> Plan {
    worlds::chat(2)
}

#[library_benchmark(setup = plan)]
fn world(plan: Plan) -> u64 {
    worlds::run(black_box(&plan))
}

#[library_benchmark]
fn scenario() -> Plan {
    worlds::read()
}

library_benchmark_group!(
    name = core,
    config = inside("benches::population::handle_all"),
    benchmarks = [command, mixed]
);
library_benchmark_group!(
    name = listed,
    config = inside("benches::listing::list"),
    benchmarks = list_users
);
library_benchmark_group!(
    name = through,
    config = inside("benches::journalled::Journalled::make"),
    benchmarks = node
);
library_benchmark_group!(
    name = virtually,
    config = inside("benches::worlds::run"),
    benchmarks = world
);
library_benchmark_group!(
    name = reading,
    config = inside("benches::worlds::read"),
    benchmarks = scenario
);

main!(library_benchmark_groups = [core, listed, through, virtually, reading]);
