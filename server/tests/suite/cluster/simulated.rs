//! The users of the simulator at the doors of a cluster, with the nemesis beside them: they move from
//! member to member, and every property holds. They are judged by the journal of a member, which is
//! that of the log.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cluster::draw::Draw;
use crate::cluster::fault::{Fault, plan};
use crate::cluster::members::Members;
use crate::cluster::monitoring::whole;
use crate::cluster::nemesis::{Played, Round, lengths, setting};
use crate::process::Started;

/// The faults are drawn with this seed, unless `CLUSTER_SEED` says another one.
const SEED: u64 = 5;

/// The largest number of faults.
const ROUNDS: usize = 60;

/// What the simulator's exit says: everything held, or only a threshold of a quiet day was crossed.
const HELD: [Option<i32>; 2] = [Some(0), Some(99)];

const PROTOCOLS: [&str; 3] = ["2026-07-28", "2025-11-25", "http"];

/// The program behind `--nemesis`: it carries the lines of the nemesis, which acts in this process because
/// this one has the members, and the end of its input.
const BRIDGE: &str = "exec 3<&0; cat <&3 >\"$1/ended\" & exec cat \"$1/lines\"\n";

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

/// The pipes to the program behind `--nemesis`.
struct Bridge {
    folder: TempDir,
}

impl Bridge {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["lines", "ended"] {
            let made = Command::new("mkfifo")
                .arg(folder.path().join(name))
                .status();
            assert!(made.expect("mkfifo is there").success());
        }
        fs::write(folder.path().join("nemesis.sh"), BRIDGE).expect("room in it");
        Self { folder }
    }

    /// The command line of the program.
    fn command(&self) -> String {
        let folder = self.folder.path().display();
        format!("sh {folder}/nemesis.sh {folder}")
    }

    /// Returns where lines go, and whether the program's input has ended.
    fn open(&self) -> (File, Arc<AtomicBool>) {
        let has_ended = Arc::new(AtomicBool::new(false));
        let path = self.folder.path().join("ended");
        let ended = Arc::clone(&has_ended);
        thread::spawn(move || {
            let mut none = Vec::new();
            // A program that is gone has ended, too.
            let _ = File::open(path).and_then(|mut input| input.read_to_end(&mut none));
            ended.store(true, Ordering::Relaxed);
        });
        // One that is opened for both does not wait for the program, which may never start.
        let path = self.folder.path().join("lines");
        let lines = File::options().read(true).write(true).open(path);
        (lines.expect("a pipe"), has_ended)
    }
}

/// Makes these faults, one after another, until the input of the nemesis ends.
#[expect(clippy::print_stdout, reason = "the test says what it does")]
fn act(
    (members, draw): (&mut Members, &mut Draw),
    plan: Vec<Fault>,
    (simulator, bridge): (&Started, &Bridge),
) {
    let (mut lines, has_ended) = bridge.open();
    let is_over = || !simulator.is_running() || has_ended.load(Ordering::Relaxed);
    let mut write = |line: Value| {
        // The simulator may be gone: its exit says why.
        let _ = writeln!(lines, "{line}");
    };
    for (number, fault) in plan.into_iter().enumerate() {
        if is_over() {
            break;
        }
        let length = Duration::from_millis(draw.one_of(lengths()));
        let round = Round {
            number,
            members,
            draw,
            length,
        };
        let name = fault.to_string();
        write(json!({ "fault": name }));
        let Played { more, .. } = round.play(fault);
        println!("  {fault} {more}");
        whole(&members.servers);
        members.owner();
        write(json!({ "mended": name }));
    }
    while !is_over() {
        thread::park_timeout(Duration::from_millis(5));
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
    let (program, bridge) = (simulator(), Bridge::new());
    let result = bridge.folder.path().join("result.json");
    println!("seed {seed}, {protocol}: {}", scenario().display());
    assert!(program.exists(), "{}: build it", program.display());
    let mut command = Command::new(&program);
    command
        .arg(scenario())
        .args(["--target", &doors.join(","), "--protocol", protocol])
        .args(["--nemesis", &bridge.command()])
        .arg("--journal")
        .arg(members.data(0))
        .args(["--server", env!("CARGO_BIN_EXE_talking-stick")])
        .arg("--json")
        .arg(&result)
        .args(report())
        .stdin(Stdio::null());
    let simulator = Started::start(&mut command);
    let faults = plan(ROUNDS, &mut draw);
    act((&mut members, &mut draw), faults, (&simulator, &bridge));
    let code = simulator.exit_code();
    assert!(HELD.contains(&code), "seed {seed}: {code:?}");
    let result = fs::read(result).expect("it was written");
    let result: Value = serde_json::from_slice(&result).expect("JSON");
    let nemesis = &result["live"]["nemesis"];
    let faults = nemesis["faults"].as_array().expect("faults");
    assert!(
        !faults.is_empty() && nemesis["failed"].is_null(),
        "{nemesis}"
    );
    let entries = result["live"]["journal_entries"].as_u64();
    assert!(
        entries > Some(100),
        "judged by the journal of a member: {entries:?}"
    );
    println!(
        "seed {seed}: {} faults under the simulator's users",
        faults.len()
    );
}

/// The words for a report, if the environment names its file.
fn report() -> Vec<String> {
    let path = std::env::var("CLUSTER_REPORT");
    path.map_or_else(|_| Vec::new(), |path| vec!["--report".to_owned(), path])
}
