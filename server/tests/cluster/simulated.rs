//! The users of the simulator at the doors of a cluster, while the nemesis acts: they move from
//! member to member, and every property holds.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::draw::Draw;
use crate::fault::plan;
use crate::members::Members;
use crate::monitoring::whole;
use crate::nemesis::{Played, Round, lengths, setting};

/// The faults are drawn with this seed, unless `CLUSTER_SEED` says another one.
const SEED: u64 = 5;

/// The largest number of faults.
const ROUNDS: usize = 60;

/// What the simulator's exit says: everything held, or only a threshold of a quiet day was crossed.
const HELD: [Option<i32>; 2] = [Some(0), Some(99)];

const PROTOCOLS: [&str; 3] = ["2026-07-28", "2025-11-25", "http"];

/// The simulator, which `cargo xtask` builds.
fn simulator() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_talking-stick")).with_file_name("sim");
    std::env::var_os("CLUSTER_SIM").map_or(beside, PathBuf::from)
}

/// The scenario: a minute at the pace of real agents, or a few seconds in the check.
fn scenario() -> PathBuf {
    let name = match std::env::var_os("CLUSTER_ROUNDS") {
        Some(_) => "steady.yaml",
        None => "brief.yaml",
    };
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(name)
}

/// A simulator that ends with the test.
struct Simulator(Child);

impl Drop for Simulator {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[ignore = "needs nats-server: `cargo xtask test --only cluster`"]
fn nemesis_and_the_users_of_the_simulator() {
    let seed = setting("CLUSTER_SEED", SEED);
    let mut draw = Draw(seed);
    let protocol = draw.one_of(&PROTOCOLS);
    let mut members = Members::start_for_simulator();
    members.owner();
    let doors = (0..members.count()).map(|number| format!("http://{}", members.address(number)));
    let doors: Vec<_> = doors.collect();
    let program = simulator();
    println!("seed {seed}, {protocol}: {}", scenario().display());
    let child = Command::new(&program)
        .arg(scenario())
        .args(["--target", &doors.join(","), "--protocol", protocol])
        .stdin(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}; build it", program.display()));
    let mut simulator = Simulator(child);
    for (number, fault) in plan(ROUNDS, &mut draw).into_iter().enumerate() {
        if let Some(status) = simulator.0.try_wait().expect("it is a child") {
            assert!(HELD.contains(&status.code()), "seed {seed}: {status}");
            return;
        }
        let length = Duration::from_millis(draw.one_of(lengths()));
        let round = Round {
            number,
            members: &mut members,
            draw: &mut draw,
            length,
        };
        let Played { more, .. } = round.play(fault);
        println!("  {fault} {more}");
        whole(&members.servers);
        members.owner();
    }
    let status = simulator.0.wait().expect("it is a child");
    assert!(HELD.contains(&status.code()), "seed {seed}: {status}");
}
