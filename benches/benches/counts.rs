//! Instructions, counted by valgrind: the same build comes to the same counts again, on a busy
//! machine as on an idle one. `cargo xtask bench` compares them with `benches/baseline.json`.
//!
//! Counted is only what happens inside the one function that each group names; making things
//! ready is not.

#![expect(
    missing_docs,
    reason = "gungraun makes modules of its own, which nobody reads"
)]

use std::hint::black_box;

use benches::commands::Kind;
use benches::crowd::{Crowd, Pace, Tally};
use benches::journalled::{Journalled, Outputs};
use benches::mixed::Mix;
use benches::worlds;
use chat_core::config::Matching;
use chat_core::{Call, Entry};
use gungraun::prelude::*;
use gungraun::{Callgrind, EntryPoint};
use sim_model::plan::Plan;

/// That of the simulator and of the server. It comes with the program, so that the machine's own
/// does not show in the counts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many participants there are while commands are counted.
const PARTICIPANTS: usize = 1_000;

/// How many commands of the mix are drawn at once, and how often.
const DRAWN: usize = 125;
const ROUNDS: usize = 40;

/// Counts inside this function.
fn inside(function: &str) -> LibraryBenchmarkConfig {
    let entry = EntryPoint::Custom(function.to_owned());
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(Callgrind::with_args(["--cache-sim=no"]).entry_point(entry));
    // It would give memory back after some time, which is more instructions on a slower machine.
    config.env("MIMALLOC_PURGE_DELAY", "-1");
    config
}

fn ready(name: &str) -> (Crowd, Vec<Entry>) {
    let kind = Kind::named(name);
    let mut crowd = kind.crowd(PARTICIPANTS);
    // The second round is as all later ones: what grows at first use has grown.
    let entries = kind.prepare(&mut crowd);
    let tally = carry_out(&mut crowd, &entries);
    kind.restore(&mut crowd, tally);
    let entries = kind.prepare(&mut crowd);
    (crowd, entries)
}

/// Handles entries, and is not counted.
fn carry_out(crowd: &mut Crowd, entries: &[Entry]) -> Tally {
    let mut tally = Tally::default();
    for entry in entries {
        crowd.carry_out(entry);
        tally.accepted += 1;
    }
    tally
}

#[library_benchmark(setup = ready)]
#[bench::enter_queue("enter_queue")]
#[bench::enter_queue_by_interests("enter_queue_by_interests")]
#[bench::leave_queue("leave_queue")]
#[bench::register("register")]
#[bench::arrive("arrive")]
#[bench::unregister("unregister")]
#[bench::login("login")]
#[bench::leave_room("leave_room")]
#[bench::leave_chat("leave_chat")]
#[bench::send_message("send_message")]
#[bench::talking_stick("talking_stick")]
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
fn command((mut crowd, entries): (Crowd, Vec<Entry>)) -> (Crowd, Tally) {
    let tally = crowd.handle(black_box(&entries));
    assert_eq!(tally.refused, 0, "what is counted is what is done");
    (crowd, tally)
}

fn lively(size: usize) -> Crowd {
    Crowd::new(size, Matching::Fifo, Pace::Lively)
}

#[library_benchmark(setup = lively)]
#[bench::of_1_000(1_000)]
#[bench::of_10_000(10_000)]
fn mixed(mut crowd: Crowd) -> Crowd {
    let mut mix = Mix::default();
    for _ in 0..ROUNDS {
        let entries = mix.draw(&crowd, DRAWN);
        crowd.handle(black_box(&entries));
    }
    crowd
}

fn journalled() -> (Journalled, Vec<Call>) {
    Journalled::new(8_000, 1_000)
}

#[library_benchmark(setup = journalled)]
fn node((mut journalled, calls): (Journalled, Vec<Call>)) -> (Journalled, Outputs) {
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
    config = inside("benches::crowd::handle_all"),
    benchmarks = [command, mixed]
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

main!(library_benchmark_groups = [core, through, virtually, reading]);
